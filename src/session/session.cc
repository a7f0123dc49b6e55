#include "session/session.h"

#include <sys/ioctl.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>

#include "jail/filter.h"
#include "session/session_impl.h"
#include "session/stage_text.h"

namespace cordon::session {

const char* StateName(State state) {
  switch (state) {
    case State::kCreated: return "created";
    case State::kWarm: return "warm";
    case State::kActive: return "active";
    case State::kSuspended: return "suspended";
    case State::kDestroyed: return "destroyed";
    case State::kError: return "error";
  }
  return "error";
}

int ExecResult::ShellStatus() const {
  if (timed_out) return 124;
  if (signal) return 128 + *signal;
  return exit_code.value_or(125);
}

void Session::Impl::Emit(const std::string& type, std::optional<ExecId> exec,
                         std::map<std::string, std::string> text,
                         std::map<std::string, std::int64_t> numbers) {
  if (!options.on_event) return;
  Event event{type,
              id,
              exec,
              ++sequence,
              std::chrono::system_clock::now(),
              std::move(text),
              std::move(numbers)};
  options.on_event(event);
}

void Session::Impl::SetState(State next) {
  if (state == next) return;
  state = next;
  Emit("state", std::nullopt, {{"state", StateName(next)}});
}

Status Session::Impl::Ask(jail::wire::Type type, std::string_view payload,
                          const std::vector<int>& fds) {
  answered = false;
  answer_failure.reset();
  ++request_number;
  CORDON_CHECK(channel.Send(type, request_number, payload, fds));
  while (!answered) {
    CORDON_CHECK(DispatchOnce(std::chrono::milliseconds(-1)));
    if (gone) return MakeError(ErrorCode::kNotFound, "the session has ended");
  }
  return Ok();
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() { [[maybe_unused]] Status ignored = Destroy(); }

Result<std::unique_ptr<Session>> Session::Launch(const policy::SandboxSpec& spec,
                                                 LaunchOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->id = spec.session_id;
  impl->options = std::move(options);
  if (Status started = impl->Start(spec); !started.ok()) {
    impl->SetState(State::kError);
    return std::move(started).error();
  }
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

const std::string& Session::id() const { return impl_->id; }
State Session::state() const { return impl_->state; }
const policy::EffectivePolicy& Session::policy() const { return impl_->prepared.policy; }
int Session::monitor_pid() const { return impl_->monitor; }
const std::vector<std::string>& Session::details() const { return impl_->prepared.details; }

Result<ExecId> Session::Exec(ExecRequest request) { return impl_->StartExec(std::move(request)); }

Status Session::Signal(ExecId id, int signal, Scope scope) {
  auto it = impl_->execs.find(id);
  if (it == impl_->execs.end())
    return MakeError(ErrorCode::kNotFound, "no exec " + std::to_string(id));
  return impl_->SendSignal(it->second, signal, scope);
}

int Session::TerminalFd(ExecId id) const {
  auto it = impl_->execs.find(id);
  return it == impl_->execs.end() ? -1 : it->second.terminal.get();
}

Status Session::Resize(ExecId id, WindowSize size) {
  int fd = TerminalFd(id);
  if (fd < 0) return MakeError(ErrorCode::kNotFound, "the exec has no terminal");
  winsize window{};
  window.ws_row = size.rows;
  window.ws_col = size.columns;
  if (::ioctl(fd, TIOCSWINSZ, &window) != 0) return ErrnoError("TIOCSWINSZ");
  return Ok();
}

const ViolationLog& Session::violations() const { return impl_->violations; }
Status Session::FlushReports() { return impl_->FlushReports(); }

int Session::PollFd() const { return impl_->epoll.get(); }
Status Session::Dispatch(std::chrono::milliseconds timeout) { return impl_->DispatchOnce(timeout); }

std::optional<ExecResult> Session::TakeResult(ExecId id) {
  auto it = impl_->execs.find(id);
  if (it == impl_->execs.end() || !it->second.Finished()) return std::nullopt;
  ExecResult result = std::move(it->second.result);
  impl_->execs.erase(it);
  return result;
}

Result<ExecResult> Session::Wait(ExecId id) {
  for (;;) {
    if (impl_->execs.find(id) == impl_->execs.end())
      return MakeError(ErrorCode::kNotFound, "no exec " + std::to_string(id));
    if (auto result = TakeResult(id)) return std::move(*result);
    CORDON_CHECK(impl_->DispatchOnce(std::chrono::milliseconds(-1)));
  }
}

Status Session::Suspend() {
  if (impl_->state != State::kWarm && impl_->state != State::kActive)
    return MakeError(ErrorCode::kInvalid,
                     std::string("no suspend in state ") + StateName(impl_->state));
  CORDON_CHECK(impl_->Ask(jail::wire::Type::kSuspend, {}));
  impl_->SetState(State::kSuspended);
  return Ok();
}

Status Session::Resume() {
  if (impl_->state != State::kSuspended)
    return MakeError(ErrorCode::kInvalid,
                     std::string("no resume in state ") + StateName(impl_->state));
  CORDON_CHECK(impl_->Ask(jail::wire::Type::kResume, {}));
  bool running = std::any_of(impl_->execs.begin(), impl_->execs.end(),
                             [](const auto& e) { return !e.second.exited; });
  impl_->SetState(running ? State::kActive : State::kWarm);
  return Ok();
}

Status Session::Update(const policy::SandboxSpec& spec) {
  if (impl_->options.single_policy)
    return MakeError(ErrorCode::kUnsupported, "the session was launched with a single policy",
                     "launch it without single_policy");
  if (impl_->state != State::kWarm && impl_->state != State::kActive)
    return MakeError(ErrorCode::kInvalid,
                     std::string("no update in state ") + StateName(impl_->state));
  if (!HasWriteFence())
    return MakeError(ErrorCode::kUnsupported,
                     "a changed policy cannot be held beside processes that keep the old one: that "
                     "needs Landlock of Linux 5.19",
                     "destroy the session and launch another");
  CORDON_TRY(Prepared next, Prepare(spec, impl_->options));
  const std::size_t brokers = impl_->brokers.size();
  CORDON_TRY(UniqueFd theirs, impl_->OpenBroker(next));
  std::vector<int> fds;
  if (theirs.valid()) fds.push_back(theirs.get());
  CORDON_TRY(UniqueFd mask_servers_end, impl_->OpenMaskServer(next));
  if (mask_servers_end.valid()) fds.push_back(mask_servers_end.get());
  CORDON_CHECK(impl_->Ask(jail::wire::Type::kView, Encode(next.plan), fds));
  theirs.reset();
  if (impl_->answer_failure) {
    while (impl_->brokers.size() > brokers) impl_->brokers.pop_back();
    return Annotate(LaunchError(*impl_->answer_failure, &next.plan), "update");
  }
  auto old = std::make_shared<policy::EffectivePolicy>(std::move(impl_->prepared.policy));
  for (std::size_t i = 0; i < brokers; ++i)
    if (impl_->brokers[i].policy == nullptr) impl_->brokers[i].policy = old;
  impl_->prepared = std::move(next);
  impl_->violations.SetFilter(impl_->prepared.ignored);
  return impl_->SendWatches(impl_->prepared);
}

Status Session::Destroy() {
  if (impl_->monitor < 0) return Ok();
  if (impl_->channel.open()) {
    // EPIPE: it is ending already.
    [[maybe_unused]] Status stopped = impl_->channel.Send(jail::wire::Type::kStop, 0, {});
    impl_->channel.Close();
  }
  impl_->ReapMonitor(false);
  for (auto& [id, exec] : impl_->execs) {
    if (exec.exited) continue;
    exec.result.signal = 9;
    exec.result.killed_reason = "manual";
    impl_->FinishExec(exec);
  }
  impl_->SetState(State::kDestroyed);
  return Ok();
}

}  // namespace cordon::session
