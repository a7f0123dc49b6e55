#include "policy/name_filter.h"

#include <algorithm>
#include <array>

#include "glob/fold.h"

namespace cordon::policy {
namespace {

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Unicode's default ignorable code points: a folding directory compares names without them.
bool IsIgnorable(char32_t c) {
  static constexpr auto kRanges = std::to_array<std::pair<char32_t, char32_t>>({
      {0x00AD, 0x00AD},
      {0x034F, 0x034F},
      {0x061C, 0x061C},
      {0x115F, 0x1160},
      {0x17B4, 0x17B5},
      {0x180B, 0x180F},
      {0x200B, 0x200F},
      {0x202A, 0x202E},
      {0x2060, 0x206F},
      {0x3164, 0x3164},
      {0xFE00, 0xFE0F},
      {0xFEFF, 0xFEFF},
      {0xFFA0, 0xFFA0},
      {0xFFF0, 0xFFF8},
      {0x1BCA0, 0x1BCA3},
      {0x1D173, 0x1D17A},
      {0xE0000, 0xE0FFF},
  });
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [c](const auto& r) { return c >= r.first && c <= r.second; });
}

// Characters whose full folding is more than one letter of ASCII.
std::string_view Ligature(char32_t c) {
  switch (c) {
    case 0x00DF:
    case 0x1E9E: return "ss";
    case 0xFB00: return "ff";
    case 0xFB01: return "fi";
    case 0xFB02: return "fl";
    case 0xFB03: return "ffi";
    case 0xFB04: return "ffl";
    case 0xFB05:
    case 0xFB06: return "st";
    default: return "";
  }
}

void AppendUtf8(char32_t c, std::string* out) {
  const auto put = [&](char32_t byte) { *out += static_cast<char>(byte); };
  if (c >= 0x110000) {
    put(c - 0x110000);
  } else if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

bool IsSpecial(char c) { return std::string_view("*?[]{},\\").find(c) != std::string_view::npos; }

// `text` without escapes; nullopt-like empty when it holds magic.
bool PlainText(std::string_view text, std::string* out) {
  out->clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      *out += text[++i];
    } else if (IsSpecial(text[i]) && text[i] != ',' && text[i] != ']' && text[i] != '}') {
      return false;
    } else {
      *out += text[i];
    }
  }
  return true;
}

}  // namespace

std::string_view FoldName(std::string_view name, std::string* buffer) {
  const auto changes = [](char c) { return (c >= 'A' && c <= 'Z') || (c & 0x80) != 0; };
  if (std::none_of(name.begin(), name.end(), changes)) return name;
  buffer->clear();
  for (std::size_t i = 0; i < name.size();) {
    if ((name[i] & 0x80) == 0) {
      *buffer += LowerAscii(name[i++]);
      continue;
    }
    const char32_t c = glob::NextChar(name, &i);
    if (IsIgnorable(c)) continue;
    const std::string_view letters = Ligature(c);
    *buffer += letters;
    if (letters.empty()) AppendUtf8(c >= 0x110000 ? c : glob::FoldChar(c), buffer);
  }
  return *buffer;
}

void NameFilter::Add(std::string_view segment) {
  std::string text, buffer;
  const auto fold = [&] { return std::string(FoldName(text, &buffer)); };
  const bool star_at_end = segment.ends_with('*') && !segment.ends_with("\\*");
  if (segment == "**" || segment == "*" || segment.find('/') != std::string_view::npos) {
    all_ = true;
  } else if (PlainText(segment, &text)) {
    exact_.insert(fold());
  } else if (segment.front() == '*' && PlainText(segment.substr(1), &text)) {
    suffixes_.push_back(fold());
  } else if (star_at_end && PlainText(segment.substr(0, segment.size() - 1), &text)) {
    prefixes_.push_back(fold());
  } else {
    auto pattern = glob::Pattern::Parse(segment, glob::Case::kFolded);
    all_ = all_ || !pattern.ok();
    if (pattern.ok()) general_.push_back(*std::move(pattern));
  }
}

bool NameFilter::Hit(std::string_view folded) const {
  const auto begins = [&](const std::string& p) { return folded.starts_with(p); };
  const auto ends = [&](const std::string& s) { return folded.ends_with(s); };
  if (all_ || (!exact_.empty() && exact_.contains(folded))) return true;
  if (std::any_of(suffixes_.begin(), suffixes_.end(), ends)) return true;
  if (std::any_of(prefixes_.begin(), prefixes_.end(), begins)) return true;
  return std::any_of(general_.begin(), general_.end(),
                     [&](const glob::Pattern& p) { return p.Matches(folded); });
}

namespace {

// Where cutting at "/" says nothing: a "/" inside braces, or a segment that one choice makes empty.
bool Uncertain(std::string_view segment) {
  if (segment.find('{') == std::string_view::npos) return false;
  const auto has = [&](std::string_view text) {
    return segment.find(text) != std::string_view::npos;
  };
  if (has("/")) return true;
  int depth = 0;
  bool outside = false;
  for (const char c : segment) {
    depth += c == '{' ? 1 : 0;
    outside = outside || depth == 0;
    depth -= c == '}' && depth > 0 ? 1 : 0;
  }
  return !outside && (has("{,") || has(",,") || has(",}") || has("{}"));
}

// A character class that holds what also cuts alternatives, or that has no end.
bool HasUnclearClass(std::string_view pattern) {
  for (std::size_t at = pattern.find('['); at != std::string_view::npos;) {
    // A "]" that stands first is one of the characters.
    const std::size_t end = pattern.find(']', at + 2);
    if (end == std::string_view::npos) return true;
    if (pattern.substr(at, end - at).find_first_of("{},/\\") != std::string_view::npos) return true;
    at = pattern.find('[', end);
  }
  return false;
}

}  // namespace

std::vector<std::string_view> PatternSegments(std::string_view pattern) {
  const bool braces = pattern.find('{') != std::string_view::npos;
  const bool slashes = pattern.find("\\/") != std::string_view::npos;
  if ((braces && HasUnclearClass(pattern)) || slashes) return {};
  std::vector<std::string_view> segments;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= pattern.size(); ++i) {
    const char c = i < pattern.size() ? pattern[i] : '/';
    if (c == '\\') {
      ++i;
    } else if (braces && c == '{') {
      ++depth;
    } else if (depth > 0 && c == '}') {
      --depth;
    } else if (c == '/' && (depth == 0 || i == pattern.size())) {
      if (i > start) segments.push_back(pattern.substr(start, i - start));
      start = i + 1;
    }
  }
  if (std::any_of(segments.begin(), segments.end(), Uncertain)) return {};
  while (segments.size() > 1 && segments.back() == "**") segments.pop_back();
  return segments;
}

}  // namespace cordon::policy
