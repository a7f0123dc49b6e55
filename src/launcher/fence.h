// The write fence: a Landlock domain in which files can be opened for writing below the session's
// writable places only. It holds what mounts do not: a descriptor that the caller passed for
// reading could be opened again for writing through /proc/self/fd, for it belongs to a mount of the
// caller's.
//
// Only a command that was passed such a file gets it: a domain makes the kernel look at every open,
// for reading too, and a plain read is to cost nothing.
#pragma once

#include <cstddef>

namespace cordon::launcher {

// Whether one of the descriptors 0, 1 and 2 is a regular file that is open for reading only.
bool NeedsFence();
// Makes the ruleset; `places` are paths in the view. Of the descriptors 0, 1 and 2 what is open for
// writing stays so. Returns -1 with errno: ENOSYS or EOPNOTSUPP where the kernel has no Landlock
// that leaves renames alone (before 5.19).
int MakeFence(char* const* places, std::size_t count);
// Makes a ruleset that refuses nothing of files: what counts is the domain itself, for a process in
// one cannot trace a process outside of it or look into its /proc/PID/root. It asks nothing at an
// open. Errors as MakeFence.
int MakeIsolation();
// Puts this process behind it. REQUIRES: no_new_privs. Returns 0, or -1 with errno.
int EnterFence(int fence);

}  // namespace cordon::launcher
