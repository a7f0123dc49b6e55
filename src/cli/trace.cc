#include "cli/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "cli/proposal.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/run_plan.h"
#include "cli/text.h"

namespace cordon::cli {
namespace {

Status WriteBlock(const std::string& path, const std::string& block) {
  // A session may have planted a link where the block is to go.
  const UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600));
  if (!fd.valid() || !WriteAll(fd.get(), block)) {
    Error error = ErrnoError("--output: " + path);
    error.remedy = "a file in a directory that you can write to, and no symbolic link";
    return error;
  }
  return Ok();
}

}  // namespace

int TraceMain(const Arguments& arguments) {
  const auto caller = LookAtCaller(arguments);
  if (!caller.ok()) return ReportError(caller.error());
  auto plan = MakeRunPlan(arguments, *caller);
  if (!plan.ok()) return ReportError(plan.error());
  plan->strict_reads = true;
  const auto output = arguments.Last(Opt::kOutput);
  return RunPlanned(*plan, [&](const Ended& ended) {
    const Proposal proposal = Propose(ended.violations, ended.policy);
    (void)WriteAll(STDERR_FILENO, ProposalText(proposal));
    return output ? WriteBlock(*output, ProposalJson(proposal)) : Ok();
  });
}

}  // namespace cordon::cli
