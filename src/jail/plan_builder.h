// From an EffectivePolicy to a Plan: pure but for the FileSystem that it asks for kinds and links.
//
// The builder walks over every existing path that a rule names, parents before children, asks the
// policy for the state of each (hidden, read-only, writable) and emits an operation wherever the
// state differs from what the nearest ancestor gives it. Enforcement and answer thus come from the
// same function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "jail/plan.h"
#include "policy/file_system.h"
#include "policy/policy.h"

namespace cordon::jail {

struct PlanInput {
  const policy::EffectivePolicy* policy = nullptr;
  std::uint32_t inner_uid = 0;
  // Programs that must not start (exec rules): canonical path and reason.
  struct DeniedProgram {
    std::string path;
    std::string reason;
  };
  std::vector<DeniedProgram> denied_programs;
  // Unix sockets of the host that exist now (canonical); hidden where the view would show them.
  std::vector<std::string> host_sockets;
};

// Errors: kUnsupported for a guestPath that has no place in view: host, kInternal otherwise.
Result<Plan> BuildPlan(const PlanInput& input, const policy::FileSystem& fs);

}  // namespace cordon::jail
