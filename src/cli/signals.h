// Signals of `cordon run` as events of its poll loop.
//
// Handlers write to a pipe. They are handlers, not a blocked mask or SIG_IGN, because execve(2)
// resets handlers: nothing that is started inherits anything from here.
#pragma once

#include <csignal>

#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cordon::cli {

// What a signal asks of `cordon run`. Pure.
enum class SignalAction {
  kTerminate,  // pass it on, then end everything: INT, TERM, HUP, QUIT
  kForward,    // pass it on: USR1, USR2
  kSuspend,    // stop the command, give the terminal back, stop: TSTP
  kContinue,   // CONT
  kResize,     // WINCH
  kIgnore,     // PIPE and everything else
};
SignalAction ActionFor(int signal);

struct CaughtSignal {
  int number = 0;
  bool from_terminal = false;  // by a key (Ctrl-C), not by kill(2)
};

class SignalInbox {
 public:
  // Installs the handlers; they are taken away again by the destructor. At most one object at a
  // time in a process.
  static Result<std::unique_ptr<SignalInbox>> Install();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  // Readable when Take() has something.
  int fd() const { return read_end_.get(); }
  // The next signal, in order; nullopt when there is none. A key's SIGINT or SIGQUIT, or any
  // SIGHUP, that the caller had ignored (nohup, a background job of a script) counts for nothing.
  std::optional<CaughtSignal> Take();
  // Takes everything; the number of the first signal whose action is kTerminate, if any.
  std::optional<int> TakeTermination();
  // True once a signal whose action is kTerminate has come, taken or not.
  static bool TerminationSeen();

  // Stops this process as SIGTSTP would; returns when it is continued.
  void StopSelf();

 private:
  SignalInbox() = default;
  UniqueFd read_end_, write_end_;
  struct Saved {
    int number;
    struct sigaction action;
  };
  std::vector<Saved> saved_;
};

}  // namespace cordon::cli
