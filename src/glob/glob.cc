#include "glob/glob.h"

#include <algorithm>
#include <bit>

#include "glob/fold.h"

namespace cordon::glob {
namespace {

using Bits = std::vector<std::uint64_t>;

bool Test(const Bits& bits, std::size_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
void Set(Bits* bits, std::size_t i) { (*bits)[i / 64] |= std::uint64_t{1} << (i % 64); }

bool IsMagic(char c) { return c == '*' || c == '?' || c == '[' || c == '{'; }

// Calls visit(name, end offset in path) for each component until it returns false.
template <typename Visit>
void ForEachName(std::string_view path, Visit visit) {
  std::size_t i = 0;
  while (i < path.size()) {
    if (path[i] == '/') {
      ++i;
      continue;
    }
    const std::size_t end = std::min(path.find('/', i), path.size());
    if (!visit(path.substr(i, end - i), end)) return;
    i = end;
  }
}

std::string_view WithoutLeadingSlash(std::string_view text) {
  if (!text.empty() && text.front() == '/') text.remove_prefix(1);
  return text;
}

}  // namespace

Pattern::State Pattern::Start() const {
  State state;
  state.bits_.assign(words_, 0);
  for (const Alternative& a : alternatives_) {
    Set(&state.bits_, a.first_state);
    Close(a, &state.bits_);
  }
  return state;
}

// Adds the states that are reached without consuming a name.
void Pattern::Close(const Alternative& a, Bits* bits) const {
  const std::size_t n = a.segments.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (a.segments[i].any_depth && Test(*bits, a.first_state + i)) Set(bits, a.first_state + i + 1);
  }
  if (a.subtree && Test(*bits, a.first_state + n)) Set(bits, a.first_state + n + 1);
}

void Pattern::Step(const Bits& from, std::string_view name, Bits* to) const {
  std::fill(to->begin(), to->end(), 0);
  for (const Alternative& a : alternatives_) {
    const std::size_t n = a.segments.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (!Test(from, a.first_state + i)) continue;
      const Segment& segment = a.segments[i];
      if (segment.any_depth) {
        Set(to, a.first_state + i);
      } else if (SegmentMatches(segment, name)) {
        Set(to, a.first_state + i + 1);
      }
    }
    if (Test(from, a.first_state + n + 1)) Set(to, a.first_state + n + 1);
    Close(a, to);
  }
}

Pattern::State Pattern::Enter(const State& at, std::string_view name) const {
  State next;
  next.bits_.assign(words_, 0);
  Step(at.bits_, name, &next.bits_);
  return next;
}

bool Pattern::Covers(const State& at) const {
  return std::any_of(alternatives_.begin(), alternatives_.end(), [&](const Alternative& a) {
    return Test(at.bits_, a.first_state + a.segments.size());
  });
}

bool Pattern::Alive(const State& at) const {
  for (const Alternative& a : alternatives_) {
    const std::size_t n = a.segments.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (Test(at.bits_, a.first_state + i)) return true;
    }
    if (Test(at.bits_, a.first_state + n + 1)) return true;
  }
  return false;
}

bool Pattern::Any(const Bits& bits) const {
  return std::any_of(bits.begin(), bits.end(), [](std::uint64_t w) { return w != 0; });
}

// Most paths that are asked about have nothing to do with a rule: this tells most of them apart
// without running the states.
bool Pattern::HasPrefix(std::string_view path) const {
  if (fold_ == Case::kFolded) return true;
  const std::string_view prefix = WithoutLeadingSlash(fixed_prefix_);
  path = WithoutLeadingSlash(path);
  return path.substr(0, prefix.size()) == prefix;
}

bool Pattern::Matches(std::string_view path) const {
  if (!HasPrefix(path)) return false;
  State state = Start();
  Bits next(words_, 0);
  ForEachName(path, [&](std::string_view name, std::size_t) {
    Step(state.bits_, name, &next);
    state.bits_.swap(next);
    return Any(state.bits_);
  });
  return std::any_of(alternatives_.begin(), alternatives_.end(), [&](const Alternative& a) {
    const std::size_t n = a.first_state + a.segments.size();
    return Test(state.bits_, n) || Test(state.bits_, n + 1);
  });
}

std::size_t Pattern::MatchLength(std::string_view path) const {
  if (!HasPrefix(path)) return 0;
  State state = Start();
  Bits next(words_, 0);
  std::size_t length = Covers(state) && !path.empty() ? 1 : 0;
  ForEachName(path, [&](std::string_view name, std::size_t end) {
    Step(state.bits_, name, &next);
    state.bits_.swap(next);
    if (Covers(state)) length = end;
    return Any(state.bits_);
  });
  return length;
}

bool Pattern::CouldMatchBelow(std::string_view dir) const {
  State state = Start();
  Bits next(words_, 0);
  ForEachName(dir, [&](std::string_view name, std::size_t) {
    Step(state.bits_, name, &next);
    state.bits_.swap(next);
    return Any(state.bits_);
  });
  return Alive(state);
}

// Greedy with one point of return, the last star: a star further left can take nothing that the
// last one could not, so the cost is at most tokens times characters.
bool Pattern::SegmentMatches(const Segment& segment, std::string_view name) const {
  if (segment.plain) {
    return fold_ == Case::kFolded ? EqualFolded(name, segment.literal) : name == segment.literal;
  }
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t t = 0, s = 0, star = kNone, star_at = 0;
  const auto fold = [&](char32_t c) { return fold_ == Case::kFolded ? FoldChar(c) : c; };
  while (s < name.size()) {
    if (t < segment.tokens.size()) {
      const Token& token = segment.tokens[t];
      if (token.kind == Token::Kind::kStar) {
        star = t++;
        star_at = s;
        continue;
      }
      std::size_t after = s;
      const char32_t c = NextChar(name, &after);
      if (token.kind == Token::Kind::kAnyChar ||
          (token.kind == Token::Kind::kChar && fold(token.ch) == fold(c)) ||
          (token.kind == Token::Kind::kClass &&
           ClassMatches(segment.classes[token.class_index], c))) {
        s = after;
        ++t;
        continue;
      }
    }
    if (star == kNone) return false;
    NextChar(name, &star_at);
    s = star_at;
    t = star + 1;
  }
  while (t < segment.tokens.size() && segment.tokens[t].kind == Token::Kind::kStar) ++t;
  return t == segment.tokens.size();
}

bool Pattern::ClassMatches(const Class& c, char32_t ch) const {
  const auto holds = [&](char32_t x) {
    return std::any_of(c.ranges.begin(), c.ranges.end(),
                       [x](const auto& r) { return x >= r.first && x <= r.second; });
  };
  bool found = holds(ch);
  if (!found && fold_ == Case::kFolded) {
    const char32_t folded = FoldChar(ch);
    found = holds(folded);
    // The folding has no way back, so the few capitals that fold to this character are tried.
    for (const int delta : {32, 1, 80, 48, 16}) {
      if (found) break;
      const char32_t upper = folded - static_cast<char32_t>(delta);
      found = folded > static_cast<char32_t>(delta) && FoldChar(upper) == folded && holds(upper);
    }
  }
  return found != c.negated;
}

bool HasMagic(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (IsMagic(text[i])) {
      return true;
    }
  }
  return false;
}

std::string Escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (IsMagic(c) || c == ']' || c == '}' || c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace cordon::glob
