// The poll loop of `cordon run`: the session, the signals of this process and the relay.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/error.h"
#include "cli/signals.h"
#include "cli/terminal_relay.h"
#include "session/session.h"

namespace cordon::cli {

class RunLoop {
 public:
  struct End {
    session::ExecResult result;  // meaningless when `signal` is set
    int signal = 0;              // the terminating signal that this process got
  };

  RunLoop(session::Session& session, session::ExecId id, TerminalRelay& relay, SignalInbox& inbox)
      : session_(session), id_(id), relay_(relay), inbox_(inbox) {}

  // Until the command has ended and its output is written. A terminating signal is passed on; two
  // seconds after it, or at the next one, the session is destroyed. The session is destroyed in
  // every case: what the command left in the background ends with it.
  Result<End> Run();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kGrace{2};

  void HandleSignals();
  void Terminate(int signal);
  void StopAndContinue();
  int LeftMs() const;  // until `deadline_`
  int Timeout() const;
  Status WaitOnce();
  Status Finish();
  bool DrainGivesUp(int fd);

  session::Session& session_;
  session::ExecId id_;
  TerminalRelay& relay_;
  SignalInbox& inbox_;
  std::vector<pollfd> set_;
  int signal_ = 0;  // the first terminating signal
  bool kill_now_ = false;
  Clock::time_point deadline_{};
};

}  // namespace cordon::cli
