// What globs name now: one walk for all patterns that start at the same directory, pruned where
// none of them can match. Links are never followed on the way.
#include <algorithm>
#include <map>

#include "policy/compiler.h"
#include "policy/path.h"

namespace cordon::policy {
namespace {

// Kernel views without an end: nothing in them can be held by a mount that was put there at start.
bool IsKernelView(std::string_view path) {
  return IsAtOrBelow(path, "/proc") || IsAtOrBelow(path, "/sys") || IsAtOrBelow(path, "/dev");
}

struct Walked {
  Rule* rule;
  const glob::Pattern* pattern;
};

struct Pending {
  std::string directory;
  std::vector<std::pair<Walked, glob::Pattern::State>> at;
};

// Walks from `start` and calls record(rule, path, kind) for each match.
template <typename Record>
void Walk(const std::string& start, const std::vector<Walked>& walked, const FileSystem& fs,
          Record record) {
  std::vector<Pending> stack(1);
  stack.back().directory = start;
  for (const Walked& w : walked) {
    glob::Pattern::State state = w.pattern->Start();
    for (std::size_t i = 1; i < start.size();) {
      const std::size_t end = std::min(start.find('/', i), start.size());
      state = w.pattern->Enter(state, std::string_view(start).substr(i, end - i));
      i = end + 1;
    }
    if (w.pattern->Covers(state)) record(w.rule, start, FileKind::kDirectory);
    if (w.pattern->Alive(state)) stack.back().at.emplace_back(w, std::move(state));
  }
  while (!stack.empty()) {
    const Pending here = std::move(stack.back());
    stack.pop_back();
    if (here.at.empty() || IsKernelView(here.directory)) continue;
    fs.List(here.directory, [&](std::string_view name, FileKind kind) {
      Pending below;
      for (const auto& [w, state] : here.at) {
        glob::Pattern::State next = w.pattern->Enter(state, name);
        if (w.pattern->Covers(next)) record(w.rule, JoinPath(here.directory, name), kind);
        if (kind == FileKind::kDirectory && w.pattern->Alive(next))
          below.at.emplace_back(w, std::move(next));
      }
      if (!below.at.empty()) {
        below.directory = JoinPath(here.directory, name);
        stack.push_back(std::move(below));
      }
      return true;
    });
  }
}

}  // namespace

void Compiler::RecordMatch(Rule* rule, const std::string& path, FileKind kind) {
  if (kind != FileKind::kSymlink) {
    rule->existing.push_back({path, kind});
    return;
  }
  // An allow is not carried over a link that something inside may have made.
  const bool denies = rule->kind == RuleKind::kDenyRead || rule->kind == RuleKind::kDenyWrite ||
                      rule->kind == RuleKind::kProtected;
  if (!denies) return;
  rule->links.push_back(path);
  const auto resolved = ResolveLinks(path, fs_);
  if (!resolved.ok()) return;  // a loop: nothing can be reached through it
  if (resolved->kind != FileKind::kMissing)
    rule->existing.push_back({resolved->path, resolved->kind});
  rule->paths.push_back(resolved->path);
  rule->fold_from.push_back(FoldFrom(resolved->path));
}

Status Compiler::ExpandGlobs(std::size_t first_rule) {
  std::map<std::string, std::vector<Walked>> by_start;
  for (std::size_t i = first_rule; i < policy_.rules.size(); ++i) {
    Rule& rule = policy_.rules[i];
    if (rule.kind == RuleKind::kDenyName) continue;  // judged when a name is used
    for (const glob::Pattern& pattern : rule.patterns) {
      CORDON_TRY(ResolvedPath start, ResolveLinks(pattern.fixed_prefix(), fs_));
      // The pattern with its prefix resolved stands beside this one and finds the same.
      if (start.path != pattern.fixed_prefix() || start.kind != FileKind::kDirectory) continue;
      by_start[start.path].push_back({&rule, &pattern});
    }
  }
  for (const auto& [start, walked] : by_start) {
    Walk(start, walked, fs_, [&](Rule* rule, const std::string& path, FileKind kind) {
      RecordMatch(rule, path, kind);
    });
  }
  for (std::size_t i = first_rule; i < policy_.rules.size(); ++i) {
    Rule& rule = policy_.rules[i];
    if (rule.patterns.empty()) continue;
    auto& found = rule.existing;
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::sort(rule.links.begin(), rule.links.end());
    rule.links.erase(std::unique(rule.links.begin(), rule.links.end()), rule.links.end());
  }
  return Ok();
}

}  // namespace cordon::policy
