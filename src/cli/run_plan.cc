#include "cli/run_plan.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "cli/mount_arg.h"
#include "cli/profile.h"
#include "cli/quantity.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "policy/spec_json.h"

namespace cordon::cli {
namespace {

using policy::PathEntry;
using policy::SandboxSpec;
using policy::Source;

Error About(const Option& option, Error error) { return Annotate(std::move(error), option.name); }

Source FromOption(const Option& option) {
  return Source{"command line: " + std::string(option.name), 0, 0};
}

std::string NewSessionId() {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string id = "run-";
  while (id.size() < 12) {
    unsigned char bytes[16] = {};
    if (::getrandom(bytes, sizeof bytes, 0) < 0) break;
    for (unsigned char b : bytes) {
      // 252 is the largest multiple of 36: no letter comes more often than another.
      if (b < 252 && id.size() < 12) id += kLetters[b % kLetters.size()];
    }
  }
  return id;
}

// Absolute, and without links where it exists. It need not exist out here: a mount may make it.
Result<std::string> ResolveDirectory(const std::string& text, const Caller& caller, bool& exact) {
  const auto home = caller.environment.find("HOME");
  CORDON_TRY(const std::string path,
             policy::AbsolutePath(text, home == caller.environment.end() ? "" : home->second,
                                  caller.directory));
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &::free);
  exact = real != nullptr;
  return real ? std::string(real.get()) : path;
}

// A relative path on the command line means the caller's directory, which a person's shell
// completes from; rules are resolved against the working directory of the session.
PathEntry RuleFor(const Option& option, const std::string& text, const RunPlan& plan,
                  const Caller& caller) {
  PathEntry entry{text, false, FromOption(option)};
  const bool relative = text[0] != '/' && text[0] != '~';
  if (!relative || *plan.spec.guest_workdir == caller.directory) return entry;
  std::string base;
  const bool magic = text.find_first_of("*?[{") != std::string::npos;
  for (char c : caller.directory) {
    if (magic && std::string_view("*?[]{}\\").find(c) != std::string_view::npos) base += '\\';
    base += c;
  }
  entry.text = base + "/" + text;
  entry.literal = !magic;
  return entry;
}

Status AddMount(const Option& option, const std::string& text, RunPlan& plan,
                const Caller& caller) {
  auto mount = ParseMount(text);
  if (!mount.ok()) return About(option, std::move(mount).error());
  const auto home = caller.environment.find("HOME");
  auto host = policy::AbsolutePath(
      mount->host, home == caller.environment.end() ? "" : home->second, caller.directory);
  if (!host.ok()) return About(option, std::move(host).error());
  const std::string guest = mount->guest.empty() ? *host : mount->guest;
  plan.spec.bind_mounts.push_back({*host, guest, mount->read_only, FromOption(option)});
  return Ok();
}

Status AddVariable(const Option& option, const std::string& text, RunPlan& plan,
                   const Caller& caller) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (name.empty()) {
    return MakeError(ErrorCode::kInvalid, std::string(option.name) + ": '" + text + "' has no name",
                     "--env NAME=VALUE");
  }
  if (equals != std::string::npos) {
    plan.spec.environment.set[name] = text.substr(equals + 1);
    return Ok();
  }
  const auto it = caller.environment.find(name);
  if (it == caller.environment.end()) {
    plan.warnings.push_back("--env " + name + ": the variable is not set here");
  } else {
    plan.spec.environment.set[name] = it->second;
  }
  return Ok();
}

void ChooseView(const std::string& value, SandboxSpec& spec) {
  spec.view =
      value == policy::ViewName(policy::View::kHost) ? policy::View::kHost : policy::View::kBound;
}

void ChooseMode(const std::string& value, SandboxSpec& spec) {
  for (const policy::Mode mode : {policy::Mode::kChat, policy::Mode::kReview, policy::Mode::kPlan,
                                  policy::Mode::kOrchestrate}) {
    if (value == policy::ModeName(mode)) spec.mode = mode;
  }
}

template <typename T, typename U>
Status Assign(const Option& option, Result<T> parsed, U& target) {
  if (!parsed.ok()) return About(option, std::move(parsed).error());
  target = static_cast<typename U::value_type>(*parsed);
  return Ok();
}

Status ApplyOption(const Option& option, const std::string& value, RunPlan& plan,
                   const Caller& caller) {
  SandboxSpec& spec = plan.spec;
  const auto rule = [&] { return RuleFor(option, value, plan, caller); };
  switch (option.id) {
    case Opt::kView: ChooseView(value, spec); break;
    case Opt::kMode: ChooseMode(value, spec); break;
    case Opt::kWrite: spec.filesystem.allow_write.push_back(rule()); break;
    case Opt::kDenyWrite: spec.filesystem.deny_write.push_back(rule()); break;
    case Opt::kDenyName:
      spec.filesystem.deny_names.push_back({value, false, FromOption(option)});
      break;
    case Opt::kDefaultDenyNames: spec.filesystem.default_deny_names = true; break;
    case Opt::kAllowRead: spec.filesystem.allow_read.push_back(rule()); break;
    case Opt::kDenyRead: spec.filesystem.deny_read.push_back(rule()); break;
    case Opt::kAllowUnixSocket: spec.network.allow_unix_sockets.push_back(rule()); break;
    case Opt::kMount: return AddMount(option, value, plan, caller);
    case Opt::kNoDefaultDenies: spec.filesystem.default_denies = false; break;
    case Opt::kEnv: return AddVariable(option, value, plan, caller);
    case Opt::kKeepEnv: spec.environment.keep.push_back(value); break;
    case Opt::kTimeout: return Assign(option, ParseDuration(value), spec.limits.wall_time);
    case Opt::kMemory: return Assign(option, ParseSize(value), spec.limits.memory_bytes);
    case Opt::kPids: return Assign(option, ParseCount(value, 1, 4194304), spec.limits.pids);
    case Opt::kUid: return Assign(option, ParseCount(value, 0, UINT32_MAX - 1), plan.uid);
    case Opt::kEvents: plan.events = value; break;
    case Opt::kTty: plan.tty = TtyChoice::kAlways; break;
    case Opt::kNoTty: plan.tty = TtyChoice::kNever; break;
    case Opt::kStrictReads: plan.strict_reads = true; break;
    case Opt::kQuiet: plan.quiet = true; break;
    case Opt::kDebug: plan.debug = true; break;
    case Opt::kDryRun: plan.dry_run = true; break;
    case Opt::kJson: plan.json = true; break;
    default: break;  // read elsewhere
  }
  return Ok();
}

Status CheckTogether(const Arguments& arguments) {
  const auto both = [&](Opt a, Opt b, std::string_view names) -> Status {
    if (!arguments.Has(a) || !arguments.Has(b)) return Ok();
    return MakeError(ErrorCode::kInvalid, std::string(names) + " cannot be used together",
                     "leave one of them out");
  };
  CORDON_CHECK(both(Opt::kSpec, Opt::kProfile, "--spec and --profile"));
  return both(Opt::kTty, Opt::kNoTty, "--tty and --no-tty");
}

Status CheckCommand(const Arguments& arguments) {
  if (arguments.Has(Opt::kJson) && !arguments.Has(Opt::kDryRun)) {
    return MakeError(ErrorCode::kInvalid, "--json is only for --dry-run",
                     "cordon run --dry-run --json");
  }
  const bool has_command = arguments.Has(Opt::kShellLine) || !arguments.operands.empty();
  if (!has_command && !arguments.Has(Opt::kDryRun)) {
    return MakeError(ErrorCode::kInvalid, "there is no command to run",
                     "cordon run -- COMMAND, or cordon run -c 'shell line'");
  }
  return Ok();
}

// The description that the other options are put on.
Status ReadBase(const Arguments& arguments, const Caller& caller, RunPlan& plan) {
  plan.spec.view = policy::View::kHost;
  plan.spec.session_id = NewSessionId();
  plan.spec.workspace_id = "local";
  SandboxSpec read;
  if (const auto file = arguments.Last(Opt::kSpec)) {
    CORDON_TRY(read, policy::ReadSpecFile(*file));
  } else if (const auto profile = arguments.Last(Opt::kProfile)) {
    CORDON_TRY(const std::string directory, ProfileDirectory(caller.environment));
    CORDON_TRY(read, ReadProfile(*profile, directory));
  } else {
    return Ok();
  }
  if (read.session_id.empty()) read.session_id = plan.spec.session_id;
  if (read.workspace_id.empty()) read.workspace_id = plan.spec.workspace_id;
  plan.spec = std::move(read);
  return Ok();
}

Status ChooseWorkdir(const Arguments& arguments, const Caller& caller, RunPlan& plan) {
  SandboxSpec& spec = plan.spec;
  const auto given = arguments.Last(Opt::kWorkdir);
  if (given) {
    auto directory = ResolveDirectory(*given, caller, plan.workdir_exact);
    if (!directory.ok()) return Annotate(std::move(directory).error(), "--workdir");
    spec.guest_workdir = *directory;
  } else if (!spec.guest_workdir) {
    spec.guest_workdir = caller.directory;
    plan.workdir_exact = true;
  }
  // The other modes are for looking; a description of its own says what is writable.
  plan.workdir_writable = given || !arguments.Has(Opt::kSpec);
  if (const auto mode = arguments.Last(Opt::kMode)) ChooseMode(*mode, spec);
  return Ok();
}

void ChooseCommand(const Arguments& arguments, RunPlan& plan) {
  plan.argv = arguments.operands;
  if (const auto line = arguments.Last(Opt::kShellLine)) {
    const char* shell = ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
    plan.argv.insert(plan.argv.begin(), {shell, "-c", *line});
  }
}

}  // namespace

Result<std::string> CurrentDirectory() {
  const std::unique_ptr<char, void (*)(void*)> path(::getcwd(nullptr, 0), &::free);
  if (path && path.get()[0] == '/') return std::string(path.get());
  const int error = path ? ENOENT : errno;
  if (error == ENOENT) {
    return MakeError(ErrorCode::kNotFound, "the current directory does not exist any more",
                     "change to another directory (cd /), or give --workdir DIR");
  }
  Error report = ErrnoError("current directory", error);
  report.remedy = "change to another directory, or give --workdir DIR";
  return report;
}

Result<Caller> LookAtCaller(const Arguments& arguments) {
  Caller caller;
  caller.environment = policy::EnvironmentFrom(environ);
  auto directory = CurrentDirectory();
  const auto workdir = arguments.Last(Opt::kWorkdir);
  if (directory.ok()) {
    caller.directory = *std::move(directory);
  } else if (workdir && workdir->starts_with('/')) {
    caller.directory = "/";
  } else {
    return std::move(directory).error();
  }
  return caller;
}

Result<RunPlan> MakePolicyPlan(const Arguments& arguments, const Caller& caller) {
  CORDON_CHECK(CheckTogether(arguments));
  RunPlan plan;
  CORDON_CHECK(ReadBase(arguments, caller, plan));
  CORDON_CHECK(ChooseWorkdir(arguments, caller, plan));
  for (const Arguments::Value& value : arguments.values) {
    CORDON_CHECK(ApplyOption(*value.option, value.value, plan, caller));
  }
  return plan;
}

Result<RunPlan> MakeRunPlan(const Arguments& arguments, const Caller& caller) {
  CORDON_CHECK(CheckCommand(arguments));
  CORDON_TRY(RunPlan plan, MakePolicyPlan(arguments, caller));
  ChooseCommand(arguments, plan);
  return plan;
}

session::LaunchOptions LaunchOptionsFor(const RunPlan& plan) {
  session::LaunchOptions options;
  options.single_policy = true;
  options.workdir_writable = plan.workdir_writable;
  options.workdir_exact = plan.workdir_exact;
  options.keep_readable = true;
  options.uid = plan.uid;
  options.strict_reads = plan.strict_reads;
  if (!plan.argv.empty()) options.label = plan.argv[0].substr(plan.argv[0].rfind('/') + 1);
  return options;
}

}  // namespace cordon::cli
