#include "notify/broker.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "jail/wire_report.h"
#include "notify/handler.h"
#include "notify/link.h"
#include "policy/policy_codec.h"

namespace cordon::notify {
namespace {

using jail::wire::Failure;
using jail::wire::Reader;
using jail::wire::Stage;
using jail::wire::Type;

struct Listener {
  UniqueFd fd;
  std::uint32_t exec = 0;
  UmaskCache umask;
};

class Broker {
 public:
  explicit Broker(const BrokerOptions& options) : options_(options) {}
  [[noreturn]] void Run();

 private:
  void Start();
  void TakePolicy();
  void EnterSession();
  void DropPrivileges();
  void Serve();
  void HandleHost();
  void HandleInit();
  void AnswerOne(Listener& listener);
  void ReapHelpers();
  [[noreturn]] void Fail(int error);

  BrokerOptions options_;
  SessionState session_;
  std::vector<Listener> listeners_;
  std::vector<pollfd> polled_;
  bool init_open_ = true;
  bool host_open_ = true;
};

void Broker::Fail(int error) {
  Failure failure{Stage::kBroker, error, 0};
  SendLink(options_.host, Type::kBrokerFailed, 0,
           {reinterpret_cast<const char*>(&failure), sizeof failure});
  ::_exit(1);
}

void Broker::TakePolicy() {
  LinkMessage message;
  if (ReceiveLink(options_.host, message, true) != LinkResult::kMessage ||
      message.header.type != Type::kPolicy)
    ::_exit(1);
  Reader reader(message.payload);
  auto policy = policy::DecodePolicy(reader.String());
  if (!policy.ok()) Fail(EBADMSG);
  session_.policy = std::move(*policy);
  for (std::uint32_t n = reader.U32(); n > 0 && reader.ok(); --n) {
    RefusedProgram program;
    program.path = std::string(reader.String());
    program.reason = std::string(reader.String());
    session_.refused_names.insert(program.path.substr(program.path.rfind('/') + 1));
    session_.refused_programs.emplace(program.path, program);
  }
  if (!reader.ok()) Fail(EBADMSG);
}

// The outer /proc must be open before: inside there is another one, that does not know the broker.
void Broker::EnterSession() {
  UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!proc.valid()) Fail(errno);
  if (::setns(options_.user_namespace, CLONE_NEWUSER) != 0 || ::fchdir(options_.root) != 0 ||
      ::chroot(".") != 0)
    Fail(errno);
  ::close(options_.user_namespace);
  ::close(options_.root);
  struct stat st{};
  session_.walker = std::make_unique<Walker>(::stat("/proc", &st) == 0 ? st.st_dev : 0);
  if (::fchdir(proc.get()) != 0) Fail(errno);
  KeepOuterProc(proc.release());
}

// CAP_SYS_PTRACE reaches the memory and descriptors of the session's processes, also where Yama
// lets a process look only at its descendants; in no other user namespace does it mean anything.
void Broker::DropPrivileges() {
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (::prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) != 0) Fail(errno);
  for (int cap = 0; ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap)
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) Fail(errno);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  data[0].permitted = data[0].effective = 1u << CAP_SYS_PTRACE;
  if (::syscall(SYS_capset, &header, data) != 0) Fail(errno);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail(errno);
  // This was given back by the change of credentials.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // Without the monitor init dies, and with it every command; only then is there nothing to answer
  // any more. A broker that was stopped must hear of it.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
  if (::getppid() != options_.monitor) ::_exit(1);
}

void Broker::Start() {
  ::prctl(PR_SET_NAME, "cordon-broker", 0, 0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // A file that a limit would cut is the caller's matter.
  ::signal(SIGXFSZ, SIG_IGN);
  struct sigaction nothing{};  // it ends a call that waits, so that none is to be restarted
  nothing.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &nothing, nullptr);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  session_.reporter = std::make_unique<Reporter>(options_.host);
  TakePolicy();
  EnterSession();
  DropPrivileges();
  session_.umask = ::umask(0);
  ::umask(session_.umask);
  session_.judge = std::make_unique<policy::NameJudge>(session_.policy, session_.view);
  SendLink(options_.host, Type::kBrokerReady, 0, {});
}

void Broker::HandleHost() {
  LinkMessage message;
  switch (ReceiveLink(options_.host, message, false)) {
    case LinkResult::kNothing: return;
    case LinkResult::kEndOfFile:
    case LinkResult::kBroken: host_open_ = false; return;
    case LinkResult::kMessage: break;
  }
  if (message.header.type != Type::kFlush) return;
  session_.reporter->Flush();
  SendLink(options_.host, Type::kFlushed, message.header.exec, {});
}

void Broker::HandleInit() {
  LinkMessage message;
  switch (ReceiveLink(options_.init, message, false)) {
    case LinkResult::kNothing: return;
    case LinkResult::kEndOfFile:
    case LinkResult::kBroken: init_open_ = false; return;
    case LinkResult::kMessage: break;
  }
  if (message.header.type != Type::kListener || message.fds.size() != 1 ||
      message.payload.size() != sizeof(std::uint32_t))
    return;
  std::uint32_t umask = 0;
  std::memcpy(&umask, message.payload.data(), sizeof umask);
  // The caller runs on this processor as soon as it is answered, and the broker after it.
  ::ioctl(message.fds[0].get(), kNotifSetFlags, kSyncWakeUp);
  listeners_.push_back({std::move(message.fds[0]), message.header.exec, UmaskCache(umask)});
}

void Broker::AnswerOne(Listener& listener) {
  NotificationBuffer buffer;
  if (!ReceiveNotification(listener.fd.get(), buffer)) return;
  Caller caller(listener.fd.get(), buffer.notification);
  listener.umask.Seen(caller.thread());
  Answer answer = [&] {
    try {
      return Handler(session_, listener.umask, caller, listener.exec).Handle();
    } catch (const std::bad_alloc&) {
      return Answer::Error(ENOMEM);
    }
  }();
  SendAnswer(caller, answer);
}

void Broker::ReapHelpers() {
  int status = 0;
  pid_t pid;
  while (!session_.helpers.empty() && (pid = ::waitpid(-1, &status, WNOHANG)) > 0)
    std::erase_if(session_.helpers, [pid](const Helper& h) { return h.pid == pid; });
  for (const Helper& h : session_.helpers) {
    // One whose caller was killed would wait for ever.
    const bool waits = IsValid(h.listener, h.id);
    const bool interrupted = waits && SignalPending(h.thread);
    if (waits && !interrupted) continue;
    ::kill(h.pid, SIGKILL);
    // The kernel makes of it what the signal's handler says: EINTR, or the call once more.
    constexpr int kRestart = 512;  // ERESTARTSYS
    if (interrupted) Respond(h.listener, h.id, 0, kRestart, 0);
  }
}

void Broker::Serve() {
  polled_.clear();
  polled_.push_back({host_open_ ? options_.host : -1, POLLIN, 0});
  polled_.push_back({init_open_ ? options_.init : -1, POLLIN, 0});
  for (const Listener& l : listeners_) polled_.push_back({l.fd.get(), POLLIN, 0});
  constexpr int kRetry = 50, kHelperLook = 50;  // milliseconds
  const int timeout = session_.reporter->waiting() ? kRetry
                      : session_.helpers.empty()   ? -1
                                                   : kHelperLook;
  int ready = ::poll(polled_.data(), polled_.size(), timeout);
  if (ready < 0 && errno != EINTR) ::_exit(1);
  if (!session_.helpers.empty()) ReapHelpers();
  if (ready <= 0) {
    if (session_.reporter->waiting()) session_.reporter->Flush();
    return;
  }
  const std::size_t count = listeners_.size();
  bool ended = false;
  for (std::size_t i = 0; i < count; ++i) {
    const short events = polled_[i + 2].revents;
    if ((events & POLLIN) != 0)
      AnswerOne(listeners_[i]);
    else if ((events & (POLLHUP | POLLERR)) != 0)
      listeners_[i].fd.reset(), ended = true;
  }
  if (ended) {
    session_.reporter->Flush();
    listeners_.erase(std::remove_if(listeners_.begin(), listeners_.end(),
                                    [](const Listener& l) { return !l.fd.valid(); }),
                     listeners_.end());
  }
  if (polled_[0].revents != 0) HandleHost();
  if (polled_[1].revents != 0) HandleInit();
}

void Broker::Run() {
  Start();
  while (init_open_ || !listeners_.empty()) Serve();
  session_.reporter->Flush();
  ::_exit(0);
}

}  // namespace

void RunBroker(const BrokerOptions& options) {
  Broker broker(options);
  broker.Run();
}

}  // namespace cordon::notify
