#include "maskfs/server.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <linux/securebits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "jail/wire_report.h"
#include "maskfs/asker.h"
#include "maskfs/mask_tree.h"
#include "notify/link.h"
#include "notify/reporter.h"

namespace cordon::maskfs {
namespace {

using jail::wire::Failure;
using jail::wire::Stage;
using jail::wire::Type;
using notify::LinkMessage;
using notify::LinkResult;

// More than any request of max_write 4096 takes.
constexpr std::size_t kBuffer = FUSE_MIN_READ_BUFFER + 4096;

class Server {
 public:
  explicit Server(const ServerOptions& options) : options_(options), reporter_(options.host) {}
  [[noreturn]] void Run();

 private:
  void Start();
  void TakeTable();
  void DropPrivileges();
  void Serve();
  void HandleHost();
  void HandleInit();
  void LoseInit();
  void HandleRequest();
  void Report(const Attempt& attempt, std::uint32_t thread);
  void Send(const Answer& answer);
  [[noreturn]] void Fail(int error);

  ServerOptions options_;
  notify::Reporter reporter_;
  std::unique_ptr<MaskTree> tree_;
  Askers askers_;
  bool init_open_ = true;
  bool host_open_ = true;
};

void Server::Fail(int error) {
  Failure failure{Stage::kMasks, error, 0};
  notify::SendLink(options_.host, Type::kBrokerFailed, 0,
                   {reinterpret_cast<const char*>(&failure), sizeof failure});
  ::_exit(1);
}

void Server::TakeTable() {
  LinkMessage message;
  if (notify::ReceiveLink(options_.host, message, true) != LinkResult::kMessage ||
      message.header.type != Type::kPolicy)
    ::_exit(1);
  auto table = DecodeMasks(message.payload);
  if (!table) Fail(EBADMSG);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tree_ = std::make_unique<MaskTree>(std::move(*table), static_cast<std::uint64_t>(now.tv_sec));
}

// What it may read of the session's processes it may as the owner of their user namespace.
void Server::DropPrivileges() {
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  // An ordinary user may not set them, and has nothing that they would keep.
  if (::prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) != 0 && errno != EPERM) Fail(errno);
  for (int cap = 0; ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap)
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 && errno != EPERM) Fail(errno);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (::syscall(SYS_capset, &header, none) != 0) Fail(errno);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail(errno);
  // A change of credentials may have given both back.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != options_.monitor) ::_exit(1);
}

void Server::Start() {
  ::prctl(PR_SET_NAME, "cordon-masks", 0, 0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // A request may be taken back between poll(2) and read(2), which would then wait.
  const int flags = ::fcntl(options_.device, F_GETFL);
  if (flags < 0 || ::fcntl(options_.device, F_SETFL, flags | O_NONBLOCK) != 0) Fail(errno);
  DropPrivileges();
  TakeTable();
}

void Server::HandleHost() {
  LinkMessage message;
  switch (notify::ReceiveLink(options_.host, message, false)) {
    case LinkResult::kNothing: return;
    case LinkResult::kEndOfFile:
    case LinkResult::kBroken: host_open_ = false; return;
    case LinkResult::kMessage: break;
  }
  if (message.header.type != Type::kFlush) return;
  reporter_.Flush();
  notify::SendLink(options_.host, Type::kFlushed, message.header.exec, {});
}

// The kernel takes the mounts away some time after the session's end, which nobody is to wait for.
// An init that goes on has another view now; commands of this one may be left.
void Server::LoseInit() {
  init_open_ = false;
  if (!askers_.SessionEnds()) return;
  reporter_.Flush();
  ::_exit(0);
}

void Server::HandleInit() {
  LinkMessage message;
  for (;;) {
    switch (notify::ReceiveLink(options_.init, message, false)) {
      case LinkResult::kNothing: return;
      case LinkResult::kEndOfFile:
      case LinkResult::kBroken: LoseInit(); return;
      case LinkResult::kMessage: break;
    }
    if (message.header.type == Type::kSessionProc && message.fds.size() == 2) {
      askers_.SetSession(std::move(message.fds[0]), std::move(message.fds[1]));
    } else if (message.header.type == Type::kExecLeader &&
               message.payload.size() == sizeof(std::uint32_t)) {
      std::uint32_t pid = 0;
      std::memcpy(&pid, message.payload.data(), sizeof pid);
      askers_.AddLeader(pid, message.header.exec);
    }
  }
}

void Server::Report(const Attempt& attempt, std::uint32_t thread) {
  // What init and the commands said comes before what the commands do.
  if (init_open_) HandleInit();
  Asker asker = askers_.Find(thread);
  notify::Denial denial;
  denial.action = jail::wire::Action::kFileRead;
  denial.exec = asker.exec;
  denial.rule = attempt.mask->rule;
  denial.error = attempt.error;
  denial.call = attempt.call;
  denial.target = attempt.mask->path;
  if (!attempt.name.empty()) (denial.target += '/') += attempt.name;
  denial.program = std::move(asker.program);
  if (attempt.error == 0) denial.reason = "it reads as an empty file";
  denial.host_pid = asker.host_pid;
  denial.pid = asker.pid;
  if (reporter_.Count(denial)) reporter_.Send(denial);
}

void Server::Send(const Answer& answer) {
  fuse_out_header header{};
  header.len = static_cast<std::uint32_t>(sizeof header + answer.body.size());
  header.error = -answer.error;
  header.unique = answer.unique;
  iovec parts[2] = {{&header, sizeof header},
                    {const_cast<char*>(answer.body.data()), answer.body.size()}};
  // ENOENT: the one who asked was killed meanwhile.
  if (::writev(options_.device, parts, answer.body.empty() ? 1 : 2) >= 0 || errno == ENOENT) return;
  if (errno == ENODEV) return;
  // An answer that the kernel does not take would leave its process waiting.
  header.len = sizeof header;
  header.error = -EIO;
  [[maybe_unused]] const ssize_t ignored = ::writev(options_.device, parts, 1);
}

void Server::HandleRequest() {
  alignas(8) static char buffer[kBuffer];
  const ssize_t n = ::read(options_.device, buffer, sizeof buffer);
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ENOENT) return;
    // The last mount is gone; anything else is a fault that only the end of the session mends.
    if (errno != ENODEV) ::_exit(1);
    reporter_.Flush();
    ::_exit(0);
  }
  const Answer answer = tree_->Ask({buffer, static_cast<std::size_t>(n)});
  // The launcher is the session's process 1; another number is the host's.
  if (answer.from_launcher && answer.pid > 1) askers_.UseHostIds();
  // The broker, and whoever else looks from outside, has no number inside.
  if (answer.attempt && answer.pid != 0) Report(*answer.attempt, answer.pid);
  if (answer.send) Send(answer);
}

void Server::Serve() {
  pollfd fds[3] = {{options_.device, POLLIN, 0},
                   {init_open_ ? options_.init : -1, POLLIN, 0},
                   {host_open_ ? options_.host : -1, POLLIN, 0}};
  constexpr int kRetry = 50;  // milliseconds
  const int ready = ::poll(fds, 3, reporter_.waiting() && host_open_ ? kRetry : -1);
  if (ready < 0 && errno != EINTR) ::_exit(1);
  if (ready <= 0) {
    reporter_.Flush();
    return;
  }
  if (fds[0].revents != 0) HandleRequest();
  if (fds[1].revents != 0) HandleInit();
  if (fds[2].revents != 0) HandleHost();
}

void Server::Run() {
  Start();
  for (;;) Serve();
}

}  // namespace

void RunServer(const ServerOptions& options) {
  Server server(options);
  server.Run();
}

}  // namespace cordon::maskfs
