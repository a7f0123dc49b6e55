// bench-session: what is measured through the library.
//
//   bench-session bwrap OPTION...                      arguments of bwrap for the view of
//                                                      `cordon run OPTION...` in this directory
//   bench-session exec ROUNDS WORKDIR PROGRAM          exec in a warm session beside posix_spawn
//   bench-session crowd COUNT WORKDIR PROGRAM          crowd.cc
//   bench-session inside BLOCKS ROUNDS PLACES WORKDIR HARNESS TASK...     inside.cc
#include "bench/session_bench.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <span>

#include "bench/measure.h"
#include "cli/options.h"
#include "cli/run_plan.h"
#include "jail/bwrap_arguments.h"
#include "policy/environment.h"
#include "session/prepare.h"
#include "session/supervision.h"

namespace cordon::bench {
namespace {

using session::LaunchOptions;
using session::Session;

template <typename T>
T ValueOrDie(Result<T> result, const std::string& what) {
  if (!result.ok()) Die(what + ": " + result.error().ToString());
  return *std::move(result);
}

// As RunMain (cli/run.cc) has them.
LaunchOptions RunOptions() {
  LaunchOptions options;
  options.single_policy = true;
  options.workdir_writable = true;
  options.keep_readable = true;
  return options;
}

int Bwrap(std::span<const std::string> words) {
  const cli::Command* command = cli::FindCommand("run");
  const auto arguments = ValueOrDie(cli::ParseArguments(*command, words), "arguments");
  cli::Caller caller;
  caller.directory = ValueOrDie(cli::CurrentDirectory(), "current directory");
  caller.environment = policy::EnvironmentFrom(environ);
  const auto plan = ValueOrDie(cli::MakeRunPlan(arguments, caller), "cordon run");
  LaunchOptions options = RunOptions();
  options.workdir_writable = plan.workdir_writable;
  options.uid = plan.uid;
  auto prepared = ValueOrDie(session::Prepare(plan.spec, options), "prepare");
  const auto bwrap = ValueOrDie(session::PlanForBubblewrap(prepared), "bwrap");
  for (const std::string& word : bwrap.arguments) std::printf("%s%c", word.c_str(), '\0');
  return 0;
}

int Exec(int rounds, const std::string& workdir, const std::string& program) {
  constexpr int kWarmUps = 5;
  const auto session = LaunchIn(workdir, Policies::kMany);
  const Command command{{program}, workdir};
  std::vector<std::int64_t> samples[2];
  for (int round = -kWarmUps; round < rounds; ++round) {
    for (const std::size_t i : NextOrder(2)) {
      std::int64_t taken;
      if (i == 0) {
        const std::int64_t start = Now();
        ExecOnce(*session, command.argv);
        taken = Now() - start;
      } else {
        taken = TimeOnce(command);
      }
      if (round >= 0) samples[i].push_back(taken);
    }
  }
  PrintSamples("exec", samples[0]);
  PrintSamples("spawn", samples[1]);
  return 0;
}

int Main(const std::vector<std::string>& words) {
  const std::string verb = words.empty() ? "" : words[0];
  const auto number = [&](std::size_t i) { return std::atoi(words[i].c_str()); };
  if (verb == "bwrap") return Bwrap(std::span(words).subspan(1));
  if (verb == "exec" && words.size() == 4) return Exec(number(1), words[2], words[3]);
  if (verb == "crowd" && words.size() == 4) return Crowd(number(1), words[2], words[3]);
  if (verb == "inside" && words.size() > 6) {
    return Inside(
        {number(1), number(2), words[3], words[4], words[5], {words.begin() + 6, words.end()}});
  }
  Die("bench-session bwrap|exec|crowd|inside ...");
}

}  // namespace

std::unique_ptr<Session> LaunchIn(const std::string& workdir, Policies policies, FileRules rules) {
  static int number = 0;
  policy::SandboxSpec spec;
  spec.session_id = "bench-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  spec.workspace_id = "bench";
  spec.view = policy::View::kHost;
  spec.guest_workdir = workdir;
  spec.filesystem.default_deny_names = rules == FileRules::kNames;
  spec.filesystem.disabled = rules == FileRules::kDisabled;
  if (rules == FileRules::kNames) {
    const Status available = session::SupervisorAvailable();
    if (!available.ok()) Die("no supervisor: " + available.error().ToString());
  }
  LaunchOptions options = RunOptions();
  options.single_policy = policies == Policies::kOne;
  options.label = "bench";
  return ValueOrDie(Session::Launch(spec, std::move(options)), "launch");
}

void ExecOnce(Session& session, const std::vector<std::string>& argv) {
  session::ExecRequest request;
  request.argv = argv;
  const auto id = ValueOrDie(session.Exec(std::move(request)), "exec");
  const auto result = ValueOrDie(session.Wait(id), "wait");
  if (result.start_error) Die("exec: " + result.start_error->ToString());
  if (result.ShellStatus() != 0)
    Die(argv[0] + " ended with " + std::to_string(result.ShellStatus()));
}

}  // namespace cordon::bench

int main(int argc, char** argv) { return cordon::bench::Main({argv + 1, argv + argc}); }
