#include "session/prepare.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/unique_fd.h"
#include "jail/filter.h"
#include "jail/plan_builder.h"
#include "policy/exec_rules.h"
#include "policy/path.h"
#include "session/host_sockets.h"
#include "session/session_impl.h"
#include "session/supervision.h"
#include "sys/host_file_system.h"

namespace cordon::session {
namespace {

using policy::SandboxSpec;

extern "C" char** environ;

bool HasCapabilities(std::initializer_list<int> wanted) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  for (int cap : wanted)
    if ((data[cap / 32].effective & (1u << (cap % 32))) == 0) return false;
  return true;
}

// The ids that exist in this user namespace, each mapped to itself.
std::string IdentityMap(const char* path) {
  std::ifstream in(path);
  std::string out;
  unsigned long inside, outside, count;
  while (in >> inside >> outside >> count)
    out +=
        std::to_string(inside) + " " + std::to_string(inside) + " " + std::to_string(count) + "\n";
  return out;
}

std::string HomeDirectory(const std::map<std::string, std::string>& environment) {
  auto it = environment.find("HOME");
  if (it != environment.end() && !it->second.empty() && it->second[0] == '/')
    return policy::NormalizePath(it->second);
  if (const passwd* entry = ::getpwuid(::getuid());
      entry != nullptr && entry->pw_dir != nullptr && entry->pw_dir[0] == '/')
    return policy::NormalizePath(entry->pw_dir);
  return {};
}

Result<policy::Context> MakeContext(const SandboxSpec& spec, const LaunchOptions& options,
                                    const std::map<std::string, std::string>& environment,
                                    const policy::FileSystem& fs) {
  policy::Context context;
  context.environment = environment;
  context.home = HomeDirectory(environment);
  std::string workdir = spec.guest_workdir.value_or("/");
  if (workdir.empty() || workdir[0] != '/')
    return MakeError(ErrorCode::kInvalid, "guestWorkdir \"" + workdir + "\" is not absolute");
  // The kernel takes no longer path, so no command could be started there.
  if (workdir.size() >= PATH_MAX)
    return MakeError(ErrorCode::kInvalid,
                     "the working directory's path has " + std::to_string(workdir.size()) +
                         " bytes, at most 4095",
                     "start in a directory with a shorter path");
  auto resolved = policy::ResolvePath(policy::NormalizePath(workdir), fs);
  if (!resolved.ok()) return Annotate(resolved.error(), "working directory " + workdir);
  context.workdir = *resolved;
  context.root = ::geteuid() == 0;
  context.keep_readable = options.keep_readable;
  context.workdir_writable = options.workdir_writable;
  context.workdir_exact = options.workdir_exact;
  if (context.workdir_exact && context.workdir != policy::NormalizePath(workdir))
    return MakeError(
        ErrorCode::kInvalid,
        "working directory " + workdir + " was replaced by a link to " + context.workdir,
        "end what changes the directories above it, and start again");
  char exe[PATH_MAX];
  ssize_t n = ::readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n > 0)
    context.program_dirs.emplace_back(policy::ParentPath({exe, static_cast<std::size_t>(n)}));
  if (auto launcher = policy::ResolvePath(policy::NormalizePath(LauncherPath(options)), fs);
      launcher.ok())
    context.program_dirs.emplace_back(policy::ParentPath(*launcher));
  return context;
}

// Tools that stop when their cache in the home directory cannot be written; each then gets a fresh
// one in the session's own /tmp. (pip, for one, only warns and is not here.)
struct ToolCache {
  const char* variable;
  const char* below_home;
  const char* own;
};
constexpr ToolCache kToolCaches[] = {
    {"npm_config_cache", "/.npm", "/tmp/.npm"},               // EROFS from mkdtemp in _cacache
    {"CCACHE_DIR", "/.cache/ccache", "/tmp/.ccache"},         // fails the compile
    {"GOCACHE", "/.cache/go-build", "/tmp/.cache/go-build"},  // "failed to initialize build cache"
};

// Cordon's own values, set after cleaning.
void AddOwnVariables(const SandboxSpec& spec, const Identity& identity, const std::string& home,
                     const policy::EnvironmentFacts& facts, bool supervised,
                     std::map<std::string, std::string>& environment) {
  environment["TMPDIR"] = "/tmp";
  environment["XDG_RUNTIME_DIR"] = "/run/user/" + std::to_string(identity.inner_uid);
  environment["CORDON_SESSION"] = spec.session_id;
  if (!home.empty()) environment.emplace("HOME", home);
  environment.emplace("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  // tar as uid 0 restores owners that need not exist inside (12.6).
  if (identity.inner_uid == 0) environment.emplace("TAR_OPTIONS", "--no-same-owner");
  // No sample hooks: hooks cannot be created, and git gives up on the whole clone for one.
  if (supervised) environment.emplace("GIT_TEMPLATE_DIR", "");
  for (const ToolCache& cache : kToolCaches)
    if (home.empty() || !facts.writable(home + cache.below_home))
      environment.emplace(cache.variable, cache.own);
  for (const auto& [name, value] : spec.environment.set) environment[name] = value;
}

void RestoreVariables(std::initializer_list<const char*> names,
                      const std::map<std::string, std::string>& inherited,
                      std::map<std::string, std::string>& environment) {
  for (const char* name : names) {
    environment.erase(name);
    if (auto it = inherited.find(name); it != inherited.end()) environment[name] = it->second;
  }
}

Error NotHeld(const std::string& limit, const std::string& reason, const std::string& remedy) {
  return MakeError(ErrorCode::kUnsupported,
                   "limits." + limit + " cannot be held on this host: " + reason, remedy);
}

Status PlanLimits(const policy::Limits& limits, const Identity& identity, Prepared& out) {
  auto add = [&](unsigned resource, std::uint64_t value) {
    out.limits.push_back({resource, value, value});
  };
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (limits.open_files) {
    add(RLIMIT_NOFILE, *limits.open_files);
    out.details.push_back("limits.openFiles: RLIMIT_NOFILE, per process");
  } else {
    out.limits.push_back({RLIMIT_NOFILE, files.rlim_cur, files.rlim_max});
  }
  if (limits.file_size_bytes) {
    add(RLIMIT_FSIZE, *limits.file_size_bytes);
    out.details.push_back("limits.fileSize: RLIMIT_FSIZE, per file");
  }
  if (limits.memory_bytes) {
    constexpr std::uint64_t kLeast = 1 << 20;  // with less no program gets as far as main()
    if (*limits.memory_bytes < kLeast)
      return MakeError(
          ErrorCode::kInvalid,
          "limits.memory is " + std::to_string(*limits.memory_bytes) + " bytes, at least 1M",
          "give a unit: --memory 512M");
    add(RLIMIT_DATA, *limits.memory_bytes);
    out.details.push_back("limits.memory: RLIMIT_DATA, private memory of each process");
  }
  if (limits.pids) {
    if (identity.outer_uid == 0)
      return NotHeld("pids",
                     "the process limit (RLIMIT_NPROC) does not bind root, and the cgroup v2 pids "
                     "controller is not used by this version",
                     "run Cordon as an ordinary user, or leave --pids out");
    add(RLIMIT_NPROC, *limits.pids);
    out.details.push_back("limits.pids: RLIMIT_NPROC in the session's user namespace");
  }
  constexpr const char* kLeaveOut = "leave it out: this version does not use cgroups";
  if (limits.cpus) return NotHeld("cpus", "it needs the cgroup v2 cpu controller", kLeaveOut);
  if (limits.disk_written_bytes)
    return NotHeld("diskWritten", "it needs the cgroup v2 io controller", kLeaveOut);
  if (limits.idle_time)
    return NotHeld("idleTime", "idle sessions are ended by a daemon, which this version has not",
                   "leave it out");
  return Ok();
}

void SayFence(Prepared& out) {
  if (HasWriteFence()) return;
  out.details.push_back(
      "weaker: no write fence, which needs Landlock of Linux 5.19: a file passed as standard input "
      "can be opened again for writing");
}

// Without a supervisor what only it can hold is refused (a person's rules) or said.
bool WantsSupervisor(LaunchOptions::Launcher launcher, Prepared& out) {
  Status available = launcher == LaunchOptions::Launcher::kBubblewrap
                         ? MakeError(ErrorCode::kUnsupported,
                                     "bubblewrap's namespaces cannot be entered by a supervisor")
                         : SupervisorAvailable();
  if (available.ok()) return true;
  out.details.push_back("weaker: no rules for names that do not exist yet, and no reports: " +
                        available.error().message);
  return false;
}

// A server of masks tells which path was meant; without one the masks only refuse.
void PlanMaskServer(Prepared& out) {
  if (!out.supervised) return;  // which has been said
  out.for_masks = jail::EncodeMasks(out.plan, out.identity.inner_uid, out.identity.inner_gid);
  if (out.for_masks.empty()) return;
  UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (device.valid()) return;
  out.details.push_back(MasksArePlain(errno));
  out.for_masks.clear();
}

std::string FilterBytes(const jail::Supervision& supervise) {
  jail::FilterOptions options;
  options.supervise = supervise;
  std::vector<sock_filter> program = jail::BaselineFilter(options);
  return std::string(reinterpret_cast<const char*>(program.data()),
                     program.size() * sizeof(sock_filter));
}

}  // namespace

std::string MasksArePlain(int error) {
  return std::string("denied reads are not reported by path: /dev/fuse: ") + std::strerror(error);
}

bool HasWriteFence() {
  constexpr long kLandlockCreateRuleset = 444;
  constexpr unsigned kGetVersion = 1;
  return ::syscall(kLandlockCreateRuleset, nullptr, 0, kGetVersion) >= 2;
}

Identity IdentityFor(const LaunchOptions& options) {
  Identity identity;
  identity.outer_uid = ::geteuid();
  identity.outer_gid = ::getegid();
  identity.inner_uid = options.uid.value_or(identity.outer_uid);
  identity.inner_gid =
      options.uid
          ? (identity.outer_gid == 0 || *options.uid == 0 ? *options.uid : identity.outer_gid)
          : identity.outer_gid;
  return identity;
}

jail::Boot BootFor(const Identity& identity, bool keep_base) {
  jail::Boot boot;
  boot.keep_base = keep_base;
  bool whole = identity.inner_uid == identity.outer_uid &&
               HasCapabilities({CAP_SETUID, CAP_SETGID, CAP_SETFCAP});
  if (whole) {
    boot.uid_map = IdentityMap("/proc/self/uid_map");
    boot.gid_map = IdentityMap("/proc/self/gid_map");
    boot.deny_setgroups = false;
    return boot;
  }
  boot.uid_map =
      std::to_string(identity.inner_uid) + " " + std::to_string(identity.outer_uid) + " 1\n";
  boot.gid_map =
      std::to_string(identity.inner_gid) + " " + std::to_string(identity.outer_gid) + " 1\n";
  return boot;
}

Result<Prepared> Prepare(const SandboxSpec& spec, const LaunchOptions& options,
                         LaunchOptions::Launcher launcher) {
  sys::HostFileSystem fs;
  Prepared out;
  out.identity = IdentityFor(options);
  std::map<std::string, std::string> inherited =
      options.environment.empty() ? policy::EnvironmentFrom(environ) : options.environment;
  CORDON_TRY(policy::Context context, MakeContext(spec, options, inherited, fs));
  out.supervised = context.supervised = WantsSupervisor(launcher, out);
  if (options.strict_reads && !out.supervised)
    return MakeError(ErrorCode::kUnsupported, "strict reads need a supervisor",
                     "run `cordon doctor` for what this host lacks");
  CORDON_TRY(out.policy, policy::Compile(spec, context, fs));
  out.workdir = context.workdir;
  CORDON_TRY(out.ignored,
             ViolationFilter::Make(spec.ignore_violations, out.policy.home, out.policy.workdir));

  jail::PlanInput input;
  input.policy = &out.policy;
  input.inner_uid = out.identity.inner_uid;
  if (!out.policy.files_disabled) {
    CORDON_TRY(policy::ExecDenials denials, policy::FindDeniedPrograms(spec.exec, fs));
    for (auto& d : denials.masked)
      input.denied_programs.push_back({d.path, d.rule + ": " + d.reason});
    for (auto& d : denials.not_held)
      out.not_held.push_back(d.path + " (" + d.rule + "): " + d.reason);
  }
  input.host_sockets = HostSockets();
  CORDON_TRY(out.plan, jail::BuildPlan(input, fs));

  auto path = inherited.find("PATH");
  policy::EnvironmentFacts facts =
      policy::FactsFor(out.policy, fs, path == inherited.end() ? "" : path->second);
  policy::CleanedEnvironment cleaned = policy::CleanEnvironment(inherited, spec.environment, facts);
  out.environment = std::move(cleaned.variables);
  out.removed = std::move(cleaned.removed);
  AddOwnVariables(spec, out.identity, context.home, facts, out.supervised, out.environment);
  // Without file rules there is no private /tmp either: the caller's choice stands.
  if (out.policy.files_disabled)
    RestoreVariables({"TMPDIR", "XDG_RUNTIME_DIR"}, inherited, out.environment);
  CORDON_CHECK(PlanLimits(spec.limits, out.identity, out));
  out.filter = FilterBytes(out.supervised ? SupervisionFor(out.policy, options.strict_reads)
                                          : jail::Supervision{});
  if (out.supervised) out.for_broker = EncodeForBroker(out.policy, input.denied_programs);
  PlanMaskServer(out);
  SayFence(out);
  return out;
}

Result<jail::BwrapPlan> PlanForBubblewrap(Prepared& prepared) {
  std::erase_if(prepared.plan.after_proc, [](const jail::Operation& op) {
    return op.optional && ::access(op.target.c_str(), F_OK) != 0;
  });
  return jail::BwrapArguments(prepared.plan, prepared.identity.inner_uid,
                              prepared.identity.inner_gid);
}

}  // namespace cordon::session
