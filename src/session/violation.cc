#include "session/violation.h"

#include <algorithm>
#include <utility>

#include "policy/path.h"
#include "policy/rule_match.h"
#include "session/violation_noise.h"

namespace cordon::session {
namespace {

std::optional<policy::Operation> OperationOf(Action action) {
  switch (action) {
    case Action::kFileRead: return policy::Operation::kRead;
    case Action::kFileWrite: return policy::Operation::kWrite;
    case Action::kFileCreate: return policy::Operation::kCreate;
    case Action::kFileUnlink: return policy::Operation::kRemove;
    default: return std::nullopt;
  }
}

void SetRule(const policy::Rule& rule, Violation& v) {
  v.by = RefusedBy::kRule;
  v.kind = rule.kind;
  v.rule_text = rule.text;
  v.rule = std::string(policy::RuleKindName(rule.kind)) + " " + rule.text;
  v.source = rule.source.ToString();
  v.built_in = rule.source.origin.starts_with("built-in") ||
               rule.kind == policy::RuleKind::kWorkdir ||
               rule.kind == policy::RuleKind::kTemporary || rule.kind == policy::RuleKind::kSystem;
  v.built_in_default = rule.built_in_default;
  v.rule_is_read_only = rule.read_only;
  v.rule_names_target = policy::RuleMatch(rule, v.host_path) == v.host_path.size();
}

// What is judged at the moment of the call is the protected set; its entry stands in the reason.
void NameProtectedRule(Violation& v) {
  constexpr std::string_view kBefore = "protected \"";
  v.rule = "protected";
  v.source = "built-in protected set";
  v.built_in = true;
  const std::size_t at = v.reason.find(kBefore);
  if (at == std::string::npos) return;
  const std::size_t begin = at + kBefore.size();
  v.rule_text = v.reason.substr(begin, v.reason.find('"', begin) - begin);
  v.rule += " " + v.rule_text;
}

// The broker names no rule where none decided, and where one did that exists only at the moment of
// the call. The policy knows the first kind.
void SetWithoutRule(const policy::EffectivePolicy& policy, policy::Operation operation,
                    Violation& v) {
  const policy::Verdict verdict = policy.Decide(operation, v.host_path);
  if (verdict.allowed || verdict.session_own) {
    v.by = RefusedBy::kMoment;
    NameProtectedRule(v);
    return;
  }
  if (verdict.rule != nullptr)
    SetRule(*verdict.rule, v);
  else
    v.by = RefusedBy::kNoRule;
  if (v.reason.empty()) v.reason = verdict.reason;
}

std::string KeyOf(const Violation& v) {
  std::string key = std::to_string(v.exec) + " " + std::to_string(static_cast<int>(v.action));
  for (const std::string* part : {&v.target, &v.rule, &v.source, &v.program}) {
    key += '\0';
    key += *part;
  }
  return key;
}

std::size_t BytesOf(const Violation& v) {
  return sizeof v + v.target.size() + v.raw.size() + v.program.size() + v.call.size() +
         v.host_path.size() + v.reason.size() + v.rule.size() + v.source.size() +
         v.rule_text.size();
}

}  // namespace

Violation MakeViolation(const jail::wire::Report& report, const policy::EffectivePolicy& policy) {
  Violation v;
  v.action = report.action;
  v.target = report.target;
  v.raw = report.raw;
  v.program = report.program;
  v.call = report.call;
  v.reason = report.reason;
  v.exec = report.exec;
  v.count = std::max<std::uint32_t>(report.count, 1);
  v.pid = report.pid;
  v.host_pid = report.host_pid;
  v.error = report.error;
  const bool is_path = v.target.starts_with('/');
  v.host_path = is_path ? policy.HostPath(v.target) : v.target;
  const auto operation = OperationOf(report.action);
  if (report.rule != jail::wire::kNoRule && report.rule < policy.rules.size())
    SetRule(policy.rules[report.rule], v);
  else if (operation)
    SetWithoutRule(policy, *operation, v);
  // The server of masks knows the rule, but not its words.
  if (v.reason.empty() && operation) v.reason = policy.Decide(*operation, v.host_path).reason;
  return v;
}

EventParts EventPartsOf(const Violation& v) {
  EventParts parts;
  parts.numbers["number"] = static_cast<std::int64_t>(v.number);
  if (v.action == Action::kLost) {
    parts.type = "gap";
    parts.text["reason"] = "reports of refusals that came faster than they were taken";
    parts.numbers["lost"] = static_cast<std::int64_t>(v.count);
    return parts;
  }
  parts.type = v.action == Action::kChanged ? "changed" : "violation";
  parts.text["target"] = v.target;
  const auto text = [&parts](const char* name, const std::string& value) {
    if (!value.empty()) parts.text[name] = value;
  };
  if (v.action != Action::kChanged) text("action", std::string(ActionVerb(v.action)));
  text("raw", v.raw);
  text("program", v.program);
  text("call", v.call);
  text("rule", v.rule);
  text("source", v.source);
  text("reason", v.reason);
  parts.numbers["count"] = static_cast<std::int64_t>(v.count);
  const auto number = [&parts](const char* name, std::int64_t value) {
    if (value != 0) parts.numbers[name] = value;
  };
  number("pid", v.pid);
  number("hostPid", v.host_pid);
  number("errno", v.error);
  number("inferred", v.inferred ? 1 : 0);
  return parts;
}

void ViolationLog::Began(std::uint64_t exec, const std::vector<std::string>& argv) {
  if (filter_.empty()) return;
  std::string& line = commands_[exec];
  for (const std::string& word : argv) line += (line.empty() ? "" : " ") + word;
}

const Violation* ViolationLog::Add(const jail::wire::Report& report,
                                   const policy::EffectivePolicy& policy) {
  return Add(MakeViolation(report, policy));
}

const Violation* ViolationLog::Add(Violation v) {
  std::string key = KeyOf(v);
  if (const auto it = index_.find(key); it != index_.end()) {
    Violation& kept = kept_[it->second];
    kept.count += v.count;
    if (kept.count < 2 * said_[it->second]) return nullptr;
    said_[it->second] = kept.count;
    return &kept;
  }
  if (v.action != Action::kLost) {
    const auto command = commands_.find(v.exec);
    if (filter_.Ignores(command == commands_.end() ? "" : command->second, v.program, v.action,
                        v.target)) {
      ignored_ += v.count;
      return nullptr;
    }
    if (FindNoise(v) != nullptr) {
      noise_ += v.count;
      return nullptr;
    }
    const std::size_t bytes = BytesOf(v) + key.size();
    if (kept_.size() >= kMaxDistinct || bytes_ + bytes > kMaxBytes) {
      not_kept_ += v.count;
      return nullptr;
    }
    bytes_ += bytes;
  }
  v.number = ++last_number_;
  index_.emplace(std::move(key), kept_.size());
  said_.push_back(v.count);
  kept_.push_back(std::move(v));
  return &kept_.back();
}

std::vector<Violation> ViolationLog::TakeUnsaid(std::optional<std::uint64_t> exec) {
  std::vector<Violation> out;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].count == said_[i] || (exec && kept_[i].exec != *exec)) continue;
    said_[i] = kept_[i].count;
    out.push_back(kept_[i]);
  }
  return out;
}

std::vector<Violation> ViolationLog::Of(std::uint64_t exec) const {
  std::vector<Violation> out;
  std::copy_if(kept_.begin(), kept_.end(), std::back_inserter(out),
               [exec](const Violation& v) { return v.exec == exec; });
  return out;
}

void ViolationLog::Forget(std::uint64_t exec) {
  commands_.erase(exec);
  std::vector<Violation> kept;
  std::vector<std::uint64_t> said;
  index_.clear();
  bytes_ = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].exec == exec) continue;
    std::string key = KeyOf(kept_[i]);
    bytes_ += BytesOf(kept_[i]) + key.size();
    index_.emplace(std::move(key), kept.size());
    kept.push_back(std::move(kept_[i]));
    said.push_back(said_[i]);
  }
  kept_ = std::move(kept);
  said_ = std::move(said);
}

}  // namespace cordon::session
