// Case folding of names, for directories that compare them without regard to case.
//
// Simple (one to one) folding of the Latin, Greek, Cyrillic, Armenian and full-width letters. What
// is outside those ranges, and composed against decomposed forms, compares as it is.
// Pure and thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cordon::glob {

// The next character of `text` at `*pos`, which moves on. A byte that starts no valid UTF-8
// sequence gives 0x110000 + byte, so that no two different texts decode alike.
// REQUIRES: *pos < text.size()
char32_t NextChar(std::string_view text, std::size_t* pos);

char32_t FoldChar(char32_t c);

bool EqualFolded(std::string_view a, std::string_view b);
// Number of bytes of `text` that `prefix` covers when both are folded; npos when it is no prefix.
std::size_t FoldedPrefix(std::string_view text, std::string_view prefix);

}  // namespace cordon::glob
