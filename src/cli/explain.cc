#include "cli/explain.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "cli/denial_remedy.h"
#include "cli/report.h"
#include "cli/run_plan.h"
#include "cli/text.h"
#include "policy/json_writer.h"
#include "policy/name_judge.h"
#include "policy/path.h"
#include "policy/rule_match.h"
#include "session/violation.h"
#include "sys/host_file_system.h"

namespace cordon::cli {
namespace {

using policy::FileKind;
using policy::NameVerdict;
using policy::Operation;
using session::Action;

constexpr int kExitRefused = 1;
constexpr const char* kSupervisor = "supervisor: the call is judged by name when it is made";

// One call that is asked about.
struct Ask {
  std::string verb;
  Action action = Action::kFileRead;
  Operation operation = Operation::kRead;
  std::string path;
  FileKind kind = FileKind::kMissing;
};

class Explainer {
 public:
  Explainer(const session::Preview& preview, const policy::FileSystem& fs)
      : preview_(preview), policy_(preview.policy), fs_(fs), judge_(preview.policy, fs) {}

  Result<std::vector<Explanation>> Answer(const Question& question) {
    switch (question.kind) {
      case Question::Kind::kLook: return Look(question);
      case Question::Kind::kChange: return One(Change(question.path));
      case Question::Kind::kCreate: return One(Create(question));
      case Question::Kind::kRemove: return One(Remove(question.path));
      case Question::Kind::kRename: return One(Rename(question));
      case Question::Kind::kConnect: return One(Connect(question.path));
    }
    return std::vector<Explanation>{};
  }

 private:
  using Answered = Result<Explanation>;

  static Result<std::vector<Explanation>> One(Answered answer) {
    if (!answer.ok()) return std::move(answer).error();
    return std::vector<Explanation>{*std::move(answer)};
  }

  // The directory without links, and the last component as it is.
  Result<std::string> InPlace(const std::string& path) const {
    if (path == "/") return path;
    CORDON_TRY(const std::string parent,
               policy::ResolvePath(std::string(policy::ParentPath(path)), fs_));
    return policy::JoinPath(parent, policy::BaseName(path));
  }

  Result<std::vector<Explanation>> Look(const Question& question) {
    CORDON_TRY(const policy::ResolvedPath found, policy::ResolveLinks(question.path, fs_));
    std::vector<Explanation> out;
    Ask ask{"read", Action::kFileRead, Operation::kRead, found.path, found.kind};
    out.push_back(Say(ask, Settle(ask, judge_.Read(found.path))));
    CORDON_TRY(Explanation change, Change(question.path));
    out.push_back(std::move(change));
    return out;
  }

  Answered Change(const std::string& path) {
    CORDON_TRY(const policy::ResolvedPath found, policy::ResolveLinks(path, fs_));
    if (found.kind == FileKind::kMissing) {
      const Ask ask{"create", Action::kFileCreate, Operation::kCreate, found.path, found.kind};
      return Say(ask, Settle(ask, judge_.Create(found.path, FileKind::kFile)));
    }
    const Ask ask{"write", Action::kFileWrite, Operation::kWrite, found.path, found.kind};
    return Say(ask, Settle(ask, judge_.Write(found.path)));
  }

  Answered Create(const Question& question) {
    CORDON_TRY(const std::string path, InPlace(question.path));
    const FileKind there = fs_.Kind(path);
    if (there != FileKind::kMissing) {
      Answered change = Change(question.path);
      if (change.ok()) change->reason += change->reason.empty() ? "it exists" : "; it exists";
      return change;
    }
    const Ask ask{"create", Action::kFileCreate, Operation::kCreate, path, there};
    const FileKind made = question.directory ? FileKind::kDirectory : FileKind::kFile;
    return Say(ask, Settle(ask, judge_.Create(path, made)));
  }

  Answered Remove(const std::string& given) {
    CORDON_TRY(const std::string path, InPlace(given));
    const Ask ask{"remove", Action::kFileUnlink, Operation::kRemove, path, fs_.Kind(path)};
    return Say(ask, Settle(ask, judge_.Remove(path, ask.kind)));
  }

  Answered Rename(const Question& question) {
    CORDON_TRY(const std::string from, InPlace(question.path));
    CORDON_TRY(const std::string to, InPlace(question.to));
    const FileKind kind = fs_.Kind(from);
    // The refused end is what a person wants to know about.
    Ask ask{"rename", Action::kFileUnlink, Operation::kRemove, from, kind};
    NameVerdict verdict = Settle(ask, judge_.Remove(from, kind));
    if (verdict.allowed) {
      verdict = judge_.Rename(from, kind, to, fs_.Kind(to));
      ask = {"rename", Action::kFileCreate, Operation::kCreate, to, FileKind::kMissing};
      verdict = Settle(ask, std::move(verdict));
    }
    Explanation out = Say(ask, verdict);
    out.path = from;
    out.to = to;
    return out;
  }

  Answered Connect(const std::string& given) {
    CORDON_TRY(const policy::ResolvedPath found, policy::ResolveLinks(given, fs_));
    const Ask ask{"connect to", Action::kUnixSocket, Operation::kRead, found.path, found.kind};
    const auto rule =
        std::find_if(policy_.rules.begin(), policy_.rules.end(), [&](const policy::Rule& r) {
          return r.kind == policy::RuleKind::kAllowSocket &&
                 std::find(r.paths.begin(), r.paths.end(), found.path) != r.paths.end();
        });
    NameVerdict v;
    v.allowed = rule != policy_.rules.end() || policy_.files_disabled;
    if (rule != policy_.rules.end()) v.rule = &*rule;
    const policy::Verdict place = policy_.Decide(Operation::kRead, found.path);
    v.reason = "no command of the session made this socket";
    if (found.kind == FileKind::kMissing) v.reason = "there is no such socket now";
    if (place.session_own) v.reason = place.reason;
    v.reason += "; one that a command of the session makes may be connected to";
    if (v.allowed) v.reason.clear();
    Explanation out = Say(ask, v);
    out.held_by = kSupervisor;
    if (const auto* line = LineFor(found.path); !out.allowed && IsMask(line))
      out.held_by = line->mechanism + " at " + line->path + "; " + kSupervisor;
    return out;
  }

  // The judge speaks for the supervisor, which lets pass what the mounts refuse by themselves.
  NameVerdict Settle(const Ask& ask, NameVerdict v) const {
    if (!v.allowed || policy_.files_disabled) return v;
    const policy::Verdict said = policy_.Decide(ask.operation, ask.path);
    if (said.allowed || said.session_own) return v;
    const session::EnforcementLine* line = LineFor(ask.path);
    const bool closed =
        line != nullptr && (IsMask(line) || line->mechanism.starts_with("read-only"));
    if (said.rule == nullptr && IsOwnTree(ask.path) && !closed) return v;
    return {false, said.rule, said.reason, false, false};
  }

  static bool IsOwnTree(const std::string& path) {
    for (const std::string_view own : {"/proc", "/sys", "/dev", "/run"}) {
      if (policy::IsAtOrBelow(path, own)) return true;
    }
    return false;
  }

  // `read-only by denyWrite "x" (spec.json): why` says again what stands in two lines of its own.
  static std::string WithoutRule(std::string reason, const policy::Rule* rule) {
    if (rule == nullptr) return reason;
    const std::string words = " by " + policy::DescribeRule(*rule);
    const std::size_t at = reason.find(words);
    if (at == std::string::npos || reason.substr(0, at).ends_with("held")) return reason;
    return reason.erase(at, words.size());
  }

  static bool IsMask(const session::EnforcementLine* line) {
    return line != nullptr && line->mechanism.find("mask") != std::string::npos;
  }

  // The mount that a path of the view is on; null: the host's own tree, read-only as a whole.
  const session::EnforcementLine* LineFor(const std::string& path) const {
    const session::EnforcementLine* best = nullptr;
    for (const session::EnforcementLine& line : preview_.enforcement) {
      if (line.mechanism.starts_with("not held") || line.path.empty() || line.path[0] != '/')
        continue;
      if (line.mechanism.starts_with("link ") && line.path != path) continue;
      if (!policy::IsAtOrBelow(path, line.path)) continue;
      if (best == nullptr || line.path.size() >= best->path.size()) best = &line;
    }
    return best;
  }

  std::string HeldBy(const Ask& ask, bool allowed) const {
    if (policy_.files_disabled) return "nothing: file rules are switched off";
    const session::EnforcementLine* line = LineFor(ask.path);
    const std::string mount = line == nullptr ? "" : line->mechanism + " at " + line->path;
    const bool read_only = line == nullptr || line->mechanism.starts_with("read-only") ||
                           line->mechanism.starts_with("link ");
    if (!allowed && line != nullptr && line->mechanism == "new root")
      return "not in the view: nothing is mounted there";
    if (allowed) return mount.empty() ? "nothing stands in the way" : mount;
    if (ask.action == Action::kFileRead) return IsMask(line) ? mount : kSupervisor;
    if (line == nullptr) return "the whole tree is mounted read-only";
    if (IsMask(line)) return mount;
    return read_only ? mount + "; " + kSupervisor : kSupervisor;
  }

  // The same value that a refusal of a running session makes, so that both say the same.
  session::Violation AsViolation(const Ask& ask, const NameVerdict& v) const {
    jail::wire::Report report;
    report.action = ask.action;
    report.target = report.raw = ask.path;
    report.reason = v.reason;
    report.call = ask.verb;
    const auto& rules = policy_.rules;
    if (v.rule != nullptr && !rules.empty() && v.rule >= rules.data() &&
        v.rule < rules.data() + rules.size())
      report.rule = static_cast<std::uint32_t>(v.rule - rules.data());
    return session::MakeViolation(report, policy_);
  }

  static std::string Opposite(const Ask& ask) {
    switch (ask.action) {
      case Action::kFileRead: return OptionText("--deny-read", ask.path) + " hides it";
      case Action::kFileCreate:
        return "--deny-name " + ShellWord(policy::BaseName(ask.path)) + " refuses the name";
      case Action::kUnixSocket: return "leave out --allow-unix-socket";
      default: return OptionText("--deny-write", ask.path) + " keeps it as it is";
    }
  }

  Explanation Say(const Ask& ask, const NameVerdict& v) const {
    Explanation out;
    out.verb = ask.verb;
    out.path = ask.path;
    out.allowed = v.allowed;
    if (v.allowed) {
      const policy::Verdict said = policy_.Decide(ask.operation, ask.path);
      const policy::Rule* rule = v.rule != nullptr ? v.rule : said.rule;
      if (rule != nullptr) {
        out.rule = std::string(policy::RuleKindName(rule->kind)) + " " + rule->text;
        out.source = rule->source.ToString();
      }
      out.reason = WithoutRule(said.reason, said.rule);
      if (rule == nullptr && !said.allowed)
        out.reason = "the session's own, where the kernel decides";
      if (ask.action == Action::kUnixSocket) out.reason = "a rule names this socket";
      out.held_by = HeldBy(ask, true);
      if (said.session_own) out.held_by = "the session's own " + said.rule->text;
      if (v.git_config) {
        out.reason += "; only changes that run no program";
        out.held_by = kSupervisor;
      }
      if (!said.session_own && !policy_.files_disabled) out.change = Opposite(ask);
      return out;
    }
    const session::Violation violation = AsViolation(ask, v);
    out.rule = violation.rule;
    out.source = violation.source;
    if (v.rule != nullptr && out.rule.empty()) {  // a rule of the moment
      out.rule = std::string(policy::RuleKindName(v.rule->kind)) + " " + v.rule->text;
      out.source = v.rule->source.ToString();
    }
    out.reason = WithoutRule(violation.reason.empty() ? v.reason : violation.reason, v.rule);
    out.held_by = HeldBy(ask, false);
    out.change = RemedyFor(violation, policy_).text;
    return out;
  }

  const session::Preview& preview_;
  const policy::EffectivePolicy& policy_;
  const policy::FileSystem& fs_;
  policy::NameJudge judge_;
};

Error Usage(std::string message) {
  return MakeError(ErrorCode::kInvalid, "explain: " + std::move(message),
                   "cordon explain PATH, or cordon explain --create PATH; see cordon help explain");
}

Result<std::string> AbsoluteOf(const std::string& text, const std::string& home,
                               const std::string& directory) {
  auto path = policy::AbsolutePath(text, home, directory, policy::PathReading::kLiteral);
  if (!path.ok()) return Annotate(std::move(path).error(), "explain");
  return path;
}

}  // namespace

Result<std::vector<Explanation>> Explain(const Question& question, const session::Preview& preview,
                                         const policy::FileSystem& fs) {
  return Explainer(preview, fs).Answer(question);
}

std::string ExplainText(const std::vector<Explanation>& answers) {
  std::string out;
  for (const Explanation& a : answers) {
    const auto row = [&out](std::string_view name, const std::string& value) {
      if (value.empty()) return;
      std::string left = "  " + std::string(name);
      left.resize(16, ' ');
      out += left + value + "\n";
    };
    out += a.verb + " " + Printable(a.path);
    if (!a.to.empty()) out += " to " + Printable(a.to);
    out += a.allowed ? ": allowed\n" : ": refused\n";
    row("rule", a.rule.empty() ? "none" : Printable(a.rule));
    row("written in", Printable(a.source));
    row("reason", Printable(a.reason));
    row("held by", Printable(a.held_by));
    row(a.allowed ? "to refuse it" : "to allow it", a.change);
  }
  return out;
}

std::string ExplainJson(const Question& question, const std::vector<Explanation>& answers) {
  using policy::AddMember;
  policy::JsonValue list = policy::JsonArray();
  for (const Explanation& a : answers) {
    policy::JsonValue row = policy::JsonObject();
    const auto text = [&row](std::string_view name, const std::string& value) {
      AddMember(row, name, value.empty() ? policy::JsonNull() : policy::JsonString(value));
    };
    text("operation", a.verb);
    text("path", a.path);
    if (!a.to.empty()) text("to", a.to);
    AddMember(row, "allowed", policy::JsonBool(a.allowed));
    text("rule", a.rule);
    text("source", a.source);
    text("reason", a.reason);
    text("heldBy", a.held_by);
    text("change", a.change);
    list.items.push_back(std::move(row));
  }
  policy::JsonValue json = policy::JsonObject();
  AddMember(json, "path", policy::JsonString(question.path));
  AddMember(json, "allowed", policy::JsonBool(answers.front().allowed));
  AddMember(json, "answers", std::move(list));
  return policy::WriteJson(json);
}

Result<Question> ReadQuestion(const Arguments& arguments, const std::string& home,
                              const std::string& directory) {
  static constexpr std::pair<Opt, Question::Kind> kKinds[] = {
      {Opt::kChange, Question::Kind::kChange},   {Opt::kCreate, Question::Kind::kCreate},
      {Opt::kRemove, Question::Kind::kRemove},   {Opt::kRename, Question::Kind::kRename},
      {Opt::kConnect, Question::Kind::kConnect},
  };
  Question question;
  std::vector<std::string> words = arguments.operands;
  for (const auto& [option, kind] : kKinds) {
    const auto value = arguments.Last(option);
    if (!value) continue;
    if (question.kind != Question::Kind::kLook) return Usage("ask one question at a time");
    question.kind = kind;
    words.insert(words.begin(), *value);
  }
  const bool rename = question.kind == Question::Kind::kRename;
  if (words.empty()) return Usage("name a path");
  if (rename && words.size() == 1) return Usage("--rename needs the new name as well");
  if (words.size() > (rename ? 2u : 1u)) return Usage("ask about one path at a time");
  if (words[0].empty() || words.back().empty()) return Usage("the path is empty");
  question.directory = words[0].ends_with('/');
  CORDON_TRY(question.path, AbsoluteOf(words[0], home, directory));
  if (rename) {
    CORDON_TRY(question.to, AbsoluteOf(words[1], home, directory));
  }
  return question;
}

int ExplainMain(const Arguments& arguments) {
  const auto caller = LookAtCaller(arguments);
  if (!caller.ok()) return ReportError(caller.error());
  const auto home = caller->environment.find("HOME");
  const auto question = ReadQuestion(
      arguments, home == caller->environment.end() ? "" : home->second, caller->directory);
  if (!question.ok()) return ReportError(question.error());
  const auto plan = MakePolicyPlan(arguments, *caller);
  if (!plan.ok()) return ReportError(plan.error());
  const auto preview = session::Session::DryRun(plan->spec, LaunchOptionsFor(*plan));
  if (!preview.ok()) return ReportError(preview.error());
  const sys::HostFileSystem fs;
  const auto answers = Explain(*question, *preview, fs);
  if (!answers.ok()) return ReportError(answers.error());
  const bool printed =
      Print(arguments.Has(Opt::kJson) ? ExplainJson(*question, *answers) : ExplainText(*answers));
  if (!printed) return kExitCordon;
  return answers->front().allowed ? 0 : kExitRefused;
}

}  // namespace cordon::cli
