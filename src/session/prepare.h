// From a SandboxSpec to everything that a launch and its execs need: the effective policy, the
// mount plan, the id maps, the cleaned environment, the filter and the limits. Reads the file
// system, starts nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "jail/bwrap_arguments.h"
#include "jail/plan.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "session/session.h"
#include "session/violation_filter.h"

namespace cordon::session {

struct Identity {
  std::uint32_t outer_uid = 0, outer_gid = 0;
  std::uint32_t inner_uid = 0, inner_gid = 0;
};

struct Prepared {
  policy::EffectivePolicy policy;
  jail::Plan plan;
  Identity identity;
  std::map<std::string, std::string> environment;
  std::vector<policy::RemovedVariable> removed;
  std::vector<jail::ResourceLimit> limits;
  std::vector<std::string> details;   // how each limit is held
  std::vector<std::string> not_held;  // exec rules that no mount can hold
  ViolationFilter ignored;            // refusals that are not reported
  std::string filter;                 // sock_filter[] as bytes
  bool supervised = false;            // the filter traps; a broker answers
  std::string for_broker;             // payload of jail::wire::Type::kPolicy
  std::string for_masks;              // the same for the server of masks; empty: there is none
  std::string workdir;
};

Identity IdentityFor(const LaunchOptions& options);
// Id maps for `identity`. Root with CAP_SETUID keeps every id that it has; anybody else has one.
jail::Boot BootFor(const Identity& identity, bool keep_base);

// `launcher`: bubblewrap's sessions have no supervisor.
Result<Prepared> Prepare(const policy::SandboxSpec& spec, const LaunchOptions& options,
                         LaunchOptions::Launcher launcher = LaunchOptions::Launcher::kNative);

// For Prepared::details: no server stands behind the masks of denied reads.
std::string MasksArePlain(int error);

// Whether this kernel has the Landlock that the launcher's domains need (launcher/fence.h).
bool HasWriteFence();

// The same view as arguments of bubblewrap. Takes out of the plan what this host's /proc has not:
// bwrap would try to make it.
Result<jail::BwrapPlan> PlanForBubblewrap(Prepared& prepared);

}  // namespace cordon::session
