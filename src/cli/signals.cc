#include "cli/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace cordon::cli {
namespace {

constexpr int kCaught[] = {SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1,
                           SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP, SIGPIPE};

// Used by the handler; lock-free, so signal-safe.
std::atomic<int> pipe_fd{-1};
std::atomic<bool> termination_seen{false};
std::atomic<bool> ignored_by_caller[NSIG];
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

bool CountsForNothing(int number, bool from_terminal) {
  if (ActionFor(number) == SignalAction::kIgnore) return true;
  const bool key = (number == SIGINT || number == SIGQUIT) && from_terminal;
  return ignored_by_caller[number] && (key || number == SIGHUP);
}

void Handle(int number, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const bool from_terminal = info != nullptr && info->si_code == SI_KERNEL;
  if (!CountsForNothing(number, from_terminal)) {
    if (ActionFor(number) == SignalAction::kTerminate) termination_seen = true;
    const unsigned char message[2] = {static_cast<unsigned char>(number), from_terminal};
    // A full pipe holds more signals than anybody can mean.
    (void)!::write(pipe_fd.load(), message, sizeof message);
  }
  errno = saved_errno;
}

}  // namespace

SignalAction ActionFor(int signal) {
  switch (signal) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT: return SignalAction::kTerminate;
    case SIGUSR1:
    case SIGUSR2: return SignalAction::kForward;
    case SIGTSTP: return SignalAction::kSuspend;
    case SIGCONT: return SignalAction::kContinue;
    case SIGWINCH: return SignalAction::kResize;
    default: return SignalAction::kIgnore;
  }
}

Result<std::unique_ptr<SignalInbox>> SignalInbox::Install() {
  std::unique_ptr<SignalInbox> inbox(new SignalInbox);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoError("make a pipe for signals");
  inbox->read_end_.reset(ends[0]);
  inbox->write_end_.reset(ends[1]);
  pipe_fd = ends[1];
  termination_seen = false;
  for (int number : kCaught) {
    struct sigaction before = {};
    ::sigaction(number, nullptr, &before);
    ignored_by_caller[number] = before.sa_handler == SIG_IGN;
    struct sigaction action = {};
    action.sa_sigaction = &Handle;
    // No SA_RESTART: a write to a terminal that nobody reads must give way to a signal.
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);
    Saved saved{number, {}};
    if (::sigaction(number, &action, &saved.action) != 0) return ErrnoError("catch signals");
    inbox->saved_.push_back(saved);
  }
  return inbox;
}

SignalInbox::~SignalInbox() {
  for (const Saved& saved : saved_) ::sigaction(saved.number, &saved.action, nullptr);
  pipe_fd = -1;
}

std::optional<CaughtSignal> SignalInbox::Take() {
  unsigned char message[2];
  ssize_t n;
  do {
    n = ::read(read_end_.get(), message, sizeof message);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof message) return std::nullopt;
  return CaughtSignal{message[0], message[1] != 0};
}

std::optional<int> SignalInbox::TakeTermination() {
  std::optional<int> first;
  while (const auto caught = Take()) {
    if (!first && ActionFor(caught->number) == SignalAction::kTerminate) first = caught->number;
  }
  return first;
}

bool SignalInbox::TerminationSeen() { return termination_seen; }

void SignalInbox::StopSelf() {
  // SIGSTOP cannot be caught, and job control shows it as it shows SIGTSTP.
  ::raise(SIGSTOP);
}

}  // namespace cordon::cli
