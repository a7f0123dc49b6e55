#include "launcher/watch_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "launcher/channel.h"
#include "launcher/mounts.h"
#include "launcher/raw.h"

namespace cordon::launcher {
namespace {

constexpr unsigned kLook = STATX_TYPE | STATX_MODE | STATX_INO | STATX_MTIME | STATX_CTIME;
constexpr std::uint32_t kNoExecAttribute = 2;  // jail::Operation::kNoExec
constexpr int kRounds = 16;  // a name that is replaced faster than this is left to its next event

bool IsMountPoint(const struct statx& s) { return (s.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0; }

// Whether the mount on `name` shows what stands there in the directory itself. A clone of the
// directory alone has no mounts in it.
enum class Shows { kThis, kAnother, kUnknown };
Shows WhatShows(int parent, const char* name, const struct statx& seen) {
  int plain = OpenTree(parent, "", AT_EMPTY_PATH | kOpenTreeClone | O_CLOEXEC);
  if (plain < 0) return Shows::kUnknown;  // a mount of the host's own in it may not be lifted
  struct statx below{};
  bool there = LookAtName(plain, name, below);
  ::close(plain);
  if (!there) return Shows::kUnknown;
  return IdOf(below) == IdOf(seen) ? Shows::kThis : Shows::kAnother;
}

// 0, or an errno.
int Attach(const Spot& spot, int masks, std::uint32_t mode) {
  const bool directory = S_ISDIR(mode);
  const bool self = spot.action == WatchAction::kSelf;
  int clone = -1;
  if (self) {
    clone =
        OpenTree(spot.parent, spot.name,
                 AT_SYMLINK_NOFOLLOW | kOpenTreeClone | O_CLOEXEC | (directory ? kRecursive : 0u));
  } else {
    const char* mask = directory                                ? "dir"
                       : spot.action == WatchAction::kEmptyMask ? "empty"
                                                                : "file";
    clone = OpenTree(masks, mask, kOpenTreeClone | O_CLOEXEC);
  }
  if (clone < 0) return errno;
  std::uint64_t attributes = kAttrReadOnly | kAttrNoSuid | kAttrNoDev;
  if ((spot.attributes & kNoExecAttribute) != 0) attributes |= kAttrNoExec;
  int error = 0;
  if (HasMountSetattr()) {
    if (AddAttributes(clone, attributes, self && directory) != 0) error = errno;
  } else if (self) {
    error = ENOSYS;  // a bind would be writable for a moment; the masks are read-only as they are
  }
  if (error == 0 && MoveMount(clone, spot.parent, spot.name) != 0) error = errno;
  ::close(clone);
  return error;
}

}  // namespace

bool LookAtName(int parent, const char* name, struct statx& out) {
  return ::statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, kLook,
                 &out) == 0;
}

bool LookAtDescriptor(int fd, struct statx& out) {
  return ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kLook, &out) == 0;
}

int OpenDirectory(int parent, const char* name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_DIRECTORY | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, parent, name, &how, sizeof how));
}

// After each mount it is looked at again, for the name may have been replaced meanwhile: a mount
// that was put on what is gone by now is gone with it, or shows the earlier file. A mount that was
// compared once stays right, because it goes with what it stands on.
Outcome PutMount(const Spot& spot, int masks, FileId& known) {
  const FileId good = known;
  known = {};
  for (int round = 0; round < kRounds; ++round) {
    struct statx now{};
    if (!LookAtName(spot.parent, spot.name, now))
      // Where init may not look, with more rights than any command, nothing can be read either.
      return errno == ENOENT || errno == EACCES ? Outcome::kAbsent : Outcome::kFailed;
    if ((now.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) {  // before Linux 5.8
      errno = ENOSYS;
      return Outcome::kFailed;
    }
    if (IsMountPoint(now)) {
      known = IdOf(now);
      if (spot.action != WatchAction::kSelf || (round == 0 && known == good))
        return Outcome::kCovered;
      const Shows shows = WhatShows(spot.parent, spot.name, now);
      if (shows == Shows::kThis || (shows == Shows::kUnknown && round > 0))
        return Outcome::kCovered;
      known = {};
      if (::fchdir(spot.parent) != 0 || ::umount2(spot.name, MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
        return Outcome::kFailed;
      continue;
    }
    errno = Attach(spot, masks, now.stx_mode);
    const bool changed =  // between the look and the mount
        errno == ENOENT || errno == ENOTDIR || errno == EINVAL || errno == ESTALE;
    if (errno != 0 && !changed) return Outcome::kFailed;
  }
  errno = EAGAIN;
  return Outcome::kFailed;
}

void SayWeaker(Weaker what, int error, const char* path) {
  static int left = 8;
  static bool said_at_all = false;
  const bool at_all = what == Weaker::kNotWatched && (error == EINVAL || error == EMFILE);
  if (left == 0 || (at_all && said_at_all)) return;
  --left;
  said_at_all = said_at_all || at_all;
  char payload[3 * sizeof(std::uint32_t) + PATH_MAX];
  const std::size_t length = ::strnlen(path, PATH_MAX - 1);
  const std::uint32_t head[3] = {static_cast<std::uint32_t>(what),
                                 static_cast<std::uint32_t>(error),
                                 static_cast<std::uint32_t>(length)};
  std::memcpy(payload, head, sizeof head);
  std::memcpy(payload + sizeof head, path, length);
  payload[sizeof head + length] = '\0';
  Send(jail::wire::Type::kWatchFailed, 0, payload,
       static_cast<std::uint32_t>(sizeof head + length + 1));
}

}  // namespace cordon::launcher
