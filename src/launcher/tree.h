// Signals to a whole process tree, from pid 1 of the session.
#pragma once

#include <sys/types.h>

namespace cordon::launcher {

// Every process of the session but init.
void SignalEveryone(int signal);

// `root`, its process session (setsid(2)), and all that descend from either. Repeats until a pass
// finds nothing new, so that a tree that forks meanwhile is caught; a process that has left both
// by a double fork and setsid ends with the session. Reads /proc of the session.
void SignalTree(pid_t root, int signal);

}  // namespace cordon::launcher
