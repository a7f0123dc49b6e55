// `cordon trace`: `cordon run --strict-reads`, and a proposal in place of the summary.
#pragma once

#include "cli/options.h"

namespace cordon::cli {

// Returns what RunMain would.
int TraceMain(const Arguments& arguments);

}  // namespace cordon::cli
