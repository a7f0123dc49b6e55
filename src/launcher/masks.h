// The FUSE mount behind a view's masks, whose server (src/maskfs) reports each attempt to read what
// they hide. Where there can be none the masks are the plain ones of the store.
#pragma once

#include "jail/wire.h"

namespace cordon::launcher {

// Where the nodes of the masks are, in the store of the view that is being built.
inline constexpr const char* kServedMasks = "/proc/masks/fuse";

// Opens the host's /dev/fuse and mounts it there. Returns its descriptor, or -1 with errno. The
// first look below kServedMasks waits until a server answers, for as long as anybody holds the
// descriptor. REQUIRES: the host's /dev is still in view, and the caller's user namespace is its
// own (12.5).
int MountServedMasks();

// Lets the kernel learn all nodes in a few answers instead of one by one; only a matter of speed.
void LearnServedMasks();

// To the server: the session's own /proc and its pid namespace, which say who asked.
// REQUIRES: the view is built.
void TellSession(int server);
// The same, from the child that becomes a command: `exec` begins with this process. -1: no server.
void TellLeader(int server, std::uint32_t exec);

}  // namespace cordon::launcher
