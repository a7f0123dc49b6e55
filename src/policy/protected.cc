// Where the always-protected set stands: it follows from what is writable.
#include <algorithm>

#include "policy/compiler.h"
#include "policy/git_config.h"
#include "policy/git_layout.h"
#include "policy/path.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

constexpr std::string_view kOrigin = "built-in protected set";

}  // namespace

const std::vector<std::size_t>& Compiler::Opening() const {
  for (; opening_seen_ < policy_.rules.size(); ++opening_seen_) {
    if (OpensWriting(policy_.rules[opening_seen_])) opening_.push_back(opening_seen_);
  }
  return opening_;
}

bool Compiler::IsWritable(std::string_view path) const {
  const auto& opening = Opening();
  return std::any_of(opening.begin(), opening.end(),
                     [&](std::size_t i) { return RuleMatch(policy_.rules[i], path) != 0; });
}

// Something at or below `path` is writable, or `path` lies in something writable.
bool Compiler::TouchesWritable(std::string_view path) const {
  const auto& opening = Opening();
  return std::any_of(opening.begin(), opening.end(), [&](std::size_t i) {
    const Rule& rule = policy_.rules[i];
    if (RuleMatch(rule, path) != 0 || RuleReachesBelow(rule, path)) return true;
    return std::any_of(rule.patterns.begin(), rule.patterns.end(),
                       [&](const glob::Pattern& p) { return p.CouldMatchBelow(path); });
  });
}

std::vector<std::string> Compiler::WritableRoots() const {
  std::vector<std::string> roots;
  const auto add = [&](const std::string& path) {
    if (!path.empty() && std::find(roots.begin(), roots.end(), path) == roots.end())
      roots.push_back(path);
  };
  for (const std::size_t i : Opening()) {
    for (const ExistingPath& e : policy_.rules[i].existing) {
      if (e.kind == FileKind::kDirectory) add(e.path);
    }
  }
  // Inside a wider root these two are where people and agents start programs.
  if (IsWritable(policy_.workdir)) add(policy_.workdir);
  if (!home_.empty() && IsWritable(home_)) add(home_);
  return roots;
}

Status Compiler::AddProtectedPath(const std::string& path, std::string_view reason) {
  if (!protected_.insert(path).second) return Ok();
  CORDON_TRY(Rule rule, FromPath(RuleKind::kProtected, path, kOrigin, reason));
  policy_.rules.push_back(std::move(rule));
  return Ok();
}

Status Compiler::AddProtected(const std::string& base, const ProtectedEntry& entry) {
  const std::string path = JoinPath(base, entry.path);
  if (!glob::HasMagic(entry.path)) return AddProtectedPath(path, entry.reason);
  if (!protected_.insert(path).second) return Ok();
  Rule rule;
  rule.kind = RuleKind::kProtected;
  rule.text = path;
  rule.source.origin = kOrigin;
  rule.reason = entry.reason;
  CORDON_CHECK(AddGlob(&rule, PatternStart(base) + "/" + std::string(entry.path)));
  policy_.rules.push_back(std::move(rule));
  return Ok();
}

Status Compiler::AddProtectedBelow(const std::string& base, ProtectedScope scope) {
  for (const ProtectedEntry& entry : ProtectedEntries()) {
    if (entry.scope != scope) continue;
    const bool opened = scope == ProtectedScope::kGitDirectory && entry.path == "config" &&
                        spec_.filesystem.allow_git_config;
    if (opened) continue;
    // Where nothing is writable the rule would only say the same again.
    const bool matters =
        scope == ProtectedScope::kWritableRoot || TouchesWritable(JoinPath(base, entry.path));
    if (!matters) continue;
    const std::size_t known = policy_.rules.size();
    CORDON_CHECK(AddProtected(base, entry));
    const bool judged = context_.supervised && scope == ProtectedScope::kGitDirectory &&
                        entry.path == "config" && policy_.rules.size() > known;
    if (judged) policy_.rules.back().git_config = true;
  }
  return Ok();
}

Status Compiler::AddGit(const std::string& root) {
  const GitLayout layout = FindGitLayout(root, fs_);
  for (const std::string& warning : layout.warnings) Warn(warning);
  if (!layout.common_directory.empty() && !IsWritable(layout.common_directory)) {
    CORDON_TRY(Rule rule,
               FromPath(RuleKind::kWorkdir, layout.common_directory, "linked git worktree",
                        "git keeps the objects and refs of " + root + " there"));
    rule.executable = !spec_.exec.block_writable_dirs;
    policy_.rules.push_back(std::move(rule));
  }
  if (!layout.pointer.empty()) {
    CORDON_CHECK(
        AddProtectedPath(layout.pointer, "git takes hooks and configuration from where it points"));
  }
  for (const std::string& directory : layout.git_directories) {
    CORDON_CHECK(AddProtectedBelow(directory, ProtectedScope::kGitDirectory));
    if (spec_.filesystem.allow_git_config) continue;
    CORDON_CHECK(AddIncluded(JoinPath(directory, "config"), 0));
    CORDON_CHECK(AddIncluded(JoinPath(directory, "config.worktree"), 0));
  }
  return Ok();
}

// What a git configuration includes is configuration too, wherever it lies.
Status Compiler::AddIncluded(const std::string& file, int depth) {
  constexpr int kDeepest = 10;  // as git itself goes
  const auto text = fs_.ReadSmallFile(file);
  const auto entries = text ? ParseGitConfig(*text) : std::nullopt;
  if (!entries || depth >= kDeepest) return Ok();
  for (const GitConfigEntry& entry : *entries) {
    const bool includes = entry.section == "include" || entry.section == "includeif";
    if (!includes || entry.key != "path" || !entry.value || entry.value->empty()) continue;
    const auto path = AbsolutePath(*entry.value, context_.home, std::string(ParentPath(file)),
                                   PathReading::kLiteral);
    if (!path.ok() || protected_.count(*path) != 0 || !TouchesWritable(*path)) continue;
    CORDON_CHECK(AddProtectedPath(*path, "a git configuration includes it"));
    CORDON_CHECK(AddIncluded(*path, depth + 1));
  }
  return Ok();
}

// The home rows, and those of ~/.claude once more for $CLAUDE_CONFIG_DIR.
Status Compiler::AddHomeSet() {
  std::string config;
  const auto variable = context_.environment.find("CLAUDE_CONFIG_DIR");
  if (variable != context_.environment.end() && !variable->second.empty()) {
    auto path =
        AbsolutePath(variable->second, context_.home, context_.workdir, PathReading::kLiteral);
    if (path.ok()) config = *path;
  }
  const auto lifted = [&](const std::string& path) {
    const auto resolved = ResolvePath(path, fs_);
    return std::any_of(policy_.rules.begin(), policy_.rules.end(), [&](const Rule& rule) {
      return rule.kind == RuleKind::kRunnerState &&
             std::any_of(rule.paths.begin(), rule.paths.end(), [&](const std::string& own) {
               return own == path || (resolved.ok() && own == *resolved);
             });
    });
  };
  const auto add = [&](const std::string& base, ProtectedEntry entry) -> Status {
    const std::string path = entry.path.empty() ? base : JoinPath(base, entry.path);
    if (!TouchesWritable(path) || (entry.runner_state_lifts && lifted(path))) return Ok();
    if (entry.path.empty()) return AddProtectedPath(path, entry.reason);
    return AddProtected(base, entry);
  };
  constexpr std::string_view kAgent = ".claude";
  for (ProtectedEntry entry : ProtectedEntries()) {
    if (entry.scope != ProtectedScope::kHome) continue;
    if (!home_.empty()) CORDON_CHECK(add(home_, entry));
    if (config.empty()) continue;
    const bool inside = entry.path.size() > kAgent.size() && entry.path[kAgent.size()] == '/';
    if (entry.path == ".claude.json") {
      // With the variable set this file lies in that directory, and goes with it.
      if (!lifted(config)) CORDON_CHECK(add(config, entry));
    } else if (entry.path.substr(0, kAgent.size()) == kAgent &&
               (inside || entry.path.size() == kAgent.size())) {
      entry.path.remove_prefix(inside ? kAgent.size() + 1 : kAgent.size());
      CORDON_CHECK(add(config, entry));
    }
  }
  return Ok();
}

// An allowWrite that names a protected path itself, or something in it, opens nothing.
Status Compiler::ProtectAgainstAllowWrite() {
  struct Found {
    std::string base;
    ProtectedEntry entry;
    std::string warning;
  };
  std::vector<Found> found;
  for (const Rule& rule : policy_.rules) {
    if (rule.kind != RuleKind::kAllowWrite) continue;
    for (const std::string& path : rule.paths) {
      for (std::string base(path); base != "/";) {
        base = ParentPath(base);
        const bool git = LooksLikeGitDirectory(base, fs_);
        for (const ProtectedEntry& entry : ProtectedEntries()) {
          const bool applies = entry.scope == ProtectedScope::kWritableRoot ||
                               (git && entry.scope == ProtectedScope::kGitDirectory);
          if (!applies || (entry.path == "config" && spec_.filesystem.allow_git_config)) continue;
          std::string held = JoinPath(base, entry.path);
          const bool open_end = held.back() == '*';
          if (open_end) held.pop_back();
          const bool covers =
              open_end ? path.compare(0, held.size(), held) == 0 : IsAtOrBelow(path, held);
          if (covers) {
            found.push_back({base, entry,
                             DescribeRule(rule) + " opens nothing: " + JoinPath(base, entry.path) +
                                 " is always protected, because " + std::string(entry.reason)});
          }
        }
      }
    }
  }
  for (const Found& f : found) {
    if (std::find(policy_.warnings.begin(), policy_.warnings.end(), f.warning) ==
        policy_.warnings.end()) {
      Warn(f.warning);
    }
    CORDON_CHECK(AddProtected(f.base, f.entry));
  }
  return Ok();
}

Status Compiler::AddProtectedSet() {
  const std::vector<std::string> roots = WritableRoots();
  for (const std::string& root : roots) {
    CORDON_CHECK(AddProtectedBelow(root, ProtectedScope::kWritableRoot));
    CORDON_CHECK(AddGit(root));
  }
  for (std::string directory = policy_.workdir;; directory = ParentPath(directory)) {
    CORDON_CHECK(AddProtectedBelow(directory, ProtectedScope::kWorkdirAndUp));
    if (directory == "/") break;
  }
  CORDON_CHECK(AddHomeSet());
  return ProtectAgainstAllowWrite();
}

}  // namespace cordon::policy
