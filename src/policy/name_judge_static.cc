// What follows from the policy alone: where a path stands on the host, what is the session's own,
// links that would lead a rule elsewhere, and what a moved directory carries.
#include <algorithm>

#include "policy/name_judge_state.h"
#include "policy/path.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

constexpr std::size_t kMostMoved = 20'000;  // entries that are looked at below a moved directory

bool RefusesWriting(const Rule& rule) {
  return rule.kind == RuleKind::kDenyWrite || rule.kind == RuleKind::kProtected ||
         rule.kind == RuleKind::kDenyName;
}

bool HoldsPath(const Rule& rule) {
  return rule.kind == RuleKind::kDenyWrite || rule.kind == RuleKind::kProtected;
}

std::string Because(std::string what, const Rule& rule) {
  what += DescribeRule(rule);
  if (!rule.reason.empty()) what += ": " + rule.reason;
  return what;
}

// An exception that holds for everything below `path`.
bool ExceptsAllBelow(const Rule& rule, std::string_view path) {
  return std::any_of(rule.exception_patterns.begin(), rule.exception_patterns.end(),
                     [&](const glob::Pattern& p) {
                       const bool subtree = p.text().ends_with("/**") || p.text().ends_with("/");
                       return subtree && p.Matches(path);
                     });
}

}  // namespace

NameVerdict NameJudge::State::RefuseBy(const Rule& rule) {
  return Refuse(&rule, Because("read-only by ", rule));
}

NameVerdict NameJudge::State::RefuseAbove(const Rule& rule) {
  return Refuse(&rule, Because("above a path held by ", rule));
}

std::string NameJudge::State::HostPath(std::string_view path) const {
  return mapped.empty() ? std::string(path) : policy.HostPath(path);
}

bool NameJudge::State::IsOwn(std::string_view path) const {
  std::size_t own_length = 0;
  bool by_rule = false;
  for (const auto& [directory, rule] : own) {
    if (!IsAtOrBelow(path, directory) || directory.size() < own_length) continue;
    by_rule = rule != nullptr || (by_rule && directory.size() == own_length);
    own_length = directory.size();
  }
  if (own_length == 0) return false;
  for (const BindMount& mount : mapped) {
    if (mount.guest_path.size() >= own_length && IsAtOrBelow(path, mount.guest_path)) return false;
  }
  return std::none_of(policy.rules.begin(), policy.rules.end(), [&](const Rule& rule) {
    const bool opens = OpensWriting(rule) || rule.kind == RuleKind::kMount;
    if (!opens) return false;
    const std::size_t length = RuleMatch(rule, path);
    return length > own_length || (length == own_length && !by_rule);
  });
}

bool NameJudge::State::IsHeld(const Rule* rule) const {
  return rule != nullptr && (RefusesWriting(*rule) || rule->kind == RuleKind::kDenyRead);
}

bool NameJudge::State::Same(std::string_view directory, std::string_view name,
                            std::string_view special) const {
  if (name == special) return true;
  if (name.size() < special.size()) return false;
  std::string folded_name, folded_special;
  return FoldName(name, &folded_name) == FoldName(special, &folded_special) && MayFold(directory);
}

bool NameJudge::State::Exists(std::string_view directory, std::string_view name) const {
  return view.Kind(JoinPath(directory, name)) != FileKind::kMissing;
}

bool NameJudge::State::Matters(std::string_view path) const {
  std::string text;
  const std::string_view folded = FoldName(BaseName(path), &text);
  return above.contains(HostPath(path)) || telling_names.contains(folded) ||
         std::any_of(refusals.begin(), refusals.end(), [&](const Refusal& r) {
           return r.middle.Hit(folded) || IsAtOrBelow(r.pattern->fixed_prefix(), HostPath(path));
         });
}

// In a directory that folds, a rule compares folded although its own start does not.
const Rule* NameJudge::State::FoldedMatch(const NameCall& call, const std::string& host,
                                          std::string_view folded) const {
  const bool takes = call.use == NameUse::kRemove || call.use == NameUse::kMoveFrom;
  if (!MayFold(call.directory)) return nullptr;
  const std::string path = JoinPath(ParentPath(host), folded);
  for (const Refusal& refusal : refusals) {
    if (takes && refusal.rule->kind == RuleKind::kDenyName) continue;
    if (!refusal.folded) {
      auto pattern = glob::Pattern::Parse(refusal.pattern->text(), glob::Case::kFolded);
      if (!pattern.ok()) return refusal.rule;  // it was parsed once: cannot be
      refusal.folded = *std::move(pattern);
    }
    if (!refusal.folded->Matches(path)) continue;
    const auto& exceptions = refusal.rule->exception_patterns;
    const bool excepted = std::any_of(exceptions.begin(), exceptions.end(),
                                      [&](const glob::Pattern& p) { return p.Matches(path); });
    if (!excepted) return refusal.rule;
  }
  return nullptr;
}

std::optional<NameVerdict> NameJudge::State::JudgeLink(std::string_view path,
                                                       const std::string& host,
                                                       std::string_view folded) const {
  const auto found = above.find(host);
  if (found != above.end())
    return Refuse(found->second,
                  Because("a link here would lead elsewhere what is held by ", *found->second));
  if (above_guests.contains(path)) return Refuse(nullptr, "above a mount of the session");
  for (const Refusal& refusal : refusals) {
    const bool start = IsAtOrBelow(refusal.pattern->fixed_prefix(), host);
    if (start || (refusal.middle.Hit(folded) && refusal.pattern->CouldMatchBelow(host))) {
      return Refuse(refusal.rule,
                    Because("a link here would lead elsewhere what is held by ", *refusal.rule));
    }
  }
  return std::nullopt;
}

// Whether something in `from` would come to stand at a path that a rule names.
std::optional<NameVerdict> NameJudge::State::JudgeLiterals(std::string_view from,
                                                           const std::string& host_to) const {
  if (!above.contains(host_to)) return std::nullopt;
  for (const Rule& rule : policy.rules) {
    if (!HoldsPath(rule)) continue;
    for (const std::string& path : rule.paths) {
      if (path.size() <= host_to.size() || !IsAtOrBelow(path, host_to)) continue;
      std::string inside(from);
      bool there = true, link = false;
      ForEachName(std::string_view(path).substr(host_to.size()),
                  [&](std::size_t, std::string_view name) {
                    inside = JoinPath(inside, name);
                    const FileKind kind = view.Kind(inside);
                    there = kind != FileKind::kMissing;
                    link = kind == FileKind::kSymlink;
                    return there && !link;
                  });
      if (there || link) return RefuseBy(rule);
    }
  }
  return std::nullopt;
}

NameJudge::State::Look NameJudge::State::HowFarToLook(const std::string& host_from,
                                                      const std::string& host_to) const {
  Look look = Look::kNone;
  for (const Refusal& refusal : refusals) {
    const Rule& rule = *refusal.rule;
    if (rule.kind != RuleKind::kDenyName) {
      if (refusal.pattern->CouldMatchBelow(host_to) || refusal.pattern->CouldMatchBelow(host_from))
        return Look::kNeeded;
      continue;
    }
    if (ExceptsAllBelow(rule, host_to) || !refusal.pattern->CouldMatchBelow(host_to)) continue;
    const bool appears = refusal.several || ExceptsAllBelow(rule, host_from) ||
                         !refusal.pattern->CouldMatchBelow(host_from);
    if (appears) return Look::kNeeded;
    look = Look::kUseful;
  }
  return look;
}

std::optional<NameVerdict> NameJudge::State::JudgeEntry(const std::string& host_from,
                                                        const std::string& host_to,
                                                        std::string_view below,
                                                        FileKind kind) const {
  std::string text;
  const std::string_view folded = FoldName(BaseName(below), &text);
  const std::string to = host_to + std::string(below);
  if (kind == FileKind::kSymlink) {
    if (auto verdict = JudgeLink("", to, folded)) return verdict;
  }
  if (!patterns.Hit(folded)) return std::nullopt;
  Verdict target = policy.Decide(Operation::kCreate, to);
  if (!target.allowed && IsHeld(target.rule)) {
    target.reason =
        "it holds " + std::string(below.substr(1)) + ", which would become " + target.reason;
    return Refuse(target.rule, std::move(target.reason));
  }
  const Verdict source = policy.Decide(Operation::kRemove, host_from + std::string(below));
  if (!source.allowed && source.rule != nullptr && HoldsPath(*source.rule))
    return RefuseAbove(*source.rule);
  return std::nullopt;
}

NameVerdict NameJudge::State::JudgeTree(std::string_view from, std::string_view to) const {
  const std::string host_from = HostPath(from), host_to = HostPath(to);
  if (IsOwn(from) || IsOwn(to)) return Allow();  // either free, or EXDEV
  if (auto verdict = JudgeLiterals(from, host_to)) return *verdict;
  if (auto verdict = JudgeGitTree(from, to)) return *verdict;
  const Look look = HowFarToLook(host_from, host_to);
  if (look == Look::kNone) return Allow();
  std::optional<NameVerdict> refused;
  std::size_t entries = 0;
  bool whole = true;
  std::vector<std::string> pending{""};
  while (!pending.empty() && !refused && whole) {
    const std::string below = std::move(pending.back());
    pending.pop_back();
    const bool listed =
        view.List(std::string(from) + below, [&](std::string_view name, FileKind kind) {
          if (++entries > kMostMoved) return whole = false;
          const std::string path = below + "/" + std::string(name);
          refused = JudgeEntry(host_from, host_to, path, kind);
          if (kind == FileKind::kDirectory) pending.push_back(path);
          return !refused;
        });
    whole = whole && listed;
  }
  if (refused) return *refused;
  if (whole || look == Look::kUseful) return Allow();
  return Refuse(nullptr, entries > kMostMoved
                             ? "it holds more than 20000 entries, and one of them could come to "
                               "stand where a rule forbids it"
                             : "what it holds cannot be listed, and could come to stand where a "
                               "rule forbids it");
}

NameJudge::State::State(const EffectivePolicy& given, const FileSystem& given_view)
    : policy(given), view(given_view) {
  for (const BindMount& mount : policy.mounts) {
    for (std::string_view up = ParentPath(mount.guest_path); up != "/"; up = ParentPath(up))
      above_guests.emplace(up);
    if (mount.guest_path == mount.host_path) continue;
    mapped.push_back(mount);
    literals.insert(mount.guest_path);
  }
  for (const char* directory : {"/dev", "/proc", "/sys", "/run"})
    own.emplace_back(directory, nullptr);
  for (const auto& [directory, rule] : own) literals.insert(directory);
  for (const Rule& rule : policy.rules) {
    if (rule.kind == RuleKind::kTemporary) {
      for (const std::string& path : rule.paths) own.emplace_back(path, &rule);
    }
    AddRule(rule);
  }
  for (const std::string& root : {policy.workdir, policy.home}) {
    if (!root.empty() && policy.Look(root).writable) roots.insert(root);
  }
  AddMoments();
}

void NameJudge::State::AddRule(const Rule& rule) {
  literals.insert(rule.paths.begin(), rule.paths.end());
  for (std::size_t i = 0; i < rule.paths.size() && i < rule.fold_from.size(); ++i) {
    const std::size_t from = rule.fold_from[i];
    if (from < rule.paths[i].size())
      folding.push_back(rule.paths[i].substr(0, std::max<std::size_t>(from, 2) - 1));
  }
  const bool holds = HoldsPath(rule);
  const auto pin = [&](std::string_view path) {
    for (path = ParentPath(path); path != "/"; path = ParentPath(path)) {
      pinned.emplace(path);
      if (holds) above.emplace(std::string(path), &rule);
    }
  };
  if (holds || rule.kind == RuleKind::kDenyRead) {
    for (const std::string& path : rule.paths) pin(path);
    for (const std::string& path : rule.links) pin(path);
    for (const ExistingPath& e : rule.existing) pin(e.path);
  }
  if (OpensWriting(rule)) {
    for (const ExistingPath& e : rule.existing) {
      if (e.kind == FileKind::kDirectory) roots.insert(e.path);
    }
  }
  for (const glob::Pattern& pattern : rule.patterns) AddPattern(rule, pattern);
}

void NameJudge::State::AddPattern(const Rule& rule, const glob::Pattern& pattern) {
  const std::vector<std::string_view> segments = PatternSegments(pattern.magic_suffix());
  patterns.Add(segments.empty() ? "**" : segments.back());
  if (!RefusesWriting(rule)) return;
  Refusal refusal{&rule, &pattern, {}, true, std::nullopt};
  std::size_t names = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i] == "**") continue;
    ++names;
    if (i + 1 < segments.size()) refusal.middle.Add(segments[i]);
  }
  if (segments.empty()) refusal.middle.Add("**");
  refusal.several = names != 1 || segments.front() != "**";
  refusals.push_back(std::move(refusal));
}

}  // namespace cordon::policy
