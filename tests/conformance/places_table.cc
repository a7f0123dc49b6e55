// Devices, terminals, /proc, other file systems, directories of other users.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "probe.h"

namespace conformance {
namespace {

using std::string;

struct Named {
  int bits;
  const char* name;
};
constexpr Named kOpenings[] = {
    {O_RDONLY | O_NONBLOCK, "R"},
    {O_WRONLY, "W"},
    {O_RDWR, "RW"},
    {O_WRONLY | O_APPEND, "W+APPEND"},
    {O_WRONLY | O_CREAT | O_TRUNC, "W+CREAT+TRUNC"},
    {O_RDWR | O_CREAT | O_CLOEXEC, "RW+CREAT+CLOEXEC"},
    {O_WRONLY | O_CREAT | O_EXCL, "W+CREAT+EXCL"},
    {O_RDONLY | O_CREAT | O_NONBLOCK, "R+CREAT"},
    {O_WRONLY | O_NOFOLLOW, "W+NOFOLLOW"},
    {O_RDONLY | O_DIRECTORY, "DIRECTORY"},
    {O_PATH, "PATH"},
    {O_WRONLY | O_NOCTTY | O_NONBLOCK, "W+NOCTTY+NONBLOCK"},
    {O_TMPFILE | O_RDWR, "TMPFILE"},
};

// What the device node's owner and mode are is the session's own affair.
string Use(int fd) {
  if (fd < 0) return ErrnoName(errno);
  struct stat st;
  fstat(fd, &st);
  char bytes[4] = {};
  string text =
      "fl=" + std::to_string(fcntl(fd, F_GETFL)) + " fd=" + std::to_string(fcntl(fd, F_GETFD)) +
      " kind=" + std::to_string(st.st_mode & S_IFMT) + " device=" + std::to_string(st.st_rdev);
  const bool waits = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
  if (!waits) text += " read=" + Outcome(read(fd, bytes, sizeof bytes));
  text += " write=" + Outcome(write(fd, "xy", 2));
  if (S_ISREG(st.st_mode)) text += " at=" + Outcome(lseek(fd, 0, SEEK_CUR));
  close(fd);
  return text;
}

void Devices() {
  for (const char* device :
       {"null", "zero", "full", "random", "urandom", "tty", "missing", "shm", "pts", ""}) {
    const string path = string("/dev/") + device;
    if (!Wanted("device/" + string(device))) continue;
    for (const Named& opening : kOpenings) {
      // A directory of the machine's own /dev is not for writing.
      if ((opening.bits & O_TMPFILE) == O_TMPFILE && string(device) != "null") continue;
      if ((opening.bits & O_CREAT) && string(device) == "missing") continue;
      Case c("device/" + string(device) + "/" + opening.name);
      c.Add(Use(open(path.c_str(), opening.bits, 0600)));
    }
  }
  if (!Wanted("device-link")) return;
  for (const Named& opening : kOpenings) {
    if ((opening.bits & O_TMPFILE) == O_TMPFILE) continue;
    Case c(string("device-link/") + opening.name);
    MakeLink("/dev/null", "link");
    c.Add(Use(open("link", opening.bits, 0600)));
  }
}

// Puts `kind` at descriptor `fd` of a child and opens `path` there.
string OpenStandard(const string& path, int flags, const string& kind, int fd) {
  return InChild([&]() -> string {
    int ends[2];
    int opened = -1;
    if (kind == "file") opened = open("file", O_RDWR | O_CREAT, 0600);
    if (kind == "file-read") opened = open("file", O_RDONLY | O_CREAT, 0400);
    if (kind == "removed") {
      opened = open("file", O_RDWR | O_CREAT, 0600);
      unlink("file");
    }
    if (kind == "null") opened = open("/dev/null", O_RDWR);
    if (kind == "memory") opened = memfd_create("m", 0);
    if (kind == "directory") opened = open(".", O_RDONLY);
    if (kind == "pipe" && pipe(ends) == 0) opened = ends[1];
    if (kind == "pipe-read" && pipe(ends) == 0) opened = ends[0];
    if (kind == "socket" && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) opened = ends[0];
    if (kind == "closed") {
      close(fd);
    } else {
      if (opened < 0) return "SETUP " + ErrnoName(errno);
      if (kind == "file" && write(opened, "0123456789", 10) < 0) return "SETUP-write";
      dup2(opened, fd);
    }
    string text = Use(open(path.c_str(), flags, 0600));
    if (kind == "file") text += " content=" + Printable(ReadAll("file"));
    if (kind == "pipe") {
      char bytes[8];
      fcntl(ends[0], F_SETFL, O_NONBLOCK);
      text += " through=" + Outcome(read(ends[0], bytes, sizeof bytes));
    }
    return text;
  });
}

void StandardDescriptors() {
  struct Place {
    const char* path;
    int fd;
  };
  constexpr Place kPlaces[] = {{"/dev/stdin", 0},
                               {"/dev/stdout", 1},
                               {"/dev/stderr", 2},
                               {"/dev/fd/1", 1},
                               {"/dev/fd/7", 7},
                               {"/proc/self/fd/1", 1},
                               {"/proc/self/fd/7", 7},
                               {"/proc/thread-self/fd/2", 2},
                               {"/proc/self/fd/../fd/1", 1},
                               {"/proc/self/task/../fd/1", 1}};
  for (const Place& place : kPlaces) {
    if (!Wanted(string("standard") + place.path)) continue;
    for (const char* kind : {"file", "file-read", "removed", "null", "memory", "directory", "pipe",
                             "pipe-read", "socket", "closed"}) {
      for (const Named& opening : kOpenings) {
        // Reading waits for what nobody writes.
        if (strncmp(kind, "pipe", 4) == 0 &&
            (opening.bits & (O_NONBLOCK | O_ACCMODE)) == O_RDONLY && !(opening.bits & O_PATH)) {
          continue;
        }
        if (strcmp(kind, "pipe-read") == 0 && !(opening.bits & O_NONBLOCK)) continue;
        Case c(string("standard") + place.path + "/" + kind + "/" + opening.name);
        c.Add(OpenStandard(place.path, opening.bits, kind, place.fd));
      }
    }
  }
}

void WriteProc(const string& path, int flags, const string& text, bool read_back = true) {
  Case c("proc" + path + "/" + std::to_string(flags) + "/" + Printable(text));
  c.Add(InChild([&] {
    const int fd = open(path.c_str(), flags, 0600);
    string said = fd < 0 ? ErrnoName(errno) : "fl=" + std::to_string(fcntl(fd, F_GETFL));
    if (fd >= 0) said += " write=" + Outcome(write(fd, text.data(), text.size()));
    if (fd >= 0) close(fd);
    return read_back ? said + " now=" + Printable(ReadAll(path)) : said;
  }));
}

void Proc() {
  if (!Wanted("proc")) return;
  const int kCreate = O_WRONLY | O_CREAT | O_TRUNC;
  for (const int flags : {O_WRONLY, O_RDWR, kCreate, O_WRONLY | O_TRUNC, O_WRONLY | O_APPEND,
                          O_WRONLY | O_CREAT | O_EXCL}) {
    WriteProc("/proc/self/comm", flags, "renamed");
    WriteProc("/proc/thread-self/comm", flags, "renamed");
    WriteProc("/proc/self/oom_score_adj", flags, "500");
    WriteProc("/proc/self/timerslack_ns", flags, "60000");
    WriteProc("/proc/self/coredump_filter", flags, "0x3");
  }
  WriteProc("/proc/self/oom_score_adj", O_WRONLY, "-500");
  WriteProc("/proc/self/oom_score_adj", O_WRONLY, "nonsense");
  WriteProc("/proc/self/status", O_WRONLY, "x", false);
  WriteProc("/proc/self/stat", O_RDWR, "x", false);
  WriteProc("/proc/self/missing", kCreate, "x", false);
  WriteProc("/proc/self/fd", O_WRONLY, "x", false);
  WriteProc("/proc/self/cwd", O_WRONLY, "x", false);
  WriteProc("/proc/self/cwd/..", O_WRONLY, "x", false);
  WriteProc("/proc/self/root", O_WRONLY, "x", false);
  WriteProc("/proc/self/clear_refs", O_WRONLY, "1", false);
  WriteProc("/proc/self/mem", O_WRONLY, "x", false);
  WriteProc("/proc/self/environ", O_RDWR, "x", false);
  WriteProc("/proc/999999/comm", O_WRONLY, "x", false);
  WriteProc("/proc", O_WRONLY, "x", false);
  {
    Case c("proc/own-memory");
    static char memory[] = "before";
    const int fd = c.Keep(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
    c.Add(Outcome(fd < 0 ? -1 : 0));
    if (fd >= 0)
      c.Add(Outcome(pwrite(fd, "behind", 6, reinterpret_cast<off_t>(memory)))).Add(memory);
  }
  {
    Case c("proc/comm-of-another");
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    const int fd = open(("/proc/" + std::to_string(child) + "/comm").c_str(), O_WRONLY);
    c.Add(fd < 0 ? ErrnoName(errno) : "opened");
    if (fd >= 0) c.Add(Outcome(write(fd, "x", 1)));
    close(fd);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  {
    // A copy, because the program itself lies where a session cannot write.
    Case c("proc/running-program");
    c.HideTree();
    const string program = ReadAll(options.self);
    const pid_t child = vfork();
    if (child == 0) {
      execl("/bin/cp", "cp", options.self.c_str(), "copy", nullptr);
      _exit(1);
    }
    waitpid(child, nullptr, 0);
    int ends[2];
    int started[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(started, O_CLOEXEC) != 0) c.Add("SETUP");
    const pid_t runner = fork();
    if (runner == 0) {
      dup2(ends[0], 0);
      execl("./copy", "copy", "--run-until-end-of-input", "x", nullptr);
      _exit(1);
    }
    close(ends[0]);
    // execve closes the runner's end of `started`.
    close(started[1]);
    char byte;
    (void)!read(started[0], &byte, 1);
    close(started[0]);
    const string exe = "/proc/" + std::to_string(runner) + "/exe";
    for (const int flags : {O_WRONLY, O_RDWR | O_TRUNC, O_WRONLY | O_CREAT, O_RDONLY}) {
      for (const string& path : {string("copy"), exe}) {
        const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
        c.Add(Outcome(fd < 0 ? -1 : 0));
        if (fd >= 0) close(fd);
      }
    }
    c.Add(Outcome(truncate("copy", 0)));
    close(ends[1]);
    waitpid(runner, nullptr, 0);
    c.Add(Outcome(truncate("copy", 0)));
  }
}

void Terminals() {
  if (!Wanted("terminal")) return;
  {
    Case c("terminal/pair");
    const int master = c.Keep(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
    c.Add(Outcome(master < 0 ? -1 : 0))
        .Add(Outcome(grantpt(master)))
        .Add(Outcome(unlockpt(master)));
    char name[64] = {};
    c.Add(Outcome(ptsname_r(master, name, sizeof name)));
    const int slave = c.Keep(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    c.Add(Outcome(slave < 0 ? -1 : 0)).Add(Outcome(write(slave, "ab", 2)));
    char bytes[8];
    c.Add(Outcome(read(master, bytes, sizeof bytes)));
    c.Add("tty", ErrnoName(open("/dev/tty", O_RDWR) < 0 ? errno : 0));
  }
  for (const int flags : {O_NOCTTY, 0}) {
    // A session leader without a terminal gets one by opening it without O_NOCTTY.
    Case c(string("terminal/becomes-controlling/") + (flags ? "no" : "yes"));
    c.Add(InChild([flags]() -> string {
      const int master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
      char name[64] = {};
      if (unlockpt(master) != 0 || ptsname_r(master, name, sizeof name) != 0) return "SETUP";
      signal(SIGHUP, SIG_IGN);
      const pid_t leader = fork();
      if (leader == 0) {
        setsid();
        const int slave = open(name, O_RDWR | flags);
        const int tty = open("/dev/tty", O_RDWR);
        const bool works = tty >= 0 && write(tty, "xy", 2) == 2;
        _exit((slave < 0 ? 1 : 0) + (tty < 0 ? 2 : 0) + (works ? 4 : 0));
      }
      int status = 0;
      waitpid(leader, &status, 0);
      return Outcome(WEXITSTATUS(status));
    }));
  }
  {
    Case c("terminal/by-ioctl");
    c.Add(InChild([]() -> string {
      const int master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
      char name[64] = {};
      if (unlockpt(master) != 0 || ptsname_r(master, name, sizeof name) != 0) return "SETUP";
      const pid_t leader = fork();
      if (leader == 0) {
        setsid();
        const int slave = open(name, O_RDWR | O_NOCTTY);
        if (ioctl(slave, TIOCSCTTY, 0) != 0) _exit(9);
        int result = 0;
        for (const int flags :
             {O_RDWR, O_WRONLY, O_RDWR | O_CREAT | O_TRUNC, O_RDWR | O_NONBLOCK}) {
          const int tty = open("/dev/tty", flags, 0600);
          result += tty >= 0 && write(tty, "xy", 2) == 2 ? 1 : 0;
        }
        _exit(result);
      }
      int status = 0;
      waitpid(leader, &status, 0);
      return Outcome(WEXITSTATUS(status));
    }));
  }
}

// Two file systems.
void Across() {
  if (!Wanted("across") || options.other.empty()) return;
  // The same name in each run, another for each directory that the program is run in.
  string name = options.top;
  std::replace(name.begin(), name.end(), '/', '-');
  const string other = options.other + "/posix-probe" + name;
  const auto prepare = [&](Case& c) {
    c.RemoveLater(other);
    MakeDirectory(other);
    MakeFile(other + "/file", "there");
    MakeDirectory(other + "/dir");
    MakeFile("file", "here");
    MakeDirectory("dir");
  };
  for (const bool out : {true, false}) {
    for (const char* from : {"file", "dir", "missing"}) {
      for (const char* to : {"new", "file", "dir", "missing/x"}) {
        Case c(string("across/") + (out ? "out/" : "in/") + from + "/" + to);
        prepare(c);
        const string from_path = out ? from : other + "/" + from;
        const string to_path = out ? other + "/" + to : to;
        c.Add(Outcome(rename(from_path.c_str(), to_path.c_str())));
        c.Add(Outcome(link(from_path.c_str(), to_path.c_str())));
        for (const unsigned flags : {1U, 2U}) {
          c.Add(Outcome(syscall(SYS_renameat2, AT_FDCWD, from_path.c_str(), AT_FDCWD,
                                to_path.c_str(), flags)));
        }
        c.Add(Tree(other));
      }
    }
  }
  {
    Case c("across/temporary");
    prepare(c);
    const int fd = c.Keep(open(other.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    const string path = "/proc/self/fd/" + std::to_string(fd);
    c.Add(Outcome(linkat(AT_FDCWD, path.c_str(), AT_FDCWD, "new", AT_SYMLINK_FOLLOW)));
  }
  for (const int flags : {O_WRONLY, O_WRONLY | O_CREAT | O_TRUNC, O_RDONLY | O_CREAT | O_EXCL}) {
    Case c("across/link/" + std::to_string(flags));
    prepare(c);
    MakeLink(other + "/new", "link");
    c.Add(Outcome(open("link", flags | O_CLOEXEC, 0600) < 0 ? -1 : 0));
    c.Add(Tree(other));
  }
}

// What posix_test.py made there: dir (0777), sticky (1777), group (2770, of a group of ours),
// set-group-id (2777), each with "file" 0666 and "link" -> file; all of another user.
void Foreign() {
  if (!Wanted("foreign") || options.foreign.empty()) return;
  for (const char* directory : {"dir", "sticky", "group", "set-group-id", "closed"}) {
    const string base = options.foreign + "/" + directory + "/";
    const auto calls = std::vector<std::pair<string, std::function<long()>>>{
        {"open", [&] { return open((base + "file").c_str(), O_WRONLY); }},
        {"open-create", [&] { return open((base + "file").c_str(), O_WRONLY | O_CREAT, 0600); }},
        {"open-link", [&] { return open((base + "link").c_str(), O_WRONLY); }},
        {"open-link-create", [&] { return open((base + "link").c_str(), O_RDWR | O_CREAT, 0600); }},
        {"open-noatime", [&] { return open((base + "file").c_str(), O_RDWR | O_NOATIME); }},
        {"open-fifo", [&] { return open((base + "fifo").c_str(), O_RDWR | O_CREAT, 0600); }},
        {"truncate", [&] { return truncate((base + "file").c_str(), 4); }},
        {"truncate-link", [&] { return truncate((base + "link").c_str(), 4); }},
        {"link", [&] { return link((base + "file").c_str(), (base + "mine").c_str()); }},
        {"link-read-only",
         [&] { return link((base + "read-only").c_str(), (base + "mine").c_str()); }},
        {"rename", [&] { return rename((base + "file").c_str(), (base + "file").c_str()); }},
        {"rename-away",
         [&] {
           const long result = rename((base + "file").c_str(), (base + "mine").c_str());
           const int error = errno;
           rename((base + "mine").c_str(), (base + "file").c_str());
           errno = error;
           return result;
         }},
        {"rmdir", [&] { return rmdir((base + "full").c_str()); }},
        {"create", [&] { return open((base + "mine").c_str(), O_RDWR | O_CREAT | O_EXCL, 0666); }},
        {"create-set-id",
         [&] { return open((base + "mine").c_str(), O_RDWR | O_CREAT | O_EXCL, 06777); }},
        {"tmpfile", [&] { return open(base.c_str(), O_RDWR | O_TMPFILE, 06777); }},
        {"mkdir", [&] { return mkdir((base + "mine").c_str(), 0777); }},
        {"mkfifo", [&] { return mknod((base + "mine").c_str(), S_IFIFO | 02777, 0); }},
    };
    for (const auto& [name, call] : calls) {
      Case c(string("foreign/") + directory + "/" + name);
      c.RemoveLater(base + "mine");
      const long result = call();
      c.Add(result > 0 ? Facts("/proc/self/fd/" + std::to_string(result)).substr(0, 1)
                       : Outcome(result));
      struct stat st;
      if (result > 0 && fstat(c.Keep(static_cast<int>(result)), &st) == 0) {
        c.Add(std::to_string(st.st_mode) + " " + std::to_string(st.st_uid) + ":" +
              std::to_string(st.st_gid));
      }
      c.Add(Facts(base + "mine"));
    }
  }
}

}  // namespace

void PlacesTable() {
  Devices();
  StandardDescriptors();
  Proc();
  Terminals();
  Across();
  Foreign();
}

}  // namespace conformance
