// From the text of a pattern to its alternatives and segments.
#include <algorithm>
#include <optional>

#include "glob/fold.h"
#include "glob/glob.h"

namespace cordon::glob {
namespace {

// Just after the "]" of the class that starts at text[at] == '['; npos when it is not closed in
// this segment.
std::size_t ClassEnd(std::string_view text, std::size_t at) {
  std::size_t i = at + 1;
  if (i < text.size() && (text[i] == '!' || text[i] == '^')) ++i;
  bool first = true;
  for (; i < text.size() && text[i] != '/'; ++i, first = false) {
    if (text[i] == ']' && !first) return i + 1;
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '[' && i + 1 < text.size() && text[i + 1] == ':') {
      const std::size_t end = text.find(":]", i + 2);
      if (end != std::string_view::npos &&
          text.substr(i, end - i).find('/') == std::string_view::npos) {
        i = end + 1;
      }
    }
  }
  return std::string_view::npos;
}

Error Bad(std::string_view text, std::string_view what, std::size_t position) {
  return MakeError(ErrorCode::kInvalid, "pattern \"" + std::string(text) +
                                            "\": " + std::string(what) + " at byte " +
                                            std::to_string(position + 1));
}

// Finds what is wrong in the text as written, where positions still mean something.
std::optional<Error> Check(std::string_view text) {
  if (text.empty()) return MakeError(ErrorCode::kInvalid, "empty pattern");
  if (text.size() > kMaxPatternBytes) {
    return MakeError(ErrorCode::kInvalid, "pattern of " + std::to_string(text.size()) +
                                              " bytes, at most " +
                                              std::to_string(kMaxPatternBytes));
  }
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) return Bad(text.substr(0, nul), "NUL", nul);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '[') {
      const std::size_t end = ClassEnd(text, i);
      if (end == std::string_view::npos) {
        Error e = Bad(text, "unclosed [", i);
        e.remedy = "write \\[ for the character itself";
        return e;
      }
      i = end - 1;
    } else if (text[i] == '{') {
      open.push_back(i);
      if (open.size() > kMaxBraceDepth) return Bad(text, "braces nested too deep", i);
    } else if (text[i] == '}' && !open.empty()) {
      open.pop_back();
    }
  }
  if (!open.empty()) {
    Error e = Bad(text, "unclosed {", open.back());
    e.remedy = "write \\{ for the character itself";
    return e;
  }
  return std::nullopt;
}

// Reads alternatives up to an unescaped "," or "}" (when inside a brace) or the end. False when
// there would be more than kMaxAlternatives.
bool Expand(std::string_view text, std::size_t* pos, bool inside, std::vector<std::string>* out) {
  out->assign(1, "");
  const auto append = [&](std::string_view piece) {
    for (std::string& s : *out) s += piece;
  };
  std::size_t plain = *pos;
  const auto flush = [&](std::size_t end) {
    if (end > plain) append(text.substr(plain, end - plain));
  };
  std::size_t i = *pos;
  while (i < text.size()) {
    if (text[i] == '\\') {
      i = std::min(i + 2, text.size());
    } else if (text[i] == '[') {
      i = ClassEnd(text, i);
    } else if (text[i] == '{') {
      flush(i);
      std::vector<std::string> choices;
      do {
        ++i;  // over "{" or ","
        std::vector<std::string> some;
        if (!Expand(text, &i, true, &some)) return false;
        choices.insert(choices.end(), some.begin(), some.end());
        if (choices.size() > kMaxAlternatives) return false;
      } while (text[i] == ',');
      ++i;  // over "}"
      plain = i;
      if (out->size() * choices.size() > kMaxAlternatives) return false;
      std::vector<std::string> product;
      product.reserve(out->size() * choices.size());
      for (const std::string& head : *out) {
        for (const std::string& tail : choices) product.push_back(head + tail);
      }
      *out = std::move(product);
    } else if (inside && (text[i] == ',' || text[i] == '}')) {
      break;
    } else {
      ++i;
    }
  }
  flush(i);
  *pos = i;
  return true;
}

// Without escapes and doubled slashes. A "\" before a "/" stands for itself.
std::string Unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] != '/') ++i;
    const bool repeated = text[i] == '/' && !out.empty() && out.back() == '/';
    if (!repeated) out += text[i];
  }
  return out;
}

struct NamedClass {
  std::string_view name;
  std::vector<std::pair<char32_t, char32_t>> ranges;
};

const std::vector<NamedClass>& NamedClasses() {
  static const std::vector<NamedClass> classes = {
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"digit", {{'0', '9'}}},
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"upper", {{'A', 'Z'}}},
      {"lower", {{'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"blank", {{'\t', '\t'}, {' ', ' '}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"print", {{' ', '~'}}},
      {"graph", {{'!', '~'}}},
      {"cntrl", {{0, 31}, {127, 127}}},
  };
  return classes;
}

}  // namespace

// Reads the class at text[0] == '['; returns the offset after its "]".
std::size_t Pattern::ParseClass(std::string_view text, Class* out) {
  const std::size_t end = ClassEnd(text, 0);
  std::size_t i = 1;
  if (text[i] == '!' || text[i] == '^') {
    out->negated = true;
    ++i;
  }
  const auto next = [&] {
    if (text[i] == '\\' && i + 2 < end) ++i;
    return NextChar(text, &i);
  };
  while (i < end - 1) {
    if (text.substr(i, 2) == "[:") {
      const std::size_t close = text.find(":]", i + 2);
      if (close != std::string_view::npos && close + 2 < end) {
        const std::string_view name = text.substr(i + 2, close - i - 2);
        const auto& all = NamedClasses();
        const auto it =
            std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.name == name; });
        if (it != all.end())
          out->ranges.insert(out->ranges.end(), it->ranges.begin(), it->ranges.end());
        i = close + 2;
        continue;
      }
    }
    const char32_t low = next();
    if (i + 1 < end - 1 && text[i] == '-') {
      ++i;
      const char32_t high = next();
      if (low <= high) out->ranges.emplace_back(low, high);
    } else {
      out->ranges.emplace_back(low, low);
    }
  }
  return end;
}

Pattern::Segment Pattern::ParseSegment(std::string_view text) {
  Segment segment;
  if (text == "**") {
    segment.any_depth = true;
    return segment;
  }
  segment.plain = !HasMagic(text);
  if (segment.plain) {
    segment.literal = Unescape(text);
    return segment;
  }
  std::size_t i = 0;
  while (i < text.size()) {
    Token token;
    if (text[i] == '*') {
      ++i;
      const bool repeated =
          !segment.tokens.empty() && segment.tokens.back().kind == Token::Kind::kStar;
      if (repeated) continue;
      token.kind = Token::Kind::kStar;
    } else if (text[i] == '?') {
      ++i;
      token.kind = Token::Kind::kAnyChar;
    } else if (text[i] == '[') {
      token.kind = Token::Kind::kClass;
      token.class_index = segment.classes.size();
      segment.classes.emplace_back();
      i += ParseClass(text.substr(i), &segment.classes.back());
    } else {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      token.ch = NextChar(text, &i);
    }
    segment.tokens.push_back(token);
  }
  return segment;
}

Pattern::Alternative Pattern::ParseAlternative(std::string_view text) {
  Alternative out;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '\\' && i + 1 < text.size() && text[i + 1] != '/') {
      ++i;
    } else if (i < text.size() && text[i] == '[') {
      i = ClassEnd(text, i) - 1;
    } else if (i == text.size() || text[i] == '/') {
      if (i > start) {
        Segment segment = ParseSegment(text.substr(start, i - start));
        const bool repeated =
            segment.any_depth && !out.segments.empty() && out.segments.back().any_depth;
        if (!repeated) out.segments.push_back(std::move(segment));
      }
      start = i + 1;
    }
  }
  out.subtree = text.empty() || text.back() == '/';
  while (!out.segments.empty() && out.segments.back().any_depth) {
    out.segments.pop_back();
    out.subtree = true;
  }
  return out;
}

Result<Pattern> Pattern::Parse(std::string_view text, Case fold) {
  if (auto error = Check(text)) return *std::move(error);
  std::vector<std::string> expanded;
  std::size_t pos = 0;
  if (!Expand(text, &pos, false, &expanded)) {
    return MakeError(ErrorCode::kInvalid,
                     "pattern \"" + std::string(text) + "\": more than " +
                         std::to_string(kMaxAlternatives) + " brace alternatives",
                     "write several rules");
  }
  Pattern out;
  out.text_ = text;
  out.fold_ = fold;
  std::size_t states = 0;
  for (const std::string& alternative : expanded) {
    out.alternatives_.push_back(ParseAlternative(alternative));
    out.alternatives_.back().first_state = states;
    states += out.alternatives_.back().segments.size() + 2;
  }
  out.words_ = (states + 63) / 64;

  std::size_t boundary = 0;  // just before the "/" that the fixed prefix ends at
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '\\') {
      if (i + 1 < text.size() && text[i + 1] != '/') ++i;
    } else if (text[i] == '*' || text[i] == '?' || text[i] == '[' || text[i] == '{') {
      break;
    } else if (text[i] == '/') {
      boundary = i;
    }
  }
  if (i >= text.size()) boundary = text.size();
  while (boundary > 1 && text[boundary - 1] == '/') --boundary;
  out.fixed_prefix_ = Unescape(text.substr(0, boundary));
  out.magic_suffix_ = text.substr(boundary);
  if (out.fixed_prefix_.empty() && text.front() == '/') out.fixed_prefix_ = "/";
  return out;
}

}  // namespace cordon::glob
