#include <algorithm>
#include <array>

#include "policy/compiler.h"
#include "policy/path.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

// Directories that are replaced by the session's own (12.22).
constexpr auto kPrivateDirectories =
    std::to_array<std::string_view>({"/tmp", "/var/tmp", "/dev/shm", "/run"});

// Starting a command here does not mean that it may change the system.
bool IsSystemDirectory(std::string_view path, std::string_view home) {
  static constexpr auto kExact = std::to_array<std::string_view>(
      {"/", "/usr", "/usr/local", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot",
       "/opt", "/srv", "/var", "/var/lib", "/home", "/mnt", "/media"});
  static constexpr auto kWhole = std::to_array<std::string_view>({"/proc", "/sys", "/dev"});
  const bool above_home = !home.empty() && home != path && IsAtOrBelow(home, path);
  return above_home || std::find(kExact.begin(), kExact.end(), path) != kExact.end() ||
         std::any_of(kWhole.begin(), kWhole.end(), [&](auto d) { return IsAtOrBelow(path, d); });
}

std::string MountText(const BindMount& mount) {
  std::string text = mount.host_path;
  if (mount.guest_path != mount.host_path) text += ":" + mount.guest_path;
  return mount.read_only ? text + ":ro" : text;
}

}  // namespace

Status Compiler::ResolveHome() {
  if (context_.home.empty()) {
    Warn("no home directory is known: the built-in rules for it do not hold");
    return Ok();
  }
  if (context_.home.front() != '/') {
    return MakeError(ErrorCode::kInvalid,
                     "home directory \"" + context_.home + "\" is not absolute",
                     "set HOME to an absolute path");
  }
  CORDON_TRY(home_, ResolvePath(context_.home, fs_));
  policy_.home = home_;
  return Ok();
}

Status Compiler::AddMounts() {
  for (const BindMount& given : spec_.bind_mounts) {
    BindMount mount = given;
    if (mount.guest_path.empty()) mount.guest_path = mount.host_path;
    const std::string shown =
        "bind mount \"" + MountText(mount) + "\" (" + mount.source.ToString() + ")";
    for (const std::string& path : {mount.host_path, mount.guest_path}) {
      const bool good =
          !path.empty() && path.front() == '/' && path.find('\0') == std::string::npos;
      if (!good)
        return MakeError(ErrorCode::kInvalid, shown + ": not an absolute path",
                         "write both paths in full");
    }
    Rule rule;
    rule.kind = RuleKind::kMount;
    rule.text = MountText(mount);
    rule.source = mount.source;
    rule.read_only = mount.read_only || spec_.mode != Mode::kChat;
    rule.executable = !spec_.exec.block_writable_dirs || rule.read_only;
    if (auto added = AddLiteral(&rule, mount.host_path); !added.ok())
      return Annotate(added.error(), shown);
    if (rule.existing.empty()) {
      return MakeError(ErrorCode::kInvalid, shown + ": there is no " + mount.host_path,
                       "create it, or take the mount out");
    }
    const bool in_place = NormalizePath(mount.guest_path) == NormalizePath(mount.host_path);
    mount.host_path = rule.existing.front().path;
    // A link that is mounted where it stands leads to the mount by itself, where it can be seen.
    const bool seen = spec_.view == View::kHost || IsAtOrBelow(mount.guest_path, context_.workdir);
    mount.guest_path = in_place && seen ? mount.host_path : NormalizePath(mount.guest_path);
    mount.read_only = rule.read_only;
    policy_.mounts.push_back(std::move(mount));
    policy_.rules.push_back(std::move(rule));
  }
  return Ok();
}

Status Compiler::AddWorkdir() {
  const std::string given = spec_.guest_workdir.value_or(context_.workdir);
  if (given.empty() || given.front() != '/' || given.find('\0') != std::string::npos) {
    return MakeError(ErrorCode::kInvalid,
                     given.empty() ? "no working directory is known"
                                   : "working directory \"" + given.substr(0, given.find('\0')) +
                                         "\" is not an absolute path",
                     "start in a directory that exists, or name one with --workdir");
  }
  // A path inside is another one outside where a mount says so; the innermost mount decides.
  std::string host = given;
  std::size_t longest = 0;
  const std::string guest = NormalizePath(given);
  for (const BindMount& mount : policy_.mounts) {
    if (!IsAtOrBelow(guest, mount.guest_path) || mount.guest_path.size() <= longest) continue;
    longest = mount.guest_path.size();
    const std::string below = guest.substr(mount.guest_path == "/" ? 0 : longest);
    host = mount.guest_path == mount.host_path ? given : mount.host_path + below;
  }
  CORDON_TRY(ResolvedPath resolved, ResolveLinks(host, fs_));
  policy_.workdir = resolved.path;
  const std::string shown = "working directory " + given;
  if (context_.workdir_exact && host == given && resolved.path != guest) {
    return MakeError(ErrorCode::kInvalid, shown + " was replaced by a link to " + resolved.path,
                     "end what changes the directories above it, and start again");
  }
  if (resolved.kind == FileKind::kMissing) {
    return MakeError(ErrorCode::kInvalid, shown + " does not exist",
                     "create it, or name another with --workdir");
  }
  if (resolved.kind != FileKind::kDirectory) {
    return MakeError(ErrorCode::kInvalid, shown + " is not a directory",
                     "name a directory with --workdir");
  }
  const bool below_mount =
      std::any_of(policy_.mounts.begin(), policy_.mounts.end(),
                  [&](const BindMount& m) { return IsAtOrBelow(resolved.path, m.host_path); });
  if (below_mount) return Ok();  // the mount says what it may be used for

  CORDON_TRY(Rule rule, FromPath(RuleKind::kWorkdir, resolved.path, "working directory",
                                 "the session works here"));
  rule.executable = !spec_.exec.block_writable_dirs;
  const bool replaced = std::find(kPrivateDirectories.begin(), kPrivateDirectories.end(),
                                  resolved.path) != kPrivateDirectories.end();
  rule.read_only = !context_.workdir_writable || replaced ||
                   IsSystemDirectory(resolved.path, home_) || spec_.mode != Mode::kChat;
  policy_.rules.push_back(std::move(rule));
  return Ok();
}

Status Compiler::AddUserEntries() {
  const FilesystemRules& files = spec_.filesystem;
  const std::size_t first = policy_.rules.size();
  CORDON_CHECK(AddEntries(RuleKind::kAllowWrite, files.allow_write, "allowWrite"));
  CORDON_CHECK(AddEntries(RuleKind::kAllowRead, files.allow_read, "allowRead"));
  CORDON_CHECK(AddEntries(RuleKind::kDenyRead, files.deny_read, "denyRead"));
  CORDON_CHECK(AddEntries(RuleKind::kDenyWrite, files.deny_write, "denyWrite"));
  CORDON_CHECK(AddEntries(RuleKind::kProtected, spec_.protected_paths, "protectedPaths"));
  CORDON_CHECK(AddEntries(RuleKind::kRunnerState, spec_.runner_state_dirs, "runnerStateDirs"));
  for (std::size_t i = first; i < policy_.rules.size(); ++i) {
    Rule& rule = policy_.rules[i];
    if (OpensWriting(rule)) rule.executable = !spec_.exec.block_writable_dirs;
  }
  return Ok();
}

Status Compiler::AddTemporary() {
  for (const std::string_view directory : kPrivateDirectories) {
    const bool mounted = std::any_of(policy_.mounts.begin(), policy_.mounts.end(),
                                     [&](const BindMount& m) { return m.guest_path == directory; });
    if (mounted) continue;
    CORDON_TRY(Rule rule,
               FromPath(RuleKind::kTemporary, std::string(directory), "private directories",
                        "a session has its own, which starts empty"));
    rule.executable = !spec_.exec.block_writable_dirs;
    if (!rule.existing.empty()) policy_.rules.push_back(std::move(rule));
  }
  return Ok();
}

Status Compiler::AddSystemDirectories() {
  if (spec_.view != View::kBound) return Ok();
  for (const SystemDirectory& directory : SystemDirectories()) {
    CORDON_TRY(Rule rule, FromPath(RuleKind::kSystem, std::string(directory.path),
                                   "system directories", directory.reason));
    if (!rule.existing.empty()) policy_.rules.push_back(std::move(rule));
  }
  return Ok();
}

Status Compiler::AddProgramDirectories() {
  for (const std::string& directory : context_.program_dirs) {
    CORDON_TRY(Rule rule,
               FromPath(RuleKind::kProtected, directory, "built-in protected set",
                        "a session must not replace the program that starts the next one"));
    policy_.rules.push_back(std::move(rule));
  }
  return Ok();
}

Status Compiler::AddDefaultDenies() {
  if (!spec_.filesystem.default_denies) return Ok();
  constexpr std::string_view kOrigin = "built-in deny-read set";
  const std::size_t user_rules = policy_.rules.size();
  for (const DenyReadEntry& entry : DenyReadDefaults()) {
    const bool absolute = !entry.path.empty() && entry.path.front() == '/';
    if ((!absolute && home_.empty()) || (entry.root_only && !context_.root)) continue;
    const std::string path = absolute ? std::string(entry.path) : JoinPath(home_, entry.path);
    Rule rule;
    rule.kind = RuleKind::kDenyRead;
    rule.text = absolute ? path : "~/" + std::string(entry.path);
    rule.source.origin = kOrigin;
    rule.reason = entry.reason;
    rule.built_in_default = true;
    rule.empty_mask = entry.empty_mask;
    const bool magic = glob::HasMagic(entry.path);
    const std::string pattern =
        absolute ? path : PatternStart(home_) + "/" + std::string(entry.path);
    if (auto added = magic ? AddGlob(&rule, pattern) : AddLiteral(&rule, path); !added.ok()) {
      return Annotate(added.error(), DescribeRule(rule));
    }
    policy_.rules.push_back(std::move(rule));
    if (!context_.keep_readable || magic) continue;
    for (std::string_view names = entry.keep_readable; !names.empty();) {
      const std::string_view name = names.substr(0, names.find(':'));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      const std::string kept = JoinPath(path, name);
      // What the user hides himself stays hidden: the exception is one of the built-in rule only.
      const bool hidden = std::any_of(
          policy_.rules.begin(), policy_.rules.begin() + static_cast<std::ptrdiff_t>(user_rules),
          [&](const Rule& r) { return r.kind == RuleKind::kDenyRead && RuleMatch(r, kept) != 0; });
      if (hidden) continue;
      CORDON_TRY(Rule exception,
                 FromPath(RuleKind::kAllowRead, kept, kOrigin, "no secret, and tools need it"));
      exception.built_in_default = true;
      policy_.rules.push_back(std::move(exception));
    }
  }
  return Ok();
}

Status Compiler::AddExecGrants() {
  for (const PathEntry& entry : spec_.exec_grant_roots) {
    CORDON_TRY(Rule rule, FromEntry(RuleKind::kAllowRead, entry, "execGrantRoots"));
    if (!rule.globs.empty()) {
      return MakeError(ErrorCode::kInvalid,
                       "execGrantRoots \"" + entry.text + "\" (" + entry.source.ToString() +
                           "): a pattern names no tree",
                       "name the directory itself");
    }
    for (const ExistingPath& e : rule.existing) policy_.exec_grants.push_back(e.path);
  }
  return Ok();
}

// A session could have planted a link in a place that it may write, for the next start to follow:
// what opens more than that place is refused unless it is named by its own path.
Status Compiler::CheckOpeningLinks() {
  for (const Rule& rule : policy_.rules) {
    const bool opens = OpensWriting(rule) && rule.kind != RuleKind::kWorkdir;
    if (!opens && rule.kind != RuleKind::kAllowRead) continue;
    if (rule.built_in_default || rule.paths.size() < 2) continue;
    const std::string& written = rule.paths.front();
    const std::string& real = rule.paths.back();
    const auto others = [&](auto matches) {
      return std::any_of(policy_.rules.begin(), policy_.rules.end(),
                         [&](const Rule& r) { return &r != &rule && matches(r); });
    };
    const bool plantable = others(
        [&](const Rule& r) { return OpensWriting(r) && RuleMatch(r, ParentPath(written)) != 0; });
    if (!plantable) continue;
    const bool harmless =
        opens ? others([&](const Rule& r) { return OpensWriting(r) && RuleMatch(r, real) != 0; })
              : !others([&](const Rule& r) {
                  return r.kind == RuleKind::kDenyRead && RuleMatch(r, real) != 0;
                });
    if (harmless) continue;
    return MakeError(ErrorCode::kInvalid,
                     DescribeRule(rule) + ": " + written +
                         " is reached through a link in a writable directory, which a session may "
                         "have made; it leads to " +
                         real,
                     "name that place itself, or remove the link");
  }
  return Ok();
}

Status Compiler::CheckWorkdir() {
  const Verdict read = policy_.Decide(Operation::kRead, policy_.workdir);
  if (read.session_own) {
    Warn("the working directory " + policy_.workdir +
         " is the session's own and starts empty; "
         "start in a directory below it, or mount it with --mount " +
         policy_.workdir);
    return Ok();
  }
  if (!read.allowed) {
    return MakeError(
        ErrorCode::kInvalid,
        "the working directory " + policy_.workdir + " may not be read: " + read.reason,
        "start in another directory, or make it readable: --allow-read " + policy_.workdir);
  }
  const bool expected = context_.workdir_writable && spec_.mode == Mode::kChat &&
                        IsSystemDirectory(policy_.workdir, home_);
  if (expected && !IsWritable(policy_.workdir)) {
    Warn("the working directory " + policy_.workdir +
         " is a system directory and stays read-only; "
         "--write " +
         policy_.workdir + " opens it");
  }
  return Ok();
}

// A rule that names a private directory itself would act on the session's own one: a mask on the
// session's /tmp serves nobody.
void Compiler::SettlePrivateDirectories() {
  for (const Rule& temporary : policy_.rules) {
    if (temporary.kind != RuleKind::kTemporary) continue;
    const std::string own = temporary.existing.front().path;
    for (Rule& rule : policy_.rules) {
      if (rule.kind == RuleKind::kTemporary || rule.kind == RuleKind::kMount) continue;
      auto& found = rule.existing;
      const auto gone =
          std::remove_if(found.begin(), found.end(), [&](const auto& e) { return e.path == own; });
      if (gone == found.end()) continue;
      found.erase(gone, found.end());
      const bool allows = rule.kind == RuleKind::kAllowWrite || rule.kind == RuleKind::kAllowRead;
      if (allows) {
        Warn(DescribeRule(rule) + ": the session has its own " + own +
             "; name a path below it, or use --mount " + own + " for the host's");
      }
    }
  }
}

// Marks what only a supervisor can hold, and says so where a person wrote the rule.
void Compiler::ReportUnheld() {
  for (Rule& rule : policy_.rules) {
    const bool built_in = !rule.reason.empty() && rule.kind != RuleKind::kProtected;
    const bool own_words = rule.source.origin != "built-in protected set" && !built_in;
    const bool missing = rule.existing.empty() && rule.globs.empty();
    std::string warning;
    switch (rule.kind) {
      case RuleKind::kDenyRead:
        rule.needs_supervisor = missing || !rule.globs.empty();
        if (missing) warning = " is not there yet: if it appears, it is readable";
        if (!rule.globs.empty()) warning = ": names that match it later are readable";
        break;
      case RuleKind::kDenyWrite:
      case RuleKind::kProtected: {
        const bool open = std::any_of(rule.paths.begin(), rule.paths.end(),
                                      [&](auto& p) { return IsWritable(p); });
        rule.needs_supervisor =
            (missing && open) || (!rule.links.empty() && open) || !rule.globs.empty();
        if (missing && open)
          warning = " is not there yet: its creation is not refused without the supervisor";
        break;
      }
      case RuleKind::kAllowWrite:
      case RuleKind::kRunnerState:
        if (rule.read_only) break;
        rule.needs_supervisor = missing || !rule.globs.empty();
        if (missing) warning = " is not there: it cannot be created in a session";
        if (!rule.globs.empty()) warning = ": names that match it later are not writable";
        if (missing && std::any_of(policy_.rules.begin(), policy_.rules.end(), [&](const Rule& r) {
              return &r != &rule && OpensWriting(r) && !r.existing.empty() &&
                     RuleMatch(r, rule.paths.back()) != 0;
            })) {
          rule.needs_supervisor = false;
          warning.clear();
        }
        break;
      case RuleKind::kDenyName: rule.needs_supervisor = true; break;
      default: break;
    }
    if (!warning.empty() && own_words && !context_.supervised) Warn(DescribeRule(rule) + warning);
  }
}

Result<EffectivePolicy> Compiler::Run() {
  policy_.rules.reserve(512);  // the built-in sets alone are some 300
  policy_.view = spec_.view;
  policy_.mode = spec_.mode;
  policy_.files_disabled = spec_.filesystem.disabled;
  policy_.allow_git_config = spec_.filesystem.allow_git_config;
  CORDON_CHECK(ResolveHome());
  CORDON_CHECK(AddMounts());
  CORDON_CHECK(AddWorkdir());
  if (policy_.files_disabled) {
    policy_.rules.clear();
    CORDON_CHECK(AddSockets());
    policy_.index.Build(policy_.rules);
    return std::move(policy_);
  }
  CORDON_CHECK(AddUserEntries());
  CORDON_CHECK(AddSockets());
  CORDON_CHECK(AddDefaultDenies());
  CORDON_CHECK(CheckOpeningLinks());
  CORDON_CHECK(CheckSocketLinks());
  CORDON_CHECK(AddTemporary());
  CORDON_CHECK(AddSystemDirectories());
  CORDON_CHECK(AddProgramDirectories());
  CORDON_CHECK(AddExecGrants());
  // Writable directories that a glob names are roots too, so these come first.
  CORDON_CHECK(ExpandGlobs(0));
  SettlePrivateDirectories();
  const std::size_t expanded = policy_.rules.size();
  CORDON_CHECK(AddProtectedSet());
  CORDON_CHECK(AddDenyNames());
  CORDON_CHECK(ExpandGlobs(expanded));
  policy_.index.Build(policy_.rules);
  ReportUnheld();
  CORDON_CHECK(CheckWorkdir());
  return std::move(policy_);
}

Result<EffectivePolicy> Compile(const SandboxSpec& spec, const Context& context,
                                const FileSystem& fs) {
  return Compiler(spec, context, fs).Run();
}

}  // namespace cordon::policy
