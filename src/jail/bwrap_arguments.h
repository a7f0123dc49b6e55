// The same view through bubblewrap (bwrap(1)), for hosts where only it may create user namespaces
// (an AppArmor profile, 12.27). Pure: a Plan in, an argument list out.
//
// What that way cannot do: links bound onto themselves, noexec binds (a program is masked instead),
// a changed policy in a running session, network administration. BwrapArguments refuses by name
// what a spec asked for and bubblewrap cannot hold; what is only weaker is listed in `weaker`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "jail/plan.h"

namespace cordon::jail {

struct BwrapPlan {
  std::vector<std::string> arguments;  // without the program and without the command
  std::vector<std::string> weaker;     // one line each, for the session's details
};

// Where bubblewrap is looked for, never through PATH.
inline constexpr const char* kBwrapPath = "/usr/bin/bwrap";

// Error kUnsupported: a writable tree without programs (exec.blockWritableDirs).
Result<BwrapPlan> BwrapArguments(const Plan& plan, std::uint32_t inner_uid,
                                 std::uint32_t inner_gid);

}  // namespace cordon::jail
