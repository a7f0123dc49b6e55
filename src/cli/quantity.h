// Numbers as people write them on a command line. Pure and thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cordon::cli {

// "90" (seconds), "1.5s", "250ms", "2m", "1h30m", "1d". At least 1 ms, at most 10 years.
Result<std::chrono::milliseconds> ParseDuration(std::string_view text);

// "1048576" (bytes), "512K", "64M", "1.5G", "2T" and KiB, MiB, ... are powers of 1024; KB, MB, ...
// powers of 1000. At least 1.
Result<std::uint64_t> ParseSize(std::string_view text);

// Decimal digits only, within [minimum, maximum].
Result<std::uint64_t> ParseCount(std::string_view text, std::uint64_t minimum,
                                 std::uint64_t maximum);

// "1h 2m", "3m 4s", "5s": an age, in at most two parts.
std::string FormatAge(std::chrono::seconds age);
// The shortest exact writing that ParseDuration reads back: "1500ms", "90s", "2h".
std::string FormatDuration(std::chrono::milliseconds duration);
// The same for ParseSize: "512M", "1000".
std::string FormatSize(std::uint64_t bytes);

}  // namespace cordon::cli
