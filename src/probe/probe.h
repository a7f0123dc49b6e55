// What this host lets Cordon do, found by trying (spec 02 "Probe"). Each trial runs in a child with
// a time limit, so a failure costs nothing, changes nothing in the caller and leaves nothing
// behind.
//
//   ProbeReport report = Probe();
//   if (!report.available) std::cerr << report.hint;
//
// Probe() may be called from a threaded process: its children do not use malloc, locks or signals,
// and they are invisible to the caller's own waitpid(-1) and SIGCHLD.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cordon::probe {

enum class Support { kYes, kNo, kUnknown };
const char* SupportName(Support support);  // "yes", "no", "unknown"

// One row of the capability table. `name` is stable (used in --json): user_namespace, id_maps,
// mount_namespace, pid_namespace, net_namespace, ipc_namespace, uts_namespace, cgroup_namespace,
// mount_setattr, open_tree, openat2, fresh_proc, tmpfs, devpts, seccomp_filter, user_notification,
// addfd_send, wait_killable, sync_wake_up, supervisor, landlock, fuse, overlay_in_user_namespace,
// nftables_redirect, cgroup_v2, cgroup_freeze, kvm, yama_ptrace_scope, bubblewrap,
// container, wsl, apparmor_userns_restriction.
//
// The last three are facts about the host: kYes says that it is so, not that it is good.
struct Capability {
  std::string name;
  Support support = Support::kUnknown;
  bool required = false;  // the namespaces tier cannot run without it
  bool fact = false;      // describes the host; nothing that one could have or lack
  std::string detail;     // what was found: "ABI 7", "EPERM from clone(CLONE_NEWUSER)", "docker"
  std::string used_for;   // what it gives a user
  // Exact command, sysctl or file for this distribution, one a line; empty when none is needed, or
  // when the remedy of another row is the one that helps.
  std::string remedy;
};

struct ProbeReport {
  bool available = false;         // the native namespaces tier can run here
  std::string backend;            // "native" or "none"
  std::string launcher;           // what creates the namespaces: "native", "bubblewrap", "none"
  bool requires_install = false;  // installing a package would make it available
  std::string note;               // "namespace isolation, no kernel boundary"
  std::string hint;               // what to do, when not available
  std::string distribution;       // ID VERSION_ID of os-release
  std::string kernel;             // uname -r
  std::vector<Capability> capabilities;
  const Capability* Find(std::string_view name) const;
};

ProbeReport Probe();
// Stable JSON, two-space indentation, with a newline at the end; its fields are in docs/doctor.md.
std::string ToJson(const ProbeReport& report);
// For people: a table, the verdict, then what to do. `color` adds ANSI colours.
std::string ToText(const ProbeReport& report, bool color);

// The remedy for a user namespace refusal on this host, used by launch errors too; one line. `err`
// is the errno of the failed clone(2) or id map write. Reads /proc, /etc and /run only.
std::string UserNamespaceRemedy(int err);

}  // namespace cordon::probe
