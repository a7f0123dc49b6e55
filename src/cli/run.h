// `cordon run`: launch, one exec, destroy.
#pragma once

#include <functional>
#include <vector>

#include "base/error.h"
#include "cli/options.h"
#include "cli/run_plan.h"
#include "policy/policy.h"
#include "session/violation.h"

namespace cordon::cli {

// Returns the exit code of the program: the command's as a shell reports it, 124 on a time limit,
// 125 when Cordon fails, 126 and 127 when the command cannot be started, 128+n when this process
// got the terminating signal n, whatever the command did with it.
// The caller's terminal is left as it was on every path.
int RunMain(const Arguments& arguments);

// What a run leaves to be said.
struct Ended {
  const policy::EffectivePolicy& policy;
  const std::vector<session::Violation>& violations;
};
// The same for a plan with a command. `say` is called once, when the session is gone; an error of
// its own makes the exit code 125. Does not return when the session was launched: it ends the
// process with the exit code.
int RunPlanned(const RunPlan& plan, const std::function<Status(const Ended&)>& say);

}  // namespace cordon::cli
