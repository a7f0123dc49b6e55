// Text for people: what is printed must not drive a terminal.
// Pure and thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::cli {

// `text` with control bytes, C1 controls, direction overrides and invalid UTF-8 written as \n, \t,
// \xNN: safe to show on a terminal, and on one line.
std::string Printable(std::string_view text);

// The candidate that `name` is the beginning of, or that is nearest to it by edits; "" when none is
// close enough to be meant.
std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates);

// `text` broken at spaces into lines of at most `width` columns; a longer word stands alone.
std::vector<std::string> Wrap(std::string_view text, std::size_t width);

// Writes all of `text`; false with errno set when it cannot be written.
bool WriteAll(int fd, std::string_view text);

}  // namespace cordon::cli
