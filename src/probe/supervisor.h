// Whether a session can have a supervisor here: a broker that answers seccomp user notifications
// (docs/decisions/0003-supervisor.md). One answer for `cordon doctor` and for the sessions.
//
//   if (Status available = probe::SupervisorAvailable(); !available.ok()) ...
//
// Asks the kernel without installing anything, except where this process is itself under a filter:
// then a child tries whether a second listener is allowed. That child is made as those of trials
// are (trial.h): the caller's SIGCHLD and waitpid(-1) do not notice it, and it makes system calls
// only.
#pragma once

#include "base/error.h"
#include "probe/host_facts.h"

namespace cordon::probe {

SupervisorFinding FindSupervisor(const HostFiles& files);
// The same in words, with what mends it; also used where a finding is only shown.
Status DescribeSupervisor(SupervisorLack lack);

// FindSupervisor of this host; kUnsupported with a remedy when there is none.
Status SupervisorAvailable();

}  // namespace cordon::probe
