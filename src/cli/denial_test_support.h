// Refusals for tests: made as the broker makes them, against a policy compiled in memory.
#pragma once

#include <string>
#include <string_view>

#include "policy/policy_test_support.h"
#include "session/violation.h"

namespace cordon::cli {

struct DenialWorld : policy::PolicyWorld {
  DenialWorld() {
    context.supervised = true;
    fs.AddDirectory("/home/u/.ssh").AddFile("/home/u/.ssh/id").AddFile("/etc/hosts");
    fs.AddDirectory("/home/u/w/.git/hooks").AddFile("/home/u/w/.git/config");
    fs.AddFile("/home/u/w/.git/HEAD").AddDirectory("/home/u/.cache/tool");
  }

  // The rule is the one that Decide names, as the broker has it.
  session::Violation Refused(session::Action action, const std::string& target,
                             std::string_view call = "openat", std::string reason = {}) const {
    jail::wire::Report report;
    report.action = action;
    report.target = report.raw = target;
    report.program = "/usr/bin/cp";
    report.call = call;
    report.exec = 1;
    const auto policy = Compile();
    const auto operation = action == session::Action::kFileRead     ? policy::Operation::kRead
                           : action == session::Action::kFileUnlink ? policy::Operation::kRemove
                           : action == session::Action::kFileCreate ? policy::Operation::kCreate
                                                                    : policy::Operation::kWrite;
    const auto verdict = policy.Decide(operation, target);
    if (reason.empty()) reason = verdict.allowed ? "refused at the call" : verdict.reason;
    report.reason = reason;
    if (!verdict.allowed && verdict.rule != nullptr)
      report.rule = static_cast<std::uint32_t>(verdict.rule - policy.rules.data());
    session::Violation v = session::MakeViolation(report, policy);
    v.number = ++last_number_;
    return v;
  }

 private:
  mutable std::uint64_t last_number_ = 0;
};

}  // namespace cordon::cli
