#include "glob/fold.h"

#include <array>

namespace cordon::glob {
namespace {

struct FoldRange {
  char32_t first, last;
  int delta;
  int step;  // 1: every character; 2: every second one, from `first` on
};

// Upper case to lower case, from CaseFolding.txt (status C and S), sorted by use.
constexpr FoldRange kRanges[] = {
    {0x00B5, 0x00B5, 775, 1},   {0x00C0, 0x00D6, 32, 1},    {0x00D8, 0x00DE, 32, 1},
    {0x0100, 0x012E, 1, 2},     {0x0132, 0x0136, 1, 2},     {0x0139, 0x0147, 1, 2},
    {0x014A, 0x0176, 1, 2},     {0x0178, 0x0178, -121, 1},  {0x0179, 0x017D, 1, 2},
    {0x017F, 0x017F, -268, 1},  {0x0386, 0x0386, 38, 1},    {0x0388, 0x038A, 37, 1},
    {0x038C, 0x038C, 64, 1},    {0x038E, 0x038F, 63, 1},    {0x0391, 0x03A1, 32, 1},
    {0x03A3, 0x03AB, 32, 1},    {0x03C2, 0x03C2, 1, 1},     {0x0400, 0x040F, 80, 1},
    {0x0410, 0x042F, 32, 1},    {0x0460, 0x0480, 1, 2},     {0x048A, 0x04BE, 1, 2},
    {0x04C1, 0x04CD, 1, 2},     {0x04D0, 0x052E, 1, 2},     {0x0531, 0x0556, 48, 1},
    {0x1E00, 0x1E94, 1, 2},     {0x1E9E, 0x1E9E, -7615, 1}, {0x1EA0, 0x1EFE, 1, 2},
    {0x2126, 0x2126, -7517, 1}, {0x212A, 0x212A, -8383, 1}, {0x212B, 0x212B, -8262, 1},
    {0x2160, 0x216F, 16, 1},    {0xFF21, 0xFF3A, 32, 1},    {0x10400, 0x10427, 40, 1},
};

}  // namespace

char32_t NextChar(std::string_view text, std::size_t* pos) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t at = (*pos)++;
  const unsigned char lead = byte(at);
  if (lead < 0x80) return lead;
  std::size_t more = 0;
  char32_t c = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    more = 1;
    c = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    more = 2;
    c = lead & 0x0F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    more = 3;
    c = lead & 0x07;
  }
  const char32_t invalid = 0x110000 + lead;
  if (more == 0 || text.size() - at <= more) return invalid;
  for (std::size_t i = 1; i <= more; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return invalid;
    c = (c << 6) | (byte(at + i) & 0x3F);
  }
  const bool overlong = (more == 2 && c < 0x800) || (more == 3 && c < 0x10000);
  if (overlong || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return invalid;
  *pos = at + 1 + more;
  return c;
}

char32_t FoldChar(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  for (const FoldRange& r : kRanges) {
    if (c < r.first || c > r.last) continue;
    if ((c - r.first) % static_cast<char32_t>(r.step) != 0) return c;
    return static_cast<char32_t>(static_cast<int>(c) + r.delta);
  }
  return c;
}

bool EqualFolded(std::string_view a, std::string_view b) { return FoldedPrefix(a, b) == a.size(); }

std::size_t FoldedPrefix(std::string_view text, std::string_view prefix) {
  std::size_t i = 0, j = 0;
  while (j < prefix.size()) {
    if (i >= text.size()) return std::string_view::npos;
    if (FoldChar(NextChar(text, &i)) != FoldChar(NextChar(prefix, &j)))
      return std::string_view::npos;
  }
  return i;
}

}  // namespace cordon::glob
