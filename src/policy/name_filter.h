// A quick question before the exact one: could the last component of a path matter to any rule?
//
//   NameFilter filter;
//   filter.Add("*.key");                       // one segment of a pattern, glob/glob.h's grammar
//   std::string buffer;
//   filter.Hit(FoldName("Server.KEY", &buffer));   // true: ask the rules themselves
//
// Names are compared folded everywhere, so that a hit may be none; a miss is always one. Pure.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "glob/glob.h"

namespace cordon::policy {

// Hashing that takes a string_view, so that a look-up allocates nothing.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

// `name` as a directory that folds case sees it: lower case, without the characters that it
// ignores, ligatures taken apart. The answer is `name` itself where that changes nothing, else
// `*buffer`.
std::string_view FoldName(std::string_view name, std::string* buffer);

class NameFilter {
 public:
  // One segment of a pattern. What cannot be told from the segment alone makes every name a hit.
  void Add(std::string_view segment);
  // REQUIRES: `folded` comes from FoldName.
  bool Hit(std::string_view folded) const;
  bool empty() const {
    return !all_ && exact_.empty() && prefixes_.empty() && suffixes_.empty() && general_.empty();
  }

 private:
  bool all_ = false;
  TextSet exact_;
  std::vector<std::string> prefixes_, suffixes_;
  std::vector<glob::Pattern> general_;
};

// The segments of a pattern, cut at each "/" outside braces; a trailing "/" or "/**" is left out.
// Empty when the pattern cannot be cut so.
std::vector<std::string_view> PatternSegments(std::string_view pattern);

}  // namespace cordon::policy
