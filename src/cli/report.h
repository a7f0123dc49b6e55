// What Cordon itself says to a person, on standard error: one line, and a second with the remedy.
//
//   cordon: --timeout: 'soon' is not a duration
//     try: write it as 30s, 1.5m, 1h30m or 250ms
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace cordon::cli {

inline constexpr int kExitTimeLimit = 124;
inline constexpr int kExitCordon = 125;

// The two lines (or one) for `error`, with nothing in them that could drive a terminal.
std::string ErrorText(const Error& error);
// Prints it and returns 125.
int ReportError(const Error& error);
// "cordon: warning: text".
void ReportWarning(std::string_view text);
// "cordon: text".
void ReportNote(std::string_view text);

// Prints to standard output; false, with the failure already reported, when that is closed or full.
// A reader that went away (EPIPE) is not reported.
bool Print(std::string_view text);

// REQUIRES: no thread runs yet. Opens /dev/null in place of closed standard descriptors, so that
// no file that is opened later can land on 0, 1 or 2; Print() still says that 1 was closed.
void GuardStandardDescriptors();

}  // namespace cordon::cli
