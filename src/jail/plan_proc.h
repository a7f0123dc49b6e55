// The part of a plan that concerns /proc, where a session always has its own.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "jail/plan.h"
#include "policy/policy.h"

namespace cordon::jail {

// Error kUnsupported: a mount of the host's /proc, a mount below the session's, or a rule that
// hides /proc itself.
Status CheckProc(const policy::EffectivePolicy& policy);

// Adds to plan.after_proc what of the fresh /proc must not be seen or written: what the rules hide
// in it, what nobody may see, and what user 0 inside owns although it has no capabilities.
void PlanProc(const policy::EffectivePolicy& policy, std::uint32_t inner_uid, Plan& plan);

}  // namespace cordon::jail
