// Session::DryRun: what a launch would do, in words.
#include "jail/filter.h"
#include "policy/rule_match.h"
#include "session/prepare.h"
#include "session/session.h"

namespace cordon::session {
namespace {

// The built-in entries that speak of nothing that exists would bury the rest, unless they are not
// held and somebody has to know.
bool WorthShowing(const policy::Rule& rule, bool held) {
  const bool built_in = rule.source.origin.rfind("built-in", 0) == 0;
  return !built_in || (!held && rule.kind == policy::RuleKind::kProtected);
}

void AddNames(const Prepared& prepared, std::vector<EnforcementLine>& lines) {
  const bool held = prepared.supervised;
  for (const auto& rule : prepared.policy.rules) {
    if (!rule.needs_supervisor || !rule.existing.empty() || !WorthShowing(rule, held)) continue;
    const std::string path = rule.paths.empty() ? rule.text : rule.paths.front();
    lines.push_back({policy::LabelRule(rule), path,
                     held ? "the supervisor, when it is made"
                          : "not held: it does not exist, and without a supervisor (cordon doctor) "
                            "nothing refuses to make it"});
  }
  for (const auto& program : prepared.not_held) lines.push_back({"exec rule", program, "not held"});
}

}  // namespace

Result<Preview> Session::DryRun(const policy::SandboxSpec& spec, const LaunchOptions& options) {
  CORDON_TRY(Prepared prepared, Prepare(spec, options));
  Preview preview;
  for (const auto& op : prepared.plan.operations)
    preview.enforcement.push_back({op.why.empty() ? "always" : op.why, op.target, op.mechanism});
  for (const auto& op : prepared.plan.after_proc)
    preview.enforcement.push_back({op.why, op.target, op.mechanism});
  AddNames(prepared, preview.enforcement);
  preview.environment = std::move(prepared.environment);
  for (const auto& r : prepared.removed)
    preview.removed_variables.push_back(r.name + ": " + r.reason);
  preview.plan_text = prepared.plan.Describe();
  preview.filter_text = jail::Describe(jail::BaselineSpec({}));
  preview.policy = std::move(prepared.policy);
  return preview;
}

}  // namespace cordon::session
