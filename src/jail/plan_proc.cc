#include "jail/plan_proc.h"

#include <algorithm>
#include <string>

#include "policy/rule_match.h"

namespace cordon::jail {
namespace {

using policy::FileKind;
using policy::RuleKind;

constexpr std::string_view kProc = "/proc/";

// Names of the keys of the same user outside: the user keyring is not of one session.
constexpr const char* kForAll[] = {"/proc/keys", "/proc/key-users"};
// What uid 0 inside, which owns these files even without capabilities (12.6), must not see or
// write.
constexpr const char* kKernelTables[] = {
    "/proc/kcore",      "/proc/kmsg",         "/proc/timer_list",   "/proc/sched_debug",
    "/proc/kpagecount", "/proc/kpageflags",   "/proc/kpagecgroup",  "/proc/vmallocinfo",
    "/proc/slabinfo",   "/proc/pagetypeinfo", "/proc/latency_stats"};
constexpr const char* kSettings[] = {
    "/proc/sys",  "/proc/sysrq-trigger", "/proc/irq",    "/proc/bus",  "/proc/fs",
    "/proc/acpi", "/proc/scsi",          "/proc/driver", "/proc/mtrr", "/proc/profile"};

bool IsInProc(const std::string& path) {
  return path == "/proc" || path.compare(0, kProc.size(), kProc) == 0;
}

// The directory of a process: the host's numbers name other processes inside, or none.
bool IsOfProcess(const std::string& path) {
  return path.size() > kProc.size() && path[kProc.size()] >= '0' && path[kProc.size()] <= '9';
}

Operation Mask(const std::string& path, bool directory, std::string why) {
  Operation op;
  op.source = std::string(kStore) + (directory ? "/masks/dir" : "/masks/file");
  op.target = path;
  op.attributes = Operation::kReadOnly;
  op.early = true;
  op.recursive = false;
  op.optional = true;
  op.mechanism = "mask";
  op.why = std::move(why);
  return op;
}

void Add(Plan& plan, Operation op) {
  bool there = std::any_of(plan.after_proc.begin(), plan.after_proc.end(), [&](const Operation& o) {
    return o.target == op.target && o.source == op.source;
  });
  if (!there) plan.after_proc.push_back(std::move(op));
}

}  // namespace

Status CheckProc(const policy::EffectivePolicy& policy) {
  for (const auto& mount : policy.mounts) {
    if (!IsInProc(mount.host_path) && !IsInProc(policy::NormalizePath(mount.guest_path))) continue;
    return MakeError(ErrorCode::kUnsupported,
                     "mount " + mount.host_path + ":" + mount.guest_path + " (" +
                         mount.source.ToString() +
                         "): a session has its own /proc, with nothing of the host's in it",
                     "leave the mount out");
  }
  for (const auto& rule : policy.rules) {
    bool whole = rule.kind == RuleKind::kDenyRead &&
                 std::any_of(rule.existing.begin(), rule.existing.end(),
                             [](const auto& e) { return e.path == "/proc"; });
    if (!whole) continue;
    return MakeError(ErrorCode::kUnsupported,
                     "denyRead " + rule.text + " (" + rule.source.ToString() +
                         "): a session's own /proc cannot be hidden as a whole; it shows only the "
                         "session's processes",
                     "name what is to be hidden in it, such as /proc/cpuinfo");
  }
  return Ok();
}

void PlanProc(const policy::EffectivePolicy& policy, std::uint32_t inner_uid, Plan& plan) {
  for (const auto& rule : policy.rules) {
    if (rule.kind != RuleKind::kDenyRead) continue;
    for (const auto& e : rule.existing) {
      if (!IsInProc(e.path) || IsOfProcess(e.path) ||
          policy.Decide(policy::Operation::kRead, e.path).allowed)
        continue;
      Operation op = Mask(e.path, e.kind == FileKind::kDirectory, policy::LabelRule(rule));
      op.reported = true;
      op.rule = static_cast<std::uint32_t>(&rule - policy.rules.data());
      Add(plan, std::move(op));
    }
  }
  for (const char* path : kForAll) Add(plan, Mask(path, false, "keys of the same user"));
  if (inner_uid != 0) return;
  const auto add_read_only = [&plan](const char* path, const char* why) {
    Operation op;
    op.source = op.target = path;
    op.attributes = Operation::kReadOnly;
    op.optional = true;
    op.mechanism = "read-only bind mount";
    op.why = why;
    plan.after_proc.push_back(op);
  };
  // init is not dumpable, so that its files are root's; some of them ask for no more than the
  // owner.
  add_read_only("/proc/1", "scheduling of init, and with it of the monitor outside");
  for (const char* path : kSettings) add_read_only(path, "kernel settings");
  for (const char* path : kKernelTables) Add(plan, Mask(path, false, "kernel memory and tables"));
}

}  // namespace cordon::jail
