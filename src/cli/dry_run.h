// `cordon run --dry-run`: the effective policy, how each rule would be held, and what is not held.
#pragma once

#include <string>

#include "cli/run_plan.h"
#include "session/session.h"

namespace cordon::cli {

// For people. Pure.
std::string DryRunText(const RunPlan& plan, const session::Preview& preview);
// One object: session, view, mode, workdir, filesDisabled, command, rules (each with `held`),
// mounts, limits, environment, removedEnvironment, warnings, plan, filter. Pure.
std::string DryRunJson(const RunPlan& plan, const session::Preview& preview);

// Prints one of the two; 0, or 125 with the error reported.
int DryRunMain(const RunPlan& plan, const session::LaunchOptions& options);

}  // namespace cordon::cli
