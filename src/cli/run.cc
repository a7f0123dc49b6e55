#include "cli/run.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cli/denial_summary.h"
#include "cli/dry_run.h"
#include "cli/event_sink.h"
#include "cli/quantity.h"
#include "cli/report.h"
#include "cli/run_loop.h"
#include "cli/run_plan.h"
#include "cli/signals.h"
#include "cli/terminal_relay.h"
#include "cli/text.h"
#include "session/session.h"

namespace cordon::cli {
namespace {

using session::Session;

void SayDetails(const RunPlan& plan, const session::LaunchOptions& options,
                const Session& session) {
  if (!plan.debug) return;
  const auto preview = Session::DryRun(plan.spec, options);
  if (preview.ok()) {
    for (const std::string& line : preview->removed_variables) {
      ReportNote("environment: removed " + line);
    }
  }
  for (const std::string& line : session.details()) ReportNote(line);
}

void SayWarnings(const RunPlan& plan, const Session& session) {
  if (plan.quiet) return;
  for (const std::string& warning : plan.warnings) ReportWarning(warning);
  for (const std::string& warning : session.policy().warnings) ReportWarning(warning);
}

// How the command ended, in words where the exit code alone may puzzle.
void SayEnd(const RunPlan& plan, const session::ExecResult& result) {
  if (result.start_error) {
    ReportError(*result.start_error);
    return;
  }
  // The session's own failure is no news that --quiet may keep back.
  const bool failed = result.killed_reason.starts_with("session-");
  if (plan.quiet && !failed) return;
  if (result.timed_out) {
    const auto limit = plan.spec.limits.wall_time;
    ReportNote("time limit" + (limit ? " of " + FormatDuration(*limit) : std::string()) +
               " reached; the command was ended");
  } else if (!result.killed_reason.empty()) {
    ReportNote("the command was ended: " + result.killed_reason);
  }
}

int RunInSession(const RunPlan& plan, Session& session, SignalInbox& inbox) {
  TerminalRelay relay(plan.tty);
  session::ExecRequest request;
  request.argv = plan.argv;
  if (Status filled = relay.FillRequest(request); !filled.ok()) return ReportError(filled.error());
  const auto id = session.Exec(std::move(request));
  if (!id.ok()) return ReportError(id.error());
  if (Status started = relay.Start(session.TerminalFd(*id)); !started.ok()) {
    return ReportError(started.error());
  }
  RunLoop loop(session, *id, relay, inbox);
  const auto end = loop.Run();
  relay.Suspend();  // what is said from here on needs the caller's modes
  if (!end.ok()) return ReportError(end.error());
  if (end->signal != 0) return 128 + end->signal;
  SayEnd(plan, end->result);
  return end->result.ShellStatus();
}

void SayAtOnce(const session::Event& event) {
  if (event.type != "violation" && event.type != "changed" && event.type != "gap") return;
  // With a terminal in raw mode a newline alone would not return to the first column.
  const char* end = ::isatty(STDERR_FILENO) != 0 ? "\r\n" : "\n";
  (void)WriteAll(STDERR_FILENO, "cordon: " + DenialLine(event) + end);
}

Status SaySummary(const RunPlan& plan, const Ended& ended) {
  if (plan.quiet) return Ok();
  const Events events = plan.events ? Events::kWritten : Events::kNone;
  (void)WriteAll(STDERR_FILENO, DenialSummary(ended.violations, ended.policy, events));
  return Ok();
}

}  // namespace

int RunPlanned(const RunPlan& plan, const std::function<Status(const Ended&)>& say) {
  session::LaunchOptions options = LaunchOptionsFor(plan);
  const auto inbox = SignalInbox::Install();
  if (!inbox.ok()) return ReportError(inbox.error());
  std::unique_ptr<EventSink> events;
  if (plan.events) {
    auto opened = EventSink::Open(*plan.events, &SignalInbox::TerminationSeen);
    if (!opened.ok()) return ReportError(opened.error());
    events = *std::move(opened);
  }
  if (plan.events || plan.debug) {
    options.on_event = [&events, &plan](const session::Event& event) {
      if (events) events->Write(event);
      if (plan.debug) SayAtOnce(event);
    };
  }
  auto session = Session::Launch(plan.spec, options);
  if (const auto caught = (*inbox)->TakeTermination()) return 128 + *caught;
  if (!session.ok()) return ReportError(session.error());
  SayWarnings(plan, **session);
  SayDetails(plan, options, **session);
  int code = RunInSession(plan, **session, **inbox);
  if (const Status gone = (*session)->Destroy(); !gone.ok()) return ReportError(gone.error());
  events.reset();
  const Status said = say(Ended{(*session)->policy(), (*session)->violations().all()});
  if (!said.ok()) code = ReportError(said.error());
  // Taking thousands of strings apart one by one would be the last thing that the caller waits for.
  std::fflush(nullptr);
  std::_Exit(code);
}

int RunMain(const Arguments& arguments) {
  const auto caller = LookAtCaller(arguments);
  if (!caller.ok()) return ReportError(caller.error());
  const auto plan = MakeRunPlan(arguments, *caller);
  if (!plan.ok()) return ReportError(plan.error());
  if (plan->dry_run) return DryRunMain(*plan, LaunchOptionsFor(*plan));
  return RunPlanned(*plan, [&plan](const Ended& ended) { return SaySummary(*plan, ended); });
}

}  // namespace cordon::cli
