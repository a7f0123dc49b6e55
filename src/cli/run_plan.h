// From the arguments of `cordon run` (and trace, and explain) to what is run and how.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/options.h"
#include "cli/stdio_plan.h"
#include "policy/spec.h"
#include "session/session.h"

namespace cordon::cli {

// What the arguments are read against.
struct Caller {
  std::string directory;  // the current one: absolute and canonical
  std::map<std::string, std::string> environment;
};

struct RunPlan {
  policy::SandboxSpec spec;       // guest_workdir is always set
  bool workdir_writable = false;  // session::LaunchOptions has what these two mean
  bool workdir_exact = false;
  std::vector<std::string> argv;  // may be empty with --dry-run
  std::optional<std::uint32_t> uid;
  TtyChoice tty = TtyChoice::kAuto;
  std::optional<std::string> events;
  bool strict_reads = false;  // as session::LaunchOptions has it
  bool quiet = false, debug = false, dry_run = false, json = false;
  std::vector<std::string> warnings;
};

// The directory of this process. Error: it was removed, or may not be looked up.
Result<std::string> CurrentDirectory();

// Who calls: the environment and the directory of this process. Error: the directory is gone, and
// no absolute --workdir is given either.
Result<Caller> LookAtCaller(const Arguments& arguments);

// Reads --spec or --profile and puts the other options on top. Errors name the option.
Result<RunPlan> MakeRunPlan(const Arguments& arguments, const Caller& caller);
// The same without a command, for questions about the policy.
Result<RunPlan> MakePolicyPlan(const Arguments& arguments, const Caller& caller);

// How a session of this plan is launched; what it says and to whom is added by the caller.
session::LaunchOptions LaunchOptionsFor(const RunPlan& plan);

}  // namespace cordon::cli
