// System calls and constants that Debian 12's headers lack or that have no glibc wrapper.
// Sources: mount_setattr(2), open_tree(2), move_mount(2), openat2(2), close_range(2).
#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace cordon::launcher {

struct MountAttr {
  std::uint64_t attr_set = 0;
  std::uint64_t attr_clr = 0;
  std::uint64_t propagation = 0;
  std::uint64_t userns_fd = 0;
};
inline constexpr std::uint64_t kAttrReadOnly = 0x1;
inline constexpr std::uint64_t kAttrNoSuid = 0x2;
inline constexpr std::uint64_t kAttrNoDev = 0x4;
inline constexpr std::uint64_t kAttrNoExec = 0x8;
inline constexpr unsigned kOpenTreeClone = 1;
inline constexpr unsigned kMoveFromEmptyPath = 0x4;
inline constexpr unsigned kMoveToEmptyPath = 0x40;
inline constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
inline constexpr unsigned kCloseRangeCloexec = 4;

inline int MountSetattr(int fd, const char* path, unsigned flags, const MountAttr& attr) {
  return static_cast<int>(::syscall(SYS_mount_setattr, fd, path, flags, &attr, sizeof attr));
}
inline int OpenTree(int fd, const char* path, unsigned flags) {
  return static_cast<int>(::syscall(SYS_open_tree, fd, path, flags));
}
// Onto `name` in directory `to`, or onto `to` itself when the name is empty; a link as the last
// component is not followed.
inline int MoveMount(int from, int to, const char* name) {
  unsigned flags = kMoveFromEmptyPath | (*name == '\0' ? kMoveToEmptyPath : 0u);
  return static_cast<int>(::syscall(SYS_move_mount, from, "", to, name, flags));
}
// O_PATH descriptor of a canonical path; ELOOP when any component is a symbolic link.
inline int OpenCanonical(const char* path, int extra_flags = 0) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(O_PATH | O_CLOEXEC | extra_flags);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
}
// O_PATH descriptor of a directory below `directory`; no component may be a link or lead out.
inline int OpenBeneath(int directory, const char* path) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(O_PATH | O_DIRECTORY | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH;
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
}
inline int PidfdOpen(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
inline int CloseRange(unsigned first, unsigned last, unsigned flags) {
  return static_cast<int>(::syscall(SYS_close_range, first, last, flags));
}

}  // namespace cordon::launcher
