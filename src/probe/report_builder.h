// Turns what was read and what was tried into the report. Pure.
#pragma once

#include <vector>

#include "probe/host_facts.h"
#include "probe/probe.h"
#include "probe/trial.h"

namespace cordon::probe {

ProbeReport BuildReport(const HostFacts& facts, const std::vector<TrialResult>& results);

}  // namespace cordon::probe
