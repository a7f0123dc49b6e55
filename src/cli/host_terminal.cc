#include "cli/host_terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include <string>

namespace cordon::cli {
namespace {

// While it lives a change of modes from the background is carried out and stops nobody.
class WithoutTtou {
 public:
  WithoutTtou() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &set, &old_);
  }
  ~WithoutTtou() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }

 private:
  sigset_t old_;
};

UniqueFd Reopen(int fd) {
  unsigned number = 0;
  // Opening the master end of a pty again would make a new pty.
  if (::ioctl(fd, TIOCGPTN, &number) == 0) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd own;
  for (const int access : {O_RDWR, ::fcntl(fd, F_GETFL) & O_ACCMODE}) {
    own.reset(::open(path.c_str(), access | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (own.valid()) break;
  }
  struct stat a, b;
  if (!own.valid() || ::fstat(fd, &a) != 0 || ::fstat(own.get(), &b) != 0 ||
      a.st_rdev != b.st_rdev || ::isatty(own.get()) == 0) {
    return {};
  }
  return own;
}

}  // namespace

HostTerminal::HostTerminal(int fd) : fd_(fd), own_(Reopen(fd)) {
  termios modes;
  if (::tcgetattr(fd, &modes) == 0) first_ = modes;
}

HostTerminal::~HostTerminal() { Restore(); }

bool HostTerminal::InForeground() const {
  const pid_t group = ::tcgetpgrp(fd());
  return group < 0 || group == ::getpgrp();
}

bool HostTerminal::IsCanonical() const {
  termios now;
  return ::tcgetattr(fd(), &now) == 0 && (now.c_lflag & ICANON) != 0;
}

bool HostTerminal::AddsReturns() const {
  termios now;
  return ::tcgetattr(fd(), &now) == 0 && (now.c_oflag & OPOST) != 0 && (now.c_oflag & ONLCR) != 0;
}

std::optional<session::WindowSize> HostTerminal::Size() const {
  winsize size{};
  if (::ioctl(fd(), TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return std::nullopt;
  }
  return session::WindowSize{size.ws_row, size.ws_col};
}

bool HostTerminal::EnterRaw() {
  if (!InForeground()) return false;
  termios now;
  if (::tcgetattr(fd(), &now) != 0) return false;
  // A second call comes after a stop: what is found then may be our own raw modes.
  if (!raw_) saved_ = now;
  termios raw = saved_;
  ::cfmakeraw(&raw);
  WithoutTtou guard;
  if (::tcsetattr(fd(), TCSANOW, &raw) != 0) return false;
  raw_ = true;
  return true;
}

void HostTerminal::Restore() {
  if (!raw_) return;
  raw_ = false;
  if (!InForeground()) return;
  WithoutTtou guard;
  ::tcsetattr(fd(), TCSANOW, &saved_);
}

}  // namespace cordon::cli
