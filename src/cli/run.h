// `cordon run`: launch, one exec, destroy.
#pragma once

#include "cli/options.h"

namespace cordon::cli {

// Returns the exit code of the program: the command's as a shell reports it, 124 on a time limit,
// 125 when Cordon fails, 126 and 127 when the command cannot be started, 128+n when this process
// got the terminating signal n, whatever the command did with it.
// The caller's terminal is left as it was on every path.
int RunMain(const Arguments& arguments);

}  // namespace cordon::cli
