// Directories of which the kernel tells by a signal when a name is made in them or moved to them
// (fcntl(2) F_NOTIFY). It goes by the inode, so that what happens outside is told as well. Unlike
// inotify(7) it has no instances that a user could run out of, and closing waits for nothing; in
// return it does not tell the name.
#pragma once

#include <linux/stat.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdint>

namespace cordon::launcher {

// One for each change, from the kernel; ssi_fd is the directory. When they cannot be queued a SIGIO
// comes instead, and any directory may have changed. Both are blocked in init (signalfd(2)).
inline int ChangeSignal() { return SIGRTMIN; }

// What a name leads to, as long as a descriptor of it is open.
struct FileId {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileId&) const = default;
};
FileId IdOf(const struct statx& s);

// Directory `name` in `parent` (or an absolute path), no component a link: a descriptor, and
// signals until it is closed. `out` is what was opened. -1 with errno: EINVAL when the kernel tells
// nothing, EMFILE when only what init needs for itself is left.
int MarkDirectory(int parent, const char* name, FileId& out);

// How many of the user's signals may wait for init. Commands do not inherit it: lift it for a fork.
void LimitSignalQueue();
void LiftSignalQueueLimit();

}  // namespace cordon::launcher
