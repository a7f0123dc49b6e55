#include "cli/terminal_relay.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

namespace cordon::cli {
namespace {

using session::Stdio;

// How often the foreground and the modes inside are looked at where nothing tells of a change.
constexpr int kLookAgainMs = 100;
// Reads in one step, so that an endless source cannot keep the loop from its signals.
constexpr int kRounds = 16;

int LineModes(int fd) {
  termios modes;
  if (::tcgetattr(fd, &modes) != 0) return -1;
  return static_cast<int>(modes.c_lflag & (ICANON | ECHO));
}

std::size_t WriteLimit(const HostTerminal& terminal) {
  return terminal.blocks() ? PIPE_BUF : Channel::kCapacity;
}

}  // namespace

TerminalRelay::TerminalRelay(TtyChoice choice)
    : is_terminal_{::isatty(0) != 0, ::isatty(1) != 0, ::isatty(2) != 0},
      ways_(DecideStdio(is_terminal_, choice)) {
  for (const StdioWay way : ways_) new_terminal_ |= way == StdioWay::kTerminal;
  // Output goes to the terminal of 1 or 2 before that of 0, which may be open for reading only.
  for (const int fd : {1, 2, 0}) {
    if (!is_terminal_[static_cast<std::size_t>(fd)]) continue;
    screen_ = std::make_unique<HostTerminal>(fd);
    keys_ = std::make_unique<HostTerminal>(is_terminal_[0] ? STDIN_FILENO : fd);
    break;
  }
}

TerminalRelay::~TerminalRelay() = default;

Status TerminalRelay::FillRequest(session::ExecRequest& request) {
  Stdio* const targets[] = {&request.input, &request.output, &request.error};
  for (std::size_t i = 0; i < 3; ++i) {
    if (ways_[i] == StdioWay::kInherit) {
      *targets[i] = {Stdio::Kind::kInherit, static_cast<int>(i)};
    } else if (ways_[i] == StdioWay::kTerminal) {
      *targets[i] = {Stdio::Kind::kTty, -1};
    } else {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoError("make a pipe for the command");
      UniqueFd read_end(ends[0]), write_end(ends[1]);
      inner_ends_[i] = std::move(i == 0 ? read_end : write_end);
      outer_ends_[i] = std::move(i == 0 ? write_end : read_end);
      // The two ends are open file descriptions of their own: the command's stays blocking.
      ::fcntl(outer_ends_[i].get(), F_SETFL, O_NONBLOCK);
      *targets[i] = {Stdio::Kind::kInherit, inner_ends_[i].get()};
    }
  }
  request.new_terminal = new_terminal_;
  if (const auto size = WindowSize()) request.window = *size;
  if (keys_) request.terminal_modes = keys_->modes();
  return Ok();
}

std::optional<session::WindowSize> TerminalRelay::WindowSize() const {
  return screen_ ? screen_->Size() : std::nullopt;
}

void TerminalRelay::SetUpTerminal() {
  termios modes;
  // Nobody types: an echo would only mix the input into the output.
  if ((!keys_ || !keys_->modes()) && ::tcgetattr(master_.get(), &modes) == 0) {
    modes.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(master_.get(), TCSANOW, &modes);
  }
  initial_modes_ = LineModes(master_.get());
  outputs_.push_back(std::make_unique<Channel>(master_.get(),
                                               screen_ ? screen_->fd() : STDOUT_FILENO,
                                               screen_ ? WriteLimit(*screen_) : PIPE_BUF));
  input_ = std::make_unique<Channel>(keys_ ? keys_->fd() : STDIN_FILENO, master_.get(),
                                     Channel::kCapacity);
  if (!keys_) {
    keyboard_ = Keyboard::kCopy;
  } else if (is_terminal_[0] && is_terminal_[1]) {
    keyboard_ = Keyboard::kRaw;
  } else {
    keyboard_ = Keyboard::kLazy;
  }
}

Status TerminalRelay::Start(int terminal) {
  for (UniqueFd& end : inner_ends_) end.reset();
  if (new_terminal_) {
    master_.reset(::fcntl(terminal, F_DUPFD_CLOEXEC, 3));
    if (!master_.valid()) return ErrnoError("duplicate the session's terminal");
    ::fcntl(master_.get(), F_SETFL, O_NONBLOCK);
    SetUpTerminal();
    TakeKeyboard();
    return Ok();
  }
  for (const std::size_t i : {1u, 2u}) {
    if (!outer_ends_[i].valid()) continue;
    HostTerminal* screen = screen_.get();
    if (i == 2 && is_terminal_[1]) {
      second_ = std::make_unique<HostTerminal>(STDERR_FILENO);
      screen = second_.get();
    }
    outputs_.push_back(
        std::make_unique<Channel>(outer_ends_[i].get(), screen->fd(), WriteLimit(*screen)));
  }
  if (outer_ends_[0].valid()) {
    keyboard_ = Keyboard::kLines;
    input_ = std::make_unique<Channel>(keys_->fd(), outer_ends_[0].get(), Channel::kCapacity);
  }
  return Ok();
}

// Raw modes once they are due and the terminal is ours.
void TerminalRelay::TakeKeyboard() {
  if (!new_terminal_ || !keys_) return;
  if (keyboard_ == Keyboard::kRaw && !keys_->raw()) keys_->EnterRaw();
  outputs_[0]->set_join_line_ends(screen_->AddsReturns());
}

void TerminalRelay::WatchModes() {
  if (keyboard_ == Keyboard::kLazy) {
    const int now = LineModes(master_.get());
    if (now >= 0 && now != initial_modes_) keyboard_ = Keyboard::kRaw;
  }
  TakeKeyboard();
}

bool TerminalRelay::MayReadInput() const {
  switch (keyboard_) {
    case Keyboard::kNone: return false;
    case Keyboard::kCopy: return true;
    case Keyboard::kRaw: return keys_->raw() && keys_->InForeground();
    case Keyboard::kLazy:
    case Keyboard::kLines: return is_terminal_[0] && keys_->InForeground() && keys_->IsCanonical();
  }
  return false;
}

void TerminalRelay::AddTo(std::vector<pollfd>& set) const {
  if (input_ && !input_closed_) {
    if (input_->WantsRead() && MayReadInput()) set.push_back({input_->from(), POLLIN, 0});
    if (input_->WantsWrite()) set.push_back({input_->to(), POLLOUT, 0});
  }
  for (const auto& output : outputs_) {
    const bool paused = hung_up_ && output->from() == master_.get();
    if (output->WantsRead() && !paused) set.push_back({output->from(), POLLIN, 0});
    if (output->WantsWrite()) set.push_back({output->to(), POLLOUT, 0});
  }
}

int TerminalRelay::PollTimeout() const {
  bool watch = hung_up_ || keyboard_ == Keyboard::kLazy;
  if (keyboard_ == Keyboard::kLines) watch |= !input_closed_ && !MayReadInput();
  if (keyboard_ == Keyboard::kRaw) watch |= !MayReadInput();
  return watch ? kLookAgainMs : -1;
}

void TerminalRelay::AfterInputRead(Channel::Read read) {
  if (read != Channel::Read::kEnd) return;
  if (keyboard_ == Keyboard::kRaw) {
    // Raw input has no end but the terminal's own.
    if (keys_->InForeground()) lost_ = SIGHUP;
    return;
  }
  if (keyboard_ == Keyboard::kLines) return;  // the pipe is closed when it is empty
  // Ctrl-D of a person is no end for good.
  if (keyboard_ == Keyboard::kLazy && input_->read_error() == 0) input_->Reopen();
  termios modes;
  if (::tcgetattr(master_.get(), &modes) != 0 || (modes.c_lflag & ICANON) == 0) return;
  // A terminal has no end of file but this character; in a begun line the first one only ends it.
  input_->Append(
      std::string(input_->last_byte() == '\n' ? 1 : 2, static_cast<char>(modes.c_cc[VEOF])));
}

void TerminalRelay::StepInput() {
  if (!input_ || input_closed_) return;
  bool moved = true;
  for (int round = 0; moved && round < kRounds; ++round) {
    moved = false;
    pollfd ready{input_->from(), POLLIN, 0};
    if (input_->WantsRead() && MayReadInput() && ::poll(&ready, 1, 0) > 0) {
      const Channel::Read read = input_->ReadOnce();
      AfterInputRead(read);
      moved = read == Channel::Read::kSome;
    }
    if (input_->WantsWrite()) moved |= input_->WriteOnce();
  }
  const bool done = input_->ended() && !input_->WantsWrite();
  if (input_->broken() || done) {
    input_closed_ = true;
    outer_ends_[0].reset();
  }
}

void TerminalRelay::StepOutput(Channel& output) {
  bool moved = true;
  for (int round = 0; moved && round < kRounds; ++round) {
    moved = false;
    if (output.WantsRead()) {
      const Channel::Read read = output.ReadOnce();
      moved = read == Channel::Read::kSome;
      if (output.from() == master_.get() && read != Channel::Read::kNothingNow) {
        // EIO: every process inside has closed the terminal, but one may open it again.
        hung_up_ = read == Channel::Read::kEnd;
        output.Reopen();
      }
    }
    if (output.WantsWrite()) moved |= output.WriteOnce();
  }
  if (!output.broken()) return;
  if (new_terminal_) {
    lost_ = output.write_error() == EIO ? SIGHUP : SIGPIPE;
    return;
  }
  // The command then learns of it from its own pipe.
  for (UniqueFd& end : outer_ends_) {
    if (end.get() == output.from()) end.reset();
  }
}

void TerminalRelay::Step() {
  WatchModes();
  StepInput();
  for (auto& output : outputs_) {
    if (!output->broken()) StepOutput(*output);
  }
}

void TerminalRelay::Suspend() {
  if (keys_) keys_->Restore();
}

void TerminalRelay::Resume() {
  // After a stop that could not be caught the modes may be anybody's.
  if (keyboard_ == Keyboard::kRaw) keys_->EnterRaw();
}

void TerminalRelay::Drain(const std::function<bool(int fd)>& give_up) {
  for (auto& output : outputs_) {
    bool more = true;
    while (!output->broken() && (more || output->WantsWrite())) {
      if (output->ended()) more = false;
      if (more && output->WantsRead()) more = output->ReadOnce() == Channel::Read::kSome;
      if (!more) output->ReleaseHeld();
      if (output->WantsWrite() && !output->WriteOnce() && !output->broken() &&
          give_up(output->to())) {
        return;
      }
    }
  }
}

}  // namespace cordon::cli
