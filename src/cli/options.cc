#include "cli/options.h"

#include <algorithm>
#include <array>

#include "cli/text.h"

namespace cordon::cli {
namespace {

constexpr Option kHelpOption = {Opt::kHelp, "--help",        "-h", "", false, Completes::kNothing,
                                "",         "Show this help"};

constexpr std::array kGlobalOptions = {
    kHelpOption,
    Option{Opt::kVersion, "--version", "", "", false, Completes::kNothing, "", "Show the version"},
};

// What says which policy holds: the same for every command that makes one.
constexpr std::array kPolicyOptions = {
    Option{Opt::kSpec, "--spec", "", "FILE", false, Completes::kFile, "",
           "Take everything from this sandbox description (see cordon schema); the other options "
           "add to it. Nothing is then writable but what it lists"},
    Option{Opt::kProfile, "--profile", "", "NAME", false, Completes::kProfile, "",
           "Start from a named description in $XDG_CONFIG_HOME/cordon/profiles/NAME.json; the "
           "working directory stays writable"},
    Option{Opt::kView, "--view", "", "VIEW", false, Completes::kChoice, "bound|host",
           "What can be seen: host, the whole machine less what is denied (the default); bound, "
           "only system directories and mounts"},
    Option{Opt::kMode, "--mode", "", "MODE", false, Completes::kChoice,
           "chat|review|plan|orchestrate",
           "chat (the default) leaves writable what the rules make writable; the others make "
           "mounts and the working directory read-only"},
    Option{Opt::kWorkdir, "--workdir", "", "DIR", false, Completes::kDirectory, "",
           "Run in DIR, and make it writable, in place of the current directory"},
    Option{Opt::kWrite, "--write", "", "PATH", true, Completes::kFile, "",
           "Allow writing to PATH and below it; globs are allowed"},
    Option{Opt::kDenyWrite, "--deny-write", "", "PATH", true, Completes::kFile, "",
           "Keep PATH read-only inside what is writable"},
    Option{Opt::kDenyName, "--deny-name", "", "GLOB", true, Completes::kNothing, "",
           "Refuse to create, write, rename to or link to names that match GLOB (*.key), anywhere "
           "in what is writable; a leading ! makes an exception"},
    Option{Opt::kDefaultDenyNames, "--default-deny-names", "", "", false, Completes::kNothing, "",
           "Add the built-in list of names of secrets (.env, *.key, *.pem) to --deny-name"},
    Option{Opt::kAllowRead, "--allow-read", "", "PATH", true, Completes::kFile, "",
           "Keep PATH readable below a denied directory"},
    Option{Opt::kDenyRead, "--deny-read", "", "PATH", true, Completes::kFile, "",
           "Hide the contents of PATH"},
    Option{Opt::kMount, "--mount", "", "HOST[:GUEST][:ro]", true, Completes::kFile, "",
           "Show HOST at GUEST, writable unless ro is added; write \\: for a colon inside a path"},
    Option{Opt::kAllowUnixSocket, "--allow-unix-socket", "", "PATH", true, Completes::kFile, "",
           "Let the command connect to this unix socket of the host, which hands it whatever the "
           "server does"},
    Option{Opt::kNoDefaultDenies, "--no-default-denies", "", "", false, Completes::kNothing, "",
           "Leave out the built-in list of secrets that cannot be read"},
};

constexpr std::array kLineOption = {
    Option{Opt::kShellLine, "-c", "", "LINE", false, Completes::kNothing, "",
           "Run LINE with bash, or sh where there is no bash; arguments after the options become "
           "$0, $1 and so on"},
};

constexpr std::array kExecOptions = {
    Option{Opt::kEnv, "--env", "", "NAME[=VALUE]", true, Completes::kVariable, "",
           "Set a variable inside, or pass the caller's through as it is"},
    Option{Opt::kKeepEnv, "--keep-env", "", "NAME", true, Completes::kVariable, "",
           "Do not remove this variable when the environment is cleaned"},
    Option{Opt::kTimeout, "--timeout", "", "DURATION", false, Completes::kNothing, "",
           "End the command after this time (30s, 5m, 1h30m) with exit code 124"},
    Option{Opt::kMemory, "--memory", "", "SIZE", false, Completes::kNothing, "",
           "Limit memory (512M, 2G)"},
    Option{Opt::kPids, "--pids", "", "N", false, Completes::kNothing, "",
           "Limit the number of processes and threads"},
    Option{Opt::kUid, "--uid", "", "N", false, Completes::kNothing, "",
           "User id that the command sees as its own; the caller's by default"},
    Option{Opt::kTty, "--tty", "", "", false, Completes::kNothing, "",
           "Give the command a terminal even when none of 0, 1, 2 is one"},
    Option{Opt::kNoTty, "--no-tty", "", "", false, Completes::kNothing, "",
           "Give the command pipes in place of terminals"},
    Option{Opt::kEvents, "--events", "", "FD|FILE", false, Completes::kFile, "",
           "Write events as JSON Lines to an open descriptor or to a file"},
    Option{Opt::kQuiet, "--quiet", "", "", false, Completes::kNothing, "",
           "Print no warnings and no summary of refusals; errors are still printed"},
    Option{Opt::kDebug, "--debug", "", "", false, Completes::kNothing, "",
           "Say what was removed from the environment, how limits are held, and each refusal as "
           "it comes"},
};

constexpr std::array kRunOnlyOptions = {
    Option{Opt::kStrictReads, "--strict-reads", "", "", false, Completes::kNothing, "",
           "Trap every open, so that each denied read is reported with its path; an open then "
           "costs some 15 microseconds more"},
    Option{Opt::kDryRun, "--dry-run", "", "", false, Completes::kNothing, "",
           "Print the effective policy and how each rule would be held; run nothing"},
    Option{Opt::kJson, "--json", "", "", false, Completes::kNothing, "", "With --dry-run: as JSON"},
    kHelpOption,
};

template <std::size_t... N>
constexpr auto Join(const std::array<Option, N>&... parts) {
  std::array<Option, (N + ...)> all{};
  std::size_t at = 0;
  const auto add = [&](const auto& part) {
    for (const Option& option : part) all[at++] = option;
  };
  (add(parts), ...);
  return all;
}

constexpr auto kRunOptions = Join(kLineOption, kPolicyOptions, kExecOptions, kRunOnlyOptions);

constexpr std::array kTraceOnlyOptions = {
    Option{Opt::kOutput, "--output", "", "FILE", false, Completes::kFile, "",
           "Write the proposed block to FILE as well"},
    kHelpOption,
};
constexpr auto kTraceOptions = Join(kLineOption, kPolicyOptions, kExecOptions, kTraceOnlyOptions);

constexpr std::array kQuestionOptions = {
    Option{Opt::kChange, "--change", "", "PATH", false, Completes::kFile, "",
           "Ask whether the contents of PATH may be changed"},
    Option{Opt::kCreate, "--create", "", "PATH", false, Completes::kFile, "",
           "Ask whether PATH may be created; with a trailing slash, as a directory"},
    Option{Opt::kRemove, "--remove", "", "PATH", false, Completes::kFile, "",
           "Ask whether PATH may be removed"},
    Option{Opt::kRename, "--rename", "", "FROM", false, Completes::kFile, "",
           "Ask whether FROM may be renamed to PATH"},
    Option{Opt::kConnect, "--connect", "", "SOCKET", false, Completes::kFile, "",
           "Ask whether a unix socket may be connected to"},
    Option{Opt::kJson, "--json", "", "", false, Completes::kNothing, "", "Print JSON"},
    kHelpOption,
};
constexpr auto kExplainOptions = Join(kQuestionOptions, kPolicyOptions);

constexpr std::array kDoctorOptions = {
    Option{Opt::kJson, "--json", "", "", false, Completes::kNothing, "", "Print JSON"},
    kHelpOption,
};
constexpr std::array kPsOptions = {
    Option{Opt::kJson, "--json", "", "", false, Completes::kNothing, "", "Print JSON"},
    kHelpOption,
};
constexpr std::array kKillOptions = {
    Option{Opt::kAll, "--all", "", "", false, Completes::kNothing, "", "End every session"},
    kHelpOption,
};
constexpr std::array kPlainOptions = {kHelpOption};

constexpr std::array kCommands = {
    Command{"run", "[--] COMMAND [ARGUMENT]...", "Run a command contained",
            "The command can write to the working directory and its own /tmp, reads the rest of "
            "the machine except secrets, and has no network.\n"
            "The exit code is the command's; 124 on a time limit, 125 when Cordon itself fails, "
            "126 when the command cannot be run, 127 when it is not found, 128+n when signal n "
            "ended it.",
            kRunOptions, true, ""},
    Command{
        "trace", "[--] COMMAND [ARGUMENT]...",
        "Run a command contained, and propose what its policy lacks",
        "The boundary is the one of cordon run, and nothing is opened. Every open is looked at, "
        "so that denied reads are seen with their path (cordon run --strict-reads).\n"
        "At the end the smallest additions that the refusals justify are printed on standard "
        "error, as a block for a sandbox description and as options. What nothing should or "
        "can lift is listed with the reason. Read before you use it.\n"
        "The exit code is the command's, as with cordon run.",
        kTraceOptions, true, ""},
    Command{"explain", "[PATH]", "Say what the policy answers for a path, and why",
            "cordon explain PATH tells whether PATH may be read and whether it may be written; the "
            "options ask one other question. The policy is the one that cordon run would use with "
            "the same options, so --write, --deny-read and the like belong to it.\n"
            "The answer names the rule, where it was written, what holds it, and what would change "
            "it. The exit code is 0 when the answer is yes (PATH alone: when it may be read), 1 "
            "when it is no, 125 when the question is wrong.",
            kExplainOptions, false, ""},
    Command{"doctor", "", "Say what this machine supports, and what to do where it does not",
            "The exit code is 0 when cordon run can work here, 1 when not.", kDoctorOptions, false,
            ""},
    Command{"ps", "", "List running sessions",
            "Those of the calling user; as root, those of every user.", kPsOptions, false, ""},
    Command{"kill", "SESSION...", "End sessions",
            "SESSION is an id from cordon ps, or the beginning of exactly one. The exit code is 1 "
            "when there is no such session.",
            kKillOptions, false, ""},
    Command{"completion", "bash|zsh|fish", "Print a shell completion script", "", kPlainOptions,
            false, "bash|zsh|fish"},
    Command{"schema", "", "Print the JSON Schema of sandbox descriptions", "", kPlainOptions, false,
            ""},
    Command{"help", "[COMMAND]", "Show help for a command", "", kPlainOptions, false,
            "run|trace|explain|doctor|ps|kill|completion|schema|help"},
};

const Option* FindOption(std::span<const Option> options, std::string_view name) {
  for (const Option& option : options) {
    if (option.name == name || (!option.alias.empty() && option.alias == name)) return &option;
  }
  return nullptr;
}

Error Usage(std::string message, std::string remedy) {
  return MakeError(ErrorCode::kInvalid, std::move(message), std::move(remedy));
}

Error UnknownOption(const Command& command, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : command.options) names.push_back(option.name);
  const std::string_view nearest = Nearest(name, names);
  const std::string message = "unknown option " + std::string(name);
  if (!nearest.empty()) return Usage(message, std::string(nearest));
  return Usage(message, "cordon help " + std::string(command.name));
}

bool IsChoice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const std::size_t bar = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, bar) == value) return true;
    choices.remove_prefix(std::min(bar + 1, choices.size()));
  }
  return false;
}

Status CheckValue(const Option& option, const Arguments& so_far, const std::string& value) {
  const std::string name(option.name);
  if (!option.repeatable && !option.argument.empty() && so_far.Has(option.id)) {
    return Usage(name + " is given twice", "give it once");
  }
  if (option.argument.empty()) return Ok();
  if (value.empty())
    return Usage(name + " has an empty value", name + " " + std::string(option.argument));
  if (option.completes == Completes::kChoice && !IsChoice(option.choices, value)) {
    return Usage(name + ": '" + value + "' is not known", "one of " + std::string(option.choices));
  }
  return Ok();
}

}  // namespace

std::span<const Command> Commands() { return kCommands; }
std::span<const Option> GlobalOptions() { return kGlobalOptions; }

const Command* FindCommand(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

bool Arguments::Has(Opt id) const {
  return std::any_of(values.begin(), values.end(),
                     [id](const Value& v) { return v.option->id == id; });
}

std::optional<std::string> Arguments::Last(Opt id) const {
  for (auto it = values.rbegin(); it != values.rend(); ++it) {
    if (it->option->id == id) return it->value;
  }
  return std::nullopt;
}

Result<Arguments> ParseArguments(const Command& command, std::span<const std::string> args) {
  Arguments parsed;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    const bool is_option = arg.size() > 1 && arg[0] == '-';
    if (arg == "--" || (!is_option && command.options_end_at_operand)) {
      const std::size_t first = arg == "--" ? i + 1 : i;
      parsed.operands.insert(parsed.operands.end(),
                             args.begin() + static_cast<std::ptrdiff_t>(first), args.end());
      break;
    }
    if (!is_option) {
      parsed.operands.push_back(arg);
      continue;
    }
    const std::size_t equals = arg.starts_with("--") ? arg.find('=') : std::string::npos;
    const std::string name = arg.substr(0, equals);
    const Option* option = FindOption(command.options, name);
    if (option == nullptr) return UnknownOption(command, name);
    std::string value;
    if (equals != std::string::npos) {
      if (option->argument.empty()) return Usage(name + " takes no value", name);
      value = arg.substr(equals + 1);
    } else if (!option->argument.empty()) {
      if (i + 1 == args.size()) {
        return Usage(name + " needs a value", name + " " + std::string(option->argument));
      }
      value = args[++i];
    }
    CORDON_CHECK(CheckValue(*option, parsed, value));
    parsed.values.push_back({option, std::move(value)});
  }
  return parsed;
}

Error UnknownCommand(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  const std::string_view nearest = Nearest(name, names);
  const std::string message = "unknown command '" + std::string(name) + "'";
  if (!nearest.empty()) return Usage(message, "cordon " + std::string(nearest));
  return Usage(message, "cordon run -- " + std::string(name) + ", or cordon --help");
}

}  // namespace cordon::cli
