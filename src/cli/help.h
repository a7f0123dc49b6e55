// Texts that are generated from the tables of options.h. Pure and thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/options.h"

namespace cordon::cli {

// `cordon --help`.
std::string GlobalHelp();
// `cordon help COMMAND`, at most 80 columns wide.
std::string CommandHelp(const Command& command);

// The part of docs/man/cordon.1 between its two marker lines: commands and their options in man(7).
inline constexpr std::string_view kManBegin = ".\\\" begin: from the table of options\n";
inline constexpr std::string_view kManEnd = ".\\\" end: from the table of options\n";
std::string ManOptions();

// Error kInvalid: no such shell.
Result<std::string> CompletionScript(std::string_view shell);

}  // namespace cordon::cli
