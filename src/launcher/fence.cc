#include "launcher/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace cordon::launcher {
namespace {

// include/uapi/linux/landlock.h; Debian 12's lacks the later parts, and 5.10's headers all of it.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kGetVersion = 1;
constexpr int kRulePathBeneath = 1;
// include/uapi/linux/mount.h
constexpr long kFsOpen = 430;
constexpr long kFsConfig = 431;
constexpr long kFsMount = 432;
constexpr unsigned kFsOpenCloexec = 1;
constexpr unsigned kFsMountCloexec = 1;
constexpr unsigned kFsConfigCreate = 6;
constexpr std::uint64_t kWriteFile = 1ull << 1;
constexpr std::uint64_t kRefer = 1ull << 13;
constexpr std::uint64_t kTruncate = 1ull << 14;

struct RulesetAttr {
  std::uint64_t handled_access_fs;
};
struct __attribute__((packed)) PathBeneathAttr {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};

bool Allow(int ruleset, int fd, std::uint64_t access) {
  PathBeneathAttr attr{access, fd};
  return ::syscall(kAddRule, ruleset, kRulePathBeneath, &attr, 0) == 0;
}

bool AllowPath(int ruleset, const char* path, std::uint64_t access) {
  int fd = ::open(path, O_PATH | O_CLOEXEC);
  // What is not there cannot be written to either.
  if (fd < 0) return true;
  struct stat st{};
  bool directory = ::fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
  bool ok = Allow(ruleset, fd, directory ? access : access & ~kRefer);
  ::close(fd);
  return ok;
}

// A POSIX message queue is a file of a file system without a mount point, so it is allowed by the
// root of that: the one of this IPC namespace. Without the right to mount, queues stay read-only.
void AllowMessageQueues(int ruleset, std::uint64_t access) {
  int context = static_cast<int>(::syscall(kFsOpen, "mqueue", kFsOpenCloexec));
  if (context < 0) return;
  if (::syscall(kFsConfig, context, kFsConfigCreate, nullptr, nullptr, 0) == 0) {
    int mount = static_cast<int>(::syscall(kFsMount, context, kFsMountCloexec, 0));
    if (mount >= 0) {
      Allow(ruleset, mount, access);
      ::close(mount);
    }
  }
  ::close(context);
}

// -1 with errno where there is none, or only the first, which refuses every rename to another
// directory.
long UsableVersion() {
  long version = ::syscall(kCreateRuleset, nullptr, 0, kGetVersion);
  if (version != 1) return version;
  errno = EOPNOTSUPP;
  return -1;
}

}  // namespace

bool NeedsFence() {
  for (int fd = 0; fd <= 2; ++fd) {
    struct stat st{};
    int flags = ::fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY && ::fstat(fd, &st) == 0 &&
        S_ISREG(st.st_mode))
      return true;
  }
  return false;
}

int MakeIsolation() {
  if (UsableVersion() < 0) return -1;
  // Every domain refuses to rename between directories unless it allows that.
  RulesetAttr attr{kRefer};
  int ruleset = static_cast<int>(::syscall(kCreateRuleset, &attr, sizeof attr, 0));
  if (ruleset < 0 || AllowPath(ruleset, "/", kRefer)) return ruleset;
  int error = errno;
  ::close(ruleset);
  errno = error;
  return -1;
}

int MakeFence(char* const* places, std::size_t count) {
  const long version = UsableVersion();
  if (version < 0) return -1;
  // A ruleset refuses to rename between directories unless it speaks of that (kRefer) and allows
  // it. Truncation needs no writable descriptor: truncate(2) takes a name in /proc/self/fd.
  const std::uint64_t write = kWriteFile | (version >= 3 ? kTruncate : 0);
  RulesetAttr attr{write | kRefer};
  int ruleset = static_cast<int>(::syscall(kCreateRuleset, &attr, sizeof attr, 0));
  if (ruleset < 0) return -1;
  bool ok = AllowPath(ruleset, "/", kRefer);
  for (std::size_t i = 0; i < count && ok; ++i) ok = AllowPath(ruleset, places[i], write | kRefer);
  AllowMessageQueues(ruleset, write | kRefer);
  for (int fd = 0; fd <= 2; ++fd) {
    int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) != 0) continue;
    Allow(ruleset, fd,
          write);  // anonymous pipes and sockets are outside of every fence, and refused here
  }
  if (ok) return ruleset;
  int error = errno;
  ::close(ruleset);
  errno = error;
  return -1;
}

int EnterFence(int fence) { return static_cast<int>(::syscall(kRestrictSelf, fence, 0)); }

}  // namespace cordon::launcher
