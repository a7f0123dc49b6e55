#include "cli/run_loop.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace cordon::cli {

using session::Session;

void RunLoop::Terminate(int signal) {
  if (signal_ != 0) {
    kill_now_ = true;
    return;
  }
  signal_ = signal;
  deadline_ = Clock::now() + kGrace;
  // A reader that went away is what a terminal calls a hang-up.
  const int passed = signal == SIGPIPE ? SIGHUP : signal;
  // It may have ended by itself at this moment; then its result is waiting.
  (void)session_.Signal(id_, passed, Session::Scope::kGroup);
}

void RunLoop::StopAndContinue() {
  (void)session_.Signal(id_, SIGSTOP, Session::Scope::kTree);
  relay_.Suspend();
  inbox_.StopSelf();
  relay_.Resume();
  (void)session_.Signal(id_, SIGCONT, Session::Scope::kTree);
}

void RunLoop::HandleSignals() {
  while (const auto caught = inbox_.Take()) {
    switch (ActionFor(caught->number)) {
      case SignalAction::kTerminate: Terminate(caught->number); break;
      case SignalAction::kForward:
        (void)session_.Signal(id_, caught->number, Session::Scope::kLeader);
        break;
      case SignalAction::kSuspend: StopAndContinue(); break;
      case SignalAction::kContinue:
        relay_.Resume();
        (void)session_.Signal(id_, SIGCONT, Session::Scope::kTree);
        break;
      case SignalAction::kResize: break;  // below, once for all of them
      case SignalAction::kIgnore: continue;
    }
    // The size may also have changed while this process was stopped.
    if (const auto size = relay_.WindowSize(); size && relay_.has_session_terminal()) {
      (void)session_.Resize(id_, *size);
    }
  }
}

int RunLoop::LeftMs() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

int RunLoop::Timeout() const {
  const int timeout = relay_.PollTimeout();
  if (signal_ == 0) return timeout;
  return timeout < 0 ? LeftMs() : std::min(timeout, LeftMs());
}

Status RunLoop::WaitOnce() {
  set_.clear();
  set_.push_back({session_.PollFd(), POLLIN, 0});
  set_.push_back({inbox_.fd(), POLLIN, 0});
  relay_.AddTo(set_);
  const int ready = ::poll(set_.data(), set_.size(), Timeout());
  if (ready < 0 && errno != EINTR) return ErrnoError("wait for the command");
  if (ready > 0 && set_[0].revents != 0) {
    CORDON_CHECK(session_.Dispatch(std::chrono::milliseconds(0)));
  }
  HandleSignals();
  return Ok();
}

// Waits for the reader of `fd`; true when somebody wants this process to end instead.
bool RunLoop::DrainGivesUp(int fd) {
  if (signal_ != 0 && (kill_now_ || Clock::now() >= deadline_)) return true;
  pollfd set[] = {{fd, POLLOUT, 0}, {inbox_.fd(), POLLIN, 0}};
  ::poll(set, 2, signal_ != 0 ? LeftMs() : -1);
  while (const auto caught = inbox_.Take()) {
    if (ActionFor(caught->number) != SignalAction::kTerminate) continue;
    if (signal_ == 0) signal_ = caught->number;
    return true;
  }
  return false;
}

Status RunLoop::Finish() {
  // Without an answer the summary is short of some counts, which is no reason to fail.
  if (!kill_now_) (void)session_.FlushReports();
  // First every process goes, then what they wrote is finite and can be read to its end.
  CORDON_CHECK(session_.Destroy());
  relay_.Drain([this](int fd) { return DrainGivesUp(fd); });
  return Ok();
}

Result<RunLoop::End> RunLoop::Run() {
  for (;;) {
    if (auto result = session_.TakeResult(id_)) {
      CORDON_CHECK(Finish());
      return End{*std::move(result), signal_};
    }
    if (signal_ != 0 && (kill_now_ || Clock::now() >= deadline_)) {
      CORDON_CHECK(Finish());
      return End{{}, signal_};
    }
    CORDON_CHECK(WaitOnce());
    relay_.Step();
    if (relay_.LostSignal() != 0 && signal_ == 0) Terminate(relay_.LostSignal());
  }
}

}  // namespace cordon::cli
