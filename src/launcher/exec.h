// One command: the fork of init, what the child gives up, and execve(2).
#pragma once

#include <sys/types.h>

#include "launcher/channel.h"

namespace cordon::launcher {

// Forks and starts the command that the Exec message describes. Failures in the child are sent to
// the host by the child itself (ExecFailed), which then exits with 126 or 127. Returns the child's
// process id inside, or -1 after ExecFailed was sent. `last_capability` is CAP_LAST_CAP of this
// kernel.
pid_t StartExec(Message& message, int last_capability, int broker, int mask_server);

}  // namespace cordon::launcher
