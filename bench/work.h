// The work of `bench-harness work`: tasks by name, done and timed by the process that is measured.
#pragma once

#include <string>
#include <vector>

namespace cordon::bench {

// Serves tasks from standard input until its end. `under`: what the process stands under.
//   ""          nothing
//   "filtered"  a system call filter that allows everything at once: what no sandbox with a filter
//               can save
//   "bare"      a filter that traps the calls that Cordon traps, and a listener that lets each one
//               go on: what no sandbox with a supervisor can save
int Work(const std::string& under);

// Puts this process under a filter that allows everything.
void AllowEverything();
// Returns in a child that is under the trapping filter; this process answers for it and ends with
// it.
void TrapAndContinue();

}  // namespace cordon::bench
