// The trials of Probe(), one a capability, each a function that runs in a child (trial.h).
#pragma once

#include <span>

#include "probe/trial.h"

namespace cordon::probe {

// Bits of TrialAnswer::value of the trial "cgroup_v2".
inline constexpr int kCgroupMemory = 1, kCgroupPids = 2, kCgroupCpu = 4, kCgroupFreeze = 8,
                     kCgroupKill = 16;

std::span<const Trial> AllTrials();

// Mounts (trials_mount.cc). All run in a user and mount namespace of their own.
void TryPrivateMounts(const TrialContext&, TrialAnswer&);
void TryMountSetattr(const TrialContext&, TrialAnswer&);
void TryOpenTree(const TrialContext&, TrialAnswer&);
void TryFreshProc(const TrialContext&, TrialAnswer&);
void TryTmpfs(const TrialContext&, TrialAnswer&);
void TryDevpts(const TrialContext&, TrialAnswer&);
void TryFuse(const TrialContext&, TrialAnswer&);
void TryOverlay(const TrialContext&, TrialAnswer&);

// Filters and Landlock (trials_filter.cc).
void TryFilter(const TrialContext&, TrialAnswer&);
void TryListener(const TrialContext&, TrialAnswer&);
void TryAddFdSend(const TrialContext&, TrialAnswer&);
void TryWaitKillable(const TrialContext&, TrialAnswer&);
void TrySyncWakeUp(const TrialContext&, TrialAnswer&);
void TryLandlock(const TrialContext&, TrialAnswer&);

// nftables (trials_netfilter.cc).
void TryRedirect(const TrialContext&, TrialAnswer&);

// The rest (trials.cc).
void TryPidNamespace(const TrialContext&, TrialAnswer&);
void TryHostName(const TrialContext&, TrialAnswer&);
void TryOpenat2(const TrialContext&, TrialAnswer&);
void TryCgroup(const TrialContext&, TrialAnswer&);
void TryKvm(const TrialContext&, TrialAnswer&);
void TryReadMemory(const TrialContext&, TrialAnswer&);
void TryBubblewrap(const TrialContext&, TrialAnswer&);

}  // namespace cordon::probe
