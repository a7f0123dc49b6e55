// Path patterns of Cordon's rules.
//
//   auto pattern = glob::Pattern::Parse("/home/u/**/*.key");
//   pattern->Matches("/home/u/a/b.key");      // true
//   pattern->MatchLength("/home/u/a.key/x");  // 13: the ancestor /home/u/a.key matches
//
//   pattern   = segment *( "/" segment )
//   segment   = "**"              any number of whole segments, none included
//             | *( "*" | "?" | class | brace | "\" char | char )     never crosses a "/"
//   class     = "[" [ "!" | "^" ] ranges "]"        [:alpha:] and its like inside; no "/" inside
//   brace     = "{" alternative *( "," alternative ) "}"             nested braces allowed
//   a trailing "/" or "/**" means the directory itself and everything below it.
//   A leading dot needs no special treatment: "*" matches ".env".
//
// "?" and a class stand for one UTF-8 character, or for one byte where the name is not UTF-8.
// Names are compared byte for byte, or case-folded (simple folding, fold.h) on request. Matching
// takes time bounded by O(pattern * path) per alternative: the segments run as a set of states, so
// that nothing is tried twice. A pattern may expand to at most kMaxAlternatives brace
// alternatives. Pure and thread-safe; safe on any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace cordon::glob {

inline constexpr std::size_t kMaxAlternatives = 1024;
// Room for the longest path (4095 bytes) with every byte escaped, and a pattern after it.
inline constexpr std::size_t kMaxPatternBytes = 16384;
inline constexpr std::size_t kMaxBraceDepth = 32;

enum class Case { kSensitive, kFolded };

// True when `text` holds any of * ? [ { (unescaped).
bool HasMagic(std::string_view text);
// `text` with every character that means something to a pattern escaped: a pattern that matches
// exactly `text`.
std::string Escape(std::string_view text);

class Pattern {
 public:
  // Errors kInvalid with the offending position: unclosed [ or {, too many alternatives, too long,
  // NUL inside, empty.
  static Result<Pattern> Parse(std::string_view text, Case fold = Case::kSensitive);

  const std::string& text() const { return text_; }
  // Whole-path match of an absolute, normalised path. A leading "/" of either side counts for
  // nothing, so that a name alone can be matched too.
  bool Matches(std::string_view path) const;
  // Length of the longest prefix of `path` that is the path itself or one of its ancestor
  // directories and matches; 0 when none does. (A rule for /a matches /a/b with length 2.) Under a
  // trailing "/**" it is the directory's own length: such a pattern says no more than the
  // directory.
  std::size_t MatchLength(std::string_view path) const;
  // True when some path below directory `dir` (at any depth) could match: lets a walk prune.
  bool CouldMatchBelow(std::string_view dir) const;
  // The longest leading part without magic, at a "/" boundary and with escapes removed:
  // "/a/b/*.c" gives "/a/b", "/*" gives "/", "*.c" gives "".
  const std::string& fixed_prefix() const { return fixed_prefix_; }
  // What follows the fixed prefix, as written: "/*.c". Empty for a pattern without magic.
  const std::string& magic_suffix() const { return magic_suffix_; }

  // The same matching one name at a time, for walks: the cost of a step does not grow with depth.
  // A State belongs to the pattern that made it.
  class State {
    friend class Pattern;
    std::vector<std::uint64_t> bits_;
  };
  State Start() const;  // at "/"
  State Enter(const State& at, std::string_view name) const;
  // The path walked so far matches (under a trailing "/**": is the directory itself).
  bool Covers(const State& at) const;
  // Something below the path walked so far could match.
  bool Alive(const State& at) const;

 private:
  struct Class {
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges;
  };
  struct Token {
    enum class Kind : std::uint8_t { kChar, kAnyChar, kStar, kClass } kind = Kind::kChar;
    char32_t ch = 0;
    std::size_t class_index = 0;
  };
  struct Segment {
    bool any_depth = false;  // "**"
    bool plain = false;      // no magic: compare `literal`
    std::string literal;
    std::vector<Token> tokens;
    std::vector<Class> classes;
  };
  // State i < n: the next name must match segment i. State n: accepted here. State n + 1: at or
  // below an accepted directory of a pattern with a trailing "/**".
  struct Alternative {
    std::vector<Segment> segments;
    bool subtree = false;
    std::size_t first_state = 0;
  };

  static Alternative ParseAlternative(std::string_view text);
  static Segment ParseSegment(std::string_view text);
  static std::size_t ParseClass(std::string_view text, Class* out);
  bool SegmentMatches(const Segment& segment, std::string_view name) const;
  bool ClassMatches(const Class& c, char32_t ch) const;
  void Close(const Alternative& alternative, std::vector<std::uint64_t>* bits) const;
  void Step(const std::vector<std::uint64_t>& from, std::string_view name,
            std::vector<std::uint64_t>* to) const;
  bool Any(const std::vector<std::uint64_t>& bits) const;
  bool HasPrefix(std::string_view path) const;

  std::string text_;
  std::string fixed_prefix_;
  std::string magic_suffix_;
  Case fold_ = Case::kSensitive;
  std::size_t words_ = 0;
  std::vector<Alternative> alternatives_;
};

}  // namespace cordon::glob
