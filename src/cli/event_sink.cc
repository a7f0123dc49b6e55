#include "cli/event_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

#include "cli/quantity.h"
#include "cli/report.h"

namespace cordon::cli {
namespace {

constexpr int kSliceMs = 100;

Result<UniqueFd> OpenNumber(const std::string& where) {
  const auto number = ParseCount(where, 1, 1u << 20);
  if (!number.ok()) {
    return MakeError(ErrorCode::kInvalid, "--events: descriptor " + where + " cannot be written",
                     "3 or above, for example --events 3 3>events.jsonl");
  }
  const int fd = static_cast<int>(*number);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) {
    Error error = ErrnoError("--events: descriptor " + where);
    error.remedy = "open it, for example: cordon run --events 3 ... 3>events.jsonl";
    return error;
  }
  if ((flags & O_ACCMODE) == O_RDONLY) {
    return MakeError(ErrorCode::kInvalid,
                     "--events: descriptor " + where + " is open for reading only",
                     "--events 3 3>events.jsonl");
  }
  UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!own.valid()) return ErrnoError("--events: descriptor " + where);
  if (fd > STDERR_FILENO) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return own;
}

}  // namespace

Result<std::unique_ptr<EventSink>> EventSink::Open(const std::string& where,
                                                   std::function<bool()> hurried) {
  UniqueFd fd;
  if (where.find_first_not_of("0123456789") == std::string::npos) {
    CORDON_TRY(fd, OpenNumber(where));
  } else {
    fd.reset(::open(where.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
                    0600));
    if (!fd.valid()) {
      Error error = ErrnoError("--events: " + where);
      error.remedy = errno == ELOOP ? "name the file itself, not a symbolic link"
                                    : "a file in a directory that you can write to";
      return error;
    }
  }
  return std::unique_ptr<EventSink>(new EventSink(std::move(fd), where, std::move(hurried)));
}

bool EventSink::WaitWritable() const {
  // A last chance after the hurry began: the reader may only be slow.
  for (int last = 0; last < 2;) {
    pollfd ready{fd_.get(), POLLOUT, 0};
    if (::poll(&ready, 1, kSliceMs) > 0) return true;
    if (hurried_()) ++last;
  }
  errno = ETIMEDOUT;
  return false;
}

void EventSink::Write(const session::Event& event) {
  if (!fd_.valid()) return;
  const std::string line = session::ToJsonLine(event) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    // A writable pipe takes this much without blocking.
    const ssize_t n = WaitWritable() ? ::write(fd_.get(), rest.data(),
                                               std::min<std::size_t>(rest.size(), PIPE_BUF))
                                     : -1;
    if (n >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR && errno != EAGAIN) {
      Error report = ErrnoError("--events: " + name_ + ": the rest of the events is lost");
      report.remedy = "look at the reader; the command itself goes on";
      ReportError(report);
      fd_.reset();
      return;
    }
  }
}

}  // namespace cordon::cli
