#include "probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace conformance {

Options options;

namespace {

constexpr char kDirectory[] = "c";
constexpr int kChildMilliseconds = 20000;
constexpr unsigned kCaseSeconds = 40;

Case* current = nullptr;
std::vector<std::string> wanted;
int results = 1;  // a high number: cases use 0, 1 and 2
int top = -1;
std::string running;  // for OnAlarm

void Print(const std::string& line) {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = write(results, line.data() + done, line.size() - done);
    if (n < 0 && errno != EINTR) _exit(3);
    if (n > 0) done += static_cast<std::size_t>(n);
  }
}

[[noreturn]] void Fail(const std::string& what) {
  const std::string text = "posix_probe: " + what + ": " + strerror(errno) + "\n";
  (void)!write(2, text.data(), text.size());
  _exit(2);
}

void OnAlarm(int) {
  (void)!write(results, running.data(), running.size());
  (void)!write(results, ": HANGS\n", 8);
  _exit(4);
}

void RemoveTree(int parent, const char* name) {
  if (unlinkat(parent, name, 0) == 0) return;
  if (errno != EISDIR && errno != EPERM) return;
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0 || (st.st_mode & 0700) != 0700) {
    fchmodat(parent, name, 0700, 0);
    if (fd < 0) fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  if (fd < 0) return;
  DIR* directory = fdopendir(fd);
  while (const dirent* entry = readdir(directory)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    RemoveTree(fd, entry->d_name);
  }
  closedir(directory);
  unlinkat(parent, name, AT_REMOVEDIR);
}

void GiveUpCapabilities() {
  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) Fail("capset");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail("no_new_privs");
}

}  // namespace

Case::Case(std::string name) : name_(std::move(name)) {
  running = name_;
  alarm(kCaseSeconds);
  umask(022);
  if (fchdir(top) != 0 || mkdir(kDirectory, 0755) != 0 || chdir(kDirectory) != 0) {
    Fail("cannot begin " + name_);
  }
  current = this;
}

Case::~Case() {
  std::string line = name_ + ":" + result_;
  if (fchdir(top) != 0) Fail("cannot return");
  if (show_tree_) line += " | " + Tree(kDirectory);
  Print(line + "\n");
  for (const int fd : kept_) close(fd);
  for (const std::string& path : elsewhere_) RemoveTree(AT_FDCWD, path.c_str());
  RemoveTree(top, kDirectory);
  current = nullptr;
}

Case& Case::Add(std::string_view word) {
  result_ += " ";
  result_ += word;
  return *this;
}

Case& Case::Add(std::string_view what, std::string_view word) {
  return Add(std::string(what) + "=" + std::string(word));
}

int Case::Keep(int fd) {
  if (fd >= 0) kept_.push_back(fd);
  return fd;
}

Case& Current() { return *current; }

bool Wanted(std::string_view group) {
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
           return group.starts_with(one) || one.starts_with(group);
         });
}

std::string ReadAll(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ErrnoName(errno);
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t n;
  while ((n = read(fd, buffer.data(), buffer.size())) > 0 && text.size() < 65536) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  close(fd);
  return text;
}

namespace {
void Check(const char* what, const std::string& path, long result) {
  if (result < 0) Current().Add("SETUP-" + std::string(what) + "-" + path, ErrnoName(errno));
}
}  // namespace

int MakeFile(const std::string& path, std::string_view text, unsigned mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  Check("file", path, fd);
  if (fd < 0) return -1;
  Check("write", path, write(fd, text.data(), text.size()));
  Check("chmod", path, fchmod(fd, mode));
  close(fd);
  return 0;
}

void MakeDirectory(const std::string& path, unsigned mode) {
  Check("directory", path, mkdir(path.c_str(), mode));
  if (mode != 0755) SetMode(path, mode);
}

void MakeLink(const std::string& target, const std::string& path) {
  Check("link", path, symlink(target.c_str(), path.c_str()));
}

void MakeFifo(const std::string& path) { Check("fifo", path, mkfifo(path.c_str(), 0644)); }

void MakeSocket(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Check("bind", path, bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  close(fd);
}

void SetMode(const std::string& path, unsigned mode) {
  Check("chmod", path, chmod(path.c_str(), mode));
}

std::string InChild(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "SETUP-pipe";
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);  // what it starts ends with it
    close(ends[0]);
    const int out = fcntl(ends[1], F_DUPFD_CLOEXEC, 900);
    close(ends[1]);
    const std::string text = work();
    _exit(write(out, text.data(), text.size()) < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer;
  pollfd ready{ends[0], POLLIN, 0};
  bool ended = false;
  int polled;
  while (!ended &&
         ((polled = poll(&ready, 1, kChildMilliseconds)) > 0 || (polled < 0 && errno == EINTR))) {
    if (polled < 0) continue;
    const ssize_t n = read(ends[0], buffer.data(), buffer.size());
    ended = n <= 0;
    if (n > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  if (!ended) kill(-child, SIGKILL);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return "hangs";
  if (WIFSIGNALED(status)) text += "signal " + std::to_string(WTERMSIG(status));
  return text;
}

}  // namespace conformance

int main(int argc, char** argv) {
  using namespace conformance;
  int i = 1;
  for (; i + 1 < argc && std::string_view(argv[i]).starts_with("--"); i += 2) {
    const std::string_view name = argv[i];
    if (name == "--other") options.other = argv[i + 1];
    if (name == "--foreign") options.foreign = argv[i + 1];
    if (name == "--run-until-end-of-input") {
      char byte;
      while (read(0, &byte, 1) > 0) {
      }
      return 0;
    }
  }
  for (; i < argc; ++i) wanted.emplace_back(argv[i]);
  GiveUpCapabilities();
  std::array<char, 4096> buffer;
  const ssize_t n = readlink("/proc/self/exe", buffer.data(), buffer.size());
  options.self.assign(buffer.data(), n < 0 ? 0 : static_cast<std::size_t>(n));
  options.top = getcwd(buffer.data(), buffer.size());
  results = fcntl(1, F_DUPFD_CLOEXEC, 900);
  top = fcntl(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), F_DUPFD_CLOEXEC, 901);
  if (results < 0 || top < 0) Fail("cannot open the working directory");
  close(3);
  signal(SIGALRM, OnAlarm);
  signal(SIGPIPE, SIG_IGN);
  OpenTable();
  NamesTable();
  ModesTable();
  ArgumentsTable();
  PlacesTable();
  SocketsTable();
  ProcessesTable();
  FilesTable();
  Print("end: all\n");
  return 0;
}
