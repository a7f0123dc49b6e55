// Words for a failure that the launcher reports: what was attempted, why it failed, what mends it.
#pragma once

#include "base/error.h"
#include "jail/plan.h"
#include "jail/wire.h"

namespace cordon::session {

// `plan` may be null (the failure came before a plan was sent).
Error LaunchError(const jail::wire::Failure& failure, const jail::Plan* plan);

// Failure of one exec before its program ran. `program` is argv[0], `workdir` where it should
// start.
Error ExecError(const jail::wire::Failure& failure, const std::string& program,
                const std::string& workdir);

}  // namespace cordon::session
