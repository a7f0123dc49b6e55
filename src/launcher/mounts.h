// Mount attributes with and without mount_setattr(2) (5.12). Without it, attributes are set by a
// remount of each mount below a path, read from /proc/self/mountinfo, once it is attached.
#pragma once

#include <cstdint>

namespace cordon::launcher {

// True when mount_setattr(2) exists; asked once.
bool HasMountSetattr();

// Adds attributes to a detached or attached mount by descriptor. REQUIRES: HasMountSetattr().
int AddAttributes(int fd, std::uint64_t attributes, bool recursive);

// Adds attributes to the mount at `path`, and to all below it when `recursive`, and with
// `make_private` stops propagation. Works on every kernel. `mountinfo_fd` is an open descriptor of
// the namespace's mountinfo (read only without mount_setattr). Returns 0 or -1 with errno.
int AddAttributesAt(const char* path, std::uint64_t attributes, bool recursive, bool make_private,
                    int mountinfo_fd);

}  // namespace cordon::launcher
