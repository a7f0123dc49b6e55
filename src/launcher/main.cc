// cordon-launch: makes the namespaces of one session and stays as its monitor.
//
// Started by the host library as
//   cordon-session ID START_SECONDS HOST_PID BACKEND WORKDIR COMMAND
// (the argument list is what `cordon ps` reads), with an empty environment and the control socket
// as descriptor 3. Single-threaded, no exceptions, allocates little: it runs once a session, a
// thousand times on one machine.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "launcher/channel.h"
#include "launcher/init.h"
#include "launcher/raw.h"
#include "maskfs/server.h"
#include "notify/broker.h"

namespace cordon::launcher {
namespace {

using jail::wire::Ended;
using jail::wire::EndReason;
using jail::wire::Failure;
using jail::wire::HelperKind;
using jail::wire::kControlFd;
using jail::wire::Stage;
using jail::wire::Type;

struct BootRequest {
  std::string_view uid_map, gid_map;
  bool deny_setgroups = true;
  bool keep_base = false;
  char** bwrap = nullptr;  // argv of bwrap, or null
  jail::wire::Reader base{{}};
};

constexpr const char* kInitArgument = "cordon-init";
// Not longer than the host library's "cordon-session", whose place they take.
constexpr char kBrokerArgument[] = "cordon-broker";
constexpr char kMasksArgument[] = "cordon-masks";

// The monitor's own words, which `cordon ps` reads: a fork of it must not look like a session.
char* own_name = nullptr;

[[noreturn]] void Die(Stage stage, int error) {
  SendFailure(Type::kFailed, 0, Failure{stage, error, 0});
  ::_exit(1);
}

bool WriteProcFile(pid_t pid, const char* name, std::string_view text) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  // The kernel takes a map in one write or not at all.
  bool ok = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  int saved = errno;
  ::close(fd);
  errno = saved;
  return ok;
}

// True when init has been killed: its files in /proc then refuse what they are asked, which must
// not be taken for a refusal of this host.
bool IsEnding(pid_t pid) {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  text[n > 0 ? n : 0] = '\0';
  constexpr unsigned kExiting = 0x4;  // PF_EXITING
  const char* end = std::strrchr(text, ')');
  unsigned flags = kExiting;
  if (end != nullptr) std::sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags);
  return (flags & kExiting) != 0;
}

void WriteMaps(pid_t pid, const BootRequest& boot) {
  // Kernels without /proc/PID/setgroups (before 3.19) are long out of reach.
  bool ok = (!boot.deny_setgroups || WriteProcFile(pid, "setgroups", "deny")) &&
            WriteProcFile(pid, "uid_map", boot.uid_map) &&
            WriteProcFile(pid, "gid_map", boot.gid_map);
  if (ok) return;
  int error = errno;
  if (IsEnding(pid)) ::_exit(1);
  Die(Stage::kIdMap, error);
}

void CloseInherited() {
  int null_fd = ::open("/dev/null", O_RDWR);
  for (int i = 0; i < 3; ++i)
    if (null_fd >= 0 && null_fd != i) ::dup2(null_fd, i);
  if (CloseRange(kControlFd + 1, ~0u, 0) != 0) Die(Stage::kDescriptors, errno);
  ::fcntl(kControlFd, F_SETFD, FD_CLOEXEC);
}

// Blocked so that they come through the signalfd. A stop signal from a terminal cannot come: the
// monitor has left the host's process session.
int TakeSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int s : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&set, s);
  ::sigprocmask(SIG_SETMASK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC);
}

pid_t StartInit(const BootRequest& boot, int go[2], int host) {
  constexpr unsigned long kFlags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |
                                   CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP | SIGCHLD;
  auto pid = static_cast<pid_t>(::syscall(SYS_clone, kFlags, nullptr, nullptr, nullptr, nullptr));
  if (pid < 0) Die(Stage::kClone, errno);
  if (pid == 0) {
    // First of all: without the monitor there is no session. If it died before this line, init sees
    // the hang-up of the go socket, whose other end only the monitor holds, for as long as it
    // lives.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    ::close(go[1]);
    if (host >= 0) ::close(host);
    InitOptions options;
    options.go_fd = go[0];
    options.keep_base = boot.keep_base;
    options.base = boot.base;
    RunInit(options);
  }
  ::close(go[0]);
  return pid;
}

// Where only bwrap may make user namespaces: it makes them and the view, and starts this program
// again, as pid 1, from an open descriptor (nothing of Cordon needs to be visible inside).
pid_t StartBubblewrap(const BootRequest& boot) {
  int self = ::open("/proc/self/exe", O_RDONLY);  // inherited on purpose
  pid_t pid = self < 0 ? -1 : ::fork();
  if (pid < 0) Die(Stage::kFork, errno);
  if (pid > 0) {
    ::close(self);
    return pid;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::fcntl(kControlFd, F_SETFD, 0);
  ::dup2(self, kControlFd + 1);
  char* environment[] = {nullptr};
  ::execve(boot.bwrap[0], boot.bwrap, environment);
  Die(Stage::kBubblewrap, errno);
}

// argv of bwrap from the Boot message, then the command that is run inside.
char** BwrapArgv(jail::wire::Reader& r) {
  std::uint32_t n = r.U32();
  if (!r.ok() || n == 0 || n > (1u << 20)) return nullptr;
  auto** argv = static_cast<char**>(::calloc(n + 4u, sizeof(char*)));
  if (argv == nullptr) Die(Stage::kBubblewrap, ENOMEM);
  for (std::uint32_t i = 0; i < n; ++i) argv[i] = const_cast<char*>(r.String().data());
  argv[n] = const_cast<char*>("--");
  argv[n + 1] = const_cast<char*>("/proc/self/fd/4");
  argv[n + 2] = const_cast<char*>(kInitArgument);
  return argv;
}

// A helper that init asks for.
struct HelperRequest {
  HelperKind kind = HelperKind::kBroker;
  int fds[jail::wire::kMaxDescriptors];
  int count = 0;
};

// False when there is no such message.
bool ReceiveHelper(int link, HelperRequest& request) {
  jail::wire::MessageHeader header;
  iovec iov{&header, sizeof header};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof request.fds)];
  msghdr msg{};
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  if (::recvmsg(link, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != sizeof header) return false;
  cmsghdr* c = CMSG_FIRSTHDR(&msg);
  if (header.type != Type::kHelper || c == nullptr || c->cmsg_type != SCM_RIGHTS) return false;
  request.kind = static_cast<HelperKind>(header.exec);
  request.count = static_cast<int>((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  std::memcpy(request.fds, CMSG_DATA(c), sizeof(int) * static_cast<std::size_t>(request.count));
  return true;
}

// Nothing of the monitor stays open in a helper, the control socket above all.
[[noreturn]] void BecomeHelper(HelperRequest& request, pid_t monitor) {
  const int count = request.count;
  const bool masks = request.kind == HelperKind::kMasks;
  const Stage stage = masks ? Stage::kMasks : Stage::kBroker;
  // Without room for all of them the message came with fewer.
  if (count != (masks ? 3 : 4)) Die(stage, EMFILE);
  // Out of the way of each other; a small RLIMIT_NOFILE must do.
  for (int i = 0; i < count; ++i) {
    request.fds[i] = ::fcntl(request.fds[i], F_DUPFD_CLOEXEC, kControlFd + count);
    if (request.fds[i] < 0) Die(stage, errno);
  }
  for (int i = 0; i < count; ++i)
    if (::dup3(request.fds[i], kControlFd + i, O_CLOEXEC) < 0) ::_exit(1);
  if (CloseRange(static_cast<unsigned>(kControlFd + count), ~0u, 0) != 0) ::_exit(1);
  if (own_name != nullptr) {
    std::memset(own_name, 0, std::strlen(own_name));
    std::strcpy(own_name, masks ? kMasksArgument : kBrokerArgument);
  }
  if (masks) {
    maskfs::ServerOptions options;
    options.host = kControlFd;
    options.init = kControlFd + 1;
    options.device = kControlFd + 2;
    options.monitor = monitor;
    maskfs::RunServer(options);
  }
  notify::BrokerOptions options;
  options.host = kControlFd;
  options.init = kControlFd + 1;
  options.user_namespace = kControlFd + 2;
  options.root = kControlFd + 3;
  options.monitor = monitor;
  notify::RunBroker(options);
}

// Brokers and servers of masks: at most one of each for a view, and a view more for each Update.
class Helpers {
 public:
  // False: init asked for one and there is none.
  bool Start(int link) {
    HelperRequest request;
    if (!ReceiveHelper(link, request)) return true;
    const pid_t monitor = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) BecomeHelper(request, monitor);
    for (int i = 0; i < request.count; ++i) ::close(request.fds[i]);
    if (pid > 0) ++running_;
    return pid > 0;
  }
  // One of them, or another child, has ended; false when the session cannot go on without it.
  bool Ended(int status) {
    if (running_ > 0) --running_;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  // After init has ended the helpers have nothing to answer, and end by themselves once they have
  // said what they have to say; a stopped one does not.
  void Finish(int signals) {
    constexpr int kPatience = 500;  // milliseconds
    while (running_ > 0) {
      pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
      if (pid > 0) {
        --running_;
        continue;
      }
      if (pid < 0) return;
      signalfd_siginfo info{};
      pollfd waiting{signals, POLLIN, 0};
      // The end of the monitor is the end of those that are left (their parent-death signal).
      if (::poll(&waiting, 1, kPatience) <= 0) return;
      if (::read(signals, &info, sizeof info) != sizeof info) return;
    }
  }

 private:
  int running_ = 0;
};

// Waits until init has ended; returns why. `host` is a pidfd, or -1; so is `link`, on which init
// asks for brokers.
Ended Watch(pid_t init, int signals, int host, int link) {
  Ended ended{};
  Helpers helpers;
  bool killed = false;
  const auto kill_for = [&](EndReason reason) {
    ended.reason = reason;
    killed = ::kill(init, SIGKILL) == 0;
  };
  for (;;) {
    pollfd fds[4] = {{signals, POLLIN, 0},
                     {killed ? -1 : kControlFd, 0, 0},
                     {killed ? -1 : host, POLLIN, 0},
                     {killed ? -1 : link, POLLIN, 0}};
    if (::poll(fds, 4, -1) < 0 && errno != EINTR) ::_exit(1);
    if (!killed && (fds[3].revents & POLLIN) != 0 && !helpers.Start(link))
      kill_for(EndReason::kBrokerDied);
    if (fds[3].revents != 0 && (fds[3].revents & POLLIN) == 0) link = -1;
    if (!killed && ((fds[1].revents & (POLLHUP | POLLERR)) != 0 || fds[2].revents != 0)) {
      kill_for(EndReason::kHostGone);
    }
    if ((fds[0].revents & POLLIN) == 0) continue;
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) != sizeof info) continue;
    if (info.ssi_signo != SIGCHLD) {
      if (!killed) ended.reason = EndReason::kManual;
      killed = ::kill(init, SIGKILL) == 0;
      continue;
    }
    int status = 0;
    pid_t pid;
    bool over = false;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == init) {
        over = true;
        ended.init_status = status;
      } else if (!helpers.Ended(status) && !killed && !over) {
        kill_for(EndReason::kBrokerDied);
      }
    }
    if (!over) continue;
    bool by_itself = WIFEXITED(ended.init_status) && WEXITSTATUS(ended.init_status) == 0;
    if (!killed) ended.reason = by_itself ? EndReason::kStopped : EndReason::kInitDied;
    helpers.Finish(signals);
    return ended;
  }
}

// The process that started this one. The end of file on the socket alone would not do: a fork of
// the host that never calls execve(2) keeps its copy. Before Linux 5.3 there is no such descriptor.
int OpenHost(const char* expected) {
  pid_t parent = ::getppid();
  int fd = PidfdOpen(parent);
  // A host that died before this line has left its child to another process.
  if (parent != ::atoi(expected) || ::getppid() != parent) ::_exit(1);
  return fd;
}

int Main(const char* host_pid) {
  CloseInherited();
  int host = OpenHost(host_pid);
  ::setsid();
  ::umask(0);
  if (::chdir("/") != 0) Die(Stage::kWorkdir, errno);
  Message message;
  if (Receive(message, true) != ReceiveResult::kMessage || message.header.type != Type::kBoot)
    return 1;
  jail::wire::Reader r(message.payload);
  BootRequest boot;
  std::uint32_t version = r.U32();
  boot.uid_map = r.String();
  boot.gid_map = r.String();
  std::uint32_t bits = r.U32();
  boot.deny_setgroups = bits & 1;
  boot.keep_base = bits & 2;
  boot.bwrap = BwrapArgv(r);
  boot.base = r;
  if (!r.ok() || version != jail::wire::kWireVersion) Die(Stage::kProtocol, EBADMSG);

  int signals = TakeSignals();
  if (boot.bwrap != nullptr && signals >= 0) {
    Ended over = Watch(StartBubblewrap(boot), signals, host, -1);
    Send(Type::kEnded, 0, &over, sizeof over);
    return 0;
  }
  int go[2];
  if (signals < 0 || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, go) != 0)
    Die(Stage::kDescriptors, errno);
  pid_t init = StartInit(boot, go, host);
  WriteMaps(init, boot);
  // Only now: the files in /proc/PID of a process that is not dumpable belong to root.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (::write(go[1], "g", 1) != 1) Die(Stage::kIdMap, errno);
  Ended ended = Watch(init, signals, host, go[1]);
  Send(Type::kEnded, 0, &ended, sizeof ended);
  return 0;
}

}  // namespace
}  // namespace cordon::launcher

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], cordon::launcher::kInitArgument) == 0) {
    ::close(cordon::jail::wire::kControlFd + 1);
    ::fcntl(cordon::jail::wire::kControlFd, F_SETFD, FD_CLOEXEC);
    ::umask(0);
    cordon::launcher::InitOptions options;
    options.by_bubblewrap = true;
    cordon::launcher::RunInit(options);
  }
  cordon::launcher::own_name = argc > 0 ? argv[0] : nullptr;
  // Nobody types this: without the words of the host library there is nothing to do.
  return argc > 3 ? cordon::launcher::Main(argv[3]) : 1;
}
