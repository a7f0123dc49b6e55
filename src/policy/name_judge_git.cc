// The rules that depend on the moment of the call: git directories wherever they are, repositories
// below the writable roots, and what would complete a bare repository.
#include <algorithm>

#include "policy/git_config.h"
#include "policy/name_judge_state.h"
#include "policy/path.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

constexpr std::string_view kOrigin = "built-in protected set";
constexpr std::size_t kMostMade = 4096;   // what the session made, and judged configurations
constexpr std::size_t kMostFresh = 1024;  // each move of a directory looks at all of them
constexpr std::string_view kBareParts[] = {"HEAD", "objects", "refs"};

std::string_view FirstOf(std::string_view path) { return path.substr(0, path.find('/')); }

std::string Because(const std::string& what, const Rule& rule) {
  return what + DescribeRule(rule) + ": " + rule.reason;
}

bool TakesAway(NameUse use) { return use == NameUse::kRemove || use == NameUse::kMoveFrom; }

// How a row such as ".claude/settings*" stands to a path relative to the row's directory.
enum class Fit { kNone, kOnTheWay, kItself, kBelow };

}  // namespace

void NameJudge::State::AddMoments() {
  const auto rule_of = [&](std::string text, std::string_view reason) {
    Rule rule;
    rule.kind = RuleKind::kProtected;
    rule.text = std::move(text);
    rule.source.origin = kOrigin;
    rule.reason = reason;
    made_rules.push_back(std::move(rule));
    return &made_rules.back();
  };
  std::string text;
  const auto folded = [&](std::string_view name) { return std::string(FoldName(name, &text)); };
  for (const ProtectedEntry& entry : ProtectedEntries()) {
    if (entry.scope == ProtectedScope::kGitDirectory) {
      git_rows.emplace_back(&entry, rule_of(".git/" + std::string(entry.path), entry.reason));
      telling_names.insert(folded(FirstOf(entry.path)));
      telling_names.insert(folded(BaseName(entry.path)));
      telling_parents.insert(folded(BaseName(entry.path)));
    } else if (entry.scope == ProtectedScope::kWritableRoot) {
      tree_rows.push_back({entry.path, folded(FirstOf(entry.path)),
                           rule_of(std::string(entry.path), entry.reason)});
      telling_names.insert(folded(FirstOf(entry.path)));
      telling_parents.insert(folded(FirstOf(entry.path)));
    }
  }
  telling_names.insert(".git");
  for (const std::string_view part : kBareParts) telling_names.insert(folded(part));
  bare_rule = rule_of("HEAD, objects, refs",
                      "git takes a directory that holds them for a bare "
                      "repository, and runs what its config and hooks name");
  pointer_rule = rule_of(".git", "git takes hooks and configuration from where it points");
  for (const NotableEntry& entry : NotableEntries()) {
    if (entry.path.find('/') == std::string_view::npos) notable_names.emplace(entry.path);
  }
}

// Below refs and logs of a repository HEAD is the name of a branch.
bool NameJudge::State::BelowRefs(std::string_view directory) const {
  bool below = false;
  ForEachName(directory, [&](std::size_t at, std::string_view name) {
    if ((name != "refs" && name != "logs") || at < 2) return true;
    const std::string_view parent = directory.substr(0, at - 1);
    below = BaseName(parent) == ".git" || Exists(parent, "HEAD");
    return !below;
  });
  return below;
}

bool NameJudge::State::LooksLikeGit(std::string_view directory) const {
  if (Exists(directory, "HEAD") && !BelowRefs(directory)) return true;
  return Exists(directory, "objects") && Exists(directory, "refs");
}

bool NameJudge::State::IsGitDirectory(std::string_view directory) const {
  return Same(ParentPath(directory), BaseName(directory), ".git") || LooksLikeGit(directory);
}

std::optional<NameJudge::State::GitRow> NameJudge::State::FindGitRow(std::string_view path) const {
  std::optional<GitRow> found;
  ForEachName(path, [&](std::size_t at, std::string_view name) {
    const std::string_view directory = at > 1 ? path.substr(0, at - 1) : std::string_view("/");
    const std::size_t end = at + name.size();
    for (const auto& [entry, rule] : git_rows) {
      const std::string_view first = FirstOf(entry->path);
      if (!Same(directory, name, first)) continue;
      GitRow row{rule, directory, first, true, end == path.size()};
      if (first.size() != entry->path.size()) {
        const std::string_view second = entry->path.substr(first.size() + 1);
        const std::string_view rest = path.substr(std::min(end + 1, path.size()));
        row.whole = !rest.empty() && Same(path.substr(0, end), FirstOf(rest), second);
        row.itself = row.whole && rest.size() == FirstOf(rest).size();
        if (!row.whole && !rest.empty()) continue;
      }
      if (IsGitDirectory(directory)) found = row;
    }
    return !found || !found->whole;
  });
  return found;
}

std::optional<NameVerdict> NameJudge::State::JudgeGit(const NameCall& call) {
  const bool link = call.kind == FileKind::kSymlink && !TakesAway(call.use);
  if (Same(call.directory, call.name, ".git")) {
    if (link) return RefuseBy(*pointer_rule);
    const bool changes = call.use == NameUse::kWrite || call.use == NameUse::kLinkFrom ||
                         (call.use == NameUse::kMoveTo && call.replaces);
    if (changes && !IsMade(call.path)) return RefuseBy(*pointer_rule);
  }
  const auto row = FindGitRow(call.path);
  if (!row) return std::nullopt;
  if (!row->whole) return link ? std::optional(RefuseBy(*row->rule)) : std::nullopt;
  const bool ours = IsMade(row->directory);
  if (call.use == NameUse::kRemove) {
    const bool harmless = call.kind == FileKind::kDirectory || ours;
    return harmless ? std::nullopt : std::optional(RefuseBy(*row->rule));
  }
  if (row->name == "config") {
    if (policy.allow_git_config) return std::nullopt;
    const bool replaced = call.use == NameUse::kMoveTo && row->itself &&
                          call.kind == FileKind::kFile &&
                          call.other == JoinPath(row->directory, "config.lock");
    if (replaced) return NameVerdict{true, row->rule, {}, true, false};
  }
  // `git worktree add` writes it into a directory that it has just made.
  const bool new_worktree = row->name == "commondir" && row->itself && ours &&
                            call.use == NameUse::kCreate && call.kind == FileKind::kFile &&
                            BaseName(ParentPath(row->directory)) == "worktrees";
  if (new_worktree) return std::nullopt;
  return RefuseBy(*row->rule);
}

// Something that git would run, or believe, were the directory a repository.
bool NameJudge::State::HoldsUnjudged(std::string_view directory, const Rule** rule) const {
  for (const auto& [entry, made_rule] : git_rows) {
    *rule = made_rule;
    if (!Exists(directory, entry->path)) continue;
    const std::string path = JoinPath(directory, entry->path);
    // A directory of that name is no configuration, and nothing else can take its place later.
    const bool fine =
        entry->path == "config" &&
        (policy.allow_git_config || view.Kind(path) == FileKind::kDirectory || IsJudged(path));
    if (!fine) return true;
  }
  return false;
}

std::optional<NameVerdict> NameJudge::State::JudgeCompletion(const NameCall& call) const {
  const bool makes =
      call.use == NameUse::kCreate || (call.use == NameUse::kMoveTo && !call.replaces);
  if (!makes || Same(ParentPath(call.directory), BaseName(call.directory), ".git"))
    return std::nullopt;
  const auto is = [&](std::string_view part) { return Same(call.directory, call.name, part); };
  if (std::none_of(std::begin(kBareParts), std::end(kBareParts), is)) return std::nullopt;
  const auto has = [&](std::string_view part) { return is(part) || Exists(call.directory, part); };
  if (is("HEAD") && Exists(call.directory, "commondir"))
    return Refuse(bare_rule, "completes a git directory whose commondir was not judged");
  if (!has("objects") || !has("refs")) return std::nullopt;
  if (roots.contains(call.facts->host) && has("HEAD"))
    return Refuse(bare_rule, Because("completes ", *bare_rule));
  const Rule* held = nullptr;
  if (!HoldsUnjudged(call.directory, &held)) return std::nullopt;
  return Refuse(bare_rule, "completes a git directory beside " +
                               held->text.substr(sizeof(".git/") - 1) + " (" + held->source.origin +
                               "): " + held->reason);
}

namespace {

template <typename Same>
Fit FitOf(std::string_view row, std::string_view path, std::string_view base, Same same) {
  std::string directory(base);
  while (true) {
    const std::string_view want = FirstOf(row), name = FirstOf(path);
    const bool open_end = want.ends_with('*');
    const std::string_view head = open_end ? want.substr(0, want.size() - 1) : want;
    const bool fits =
        open_end ? name.size() >= head.size() && same(directory, name.substr(0, head.size()), head)
                 : same(directory, name, want);
    if (!fits) return Fit::kNone;
    const bool row_ends = want.size() == row.size(), path_ends = name.size() == path.size();
    if (row_ends) return path_ends ? Fit::kItself : Fit::kBelow;
    if (path_ends) return Fit::kOnTheWay;
    row.remove_prefix(want.size() + 1);
    path.remove_prefix(name.size() + 1);
    directory = JoinPath(directory, name);
  }
}

}  // namespace

std::optional<NameVerdict> NameJudge::State::JudgeWorkTree(const NameCall& call) const {
  const auto same = [&](std::string_view directory, std::string_view a, std::string_view b) {
    return Same(directory, a, b);
  };
  const bool link = call.kind == FileKind::kSymlink && !TakesAway(call.use);
  std::optional<NameVerdict> told;
  std::optional<NameVerdict> refused;
  std::string text;
  ForEachName(call.path, [&](std::size_t at, std::string_view name) {
    const std::string_view own_name = FoldName(name, &text);
    if (!telling_parents.contains(own_name)) return true;
    const std::string_view root = at > 1 ? call.path.substr(0, at - 1) : std::string_view("/");
    for (const TreeRow& row : tree_rows) {
      if (row.first != own_name) continue;
      const Fit fit = FitOf(row.path, call.path.substr(at), root, same);
      if (fit == Fit::kNone || (fit == Fit::kOnTheWay && !link)) continue;
      if (!Exists(root, ".git") || !policy.Look(HostPath(root)).writable) return true;
      if (IsMade(JoinPath(root, ".git"))) {
        const bool changes = !TakesAway(call.use) && call.use != NameUse::kLinkFrom;
        if (changes) told = NameVerdict{true, row.rule, Because("", *row.rule), false, true};
      } else if (call.use != NameUse::kRemove || call.kind != FileKind::kDirectory) {
        refused = RefuseBy(*row.rule);
        return false;
      }
    }
    return true;
  });
  return refused ? refused : told;
}

// What a directory brings to the place that it is moved to.
std::optional<NameVerdict> NameJudge::State::JudgeGitTree(std::string_view from,
                                                          std::string_view to) const {
  const auto in_it = [&](const Rule& rule) {
    return Refuse(&rule, Because("it holds what is read-only there by ", rule));
  };
  const Rule* held = nullptr;
  if (Same(ParentPath(to), BaseName(to), ".git")) {
    return HoldsUnjudged(from, &held) ? std::optional(in_it(*held)) : std::nullopt;
  }
  const bool bare = std::all_of(std::begin(kBareParts), std::end(kBareParts),
                                [&](std::string_view part) { return Exists(from, part); });
  if (bare && roots.contains(HostPath(to))) return in_it(*bare_rule);
  std::string text;
  if (!telling_names.contains(FoldName(BaseName(to), &text))) return std::nullopt;
  std::optional<NameVerdict> refused;
  const bool listed = view.List(std::string(from), [&](std::string_view name, FileKind kind) {
    const std::string path = JoinPath(to, name);
    if (const auto row = FindGitRow(path); row && row->whole) {
      refused = in_it(*row->rule);
      return false;
    }
    NameCall call{NameUse::kMoveTo, path, kind};
    const auto verdict = JudgeWorkTree(call);
    if (verdict && !verdict->allowed) refused = in_it(*verdict->rule);
    return !refused;
  });
  if (!listed && !refused) return Refuse(nullptr, "what it holds cannot be listed");
  return refused;
}

bool NameJudge::State::IsMade(std::string_view path) const {
  return !made.empty() && made.contains(HostPath(path));
}

bool NameJudge::State::IsJudged(std::string_view path) const {
  return !judged.empty() && judged.contains(HostPath(path));
}

void NameJudge::State::Forget(std::string_view path) {
  if (judged.empty()) return;
  const std::string host = HostPath(path);
  std::erase_if(judged, [&](const std::string& config) { return IsAtOrBelow(config, host); });
}

// What is not remembered counts as there before.
void NameJudge::State::AddMade(std::string_view path) {
  if (made.size() < kMostMade) made.insert(HostPath(path));
}

void NameJudge::State::Remember(std::string_view path, FileKind kind) {
  const bool directory = kind == FileKind::kDirectory;
  if (BaseName(path) == ".git" && (directory || kind == FileKind::kFile)) AddMade(path);
  if (directory) {
    if (fresh.size() >= kMostFresh) fresh.clear();
    fresh.insert(HostPath(path));
  }
  RememberParts(path);
}

void NameJudge::State::RememberParts(std::string_view path) {
  const std::string_view directory = ParentPath(path), name = BaseName(path);
  if (BaseName(directory) == "worktrees" && fresh.contains(HostPath(path))) AddMade(path);
  if (std::find(std::begin(kBareParts), std::end(kBareParts), name) == std::end(kBareParts)) return;
  // The first thing in a new git directory, bare or a submodule's. One that was there before is
  // new only when it is empty: the rest may have been taken away to make it look so.
  if (BaseName(directory) == ".git" || Exists(directory, "config")) return;
  if (fresh.contains(HostPath(directory)) || HoldsOnly(directory, name)) AddMade(directory);
}

bool NameJudge::State::HoldsOnly(std::string_view directory, std::string_view name) const {
  bool only = true;
  const bool listed = view.List(std::string(directory), [&](std::string_view entry, FileKind) {
    only = entry == name;
    return only;
  });
  return listed && only;
}

void NameJudge::State::Move(std::string_view from, std::string_view to, FileKind kind) {
  const std::string host_from = HostPath(from), host_to = HostPath(to);
  const auto move = [&](TextSet* set) {
    std::vector<std::string> moved;
    std::erase_if(*set, [&](const std::string& path) {
      if (IsAtOrBelow(path, host_from)) {
        moved.push_back(host_to + path.substr(host_from.size()));
        return true;
      }
      return IsAtOrBelow(path, host_to);
    });
    set->insert(moved.begin(), moved.end());
  };
  const bool config = IsJudged(to);  // has just been judged where it stands
  if (!made.empty()) move(&made);
  if (!config && !judged.empty()) move(&judged);
  if (kind == FileKind::kDirectory && !fresh.empty()) move(&fresh);
  RememberParts(to);
}

void NameJudge::State::Exchange(std::string_view one, std::string_view other) {
  const std::string host_one = HostPath(one), host_other = HostPath(other);
  for (TextSet* set : {&made, &judged, &fresh}) {
    std::vector<std::string> moved;
    std::erase_if(*set, [&](const std::string& path) {
      const bool first = IsAtOrBelow(path, host_one);
      if (!first && !IsAtOrBelow(path, host_other)) return false;
      const std::string &from = first ? host_one : host_other, &to = first ? host_other : host_one;
      moved.push_back(to + path.substr(from.size()));
      return true;
    });
    set->insert(moved.begin(), moved.end());
  }
}

// An empty directory is gone: a later one of its name is another.
void NameJudge::State::Drop(std::string_view directory) {
  const std::string host = HostPath(directory);
  made.erase(host);
  fresh.erase(host);
  judged.erase(JoinPath(host, "config"));
}

NameVerdict NameJudge::State::JudgeConfig(std::string_view path, std::string_view before,
                                          std::string_view content) {
  const std::string_view directory = ParentPath(path);
  const Rule* rule = nullptr;
  for (const auto& [entry, made_rule] : git_rows) {
    if (entry->path == "config") rule = made_rule;
  }
  const auto origin = IsMade(directory) ? RepositoryOrigin::kMade : RepositoryOrigin::kExisted;
  GitConfigVerdict verdict = JudgeGitConfig(before, content, origin);
  if (!verdict.allowed) return Refuse(rule, std::move(verdict.reason));
  if (!verdict.worktree.empty()) {
    // Of a submodule, whose work tree must be a place that the session may write.
    const auto tree = ResolvePath(std::string(directory) + "/" + verdict.worktree, view);
    const bool module = directory.find("/modules/") != std::string_view::npos;
    if (!module || !tree.ok() || IsOwn(*tree) != IsOwn(directory) ||
        !Judge({NameUse::kWrite, *tree}).allowed) {
      return Refuse(rule, "git config core.worktree: " + verdict.worktree +
                              " is no place in the session's writable directories");
    }
  }
  if (judged.size() >= kMostMade) judged.clear();
  judged.insert(HostPath(path));
  return Allow();
}

}  // namespace cordon::policy
