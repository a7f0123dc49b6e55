#include "notify/caller.h"

#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "notify/parse.h"

namespace cordon::notify {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostKept = 256;  // a descriptor each

// A thread other than the first has no pidfd of its own before Linux 6.9.
UniqueFd OpenPidfd(pid_t thread, pid_t (*process)(const Caller&), const Caller& caller) {
  int fd = static_cast<int>(::syscall(SYS_pidfd_open, thread, kPidfdThread));
  if (fd < 0 && errno == EINVAL)
    fd = static_cast<int>(::syscall(SYS_pidfd_open, process(caller), 0));
  return UniqueFd(fd);
}

pid_t ProcessOf(const Caller& caller) { return caller.Ids().process; }

std::string ReadSmall(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  ssize_t n = fd.valid() ? ::read(fd.get(), text, sizeof text) : -1;
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

}  // namespace

int Caller::ReadBytes(std::uint64_t address, void* out, std::size_t size) const {
  if (size == 0) return 0;
  iovec local{out, size};
  iovec remote{reinterpret_cast<void*>(address), size};
  ssize_t n = ::process_vm_readv(thread(), &local, 1, &remote, 1, 0);
  if (n == static_cast<ssize_t>(size)) return 0;
  return n < 0 ? errno : EFAULT;
}

// In pieces that end with a page: what lies behind the end of the string may not be mapped.
int Caller::ReadString(std::uint64_t address, std::string& out) const {
  out.clear();
  char piece[kPage];
  while (out.size() < PATH_MAX) {
    std::size_t left = kPage - address % kPage;
    // Most paths are short, and copying a page for each would cost more than a second call.
    std::size_t size =
        std::min(out.empty() ? std::min<std::size_t>(left, 256) : left, PATH_MAX - out.size());
    if (int error = ReadBytes(address, piece, size); error != 0) return error;
    const char* end = static_cast<const char*>(std::memchr(piece, '\0', size));
    out.append(piece, end != nullptr ? static_cast<std::size_t>(end - piece) : size);
    if (end != nullptr) return 0;
    address += size;
  }
  return ENAMETOOLONG;
}

std::string Caller::Proc(const char* what) const {
  char text[48];
  int n = std::snprintf(text, sizeof text, "%d/%s", thread(), what);
  return std::string(text, static_cast<std::size_t>(n));
}

std::string Caller::ProcDescriptor(int fd) const {
  char text[48];
  int n = std::snprintf(text, sizeof text, "%d/fd/%d", thread(), fd);
  return std::string(text, static_cast<std::size_t>(n));
}

UniqueFd Caller::CopyDescriptor(int fd) const {
  UniqueFd process = OpenPidfd(thread(), &ProcessOf, *this);
  if (!process.valid()) return {};
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), fd, 0)));
}

CallerIds Caller::Ids() const {
  CallerIds ids;
  const std::string status = ReadSmall(Proc("status"));
  ids.process = LastNumber(StatusLine(status, "Tgid"));
  ids.inner_process = LastNumber(StatusLine(status, "NStgid"));
  ids.inner_thread = LastNumber(StatusLine(status, "NSpid"));
  ids.name = std::string(StatusLine(status, "Name"));
  return ids;
}

std::string Caller::Program() const {
  char text[PATH_MAX];
  ssize_t n = ::readlink(Proc("exe").c_str(), text, sizeof text);
  if (n > 0) return std::string(text, static_cast<std::size_t>(n));
  return "[" + Ids().name + "]";
}

bool SignalPending(pid_t thread) {
  return HasPendingSignal(ReadSmall(std::to_string(thread) + "/status"));
}

void UmaskCache::Changing(const Caller& caller, mode_t next) {
  known_.clear();
  next &= 0777;
  if (!ever_changed_ && next == initial_) return;
  ever_changed_ = true;
  // Two of them at once that share their information: the kernel decides which is the last.
  if (std::find(changing_.begin(), changing_.end(), caller.thread()) == changing_.end())
    changing_.push_back(caller.thread());
}

void UmaskCache::Seen(pid_t thread) {
  if (changing_.empty()) return;
  changing_.erase(std::remove(changing_.begin(), changing_.end(), thread), changing_.end());
  // A thread that ended right after its umask(2) is never seen again.
  if (changing_.size() > 64) changing_.erase(changing_.begin());
}

mode_t UmaskCache::Of(const Caller& caller) {
  if (!ever_changed_) return initial_;
  if (auto it = known_.find(caller.thread()); it != known_.end()) {
    pollfd alive{it->second.alive.get(), POLLIN, 0};
    if (::poll(&alive, 1, 0) == 0) return it->second.value;
    known_.erase(it);
  }
  const std::string status = ReadSmall(caller.Proc("status"));
  const std::string text(StatusLine(status, "Umask"));
  if (text.empty()) return 077;
  auto value = static_cast<mode_t>(std::strtoul(text.c_str(), nullptr, 8));
  if (!changing_.empty()) return value;
  if (known_.size() >= kMostKept) known_.clear();
  Entry entry;
  entry.value = value;
  entry.alive = OpenPidfd(caller.thread(), &ProcessOf, caller);
  if (entry.alive.valid()) known_.emplace(caller.thread(), std::move(entry));
  return value;
}

}  // namespace cordon::notify
