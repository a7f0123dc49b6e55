#include "probe/report_builder.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "probe/remedy.h"
#include "probe/supervisor.h"
#include "probe/trials.h"

namespace cordon::probe {
namespace {

constexpr char kNote[] = "namespace isolation, no kernel boundary";

using RemedyOf = Lines (*)(const HostFacts&, int err);

struct Row {
  std::string_view name;
  bool required;
  std::string_view used_for;
  RemedyOf remedy;
};

template <char... kKind>
Lines Namespace(const HostFacts& facts, int err) {
  const char kind[] = {kKind..., '\0'};
  return NamespaceRemedy(facts, kind, err);
}

const Row kRows[] = {
    {"user_namespace", true, "a sandbox without privileges", Namespace<'u', 's', 'e', 'r'>},
    {"id_maps", true, "the caller's own user and group inside", Namespace<'u', 's', 'e', 'r'>},
    {"mount_namespace", true, "file rules that bind", Namespace<'m', 'n', 't'>},
    {"pid_namespace", true, "own processes only; none survives the session",
     Namespace<'p', 'i', 'd'>},
    {"net_namespace", true, "no network but the session's own", Namespace<'n', 'e', 't'>},
    {"ipc_namespace", true, "no shared memory or queues of the host", Namespace<'i', 'p', 'c'>},
    {"uts_namespace", true, "an own host name", Namespace<'u', 't', 's'>},
    {"cgroup_namespace", true, "no view of the host's cgroups",
     Namespace<'c', 'g', 'r', 'o', 'u', 'p'>},
    {"mount_setattr", false, "all mounts read-only in one call (faster start)",
     [](const HostFacts& f, int e) { return CallRemedy(f, "mount_setattr", 5, 12, e); }},
    {"open_tree", false, "mounts by descriptor (faster start)",
     [](const HostFacts& f, int e) { return CallRemedy(f, "open_tree and move_mount", 5, 2, e); }},
    {"openat2", false, "path look-ups that cannot leave a root",
     [](const HostFacts& f, int e) { return CallRemedy(f, "openat2", 5, 6, e); }},
    {"fresh_proc", true, "a /proc of the session's own",
     [](const HostFacts& f, int e) { return MountRemedy(f, "proc", e); }},
    {"tmpfs", true, "private /tmp, /dev and /dev/shm",
     [](const HostFacts& f, int e) { return MountRemedy(f, "tmpfs", e); }},
    {"devpts", true, "terminals of the session's own",
     [](const HostFacts& f, int e) { return MountRemedy(f, "devpts", e); }},
    {"seccomp_filter", true, "refusal of system calls that reach outside",
     [](const HostFacts& f, int e) { return CallRemedy(f, "seccomp filters", 3, 17, e); }},
    {"user_notification", false, "rules for files that do not exist yet", ListenerRemedy},
    {"addfd_send", false, "opened files handed over in one step",
     [](const HostFacts& f, int e) { return CallRemedy(f, "ADDFD with SEND", 5, 14, e); }},
    {"wait_killable", false, "name rules that signals cannot disturb",
     [](const HostFacts& f, int e) { return CallRemedy(f, "WAIT_KILLABLE_RECV", 5, 19, e); }},
    {"sync_wake_up", false, "faster answers to trapped calls",
     [](const HostFacts& f, int e) { return CallRemedy(f, "SYNC_WAKE_UP", 6, 6, e); }},
    {"landlock", false, "a second fence that does not depend on mounts", LandlockRemedy},
    {"fuse", false, "denied reads reported with their path", FuseRemedy},
    {"overlay_in_user_namespace", false, "throw-away changes on top of a tree",
     [](const HostFacts& f, int e) { return MountRemedy(f, "overlay", e); }},
    {"nftables_redirect", false, "connections led to the session's proxy", NftablesRemedy},
    {"cgroup_v2", false, "memory, process and processor limits",
     [](const HostFacts& f, int) { return CgroupRemedy(f); }},
    {"kvm", false, "the microVM backend", KvmRemedy},
    {"yama_ptrace_scope", false, "reading the arguments of trapped calls",
     [](const HostFacts& f, int) {
       return f.yama.value_or(0) > 2 ? YamaRemedy(f)
                                     : CallRemedy(f, "process_vm_readv", 3, 2, EPERM);
     }},
    {"bubblewrap", false, "making the namespaces where only it may",
     [](const HostFacts&, int) { return Lines{}; }},
};

const Row& RowOf(std::string_view name) {
  return *std::find_if(std::begin(kRows), std::end(kRows),
                       [&](const Row& row) { return row.name == name; });
}

std::string Join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

// The capability whose absence makes this trial fail as well, or empty.
std::string_view MissingPrerequisite(const Trial& trial, const ProbeReport& report) {
  const auto missing = [&](std::string_view name) {
    const Capability* row = report.Find(name);
    return name != trial.name && row != nullptr && row->support == Support::kNo;
  };
  struct Need {
    bool applies;
    std::string_view name;
  };
  const std::string_view name = trial.name;
  const Need needs[] = {
      {(trial.namespaces & CLONE_NEWUSER) != 0, "user_namespace"},
      {trial.map_ids, "id_maps"},
      {(trial.namespaces & CLONE_NEWNS) != 0, "mount_namespace"},
      {(trial.namespaces & CLONE_NEWPID) != 0, "pid_namespace"},
      {(trial.namespaces & CLONE_NEWNET) != 0, "net_namespace"},
      {name == "overlay_in_user_namespace", "tmpfs"},
      {name == "addfd_send" || name == "wait_killable" || name == "sync_wake_up",
       "user_notification"},
  };
  for (const Need& need : needs) {
    if (need.applies && missing(need.name)) return need.name;
  }
  return {};
}

std::string SuccessDetail(const HostFacts& facts, const TrialResult& result) {
  const std::string_view name = result.trial->name;
  const std::string number = std::to_string(result.answer.value);
  if (name == "landlock") return "ABI " + number;
  if (name == "kvm") return "API " + number;
  if (name == "bubblewrap") return facts.bwrap;
  if (name == "yama_ptrace_scope") {
    return facts.yama ? "scope " + std::to_string(*facts.yama) : "Yama is not in use";
  }
  return "works";
}

void JudgeCgroup(const HostFacts& facts, const TrialResult& result, Capability& row) {
  const bool enough = (result.answer.value & kCgroupMemory) && (result.answer.value & kCgroupPids);
  if (!facts.cgroup.present) {
    row.support = Support::kNo;
    row.detail = "cgroup v2 is not mounted";
  } else if (result.answer.ok) {
    row.support = enough ? Support::kYes : Support::kNo;
    row.detail = result.answer.text[0] ? std::string("controllers: ") + result.answer.text
                                       : "no controllers";
  }
  if (facts.cgroup.present && facts.cgroup.hybrid) row.detail += " (v1 is mounted beside it)";
  if (row.support == Support::kNo) row.remedy = Join(CgroupRemedy(facts));
}

Capability FreezeRow(const HostFacts& facts, const TrialResult& result) {
  Capability row;
  row.name = "cgroup_freeze";
  row.used_for = "suspending a whole session";
  const bool freezes = result.answer.ok && (result.answer.value & kCgroupFreeze);
  const bool kills = result.answer.ok && (result.answer.value & kCgroupKill);
  row.support = freezes ? Support::kYes : Support::kNo;
  if (freezes) {
    row.detail = kills ? "cgroup.freeze, cgroup.kill" : "cgroup.freeze";
  } else if (!facts.cgroup.present) {
    row.detail = "cgroup v2 is not mounted";
  } else {
    row.detail = result.answer.ok ? "cgroup.freeze cannot be written" : DescribeFailure(result);
  }
  return row;
}

// What sessions ask before they start, so that the table says the same as they do.
Capability SupervisorRow(const HostFacts& facts) {
  Capability row;
  row.name = "supervisor";
  row.used_for = "rules for names, sockets by path, reports of refusals";
  const Status available = DescribeSupervisor(facts.supervisor.lack);
  row.support = available.ok() ? Support::kYes : Support::kNo;
  row.detail = available.ok() ? "available (user notifications)" : available.error().message;
  row.remedy = Join(SupervisorRemedy(facts));
  return row;
}

Capability Judge(const HostFacts& facts, const TrialResult& result, const ProbeReport& report) {
  const Row& text = RowOf(result.trial->name);
  Capability row;
  row.name = text.name;
  row.required = text.required;
  row.used_for = text.used_for;
  if (result.end == TrialResult::End::kAnswered && result.answer.ok) {
    row.support = Support::kYes;
    row.detail = SuccessDetail(facts, result);
    return row;
  }
  row.support = result.end == TrialResult::End::kTimedOut ? Support::kUnknown : Support::kNo;
  const std::string_view missing = MissingPrerequisite(*result.trial, report);
  if (!missing.empty()) {
    row.detail = "needs " + std::string(missing);
    return row;
  }
  row.detail = DescribeFailure(result);
  if (row.name == "fuse") row.detail += "; denied reads stay refused, but are not reported";
  // The first sentence of a program's message says it.
  const std::string said = result.answer.text;
  if (!said.empty()) row.detail += ": " + said.substr(0, said.find(". "));
  // A filter that kills says the same as one that answers EPERM.
  row.remedy = Join(text.remedy(facts, result.answer.err != 0 ? result.answer.err : EPERM));
  return row;
}

Capability FactRow(const char* name, bool so, std::string detail, const char* used_for) {
  Capability row;
  row.name = name;
  row.fact = true;
  row.support = so ? Support::kYes : Support::kNo;
  row.detail = std::move(detail);
  row.used_for = used_for;
  return row;
}

void AddFacts(const HostFacts& facts, ProbeReport& report) {
  const bool contained = facts.container != Container::kNone;
  report.capabilities.push_back(FactRow("container", contained,
                                        contained ? facts.container_detail : "none found",
                                        "which remedies apply"));
  Capability wsl =
      FactRow("wsl", facts.wsl != 0, facts.wsl == 0 ? "not WSL" : "WSL" + std::to_string(facts.wsl),
              "WSL1 has no namespaces, WSL2 has all");
  if (facts.wsl == 1) wsl.remedy = Join(NamespaceRemedy(facts, "user", 0));
  report.capabilities.push_back(wsl);
  std::string restriction = "this kernel has no such restriction";
  if (facts.apparmor_restrict) {
    restriction = "kernel.apparmor_restrict_unprivileged_userns = " +
                  std::to_string(*facts.apparmor_restrict);
  }
  report.capabilities.push_back(FactRow("apparmor_userns_restriction",
                                        facts.apparmor_restrict.value_or(0) != 0, restriction,
                                        "whether Cordon needs its AppArmor profile"));
}

// True when every required capability is there, but for those that `launcher_makes` covers.
bool HasRequired(const ProbeReport& report, bool bubblewrap_makes_namespaces) {
  for (const Capability& row : report.capabilities) {
    if (!row.required || row.support == Support::kYes) continue;
    if (!bubblewrap_makes_namespaces || row.name == "seccomp_filter") return false;
  }
  return true;
}

void Conclude(const HostFacts& facts, ProbeReport& report) {
  const Capability* bwrap = report.Find("bubblewrap");
  const bool bwrap_works = bwrap != nullptr && bwrap->support == Support::kYes;
  report.launcher = "none";
  if (facts.wsl != 1) {
    if (HasRequired(report, false)) {
      report.launcher = "native";
    } else if (bwrap_works && HasRequired(report, true)) {
      report.launcher = "bubblewrap";
    }
  }
  report.available = report.launcher != "none";
  report.backend = report.available ? "native" : "none";
  report.note = report.available ? kNote : "no sandbox on this host";
  if (report.launcher == "bubblewrap") {
    report.note +=
        "; namespaces made by bubblewrap: no supervisor, network administration, late mounts or "
        "FUSE masks";
    for (Capability& row : report.capabilities) {
      if (row.name != "supervisor" || row.support != Support::kYes) continue;
      row.support = Support::kNo;
      row.detail = "bubblewrap's namespaces cannot be entered by a supervisor";
    }
  }
  report.requires_install = !report.available && facts.wsl != 1 && facts.bwrap.empty() &&
                            facts.bwrap_profile && facts.apparmor_restrict.value_or(0) != 0 &&
                            facts.container == Container::kNone;
  if (report.requires_install) {
    for (Capability& row : report.capabilities) {
      if (row.name == "bubblewrap") row.remedy = Join(BubblewrapRemedy(facts));
    }
  }
}

std::string Hint(const ProbeReport& report) {
  std::set<std::string> seen;
  Lines hints;
  for (const Capability& row : report.capabilities) {
    const bool counts = (row.required && row.support != Support::kYes) || row.name == "wsl" ||
                        (row.name == "bubblewrap" && report.requires_install);
    if (counts && !row.remedy.empty() && seen.insert(row.remedy).second) {
      hints.push_back(row.remedy);
    }
  }
  if (hints.empty()) hints.push_back("no remedy is known: see the table of `cordon doctor`");
  return Join(hints);
}

}  // namespace

ProbeReport BuildReport(const HostFacts& facts, const std::vector<TrialResult>& results) {
  ProbeReport report;
  report.distribution = facts.distribution;
  report.kernel = facts.kernel;
  for (const TrialResult& result : results) {
    Capability row = Judge(facts, result, report);
    const bool cgroup = row.name == "cgroup_v2", notifications = row.name == "sync_wake_up";
    if (cgroup) JudgeCgroup(facts, result, row);
    report.capabilities.push_back(std::move(row));
    if (cgroup) report.capabilities.push_back(FreezeRow(facts, result));
    if (notifications) report.capabilities.push_back(SupervisorRow(facts));
  }
  AddFacts(facts, report);
  Conclude(facts, report);
  if (!report.available) report.hint = Hint(report);
  return report;
}

}  // namespace cordon::probe
