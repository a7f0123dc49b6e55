#include "policy/spec_json_fields.h"

#include <array>

namespace cordon::policy {
namespace {

using enum Form;

constexpr Slot kNowhere{};

// The slot of a member of SandboxSpec, as a plain function pointer.
#define CORDON_SLOT(member) (+[](SandboxSpec& s) { return &s.member; })

constexpr auto kFilesystem = std::to_array<Field>({
    {"allowWrite", CORDON_SLOT(filesystem.allow_write), kPlain, false, "[]",
     "paths that are writable, beside writable mounts and the session's temporary directory; "
     "implies allowRead of the same path"},
    {"denyWrite", CORDON_SLOT(filesystem.deny_write), kPlain, false, "[]",
     "paths that are not writable; wins over every allow"},
    {"denyRead", CORDON_SLOT(filesystem.deny_read), kPlain, false, "[]",
     "paths that cannot be read; the rule with the longest match decides, and at equal length "
     "deny"},
    {"allowRead", CORDON_SLOT(filesystem.allow_read), kPlain, false, "[]",
     "paths that are readable although a shorter denyRead rule covers them"},
    {"denyNames", CORDON_SLOT(filesystem.deny_names), kNameGlobs, false, "[]",
     "globs of file names that may not be created or written anywhere; a leading ! makes an "
     "exception"},
    {"defaultDenyNames", CORDON_SLOT(filesystem.default_deny_names), kPlain, false, "false",
     "the built-in name list (.env, *.key, ...), added to denyNames"},
    {"disabled", CORDON_SLOT(filesystem.disabled), kPlain, false, "false",
     "no file rules at all, the always-protected set included"},
    {"allowGitConfig", CORDON_SLOT(filesystem.allow_git_config), kPlain, false, "false",
     "opens the config file of git directories, and nothing else of the always-protected set"},
    {"defaultDenies", CORDON_SLOT(filesystem.default_denies), kPlain, false, "true",
     "the built-in deny-read set: keys, tokens, browser profiles"},
});

constexpr auto kNetworkFields = std::to_array<Field>({
    {"mode", kNowhere, kNoNetworkMode, false, "\"none\"",
     "this version gives a sandbox no network: only none is accepted"},
    {"allowUnixSockets", CORDON_SLOT(network.allow_unix_sockets), kPlain, false, "[]",
     "unix sockets of the host that may be connected to; no globs. All others are refused, except "
     "those made inside"},
});

constexpr auto kLimits = std::to_array<Field>({
    {"memory", CORDON_SLOT(limits.memory_bytes), kBytes, false, "null", "memory of all processes"},
    {"cpus", CORDON_SLOT(limits.cpus), kPlain, false, "null",
     "processor time per second, in whole processors: 0.5 is half of one"},
    {"pids", CORDON_SLOT(limits.pids), kCount, false, "null", "processes and threads"},
    {"openFiles", CORDON_SLOT(limits.open_files), kCount, false, "null",
     "open descriptors of one process"},
    {"fileSize", CORDON_SLOT(limits.file_size_bytes), kBytes, false, "null", "size of one file"},
    {"diskWritten", CORDON_SLOT(limits.disk_written_bytes), kBytes, false, "null",
     "bytes written by all processes together"},
    {"wallTime", CORDON_SLOT(limits.wall_time), kPlain, false, "null",
     "time from start to end of one command"},
    {"idleTime", CORDON_SLOT(limits.idle_time), kPlain, false, "null",
     "time without a command after which the session ends"},
});

constexpr auto kEnvironment = std::to_array<Field>({
    {"set", CORDON_SLOT(environment.set), kPlain, false, "{}",
     "variables to set, after cleaning; an object of strings"},
    {"keep", CORDON_SLOT(environment.keep), kVariableNames, false, "[]",
     "names that cleaning must not remove"},
    {"drop", CORDON_SLOT(environment.drop), kVariablePatterns, false, "[]",
     "names to remove; a trailing * makes a prefix"},
});

constexpr auto kExec = std::to_array<Field>({
    {"deny", CORDON_SLOT(exec.deny), kPrograms, false, "[]",
     "programs that do not run, added to the built-in table: base names, globs of base names or "
     "absolute paths"},
    {"defaultDenies", CORDON_SLOT(exec.default_denies), kPlain, false, "true",
     "the built-in table of programs that reach outside through a privileged helper"},
    {"blockWritableDirs", CORDON_SLOT(exec.block_writable_dirs), kPlain, false, "false",
     "programs in writable directories do not run, except below execGrantRoots"},
});

constexpr auto kSpec = std::to_array<Field>({
    {"$schema", kNowhere, kIgnored, false, "", "address of the schema, for editors; not used"},
    {"sessionId", CORDON_SLOT(session_id), kIdentifier, true, "",
     "stable identifier of the session: 1 to 64 of A-Z a-z 0-9 . _ -"},
    {"workspaceId", CORDON_SLOT(workspace_id), kIdentifier, true, "",
     "owner of the session, of the same form; separates workspaces from each other"},
    {"agentId", CORDON_SLOT(agent_id), kPlain, false, "null", "the agent bound to the sandbox now"},
    {"bindMounts", CORDON_SLOT(bind_mounts), kPlain, false, "[]",
     "mounts from the host: objects of hostPath (absolute), guestPath (absolute, by default "
     "hostPath) and readOnly (by default false)"},
    {"view", CORDON_SLOT(view), kPlain, false, "\"bound\"",
     "bound: only system directories and the mounts are visible; host: the whole machine is "
     "readable, less denyRead"},
    {"mode", CORDON_SLOT(mode), kPlain, false, "\"chat\"",
     "chat leaves writable mounts writable; the other three make every mount read-only"},
    {"networkEnabled", kNowhere, kNoNetworkFlag, false, "false",
     "this version gives a sandbox no network: only false is accepted"},
    {"egressAllowlist", kNowhere, kNoList, false, "[]",
     "this version gives a sandbox no network: only the empty list is accepted"},
    {"guestWorkdir", CORDON_SLOT(guest_workdir), kAbsolutePath, false, "null",
     "working directory of commands that name none; absolute"},
    {"protectedPaths", CORDON_SLOT(protected_paths), kPlain, false, "[]",
     "paths that are never writable, in any mode"},
    {"runnerStateDirs", CORDON_SLOT(runner_state_dirs), kPlain, false, "[]",
     "directories of the runner's own state, writable in every mode"},
    {"execGrantRoots", CORDON_SLOT(exec_grant_roots), kPlain, false, "[]",
     "trees whose programs run although they are writable; see exec.blockWritableDirs"},
    {"filesystem", kNowhere, kObject, false, "", "path rules", kFilesystem},
    {"network", kNowhere, kNetwork, false, "", "no network in this version; unix sockets by path",
     kNetworkFields},
    {"credentials", kNowhere, kNoCredentials, false, "{}",
     "this version hands out no credentials: only {} is accepted"},
    {"limits", kNowhere, kObject, false, "", "limits on resources; null means none", kLimits},
    {"environment", kNowhere, kObject, false, "", "variables, after the built-in cleaning",
     kEnvironment},
    {"exec", kNowhere, kObject, false, "", "which programs run", kExec},
    {"ignoreViolations", CORDON_SLOT(ignore_violations), kPlain, false, "{}",
     "refusals that are not reported, by command: an object whose keys are a part of the command "
     "line or of the program's path (* stands for anything), each with a list of actions "
     "(\"unix-socket\"), paths and names (\"~/.cache\", \"*.pyc\")"},
});

#undef CORDON_SLOT

}  // namespace

std::span<const Field> SpecFields() { return kSpec; }

std::string FieldPath(std::string_view parent, std::string_view name) {
  if (parent.empty()) return std::string(name);
  return std::string(parent) + "." + std::string(name);
}

}  // namespace cordon::policy
