#include <algorithm>

#include "glob/fold.h"
#include "policy/path.h"
#include "policy/policy.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;
constexpr const char* kReadOnlyMode = "nothing is writable here in mode ";

bool RefusesWriting(RuleKind kind) {
  return kind == RuleKind::kDenyWrite || kind == RuleKind::kProtected ||
         kind == RuleKind::kDenyName;
}

// Whether a rule has a say about reads, and how strong it is at equal length: the greater wins. A
// rule that names a private directory itself is met by that directory, so kPrivate stands last.
enum class ReadVoice { kNone, kAllowBuiltIn, kDenyDefault, kAllowUser, kDenyUser, kPrivate };

ReadVoice VoiceOf(const Rule& rule) {
  switch (rule.kind) {
    case RuleKind::kDenyRead:
      return rule.built_in_default ? ReadVoice::kDenyDefault : ReadVoice::kDenyUser;
    case RuleKind::kAllowRead:
    case RuleKind::kAllowWrite:
    case RuleKind::kRunnerState:
      return rule.built_in_default ? ReadVoice::kAllowBuiltIn : ReadVoice::kAllowUser;
    case RuleKind::kAllowSocket:
    case RuleKind::kMount: return ReadVoice::kAllowUser;
    case RuleKind::kWorkdir:
    case RuleKind::kSystem: return ReadVoice::kAllowBuiltIn;
    case RuleKind::kTemporary: return ReadVoice::kPrivate;
    case RuleKind::kDenyWrite:
    case RuleKind::kProtected:
    case RuleKind::kDenyName: return ReadVoice::kNone;
  }
  return ReadVoice::kNone;
}

struct ReadAnswer {
  const Rule* rule = nullptr;
  ReadVoice voice = ReadVoice::kNone;
};

// The rules that may match a path, in order.
using RuleList = std::vector<const Rule*>;

RuleList Candidates(const EffectivePolicy& policy, std::string_view path) {
  RuleList list;
  if (!policy.index.Covers(policy.rules.size())) {
    for (const Rule& rule : policy.rules) list.push_back(&rule);
    return list;
  }
  for (const std::uint32_t i : policy.index.Candidates(path)) list.push_back(&policy.rules[i]);
  return list;
}

ReadAnswer AnswerRead(const RuleList& rules, std::string_view path) {
  ReadAnswer best;
  std::size_t best_length = 0;
  for (const Rule* candidate : rules) {
    const Rule& rule = *candidate;
    const ReadVoice voice = VoiceOf(rule);
    if (voice == ReadVoice::kNone) continue;
    const std::size_t length = RuleMatch(rule, path);
    if (length == 0 || length < best_length || (length == best_length && voice <= best.voice))
      continue;
    best = {&rule, voice};
    best_length = length;
  }
  return best;
}

// The rule that refuses writing, the longest first so that the reason is the nearest one.
const Rule* RefusingRule(const RuleList& rules, std::string_view path, Operation op) {
  const Rule* best = nullptr;
  std::size_t best_length = 0;
  for (const Rule* candidate : rules) {
    const Rule& rule = *candidate;
    if (!RefusesWriting(rule.kind)) continue;
    const std::size_t length = RuleMatch(rule, path);
    // A name that may not be written may still be taken away (12.20), but not what lies below it.
    const bool removes_name = rule.kind == RuleKind::kDenyName && op == Operation::kRemove;
    if (length <= best_length || (removes_name && length == path.size())) continue;
    best = &rule;
    best_length = length;
  }
  return best;
}

struct WriteAnswer {
  const Rule* opens = nullptr;
  const Rule* read_only = nullptr;
};

WriteAnswer AnswerWrite(const RuleList& rules, std::string_view path) {
  WriteAnswer best;
  std::size_t open_length = 0, closed_length = 0;
  for (const Rule* candidate : rules) {
    const Rule& rule = *candidate;
    const bool closes = rule.kind == RuleKind::kMount && rule.read_only;
    if (!closes && !OpensWriting(rule)) continue;
    const std::size_t length = RuleMatch(rule, path);
    if (length == 0) continue;
    if (closes && length > closed_length) {
      closed_length = length;
      best.read_only = &rule;
    } else if (!closes && (length > open_length ||
                           (length == open_length && rule.kind == RuleKind::kRunnerState))) {
      open_length = length;
      best.opens = &rule;
    }
  }
  const bool state = best.opens != nullptr && best.opens->kind == RuleKind::kRunnerState;
  const bool open = open_length > closed_length || (open_length == closed_length && state);
  if (open)
    best.read_only = nullptr;
  else
    best.opens = nullptr;
  return best;
}

std::string Because(std::string what, const Rule& rule) {
  what += DescribeRule(rule);
  if (!rule.reason.empty()) what += ": " + rule.reason;
  return what;
}

// A verdict before it is put into words: building the reason costs more than the decision.
struct Judgement {
  bool allowed = false;
  const Rule* rule = nullptr;
  const char* words = "";  // the whole reason, or what stands before the rule
  bool session_own = false;
};

Verdict InWords(const Judgement& j, Mode mode) {
  Verdict v{j.allowed, j.rule, {}, j.session_own};
  if (j.session_own) {
    v.reason = "the session has its own " + j.rule->text + ", the host's is not visible";
  } else if (j.rule != nullptr) {
    v.reason = Because(j.words, *j.rule);
  } else {
    v.reason = j.words;
    if (j.words == kReadOnlyMode) v.reason += ModeName(mode);
  }
  return v;
}

Verdict Deny(const Rule* rule, std::string reason) {
  return {false, rule, std::move(reason), false};
}

Judgement JudgeRead(const EffectivePolicy& policy, const RuleList& rules, std::string_view path) {
  const ReadAnswer answer = AnswerRead(rules, path);
  switch (answer.voice) {
    case ReadVoice::kDenyDefault:
    case ReadVoice::kDenyUser: return {false, answer.rule, "hidden by "};
    case ReadVoice::kPrivate: return {false, answer.rule, "", true};
    case ReadVoice::kAllowBuiltIn:
    case ReadVoice::kAllowUser: return {true, answer.rule, "visible by "};
    case ReadVoice::kNone: break;
  }
  if (policy.view == View::kHost)
    return {true, nullptr, "the whole machine is readable in this view"};
  return {false, nullptr, "not in the view"};
}

// `read` is the judgement of reading the same path.
Judgement JudgeWrite(const EffectivePolicy& policy, const RuleList& rules, const Judgement& read,
                     Operation op, std::string_view path) {
  if (!read.allowed) return read;
  if (const Rule* rule = RefusingRule(rules, path, op)) return {false, rule, "read-only by "};
  const WriteAnswer answer = AnswerWrite(rules, path);
  if (answer.opens != nullptr) return {true, answer.opens, "writable by "};
  if (answer.read_only != nullptr) return {false, answer.read_only, "read-only by "};
  return {false, nullptr, policy.mode != Mode::kChat ? kReadOnlyMode : "no rule makes it writable"};
}

Verdict DecideRead(const EffectivePolicy& policy, std::string_view path) {
  return InWords(JudgeRead(policy, Candidates(policy, path), path), policy.mode);
}

Verdict DecideWrite(const EffectivePolicy& policy, Operation op, std::string_view path) {
  const RuleList rules = Candidates(policy, path);
  return InWords(JudgeWrite(policy, rules, JudgeRead(policy, rules, path), op, path), policy.mode);
}

// What a removal needs beyond the right to write.
Verdict DecideRemove(const EffectivePolicy& policy, std::string_view path) {
  Verdict own = DecideWrite(policy, Operation::kRemove, path);
  if (!own.allowed) return own;
  if (path == "/") return Deny(nullptr, "the root directory cannot be removed");
  Verdict parent = DecideWrite(policy, Operation::kWrite, ParentPath(path));
  if (!parent.allowed) {
    parent.reason = "its directory cannot be changed: " + parent.reason;
    return parent;
  }
  for (const Rule& rule : policy.rules) {
    const bool holds = rule.kind == RuleKind::kDenyWrite || rule.kind == RuleKind::kProtected ||
                       rule.kind == RuleKind::kDenyRead;
    if (holds && RuleReachesBelow(rule, path))
      return Deny(&rule, Because("above a path held by ", rule));
  }
  return own;
}

}  // namespace

std::size_t LiteralMatch(std::string_view path, std::string_view directory, std::size_t fold_from) {
  if (fold_from >= directory.size()) return IsAtOrBelow(path, directory) ? directory.size() : 0;
  if (path.substr(0, fold_from) != directory.substr(0, fold_from)) return 0;
  const std::size_t rest = glob::FoldedPrefix(path.substr(fold_from), directory.substr(fold_from));
  if (rest == kNowhere) return 0;
  const std::size_t end = fold_from + rest;
  return end == path.size() || path[end] == '/' ? directory.size() : 0;
}

std::size_t RuleMatch(const Rule& rule, std::string_view path) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < rule.paths.size(); ++i) {
    const std::size_t fold = i < rule.fold_from.size() ? rule.fold_from[i] : kNowhere;
    best = std::max(best, LiteralMatch(path, rule.paths[i], fold));
  }
  for (const glob::Pattern& pattern : rule.patterns)
    best = std::max(best, pattern.MatchLength(path));
  if (best == 0) return 0;
  const bool excepted = std::any_of(rule.exception_patterns.begin(), rule.exception_patterns.end(),
                                    [&](const glob::Pattern& p) { return p.Matches(path); });
  return excepted ? 0 : best;
}

bool RuleReachesBelow(const Rule& rule, std::string_view path) {
  for (std::size_t i = 0; i < rule.paths.size(); ++i) {
    const std::string_view own = rule.paths[i];
    const std::size_t fold = i < rule.fold_from.size() ? rule.fold_from[i] : kNowhere;
    // Seen from the rule's path, `path` is the directory; only then is the folding the same.
    if (own.size() > path.size() && LiteralMatch(own, path, fold) != 0) return true;
  }
  const auto below = [&](const std::string& own) {
    return own.size() > path.size() && IsAtOrBelow(own, path);
  };
  return std::any_of(rule.existing.begin(), rule.existing.end(),
                     [&](const ExistingPath& e) { return below(e.path); }) ||
         std::any_of(rule.links.begin(), rule.links.end(), below);
}

bool OpensWriting(const Rule& rule) {
  switch (rule.kind) {
    case RuleKind::kAllowWrite:
    case RuleKind::kMount:
    case RuleKind::kWorkdir:
    case RuleKind::kRunnerState: return !rule.read_only;
    default: return false;
  }
}

std::string LabelRule(const Rule& rule) {
  std::string out = std::string(RuleKindName(rule.kind)) + " " + rule.text;
  std::string source = rule.source.ToString();
  if (!source.empty()) out += " (" + source + ")";
  return out;
}

std::string DescribeRule(const Rule& rule) {
  return std::string(RuleKindName(rule.kind)) + " \"" + rule.text + "\" (" +
         rule.source.ToString() + ")";
}

const char* RuleKindName(RuleKind kind) {
  switch (kind) {
    case RuleKind::kAllowRead: return "allowRead";
    case RuleKind::kDenyRead: return "denyRead";
    case RuleKind::kAllowWrite: return "allowWrite";
    case RuleKind::kDenyWrite: return "denyWrite";
    case RuleKind::kProtected: return "protected";
    case RuleKind::kDenyName: return "denyNames";
    case RuleKind::kMount: return "mount";
    case RuleKind::kWorkdir: return "workdir";
    case RuleKind::kTemporary: return "temporary";
    case RuleKind::kRunnerState: return "runnerState";
    case RuleKind::kAllowSocket: return "allowUnixSockets";
    case RuleKind::kSystem: return "system";
  }
  return "unknown";
}

const char* OperationName(Operation op) {
  switch (op) {
    case Operation::kRead: return "read";
    case Operation::kWrite: return "write";
    case Operation::kCreate: return "create";
    case Operation::kRemove: return "remove";
  }
  return "unknown";
}

Verdict EffectivePolicy::Decide(Operation op, std::string_view path) const {
  if (path.empty() || path.front() != '/') return Deny(nullptr, "not an absolute path");
  if (path.find('\0') != std::string_view::npos) return Deny(nullptr, "the path holds a NUL byte");
  const std::string normal = NormalizePath(path);
  if (files_disabled) return {true, nullptr, "file rules are switched off", false};
  switch (op) {
    case Operation::kRead: return DecideRead(*this, normal);
    case Operation::kWrite:
    case Operation::kCreate: return DecideWrite(*this, op, normal);
    case Operation::kRemove: return DecideRemove(*this, normal);
  }
  return Deny(nullptr, "unknown operation");
}

std::string EffectivePolicy::HostPath(std::string_view path) const {
  const BindMount* inner = nullptr;
  for (const BindMount& mount : mounts) {
    const bool inside = IsAtOrBelow(path, mount.guest_path);
    if (inside && (inner == nullptr || mount.guest_path.size() >= inner->guest_path.size()))
      inner = &mount;
  }
  if (inner == nullptr) return std::string(path);
  const std::string_view rest =
      path.substr(inner->guest_path == "/" ? 0 : inner->guest_path.size());
  if (inner->host_path == "/") return rest.empty() ? "/" : std::string(rest);
  return inner->host_path + std::string(rest == "/" ? "" : rest);
}

PathState EffectivePolicy::Look(std::string_view path) const {
  if (files_disabled) return {true, true, false, nullptr, nullptr};
  const RuleList found = Candidates(*this, path);
  const Judgement read = JudgeRead(*this, found, path);
  const Judgement write = JudgeWrite(*this, found, read, Operation::kWrite, path);
  return {read.allowed, write.allowed, write.session_own, read.rule, write.rule};
}

}  // namespace cordon::policy
