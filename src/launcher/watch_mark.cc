#include "launcher/watch_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "launcher/watch_mount.h"

namespace cordon::launcher {
namespace {

constexpr int kOwnDescriptors = 128;
constexpr rlim_t kWaitingSignals = 1024;

bool g_limited = false;
rlimit g_queue{};

// The lowest free number is given, so that the number says how many there are.
bool IsTooMany(int fd) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         static_cast<rlim_t>(fd) + kOwnDescriptors >= limit.rlim_cur;
}

}  // namespace

FileId IdOf(const struct statx& s) {
  return {(std::uint64_t{s.stx_dev_major} << 32) | s.stx_dev_minor, s.stx_ino};
}

int MarkDirectory(int parent, const char* name, FileId& out) {
  const int fd = OpenDirectory(parent, name, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return -1;
  struct statx opened{};
  int error = 0;
  if (IsTooMany(fd)) {
    error = EMFILE;
  } else if (::fcntl(fd, F_SETSIG, ChangeSignal()) != 0 ||
             ::fcntl(fd, F_NOTIFY, DN_MULTISHOT | DN_CREATE) != 0 ||
             !LookAtDescriptor(fd, opened)) {
    error = errno;
  }
  if (error == 0) {
    out = IdOf(opened);
    return fd;
  }
  ::close(fd);
  errno = error;
  return -1;
}

void LimitSignalQueue() {
  if (g_limited || ::getrlimit(RLIMIT_SIGPENDING, &g_queue) != 0) return;
  rlimit lower = g_queue;
  if (lower.rlim_cur > kWaitingSignals) lower.rlim_cur = kWaitingSignals;
  g_limited = ::setrlimit(RLIMIT_SIGPENDING, &lower) == 0;
}

void LiftSignalQueueLimit() {
  if (g_limited && ::setrlimit(RLIMIT_SIGPENDING, &g_queue) == 0) g_limited = false;
}

}  // namespace cordon::launcher
