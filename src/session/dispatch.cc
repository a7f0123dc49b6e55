// What arrives: messages of init and monitor, captured output, time limits.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "session/session_impl.h"
#include "session/stage_text.h"

namespace cordon::session {
namespace {

// None: it is of no exec that the reporter knows of.
std::optional<ExecId> ExecOf(const Violation& violation) {
  return violation.exec != 0 ? std::optional<ExecId>(violation.exec) : std::nullopt;
}

template <typename T>
T PayloadAs(const IncomingMessage& message) {
  T value{};
  std::memcpy(&value, message.payload.data(), std::min(sizeof value, message.payload.size()));
  return value;
}

}  // namespace

Status Session::Impl::Watch(int fd, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) return ErrnoError("epoll_ctl");
  return Ok();
}

Status Session::Impl::DispatchOnce(std::chrono::milliseconds timeout) {
  epoll_event events[16];
  int n = ::epoll_wait(epoll.get(), events, 16, static_cast<int>(timeout.count()));
  if (n < 0 && errno == EINTR) return Ok();
  if (n < 0) return ErrnoError("epoll_wait");
  for (int i = 0; i < n; ++i) {
    std::uint64_t tag = events[i].data.u64;
    if (tag == kTagControl) {
      IncomingMessage message;
      Channel::Outcome outcome = Channel::Outcome::kNothing;
      while (!gone && (outcome = channel.Receive(message)) == Channel::Outcome::kMessage)
        HandleMessage(message);
      if (outcome == Channel::Outcome::kEndOfFile && !gone) HandleGone();
    } else if (tag >= kTagBrokers && tag < kTagBrokers + brokers.size()) {
      ReadBroker(tag - kTagBrokers);
    } else if (tag == kTagTimer) {
      std::uint64_t ticks;
      [[maybe_unused]] ssize_t ignored = ::read(timer.get(), &ticks, sizeof ticks);
      CheckDeadlines();
    } else if (auto it = execs.find(tag / 2); it != execs.end()) {
      ReadCapture(it->second, static_cast<int>(tag % 2));
    }
  }
  return Ok();
}

void Session::Impl::TakeReport(const BrokerLink& broker, std::string_view payload) {
  bool ok = false;
  const jail::wire::Report report = jail::wire::ReadReport(payload, ok);
  if (!ok) return;
  const policy::EffectivePolicy& decided_by =
      broker.policy != nullptr ? *broker.policy : prepared.policy;
  const Violation* violation = violations.Add(report, decided_by);
  if (violation == nullptr || !options.on_event) return;
  EventParts parts = EventPartsOf(*violation);
  Emit(parts.type, ExecOf(*violation), std::move(parts.text), std::move(parts.numbers));
}

void Session::Impl::ReadBroker(std::size_t index) {
  using jail::wire::Type;
  BrokerLink& broker = brokers[index];
  IncomingMessage message;
  Channel::Outcome outcome = Channel::Outcome::kNothing;
  while (broker.channel.open() &&
         (outcome = broker.channel.Receive(message)) == Channel::Outcome::kMessage) {
    switch (message.header.type) {
      case Type::kReport: TakeReport(broker, message.payload); break;
      case Type::kBrokerFailed: broker_failure = PayloadAs<jail::wire::Failure>(message); break;
      case Type::kFlushed: broker.flushed = true; break;
      default: break;
    }
  }
  // The end of a broker that is still needed is noticed by the monitor, which ends the session.
  if (outcome != Channel::Outcome::kEndOfFile) return;
  ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, broker.channel.fd(), nullptr);
  broker.channel.Close();
  broker.flushed = true;
}

Status Session::Impl::FlushReports() {
  constexpr std::chrono::seconds kPatience{2};
  const auto limit = Clock::now() + kPatience;
  for (BrokerLink& broker : brokers) {
    if (!broker.channel.open()) continue;
    broker.flushed = false;
    // EPIPE: it is ending, and has said everything before.
    [[maybe_unused]] Status asked = broker.channel.Send(jail::wire::Type::kFlush, 0, {});
  }
  const auto waiting = [&] {
    return std::any_of(brokers.begin(), brokers.end(), [](const auto& b) { return !b.flushed; });
  };
  while (waiting()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now());
    if (left.count() <= 0)
      return MakeError(ErrorCode::kTimeout, "the supervisor did not answer within 2 s");
    CORDON_CHECK(DispatchOnce(left));
  }
  for (const Violation& violation : violations.TakeUnsaid()) {
    EventParts parts = EventPartsOf(violation);
    Emit(parts.type, ExecOf(violation), std::move(parts.text), std::move(parts.numbers));
  }
  return Ok();
}

void Session::Impl::HandleMessage(IncomingMessage& message) {
  using jail::wire::Type;
  auto it = execs.find(message.header.exec);
  ExecRecord* exec = it == execs.end() ? nullptr : &it->second;
  switch (message.header.type) {
    case Type::kReady:
      ready = true;
      if (const auto error = PayloadAs<std::int32_t>(message); error != 0)
        prepared.details.push_back(MasksArePlain(error));
      break;
    case Type::kFailed:
      if (!ready) {
        launch_failure = PayloadAs<jail::wire::Failure>(message);
      } else if (message.header.exec == request_number) {
        answered = true;
        answer_failure = PayloadAs<jail::wire::Failure>(message);
      }
      break;
    case Type::kAcknowledged:
      if (message.header.exec == request_number) answered = true;
      break;
    case Type::kStarted:
      if (exec == nullptr) break;
      exec->started = true;
      exec->inner_pid = PayloadAs<std::int32_t>(message);
      if (!message.fds.empty()) exec->terminal = std::move(message.fds[0]);
      break;
    case Type::kExecFailed: {
      if (exec == nullptr) break;
      auto failure = PayloadAs<jail::wire::Failure>(message);
      exec->result.start_error = ExecError(failure, exec->program, exec->workdir);
      bool lookup = failure.stage == jail::wire::Stage::kExecve ||
                    failure.stage == jail::wire::Stage::kInterpreter;
      exec->result.exit_code =
          !lookup                                                                  ? 125
          : failure.stage == jail::wire::Stage::kExecve && failure.error == ENOENT ? 127
                                                                                   : 126;
      if (failure.operation == jail::wire::kNoProcess) FinishExec(*exec);
      break;
    }
    case Type::kExited: {
      if (exec == nullptr || exec->exited) break;
      auto exited = PayloadAs<jail::wire::Exited>(message);
      ExecResult& result = exec->result;
      if (!result.start_error) {
        if (WIFSIGNALED(exited.wait_status)) {
          result.signal = WTERMSIG(exited.wait_status);
        } else {
          result.exit_code = WEXITSTATUS(exited.wait_status);
        }
      }
      result.max_rss_kib = exited.max_rss_kib;
      result.user_us = exited.user_us;
      result.system_us = exited.system_us;
      FinishExec(*exec);
      break;
    }
    case Type::kWatchFailed: NoteWatchFailure(message.payload); break;
    case Type::kEnded: ended = PayloadAs<jail::wire::Ended>(message); break;
    default: break;
  }
}

// What is in a capture pipe at the end is taken; what a background process writes later is not.
void Session::Impl::FinishExec(ExecRecord& exec) {
  exec.exited = true;
  exec.deadline.reset();
  for (int i = 0; i < 2; ++i) {
    if (exec.captures[i].fd.valid()) ReadCapture(exec, i);
    exec.captures[i].fd.reset();
  }
  std::map<std::string, std::int64_t> numbers = {
      {"maxRssKiB", static_cast<std::int64_t>(exec.result.max_rss_kib)},
      {"userMicroseconds", static_cast<std::int64_t>(exec.result.user_us)},
      {"systemMicroseconds", static_cast<std::int64_t>(exec.result.system_us)}};
  std::map<std::string, std::string> text;
  if (exec.result.exit_code) numbers["exitCode"] = *exec.result.exit_code;
  if (exec.result.signal) numbers["signal"] = *exec.result.signal;
  if (exec.result.start_error) text["error"] = exec.result.start_error->ToString();
  if (!exec.result.killed_reason.empty())
    Emit("killed", exec.id, {{"reason", exec.result.killed_reason}});
  Emit("exit", exec.id, std::move(text), std::move(numbers));
  bool running = false;
  for (const auto& [id_, other] : execs) running = running || !other.exited;
  if (!running && state == State::kActive) SetState(State::kWarm);
}

void Session::Impl::ReadCapture(ExecRecord& exec, int index) {
  auto& capture = exec.captures[index];
  std::string& kept = index == 0 ? exec.result.stdout_data : exec.result.stderr_data;
  bool& truncated = index == 0 ? exec.result.stdout_truncated : exec.result.stderr_truncated;
  std::string chunk(64 * 1024, '\0');
  // Bounded, so that one flood does not starve the other execs; the rest is still readable.
  for (int round = 0; round < 16; ++round) {
    ssize_t n = ::read(capture.fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      capture.fd.reset();
      return;
    }
    std::string_view data(chunk.data(), static_cast<std::size_t>(n));
    std::size_t room = exec.capture_limit > kept.size() ? exec.capture_limit - kept.size() : 0;
    truncated = truncated || data.size() > room;
    kept.append(data.substr(0, room));
    if (options.on_event)
      Emit(index == 0 ? "stdout" : "stderr", exec.id, {{"data", std::string(data)}});
  }
}

void Session::Impl::HandleGone() {
  gone = true;
  for (std::size_t i = 0; i < brokers.size(); ++i) ReadBroker(i);
  std::string reason = "parent-gone";
  if (ended && ended->reason == jail::wire::EndReason::kManual) reason = "manual";
  if (ended && ended->reason == jail::wire::EndReason::kInitDied) reason = "session-init-died";
  if (ended && ended->reason == jail::wire::EndReason::kBrokerDied)
    reason = "session-supervisor-died";
  if (!ended) reason = "session-monitor-died";
  for (auto& [exec_id, exec] : execs) {
    if (exec.exited) continue;
    exec.result.signal = SIGKILL;
    exec.result.killed_reason = reason;
    // Cordon's own failure, not the command's.
    if (broker_failure) exec.result.start_error = LaunchError(*broker_failure, nullptr);
    if (broker_failure || reason == "session-supervisor-died") {
      exec.result.signal.reset();
      exec.result.exit_code = 125;
    }
    FinishExec(exec);
  }
  ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, channel.fd(), nullptr);
  channel.Close();
  if (ready && state != State::kDestroyed) SetState(State::kDestroyed);
}

void Session::Impl::CheckDeadlines() {
  auto now = Clock::now();
  bool session_over = session_deadline && now >= *session_deadline;
  if (session_over) session_deadline.reset();
  for (auto& [exec_id, exec] : execs) {
    if (exec.exited) continue;
    bool over = session_over || (exec.deadline && now >= *exec.deadline);
    if (!over) continue;
    exec.result.timed_out = true;
    exec.result.killed_reason = "time-limit";
    Status sent = SendSignal(exec, exec.terminated ? SIGKILL : SIGTERM, Scope::kTree);
    // A stopped process would not act on SIGTERM.
    if (sent.ok() && !exec.terminated) sent = SendSignal(exec, SIGCONT, Scope::kTree);
    exec.deadline = now + exec.grace;
    exec.terminated = true;
  }
  ArmTimer();
}

void Session::Impl::ArmTimer() {
  std::optional<Clock::time_point> next = session_deadline;
  for (const auto& [exec_id, exec] : execs)
    if (exec.deadline && (!next || *exec.deadline < *next)) next = exec.deadline;
  itimerspec spec{};
  if (next) {
    auto left = std::max<std::int64_t>(
        1, std::chrono::duration_cast<std::chrono::nanoseconds>(*next - Clock::now()).count());
    spec.it_value.tv_sec = left / 1'000'000'000;
    spec.it_value.tv_nsec = left % 1'000'000'000;
  }
  ::timerfd_settime(timer.get(), 0, &spec, nullptr);
}

}  // namespace cordon::session
