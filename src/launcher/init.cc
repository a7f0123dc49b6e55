#include "launcher/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "launcher/channel.h"
#include "launcher/exec.h"
#include "launcher/masks.h"
#include "launcher/raw.h"
#include "launcher/tree.h"
#include "launcher/view.h"
#include "launcher/watch.h"

namespace cordon::launcher {
namespace {

using jail::wire::Exited;
using jail::wire::Failure;
using jail::wire::HelperKind;
using jail::wire::kControlFd;
using jail::wire::SignalRequest;
using jail::wire::SignalScope;
using jail::wire::Stage;
using jail::wire::Type;

class Init {
 public:
  explicit Init(const InitOptions& options) : options_(options) {}
  [[noreturn]] void Run();

 private:
  void SetUp();
  void Serve();
  void Handle(Message& message);
  void StartCommand(Message& message);
  void Deliver(const Message& message);
  void Update(Message& message);
  Failure AskMonitor(HelperKind kind, const int* fds, int count);
  Failure AskForBroker(int host);
  Failure ServeMasks(int host, int& server);
  void HandleSignals();
  void Reap();
  pid_t* FindSlot(std::uint32_t exec);

  struct Slot {
    std::uint32_t exec;
    pid_t pid;
  };
  InitOptions options_;
  int base_fd_ = -1;  // mount namespace that no view was built in
  int signal_fd_ = -1;
  int masks_fd_ = -1;     // the masks of the present view (BuildView)
  int mask_server_ = -1;  // of the server of the present view's masks; -1: they are plain
  int mask_error_ = 0;    // why they are plain although the host wanted a server
  int broker_fd_ = -1;    // of the broker of the present view; -1: nothing is supervised
  int last_capability_ = 40;
  Watcher watcher_;
  Slot* slots_ = nullptr;
  std::size_t slot_count_ = 0;
  std::size_t slot_capacity_ = 0;
};

[[noreturn]] void Die(const Failure& f) {
  SendFailure(Type::kFailed, 0, f);
  ::_exit(1);
}

void Require(const Failure& f) {
  if (f.stage != Stage::kNone) Die(f);
}

Failure LoopbackUp() {
  int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  // A kernel without IPv4 has no loopback to raise; nothing is weaker for it.
  if (fd < 0) return errno == EAFNOSUPPORT ? Failure{} : Failure{Stage::kLoopback, errno, 0};
  Failure f =
      ::ioctl(fd, SIOCSIFFLAGS, &request) == 0 ? Failure{} : Failure{Stage::kLoopback, errno, 0};
  ::close(fd);
  return f;
}

Failure OwnKeyring() {
  // Kernels without keyrings answer ENOSYS: then there is none to see either.
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS)
    return Failure{Stage::kKeyring, errno, 0};
  return {};
}

int LastCapability() {
  int cap = 40;
  while (cap < 63 && ::prctl(PR_CAPBSET_READ, cap + 1, 0, 0, 0) >= 0) ++cap;
  while (cap > 0 && ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) < 0) --cap;
  return cap;
}

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Order: nothing may run before the id maps are there (files could not be created), the tree is
// private before anything is mounted, and the network and keyring are done before the first
// command.
void Init::SetUp() {
  if (options_.by_bubblewrap) {
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    Require(OwnKeyring());
    last_capability_ = LastCapability();
    Send(Type::kReady, 0, nullptr, 0);
    return;
  }
  char go;
  ssize_t n;
  do {
    n = ::read(options_.go_fd, &go, 1);
  } while (n < 0 && errno == EINTR);
  if (n != 1) ::_exit(1);
  // The monitor may have died after it wrote, but before the parent-death signal was set.
  pollfd monitor{options_.go_fd, 0, 0};
  if (::poll(&monitor, 1, 0) != 0) ::_exit(1);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::prctl(PR_SET_NAME, "cordon-init", 0, 0, 0);
  Require(MakePrivate());
  Require(LoopbackUp());
  Require(OwnKeyring());
  last_capability_ = LastCapability();
  int untouched = options_.keep_base ? ::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC) : -1;
  Require(MountStore(options_.base));
  base_fd_ = untouched;

  Message plan;
  if (Receive(plan, true) != ReceiveResult::kMessage || plan.header.type != Type::kView) ::_exit(1);
  // Early clones are descriptors; commands get their own limit back from the host.
  RaiseDescriptorLimit();
  Require(AddToStore(plan.payload));
  if (options_.keep_base && (base_fd_ < 0 || ::unshare(CLONE_NEWNS) != 0))
    Die(Failure{Stage::kUnshare, errno, 0});
  if (int host = plan.TakeFd(1); host >= 0) Require(ServeMasks(host, mask_server_));
  Require(BuildView(plan.payload, mask_server_ >= 0, masks_fd_));
  if (mask_server_ >= 0) TellSession(mask_server_);
  if (int host = plan.TakeFd(0); host >= 0) Require(AskForBroker(host));
  plan.Release();
  std::int32_t mask_error = mask_error_;
  Send(Type::kReady, 0, &mask_error, sizeof mask_error);
}

// Passes the descriptors of a helper to the monitor, which starts it: a process of this pid
// namespace could not see what it must see. All are closed here.
Failure Init::AskMonitor(HelperKind kind, const int* fds, int count) {
  bool opened = true;
  for (int i = 0; i < count; ++i) opened = opened && fds[i] >= 0;
  const bool sent = opened && SendTo(options_.go_fd, Type::kHelper,
                                     static_cast<std::uint32_t>(kind), nullptr, 0, fds, count);
  Failure f = sent ? Failure{} : Failure{Stage::kBroker, errno, 0};
  for (int i = 0; i < count; ++i)
    if (fds[i] >= 0) ::close(fds[i]);
  return f;
}

// Puts the FUSE mount in place, and has its server started; the view is built meanwhile. Where the
// mount cannot be had the plain masks stand, and the host is told why. `server` becomes the socket
// to the server, or stays -1.
Failure Init::ServeMasks(int host, int& server) {
  int device = MountServedMasks();
  if (device < 0) {
    mask_error_ = errno;
    ::close(host);
    return {};
  }
  int pair[2];
  // No command is to wait for a server that does not listen: then it does not learn whose it is.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return Failure{Stage::kMasks, errno, 0};
  int fds[] = {host, pair[1], device};
  server = pair[0];
  return AskMonitor(HelperKind::kMasks, fds, 3);
}

// `host` is the broker's socket to the host library.
Failure Init::AskForBroker(int host) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return Failure{Stage::kBroker, errno, 0};
  int fds[] = {host, pair[1], ::open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC),
               ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  Failure f = AskMonitor(HelperKind::kBroker, fds, 4);
  // The broker of an earlier view goes on until the last command of that view has ended.
  if (broker_fd_ >= 0) ::close(broker_fd_);
  broker_fd_ = pair[0];
  return f;
}

pid_t* Init::FindSlot(std::uint32_t exec) {
  for (std::size_t i = 0; i < slot_count_; ++i)
    if (slots_[i].exec == exec) return &slots_[i].pid;
  return nullptr;
}

void Init::StartCommand(Message& message) {
  if (slot_count_ == slot_capacity_) {
    std::size_t bigger = slot_capacity_ == 0 ? 16 : slot_capacity_ * 2;
    auto* grown = static_cast<Slot*>(::realloc(slots_, bigger * sizeof(Slot)));
    if (grown == nullptr) {
      SendFailure(Type::kExecFailed, message.header.exec,
                  Failure{Stage::kFork, ENOMEM, jail::wire::kNoProcess});
      return;
    }
    slots_ = grown;
    slot_capacity_ = bigger;
  }
  LiftSignalQueueLimit();
  pid_t pid = StartExec(message, last_capability_, broker_fd_, mask_server_);
  if (watcher_.active()) LimitSignalQueue();
  if (pid > 0) slots_[slot_count_++] = Slot{message.header.exec, pid};
}

void Init::Deliver(const Message& message) {
  pid_t* pid = FindSlot(message.header.exec);
  if (pid == nullptr || message.payload.size() != sizeof(SignalRequest)) return;
  SignalRequest request;
  std::memcpy(&request, message.payload.data(), sizeof request);
  switch (request.scope) {
    case SignalScope::kLeader: ::kill(*pid, request.signal); break;
    // The leader itself is named too: it may not have come as far as its own process group.
    case SignalScope::kGroup:
      if (::kill(-*pid, request.signal) != 0) ::kill(*pid, request.signal);
      break;
    case SignalScope::kTree: SignalTree(*pid, request.signal); break;
  }
}

// Builds the new view from the untouched namespace. Commands that run keep the old one; when it
// fails init goes back to it, and nothing has changed.
void Init::Update(Message& message) {
  Failure f{};
  int old_view = ::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (base_fd_ < 0 || old_view < 0 || ::setns(base_fd_, CLONE_NEWNS) != 0) {
    f = Failure{Stage::kUnshare, errno, 0};
  } else {
    f = AddToStore(message.payload);
    if (f.stage == Stage::kNone && ::unshare(CLONE_NEWNS) != 0)
      f = Failure{Stage::kUnshare, errno, 0};
    int masks = -1, server = -1;
    if (int host = message.TakeFd(1); f.stage == Stage::kNone && host >= 0)
      f = ServeMasks(host, server);
    if (f.stage == Stage::kNone) f = BuildView(message.payload, server >= 0, masks);
    if (f.stage == Stage::kNone) {
      if (server >= 0) TellSession(server);
      std::swap(server, mask_server_);
      watcher_.Clear();  // its names are those of the earlier view
      std::swap(masks, masks_fd_);
    }
    if (masks >= 0) ::close(masks);
    if (server >= 0) ::close(server);
    if (int host = message.TakeFd(0); f.stage == Stage::kNone && host >= 0) f = AskForBroker(host);
    if (f.stage != Stage::kNone && ::setns(old_view, CLONE_NEWNS) != 0) ::_exit(1);
  }
  if (old_view >= 0) ::close(old_view);
  SendFailure(f.stage == Stage::kNone ? Type::kAcknowledged : Type::kFailed, message.header.exec,
              f);
}

// One buffer. The watched directories come first: something denied may be readable until then.
void Init::HandleSignals() {
  static signalfd_siginfo info[64];
  const ssize_t n = ::read(signal_fd_, info, sizeof info);
  bool child = false;
  for (ssize_t i = 0; i < n / static_cast<ssize_t>(sizeof info[0]); ++i) {
    if (info[i].ssi_signo == SIGCHLD) {
      child = true;
    } else {
      watcher_.Note(info[i]);
    }
  }
  watcher_.HandleChanges();
  if (child) Reap();
}

void Init::Reap() {
  int status;
  rusage usage{};
  pid_t pid;
  while ((pid = ::wait4(-1, &status, WNOHANG, &usage)) > 0) {
    for (std::size_t i = 0; i < slot_count_; ++i) {
      if (slots_[i].pid != pid) continue;
      Exited e{status, 0, static_cast<std::uint64_t>(usage.ru_maxrss),
               static_cast<std::uint64_t>(usage.ru_utime.tv_sec) * 1000000u +
                   static_cast<std::uint64_t>(usage.ru_utime.tv_usec),
               static_cast<std::uint64_t>(usage.ru_stime.tv_sec) * 1000000u +
                   static_cast<std::uint64_t>(usage.ru_stime.tv_usec)};
      Send(Type::kExited, slots_[i].exec, &e, sizeof e);
      slots_[i] = slots_[--slot_count_];
      break;
    }
  }
}

void Init::Handle(Message& message) {
  switch (message.header.type) {
    case Type::kExec: StartCommand(message); break;
    case Type::kSignal: Deliver(message); break;
    case Type::kView: Update(message); break;
    case Type::kWatches: watcher_.Load(message, masks_fd_); break;
    case Type::kSuspend:
    case Type::kResume: {
      int signal = message.header.type == Type::kSuspend ? SIGSTOP : SIGCONT;
      SignalEveryone(signal);
      Failure none{};
      SendFailure(Type::kAcknowledged, message.header.exec, none);
      break;
    }
    case Type::kStop: ::_exit(0);
    default: ::_exit(1);
  }
}

void Init::Serve() {
  pollfd fds[2] = {{kControlFd, POLLIN, 0}, {signal_fd_, POLLIN, 0}};
  if (::poll(fds, 2, watcher_.Timeout()) < 0) {
    if (errno == EINTR) return;
    ::_exit(1);  // an init that cannot hear its host must not go on
  }
  if (fds[1].revents != 0) HandleSignals();
  if (fds[0].revents == 0) {
    if (watcher_.Timeout() == 0) watcher_.Continue();
    return;
  }
  Message message;
  switch (Receive(message, false)) {
    case ReceiveResult::kMessage: Handle(message); break;
    case ReceiveResult::kNothing: break;
    // The host is gone: the kernel takes every other process of the session with this one.
    case ReceiveResult::kEndOfFile:
    case ReceiveResult::kBroken: ::_exit(0);
  }
  message.Release();
}

void Init::Run() {
  sigset_t taken;
  sigemptyset(&taken);
  for (int signal : {SIGCHLD, SIGIO, ChangeSignal()}) sigaddset(&taken, signal);
  ::sigprocmask(SIG_SETMASK, &taken, nullptr);
  signal_fd_ = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd_ < 0) Die(Failure{Stage::kFork, errno, 0});
  SetUp();
  for (;;) Serve();
}

}  // namespace

void RunInit(const InitOptions& options) {
  Init init(options);
  init.Run();
}

}  // namespace cordon::launcher
