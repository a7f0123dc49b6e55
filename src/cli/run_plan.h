// From the arguments of `cordon run` to what is run and how.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/options.h"
#include "cli/stdio_plan.h"
#include "policy/spec.h"

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
  bool quiet = false, debug = false, dry_run = false, json = false;
  std::vector<std::string> warnings;
};

// The directory of this process. Error: it was removed, or may not be looked up.
Result<std::string> CurrentDirectory();

// Reads --spec or --profile and puts the other options on top. Errors name the option.
Result<RunPlan> MakeRunPlan(const Arguments& arguments, const Caller& caller);

}  // namespace cordon::cli
