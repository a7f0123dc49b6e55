// The command line as one table: parsing, --help, shell completion and the man page's option list
// all come from it.
//
//   cordon COMMAND [options] [--] [operands]
//   option = NAME | NAME "=" VALUE | NAME VALUE         (long names)
//          | "-c" VALUE | "-h"                          (short names)
//   The first operand of `run`, or "--", ends the options: the rest belongs to the command.
//
//   auto parsed = ParseArguments(*FindCommand("run"), args);
//   if (auto memory = parsed->Last(Opt::kMemory)) ...
//
// Pure and thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cordon::cli {

enum class Opt {
  kHelp,
  kVersion,
  kJson,
  kAll,
  kShellLine,
  kSpec,
  kProfile,
  kView,
  kMode,
  kWorkdir,
  kWrite,
  kDenyWrite,
  kDenyName,
  kDefaultDenyNames,
  kAllowRead,
  kDenyRead,
  kMount,
  kAllowUnixSocket,
  kNoDefaultDenies,
  kEnv,
  kKeepEnv,
  kTimeout,
  kMemory,
  kPids,
  kUid,
  kStrictReads,
  kTty,
  kNoTty,
  kEvents,
  kQuiet,
  kDryRun,
  kDebug,
  kOutput,
  kChange,
  kCreate,
  kRemove,
  kRename,
  kConnect,
};

// What a shell offers for an option's argument.
enum class Completes { kNothing, kFile, kDirectory, kChoice, kVariable, kProfile };

struct Option {
  Opt id;
  std::string_view name;      // "--write", or "-c"
  std::string_view alias;     // "-h"; "" for none
  std::string_view argument;  // "PATH"; "" for a switch
  bool repeatable = false;
  Completes completes = Completes::kNothing;
  std::string_view choices;  // kChoice: separated by '|'
  std::string_view help;     // one or two sentences, without a final full stop
};

struct Command {
  std::string_view name;
  std::string_view operands;  // as in the synopsis
  std::string_view summary;   // one line, no full stop
  std::string_view about;     // paragraphs of --help, separated by '\n'
  std::span<const Option> options;
  bool options_end_at_operand = false;
  std::string_view choices;  // operands that can be completed, separated by '|'
};

// In the order of --help.
std::span<const Command> Commands();
const Command* FindCommand(std::string_view name);
// Options that stand before a command: --help, --version.
std::span<const Option> GlobalOptions();

struct Arguments {
  struct Value {
    const Option* option;
    std::string value;  // "" for a switch
  };
  std::vector<Value> values;  // as written, in order
  std::vector<std::string> operands;

  bool Has(Opt id) const;
  // The last value given; nullopt when there is none.
  std::optional<std::string> Last(Opt id) const;
};

// Errors kInvalid: an unknown option (with the nearest known one), a missing or unwanted value, an
// option given twice that may stand once, a value that is none of the choices.
Result<Arguments> ParseArguments(const Command& command, std::span<const std::string> args);

// The error for an unknown command, with the nearest known one.
Error UnknownCommand(std::string_view name);

}  // namespace cordon::cli
