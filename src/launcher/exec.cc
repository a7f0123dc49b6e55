#include "launcher/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include <cstring>

#include "launcher/fence.h"
#include "launcher/masks.h"
#include "launcher/raw.h"

namespace cordon::launcher {
namespace {

using jail::wire::Failure;
using jail::wire::kNoProcess;
using jail::wire::Reader;
using jail::wire::Stage;
using jail::wire::StdioKind;
using jail::wire::Type;

struct Request {
  char** argv = nullptr;
  char** environment = nullptr;
  const char* workdir = "";
  std::string_view search_path;
  StdioKind stdio[3] = {};
  bool new_terminal = false;
  winsize window{};
  std::string_view terminal_modes;
  mode_t umask = 022;
  std::uint32_t limit_count = 0;
  struct Limit {
    std::uint32_t resource;
    rlimit value;
  } limits[16] = {};
  bool fenced = false;
  bool isolated = false;
  bool supervised = false;
  char** fence = nullptr;  // places, NULL at the end
  std::string_view filter;
  bool ok = false;
};

char** ReadStrings(Reader& r) {
  std::uint32_t n = r.U32();
  if (!r.ok() || n > (1u << 22)) return nullptr;
  auto** list = static_cast<char**>(::calloc(n + 1u, sizeof(char*)));
  for (std::uint32_t i = 0; list != nullptr && i < n; ++i)
    list[i] = const_cast<char*>(r.String().data());
  return list;
}

Request Parse(std::string_view payload) {
  Reader r(payload);
  Request q;
  q.argv = ReadStrings(r);
  q.environment = ReadStrings(r);
  q.workdir = r.String().data();
  q.search_path = r.String();
  for (auto& kind : q.stdio) kind = static_cast<StdioKind>(r.U32());
  q.new_terminal = r.U32() != 0;
  q.window.ws_row = static_cast<unsigned short>(r.U32());
  q.window.ws_col = static_cast<unsigned short>(r.U32());
  q.terminal_modes = r.String();
  q.umask = r.U32() & 0777;
  q.limit_count = r.U32();
  if (q.limit_count > 16) return q;
  for (std::uint32_t i = 0; i < q.limit_count; ++i) {
    q.limits[i].resource = r.U32();
    q.limits[i].value.rlim_cur = r.U64();
    q.limits[i].value.rlim_max = r.U64();
  }
  q.fenced = r.U32() != 0;
  q.fence = ReadStrings(r);
  q.isolated = r.U32() != 0;
  q.supervised = r.U32() != 0;
  q.filter = r.String();
  q.ok = r.ok() && q.argv != nullptr && q.environment != nullptr && q.argv[0] != nullptr &&
         q.fence != nullptr;
  return q;
}

[[noreturn]] void ChildFail(std::uint32_t exec, Stage stage, int error) {
  SendFailure(Type::kExecFailed, exec, Failure{stage, error, 0});
  ::_exit(stage == Stage::kExecve && error == ENOENT ? 127 : 126);
}

// The launcher was started with every signal at its default and never sets a handler; only the
// mask is its own. posix_spawn(3) leaves the two that the C library keeps for itself ignored, and
// sigaction(3) will not touch them.
void UnblockSignals() {
  struct {
    void* handler = nullptr;
    unsigned long flags = 0;
    void* restorer = nullptr;
    unsigned long mask = 0;
  } standard;
  for (int internal : {32, 33})
    ::syscall(SYS_rt_sigaction, internal, &standard, nullptr, sizeof standard.mask);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The session's own node for a plain device that was passed: by a descriptor of the host's, root's
// commands could change the mode of /dev/null for everybody. -1: it is no such device, or the view
// has none.
int OwnDevice(int passed) {
  struct {
    unsigned minor;
    const char* path;
  } constexpr kPlain[] = {{3, "/dev/null"},
                          {5, "/dev/zero"},
                          {7, "/dev/full"},
                          {8, "/dev/random"},
                          {9, "/dev/urandom"}};
  struct stat st{};
  if (::fstat(passed, &st) != 0 || !S_ISCHR(st.st_mode) || major(st.st_rdev) != 1) return -1;
  const int flags = ::fcntl(passed, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK);
  for (const auto& device : kPlain)
    if (minor(st.st_rdev) == device.minor) return ::open(device.path, flags | O_CLOEXEC);
  return -1;
}

// Places the three standard descriptors. All sources are moved above 9 first, so that no dup2
// overwrites one that is still needed.
bool PlaceDescriptors(const Request& q, const Message& m, int terminal) {
  int source[3];
  int next = 0;
  int null_fd = -1;
  for (int i = 0; i < 3; ++i) {
    int fd = -1;
    if (q.stdio[i] == StdioKind::kPassed) {
      if (next >= m.fd_count) return false;
      fd = m.fds[next++];
      if (int own = OwnDevice(fd); own >= 0) fd = own;
    } else if (q.stdio[i] == StdioKind::kTerminal) {
      fd = terminal;
    } else {
      if (null_fd < 0) null_fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      fd = null_fd;
    }
    source[i] = ::fcntl(fd, F_DUPFD_CLOEXEC, 10);
    if (source[i] < 0) return false;
  }
  for (int i = 0; i < 3; ++i)
    if (::dup2(source[i], i) < 0) return false;
  // Everything else closes at execve, the control socket (needed until then) included. Without the
  // flag (before 5.11) all but the control socket is closed now; that one is close-on-exec.
  if (CloseRange(3, ~0u, kCloseRangeCloexec) == 0) return true;
  return CloseRange(4, ~0u, 0) == 0;
}

// The limit of descriptors comes last: what init has open counts until execve(2), and the listener
// needs one more.
enum class Limits { kOfDescriptors, kOthers };
Stage SetLimits(const Request& q, Limits which) {
  for (std::uint32_t i = 0; i < q.limit_count; ++i) {
    if ((q.limits[i].resource == RLIMIT_NOFILE) != (which == Limits::kOfDescriptors)) continue;
    // RLIMIT_NPROC is counted per user and namespace: from here on no more than this many.
    if (::setrlimit(static_cast<__rlimit_resource>(q.limits[i].resource), &q.limits[i].value) != 0)
      return Stage::kResourceLimit;
  }
  return Stage::kNone;
}

// True when there is nothing left to drop: the state in which bubblewrap starts init.
bool WithoutPrivileges(int last_capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct have[2] = {};
  if (::syscall(SYS_capget, &header, have) != 0) return false;
  for (const auto& h : have)
    if ((h.permitted | h.effective | h.inheritable) != 0) return false;
  for (int cap = 0; cap <= last_capability; ++cap)
    if (::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0) return false;
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// No capability survives: not by execve of a set-user-id or file-capability program (no_new_privs,
// empty bounding set), not by being uid 0 (SECBIT_NOROOT).
Stage DropPrivileges(int last_capability) {
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (::prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) != 0)
    return errno == EPERM && WithoutPrivileges(last_capability) ? Stage::kNone
                                                                : Stage::kCapabilities;
  for (int cap = 0; cap <= last_capability; ++cap)
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) return Stage::kCapabilities;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return Stage::kCapabilities;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Stage::kNoNewPrivileges;
  return Stage::kNone;
}

// The broker gets the listener before the command starts; whoever traps until it listens, waits.
Stage HandOver(int listener, int broker, std::uint32_t exec, mode_t umask) {
  jail::wire::MessageHeader header{Type::kListener, exec, sizeof(std::uint32_t), 0};
  std::uint32_t value = umask;
  iovec iov[2] = {{&header, sizeof header}, {&value, sizeof value}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr msg{};
  msg.msg_iov = iov;
  msg.msg_iovlen = 2;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  cmsghdr* c = CMSG_FIRSTHDR(&msg);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &listener, sizeof listener);
  ssize_t n;
  do {
    n = ::sendmsg(broker, &msg, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n >= 0 ? Stage::kNone : Stage::kListener;
}

// linux/seccomp.h; Linux 5.19. Without it a signal would make the command repeat a call that was
// done already.
constexpr unsigned kWaitKillable = 1u << 5;

Stage InstallFilter(std::uint32_t exec, const Request& q, int broker) {
  const std::string_view bytes = q.filter;
  sock_fprog program{};
  program.len = static_cast<unsigned short>(bytes.size() / sizeof(sock_filter));
  // The payload is not aligned for sock_filter.
  auto* copy = static_cast<sock_filter*>(::malloc(bytes.size() + sizeof(sock_filter)));
  if (copy == nullptr) return Stage::kFilter;
  std::memcpy(copy, bytes.data(), bytes.size());
  program.filter = copy;
  if (q.supervised) {
    constexpr unsigned kFlags =
        SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillable;
    const long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program);
    if (listener < 0) return Stage::kListener;
    return HandOver(static_cast<int>(listener), broker, exec, q.umask);
  }
  // Without SPEC_ALLOW kernels before 5.16 slow every filtered process down (SSBD).
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) !=
          0 &&
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return Stage::kFilter;
  return Stage::kNone;
}

// A NUL byte in the first line tells a broken program from a script, as bash does it.
bool IsBinary(const char* path) {
  char head[80];
  int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t n = fd >= 0 ? ::read(fd, head, sizeof head) : -1;
  if (fd >= 0) ::close(fd);
  std::string_view line(head, n > 0 ? static_cast<std::size_t>(n) : 0);
  return line.substr(0, line.find('\n')).find('\0') != std::string_view::npos;
}

// As execvp(3): a script without an interpreter line is given to the shell.
void ExecAt(const char* path, const Request& q) {
  ::execve(path, q.argv, q.environment);
  if (errno != ENOEXEC) return;
  if (IsBinary(path)) {
    errno = ENOEXEC;
    return;
  }
  std::size_t argc = 0;
  while (q.argv[argc] != nullptr) ++argc;
  auto** argv = static_cast<char**>(::calloc(argc + 3, sizeof(char*)));
  if (argv == nullptr) return;
  argv[0] = const_cast<char*>("/bin/sh");
  argv[1] = const_cast<char*>(path);
  for (std::size_t i = 1; i < argc; ++i) argv[i + 1] = q.argv[i];
  ::execve("/bin/sh", argv, q.environment);
  errno = ENOEXEC;
}

[[noreturn]] void Exec(std::uint32_t exec, const Request& q) {
  const char* name = q.argv[0];
  if (std::strchr(name, '/') != nullptr) {
    ExecAt(name, q);
    int error = errno;
    struct stat st{};
    if (error == ENOENT && ::stat(name, &st) == 0) ChildFail(exec, Stage::kInterpreter, error);
    ChildFail(exec, Stage::kExecve, error);
  }
  int error = ENOENT;
  std::string_view rest = q.search_path;
  char path[4096 + 256];
  while (*name != '\0') {
    std::size_t colon = rest.find(':');
    std::string_view dir = rest.substr(0, colon);
    if (dir.empty()) dir = ".";
    if (dir.size() + std::strlen(name) + 2 < sizeof path) {
      std::memcpy(path, dir.data(), dir.size());
      path[dir.size()] = '/';
      std::strcpy(path + dir.size() + 1, name);
      ExecAt(path, q);
      int tried = errno;
      struct stat st{};
      bool there = ::stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
      if (tried == ENOENT && there) ChildFail(exec, Stage::kInterpreter, ENOENT);
      // As shells see it, a directory of PATH that may not be searched holds no program.
      if (there) error = tried;
    }
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  ChildFail(exec, Stage::kExecve, error);
}

[[noreturn]] void Child(std::uint32_t exec, const Request& q, const Message& m, int terminal,
                        int last_capability, int broker, int mask_server) {
  UnblockSignals();
  ::setsid();
  TellLeader(mask_server, exec);
  if (terminal >= 0 && ::ioctl(terminal, TIOCSCTTY, 0) != 0)
    ChildFail(exec, Stage::kTerminal, errno);
  if (!PlaceDescriptors(q, m, terminal)) ChildFail(exec, Stage::kDescriptors, errno);
  ::umask(q.umask);
  Stage failed = SetLimits(q, Limits::kOthers);
  // Before the capabilities go, with which every place of the view can be named.
  int fence = -1;
  bool needed = q.fenced && NeedsFence();
  if (failed == Stage::kNone && (needed || q.isolated)) {
    std::size_t places = 0;
    while (q.fence[places] != nullptr) ++places;
    fence = needed ? MakeFence(q.fence, places) : MakeIsolation();
    if (fence < 0 && errno != ENOSYS && errno != EOPNOTSUPP) failed = Stage::kFence;
  }
  if (failed == Stage::kNone) failed = DropPrivileges(last_capability);
  if (failed == Stage::kNone && fence >= 0 && EnterFence(fence) != 0) failed = Stage::kFence;
  if (failed != Stage::kNone) ChildFail(exec, failed, errno);
  // After the capabilities are gone, so that only what the command itself may enter is entered.
  if (::chdir(q.workdir) != 0) ChildFail(exec, Stage::kWorkdir, errno);
  failed = InstallFilter(exec, q, broker);
  if (failed == Stage::kNone) failed = SetLimits(q, Limits::kOfDescriptors);
  if (failed != Stage::kNone) ChildFail(exec, failed, errno);
  Exec(exec, q);
}

// The session's own terminal: both ends, from the session's own devpts.
bool OpenTerminal(const Request& q, int& leader, int& follower) {
  leader = ::open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (leader < 0) return false;
  int unlock = 0;
  if (::ioctl(leader, TIOCSPTLCK, &unlock) != 0) return false;
  follower = ::ioctl(leader, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (follower < 0) return false;
  termios modes;
  if (q.terminal_modes.size() == sizeof modes) {
    std::memcpy(&modes, q.terminal_modes.data(), sizeof modes);
    if (::tcsetattr(follower, TCSANOW, &modes) != 0) return false;
  }
  return ::ioctl(leader, TIOCSWINSZ, &q.window) == 0;
}

}  // namespace

pid_t StartExec(Message& message, int last_capability, int broker, int mask_server) {
  std::uint32_t exec = message.header.exec;
  Request q = Parse(message.payload);
  int leader = -1;
  int follower = -1;
  pid_t pid = -1;
  if (!q.ok) {
    SendFailure(Type::kExecFailed, exec, Failure{Stage::kProtocol, EBADMSG, kNoProcess});
  } else if (q.new_terminal && !OpenTerminal(q, leader, follower)) {
    SendFailure(Type::kExecFailed, exec, Failure{Stage::kTerminal, errno, kNoProcess});
  } else {
    pid = ::fork();
    if (pid == 0) Child(exec, q, message, follower, last_capability, broker, mask_server);
    std::int32_t started = pid;
    if (pid < 0) {
      SendFailure(Type::kExecFailed, exec, Failure{Stage::kFork, errno, kNoProcess});
    } else {
      Send(Type::kStarted, exec, &started, sizeof started, leader);
    }
  }
  if (leader >= 0) ::close(leader);
  if (follower >= 0) ::close(follower);
  ::free(q.argv);
  ::free(q.environment);
  ::free(q.fence);
  return pid;
}

}  // namespace cordon::launcher
