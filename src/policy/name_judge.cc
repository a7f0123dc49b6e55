#include "policy/name_judge.h"

#include <algorithm>

#include "policy/git_config.h"
#include "policy/name_judge_state.h"
#include "policy/path.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

constexpr std::size_t kMostDirectories = 4096;
// Trees whose package.json and Makefile nobody runs by hand.
constexpr std::string_view kPackageTrees[] = {"node_modules", "site-packages", "vendor", "target"};

bool ChangesName(NameUse use) {
  return use == NameUse::kWrite || use == NameUse::kCreate || use == NameUse::kMoveTo;
}

bool TakesAway(NameUse use) { return use == NameUse::kRemove || use == NameUse::kMoveFrom; }

bool TakesDirectory(const NameCall& call) {
  return call.kind == FileKind::kDirectory && TakesAway(call.use);
}

bool MakesLink(const NameCall& call) {
  return call.kind == FileKind::kSymlink &&
         (call.use == NameUse::kCreate || call.use == NameUse::kMoveTo);
}

Operation OperationOf(NameUse use) {
  switch (use) {
    case NameUse::kWrite:
    case NameUse::kLinkFrom: return Operation::kWrite;
    case NameUse::kCreate:
    case NameUse::kMoveTo: return Operation::kCreate;
    case NameUse::kRemove:
    case NameUse::kMoveFrom: return Operation::kRemove;
  }
  return Operation::kWrite;
}

// The table entry that `directory` is or lies in.
const NotableEntry* NotableOf(std::string_view directory) {
  for (const NotableEntry& entry : NotableEntries()) {
    for (std::size_t at = directory.find(entry.path); at != std::string_view::npos;
         at = directory.find(entry.path, at + 1)) {
      const std::size_t end = at + entry.path.size();
      const bool ends = end == directory.size() || directory[end] == '/';
      if (at > 0 && directory[at - 1] == '/' && ends) return &entry;
    }
  }
  return nullptr;
}

void MarkNotable(const NameCall& call, NameVerdict* verdict) {
  const DirectoryFacts& facts = *call.facts;
  if (verdict->notable || facts.packages || facts.own) return;
  const NotableEntry* found = facts.notable;
  if (found == nullptr && (call.kind != FileKind::kDirectory || call.use == NameUse::kMoveTo)) {
    for (const NotableEntry& entry : NotableEntries()) {
      if (entry.path == call.name) found = &entry;
    }
  }
  if (found == nullptr) return;
  verdict->notable = true;
  verdict->reason = std::string(found->path) + ": " + std::string(found->reason);
}

}  // namespace

DirectoryFacts NameJudge::State::FactsOf(std::string_view directory) const {
  DirectoryFacts facts;
  facts.host = HostPath(directory);
  facts.mapped = facts.host != directory;
  facts.own = IsOwn(directory);
  const bool folds = std::any_of(folding.begin(), folding.end(),
                                 [&](const std::string& f) { return IsAtOrBelow(facts.host, f); });
  facts.writable = !folds && policy.Look(facts.host).writable;
  facts.notable = NotableOf(directory);
  std::string folded;
  ForEachName(directory, [&](std::size_t, std::string_view name) {
    const auto tree = std::find(std::begin(kPackageTrees), std::end(kPackageTrees), name);
    facts.packages = facts.packages || tree != std::end(kPackageTrees);
    facts.telling = facts.telling || telling_parents.contains(FoldName(name, &folded));
    return true;
  });
  return facts;
}

const DirectoryFacts& NameJudge::State::Facts(std::string_view directory) {
  const auto known = directories.find(directory);
  if (known != directories.end()) return known->second;
  if (directories.size() >= kMostDirectories) directories.clear();
  return directories.emplace(std::string(directory), FactsOf(directory)).first->second;
}

// True when only what is known about the directory matters.
bool NameJudge::State::IsOrdinary(const NameCall& call, std::string_view folded,
                                  std::string_view host) const {
  const DirectoryFacts& facts = *call.facts;
  if (MakesLink(call) || literals.contains(host)) return false;
  if (TakesAway(call.use) && (pinned.contains(host) || above_guests.contains(call.path)))
    return false;
  if (patterns.Hit(folded)) return false;
  return facts.own || (facts.writable && !facts.telling && !telling_names.contains(folded));
}

NameVerdict NameJudge::State::Judge(NameCall call) {
  if (call.path.empty() || call.path.front() != '/' ||
      call.path.find('\0') != std::string_view::npos) {
    return Refuse(nullptr, "not an absolute path");
  }
  if (policy.files_disabled) return Allow();
  call.directory = ParentPath(call.path);
  call.name = BaseName(call.path);
  if (call.name == "." || call.name == "..") return Refuse(nullptr, "no name of its own");
  if (call.name.starts_with(kConfigCopy) && !TakesAway(call.use))
    return Refuse(nullptr, "a git config that is being replaced");
  const DirectoryFacts& facts = Facts(call.directory);
  call.facts = &facts;
  const std::string_view folded = FoldName(call.name, &buffer);
  std::string_view host = call.path;
  if (facts.mapped) {
    host_buffer = JoinPath(facts.host, call.name);
    host = host_buffer;
  }
  NameVerdict verdict;
  if (!call.name.empty() && IsOrdinary(call, folded, host)) {
    verdict.allowed = true;
  } else {
    const std::string full = literals.contains(call.path) ? HostPath(call.path) : std::string(host);
    verdict = Full(call, full, std::string(folded));
  }
  const bool tells = verdict.allowed && ChangesName(call.use) &&
                     (facts.notable != nullptr || notable_names.contains(call.name));
  if (tells) MarkNotable(call, &verdict);
  return verdict;
}

NameVerdict NameJudge::State::Full(const NameCall& call, const std::string& host,
                                   std::string_view folded) {
  if (TakesDirectory(call) && above_guests.contains(call.path))
    return Refuse(nullptr, "above a mount of the session");
  const bool named = literals.contains(call.path) || literals.contains(host);
  const bool hit = patterns.Hit(folded);
  if (named || hit ? IsOwn(call.path) : call.facts->own) {
    const auto held = above.find(call.path);
    const bool stays = held != above.end() && (TakesDirectory(call) || MakesLink(call));
    return stays ? RefuseAbove(*held->second) : Allow();
  }
  std::optional<NameVerdict> refused;
  const bool quick = call.facts->writable && !call.name.empty() && !named && !hit &&
                     !(TakesAway(call.use) && pinned.contains(host));
  if (!quick) {
    Verdict v = policy.Decide(OperationOf(call.use), host);
    if (!v.allowed && !v.session_own) {
      const bool source = call.use == NameUse::kLinkFrom || call.use == NameUse::kMoveFrom;
      // The kernel answers EXDEV: what no rule opens is on another mount.
      if (source && !IsHeld(v.rule) && !above.contains(host)) return Allow();
      refused = Refuse(v.rule, std::move(v.reason));
    }
  }
  if (refused && !(refused->rule != nullptr && refused->rule->git_config)) return *refused;
  const Rule* other_case = hit ? FoldedMatch(call, host, folded) : nullptr;
  if (other_case != nullptr) return RefuseBy(*other_case);
  if (MakesLink(call)) {
    if (auto verdict = JudgeLink(call.path, host, folded)) return *verdict;
  }
  const bool moment = call.facts->telling || telling_names.contains(folded);
  std::optional<NameVerdict> git = moment ? JudgeGit(call) : std::nullopt;
  if (refused && !(git && git->git_config)) return *refused;
  if (git) return *git;
  if (!moment) return Allow();
  if (auto verdict = JudgeCompletion(call)) return *verdict;
  if (auto verdict = JudgeWorkTree(call)) return *verdict;
  return Allow();
}

NameJudge::NameJudge(const EffectivePolicy& policy, const FileSystem& view)
    : state_(std::make_unique<State>(policy, view)) {}
NameJudge::~NameJudge() = default;

NameVerdict NameJudge::Write(std::string_view path) {
  NameVerdict verdict = state_->Certain([&] { return state_->Judge({NameUse::kWrite, path}); });
  if (verdict.allowed) state_->Forget(path);
  return verdict;
}

NameVerdict NameJudge::Create(std::string_view path, FileKind kind) {
  NameVerdict verdict =
      state_->Certain([&] { return state_->Judge({NameUse::kCreate, path, kind}); });
  if (verdict.allowed) state_->Forget(path);
  return verdict;
}

NameVerdict NameJudge::Remove(std::string_view path, FileKind kind) {
  return state_->Certain([&] { return state_->Judge({NameUse::kRemove, path, kind}); });
}

NameVerdict NameJudge::State::JudgeRename(std::string_view from, FileKind kind, std::string_view to,
                                          FileKind replaced) {
  NameVerdict source = Judge({NameUse::kMoveFrom, from, kind, to});
  if (!source.allowed) return source;
  NameVerdict target = Judge({NameUse::kMoveTo, to, kind, from, replaced != FileKind::kMissing});
  if (!target.allowed || kind != FileKind::kDirectory || policy.files_disabled) return target;
  NameVerdict inside = JudgeTree(from, to);
  return inside.allowed ? target : inside;
}

NameVerdict NameJudge::Rename(std::string_view from, FileKind kind, std::string_view to,
                              FileKind replaced) {
  NameVerdict target =
      state_->Certain([&] { return state_->JudgeRename(from, kind, to, replaced); });
  if (!target.allowed) return target;
  const bool tree = kind == FileKind::kDirectory && !state_->policy.files_disabled;
  if (!tree) state_->Forget(from);  // of a directory it goes along, with Moved
  state_->Forget(to);
  return target;
}

NameVerdict NameJudge::State::JudgeHardLink(std::string_view from, std::string_view to) {
  NameVerdict source = Judge({NameUse::kLinkFrom, from, FileKind::kFile, to});
  if (!source.allowed) return source;
  // A hard link of a symbolic link is one more symbolic link.
  const bool link = Matters(to) && view.Kind(std::string(from)) == FileKind::kSymlink;
  const FileKind kind = link ? FileKind::kSymlink : FileKind::kFile;
  return Judge({NameUse::kCreate, to, kind, from});
}

NameVerdict NameJudge::Link(std::string_view from, std::string_view to) {
  NameVerdict target = state_->Certain([&] { return state_->JudgeHardLink(from, to); });
  if (!target.allowed) return target;
  state_->Forget(from);
  state_->Forget(to);
  return target;
}

NameVerdict NameJudge::Read(std::string_view path) {
  if (state_->policy.files_disabled || state_->IsOwn(path)) return State::Allow();
  Verdict v = state_->policy.Decide(Operation::kRead, state_->HostPath(path));
  // Without a rule that hides it, what the view shows may be read.
  const bool hidden = !v.allowed && v.rule != nullptr && v.rule->kind == RuleKind::kDenyRead;
  return hidden ? State::Refuse(v.rule, std::move(v.reason)) : State::Allow();
}

NameVerdict NameJudge::GitConfig(std::string_view path, std::string_view before,
                                 std::string_view content) {
  return state_->Certain([&] { return state_->JudgeConfig(path, before, content); });
}

void NameJudge::Made(std::string_view path, FileKind kind) { state_->Remember(path, kind); }

void NameJudge::Moved(std::string_view from, std::string_view to, FileKind kind) {
  state_->Move(from, to, kind);
}

void NameJudge::Exchanged(std::string_view one, std::string_view other) {
  state_->Exchange(one, other);
}

void NameJudge::Removed(std::string_view directory) { state_->Drop(directory); }

}  // namespace cordon::policy
