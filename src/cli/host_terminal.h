// The caller's terminal: looked at and changed only while this process group is in its foreground.
#pragma once

#include <termios.h>

#include <optional>

#include "base/unique_fd.h"
#include "session/session.h"

namespace cordon::cli {

class HostTerminal {
 public:
  // `fd` is a terminal that outlives this object. It is opened a second time, non-blocking, so that
  // the caller's own descriptor keeps its flags; where that is not allowed `fd` itself is used.
  explicit HostTerminal(int fd);
  ~HostTerminal();  // Restore()
  HostTerminal(const HostTerminal&) = delete;
  HostTerminal& operator=(const HostTerminal&) = delete;

  int fd() const { return own_.valid() ? own_.get() : fd_; }
  // True when a write to fd() can block.
  bool blocks() const { return !own_.valid(); }
  // Modes that the terminal had at first.
  const std::optional<termios>& modes() const { return first_; }

  // True when reading from and changing the terminal stops nobody: this process group is the
  // foreground one, or the terminal is not the controlling one.
  bool InForeground() const;
  // True when input comes in lines, that is when no other program has taken the keyboard.
  bool IsCanonical() const;
  // True when a "\n" that is written is shown as "\r\n".
  bool AddsReturns() const;
  std::optional<session::WindowSize> Size() const;

  // Every key as it is typed, every byte as it is written. False when not in the foreground.
  bool EnterRaw();
  bool raw() const { return raw_; }
  // Back to the modes found by EnterRaw(), unless somebody else has the terminal by now.
  void Restore();

 private:
  int fd_;
  UniqueFd own_;
  std::optional<termios> first_;
  termios saved_{};
  bool raw_ = false;
};

}  // namespace cordon::cli
