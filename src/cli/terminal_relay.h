// Carries bytes between the caller's terminal and the session: by the session's own terminal, or
// by pipes.
//
//   TerminalRelay relay(TtyChoice::kAuto);
//   relay.FillRequest(request);                  // before Session::Exec
//   relay.Start(session.TerminalFd(id));         // after it
//   loop: relay.AddTo(set); poll(set, relay.PollTimeout()); relay.Step();
//   relay.Drain(give_up);                        // after every process of the session is gone
//
// Nothing of the caller's terminal is touched while this process group is in the background.
// Where 0 and 1 are both the terminal it is made raw at once. Where only one of them is (a
// pipeline), another program may want the keyboard: the terminal is left alone until a program
// inside changes the modes of its own terminal (a pager, a password prompt), and until then lines
// are read only when 0 is the terminal.
#pragma once

#include <poll.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "cli/channel.h"
#include "cli/host_terminal.h"
#include "cli/stdio_plan.h"
#include "session/session.h"

namespace cordon::cli {

class TerminalRelay {
 public:
  explicit TerminalRelay(TtyChoice choice);
  ~TerminalRelay();  // gives the caller's terminal back as it was

  // Sets the three descriptors, new_terminal and the window. Error: no pipe could be made.
  Status FillRequest(session::ExecRequest& request);
  // `terminal` is the host end of the exec's terminal, -1 without one; it is duplicated.
  Status Start(int terminal);

  bool has_session_terminal() const { return new_terminal_; }
  // Size of the caller's terminal; nullopt where there is none.
  std::optional<session::WindowSize> WindowSize() const;

  void AddTo(std::vector<pollfd>& set) const;
  // Milliseconds after which Step() has to look again by itself; -1: never.
  int PollTimeout() const;
  // Moves what can be moved without waiting.
  void Step();
  // The caller's side is gone for good: SIGPIPE when nobody reads the output, SIGHUP when the
  // terminal is; 0 otherwise.
  int LostSignal() const { return lost_; }

  // Around a stop of this process.
  void Suspend();
  void Resume();

  // Moves the rest of the output. REQUIRES: the other ends are closed or will be written no more.
  // Waits for a slow reader until `give_up(fd)` says true; it is handed the descriptor to wait for.
  void Drain(const std::function<bool(int fd)>& give_up);

 private:
  enum class Keyboard {
    kNone,   // 0 is not read
    kCopy,   // 0 is no terminal and is copied (--tty without a terminal)
    kLines,  // lines, while the terminal is in line mode and ours (pipes)
    kLazy,   // as kLines (or nothing when 0 is no terminal) until the modes inside change
    kRaw,    // every key
  };
  bool MayReadInput() const;
  void SetUpTerminal();
  void WatchModes();
  void TakeKeyboard();
  void StepInput();
  void AfterInputRead(Channel::Read read);
  void StepOutput(Channel& output);

  std::array<bool, 3> is_terminal_{};
  std::array<StdioWay, 3> ways_;
  bool new_terminal_ = false;
  std::unique_ptr<HostTerminal> screen_;  // where output goes: of 1, 2 or 0
  std::unique_ptr<HostTerminal> keys_;    // where input comes from: of 0, else as `screen_`
  std::unique_ptr<HostTerminal> second_;  // 2, when both 1 and 2 are relayed by pipes
  Keyboard keyboard_ = Keyboard::kNone;
  UniqueFd master_;                     // the host end of the session's terminal
  std::array<UniqueFd, 3> inner_ends_;  // of pipes: given to the command, closed by Start
  std::array<UniqueFd, 3> outer_ends_;
  std::unique_ptr<Channel> input_;
  std::vector<std::unique_ptr<Channel>> outputs_;
  bool input_closed_ = false;
  bool hung_up_ = false;  // nobody inside has the terminal open for now
  int initial_modes_ = -1;
  int lost_ = 0;
};

}  // namespace cordon::cli
