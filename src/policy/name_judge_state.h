// The work of NameJudge, internal to policy/. Three layers, each only where the one before says so:
//   name_judge.cc        the quick answer, from what is remembered for each directory
//   name_judge_static.cc the rules of the policy (Decide), links, the contents of moved directories
//   name_judge_git.cc    the rules that depend on the moment: git directories, repositories
//
// Nothing that was seen in the view is remembered: another broker may have changed it.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/builtin.h"
#include "policy/name_filter.h"
#include "policy/name_judge.h"

namespace cordon::policy {

enum class NameUse { kWrite, kCreate, kRemove, kMoveFrom, kMoveTo, kLinkFrom };

// What is known about a directory from the policy and its name alone.
struct DirectoryFacts {
  std::string host;       // the host's path of it
  bool mapped = false;    // `host` differs
  bool own = false;       // the session's own place: the kernel decides
  bool writable = false;  // an ordinary name in it may be made, changed and taken away
  bool telling = false;   // a component of it is the first of a rule that depends on the moment
  bool packages = false;  // below node_modules and the like
  const NotableEntry* notable = nullptr;  // it lies in one
};

// A call being judged. `path` is canonical in the session's view.
struct NameCall {
  NameUse use = NameUse::kWrite;
  std::string_view path;
  FileKind kind = FileKind::kFile;
  std::string_view other{};  // the other end of a rename or link
  bool replaces = false;     // kMoveTo: something stands there
  const DirectoryFacts* facts = nullptr;
  std::string_view directory, name;  // of `path`
};

struct NameJudge::State {
  State(const EffectivePolicy& given, const FileSystem& given_view);

  void AddRule(const Rule& rule);
  void AddPattern(const Rule& rule, const glob::Pattern& pattern);
  void AddMoments();

  // name_judge.cc
  NameVerdict Judge(NameCall call);
  NameVerdict JudgeRename(std::string_view from, FileKind kind, std::string_view to,
                          FileKind replaced);
  NameVerdict JudgeHardLink(std::string_view from, std::string_view to);
  const DirectoryFacts& Facts(std::string_view directory);
  DirectoryFacts FactsOf(std::string_view directory) const;
  bool IsOrdinary(const NameCall& call, std::string_view folded, std::string_view host) const;
  NameVerdict Full(const NameCall& call, const std::string& host, std::string_view folded);

  // name_judge_static.cc
  std::string HostPath(std::string_view path) const;
  bool IsOwn(std::string_view path) const;
  bool IsHeld(const Rule* rule) const;
  // True when a link at this path could lead a rule's path elsewhere.
  bool Matters(std::string_view path) const;
  // REQUIRES: the name hits a pattern.
  const Rule* FoldedMatch(const NameCall& call, const std::string& host,
                          std::string_view folded) const;
  std::optional<NameVerdict> JudgeLink(std::string_view path, const std::string& host,
                                       std::string_view folded) const;
  NameVerdict JudgeTree(std::string_view from, std::string_view to) const;
  // The parts of JudgeTree: literal paths below `to`, and what the walk meets.
  std::optional<NameVerdict> JudgeLiterals(std::string_view from, const std::string& host_to) const;
  enum class Look { kNone, kUseful, kNeeded };
  Look HowFarToLook(const std::string& host_from, const std::string& host_to) const;
  std::optional<NameVerdict> JudgeEntry(const std::string& host_from, const std::string& host_to,
                                        std::string_view below, FileKind kind) const;
  // True when a name in the directory compares like `special` (which is lower case or exact).
  bool Same(std::string_view directory, std::string_view name, std::string_view special) const;
  bool Exists(std::string_view directory, std::string_view name) const;

  // name_judge_git.cc
  struct GitRow {
    const Rule* rule = nullptr;
    std::string_view directory;  // the git directory
    std::string_view name;       // the row's first component as written
    bool whole = true;    // false: the path is only on the way to it (info of info/attributes)
    bool itself = false;  // the path is the row, not something below it
  };
  std::optional<GitRow> FindGitRow(std::string_view path) const;
  std::optional<NameVerdict> JudgeGit(const NameCall& call);
  std::optional<NameVerdict> JudgeCompletion(const NameCall& call) const;
  std::optional<NameVerdict> JudgeWorkTree(const NameCall& call) const;
  std::optional<NameVerdict> JudgeGitTree(std::string_view from, std::string_view to) const;
  bool IsGitDirectory(std::string_view directory) const;
  bool LooksLikeGit(std::string_view directory) const;
  bool BelowRefs(std::string_view directory) const;
  bool IsMade(std::string_view path) const;
  bool IsJudged(std::string_view path) const;
  bool HoldsUnjudged(std::string_view directory, const Rule** rule) const;
  void Forget(std::string_view path);
  void AddMade(std::string_view path);
  void Remember(std::string_view path, FileKind kind);
  void RememberParts(std::string_view path);
  void Move(std::string_view from, std::string_view to, FileKind kind);
  void Exchange(std::string_view one, std::string_view other);
  void Drop(std::string_view directory);
  bool HoldsOnly(std::string_view directory, std::string_view name) const;
  // Whether names compare folded there; so taken where it may not be asked (a directory that only
  // lets pass), which refuses more and never less.
  bool MayFold(std::string_view directory) const {
    blind = view.TakeBlind() || blind;
    return view.CaseFolds(std::string(directory)) || view.TakeBlind();
  }
  mutable bool blind = false;  // something else could not be asked, in this verdict
  // `ask` gives a verdict; it is a refusal where the view may not be asked.
  template <typename Ask>
  NameVerdict Certain(Ask ask) const {
    view.TakeBlind();
    blind = false;
    NameVerdict verdict = ask();
    if ((!view.TakeBlind() && !blind) || !verdict.allowed) return verdict;
    return Refuse(nullptr,
                  "what is there cannot be told: a directory on the way may not be searched");
  }
  NameVerdict JudgeConfig(std::string_view path, std::string_view before, std::string_view content);

  static NameVerdict Allow() { return {true, nullptr, {}, false, false}; }
  static NameVerdict Refuse(const Rule* rule, std::string reason) {
    return {false, rule, std::move(reason), false, false};
  }
  static NameVerdict RefuseBy(const Rule& rule);
  static NameVerdict RefuseAbove(const Rule& rule);

  const EffectivePolicy& policy;
  const FileSystem& view;

  std::vector<BindMount> mapped;                         // at another guestPath
  std::vector<std::pair<std::string, const Rule*>> own;  // the session's own places
  NameFilter patterns;  // last segments of all patterns of all rules
  TextSet literals;     // paths that rules name
  std::unordered_map<std::string, const Rule*, TextHash, std::equal_to<>> above;  // of write rules
  TextSet pinned;                    // above a path of a rule that holds or hides
  TextSet above_guests;              // of the places of mounts
  std::vector<std::string> folding;  // directories below which rules compare folded
  TextSet roots;                     // writable roots
  // A pattern that refuses writing.
  struct Refusal {
    const Rule* rule;
    const glob::Pattern* pattern;
    NameFilter middle;     // its segments but the last
    bool several = false;  // more than a name at any depth
    mutable std::optional<glob::Pattern> folded;
  };
  std::vector<Refusal> refusals;

  TextSet telling_names;        // first components of rules that depend on the moment, folded
  TextSet telling_parents;      // those that say something about what lies below them
  TextSet notable_names;        // last components
  std::deque<Rule> made_rules;  // of the rows, for verdicts
  struct TreeRow {
    std::string_view path;
    std::string first;  // component, folded
    const Rule* rule;
  };
  std::vector<TreeRow> tree_rows;
  std::vector<std::pair<const ProtectedEntry*, const Rule*>> git_rows;
  const Rule* bare_rule = nullptr;
  const Rule* pointer_rule = nullptr;

  std::unordered_map<std::string, DirectoryFacts, TextHash, std::equal_to<>> directories;
  // By the host's path:
  TextSet made;    // `.git` entries, git directories and worktree entries that the session made
  TextSet judged;  // config files whose content the judge has seen
  TextSet fresh;   // directories that the session made lately
  std::string buffer, host_buffer;
};

// Calls visit(offset, name) for each component until it returns false.
template <typename Visit>
void ForEachName(std::string_view path, Visit visit) {
  for (std::size_t i = 1; i < path.size();) {
    const std::size_t end = std::min(path.find('/', i), path.size());
    if (end > i && !visit(i, path.substr(i, end - i))) return;
    i = end + 1;
  }
}

}  // namespace cordon::policy
