// Whether this host lets a session have a supervisor, and what its broker is told.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "jail/filter.h"
#include "jail/plan_builder.h"
#include "policy/policy.h"

namespace cordon::session {

// Nothing when a supervisor can be had, else why not and what would mend it (probe/supervisor.h).
Status SupervisorAvailable();

// What traps in a session of this policy; nothing without one.
jail::Supervision SupervisionFor(const policy::EffectivePolicy& policy, bool strict_reads);

// Payload of jail::wire::Type::kPolicy.
std::string EncodeForBroker(const policy::EffectivePolicy& policy,
                            const std::vector<jail::PlanInput::DeniedProgram>& programs);

}  // namespace cordon::session
