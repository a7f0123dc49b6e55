// Finds the few rules that can match a path, so that a decision does not look at all of them.
//
// An index of hashes of literal rule paths: every ancestor of the asked path is looked up. Rules
// with globs or folded names are always candidates. The answer is a superset of the rules that
// match, in rule order; the caller still asks RuleMatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cordon::policy {

struct Rule;

class RuleIndex {
 public:
  // REQUIRES: `rules` do not change afterwards, or Build is called again.
  void Build(const std::vector<Rule>& rules);
  // False when Build has not seen exactly this many rules: then all are candidates.
  bool Covers(std::size_t rule_count) const { return built_ && rule_count == rule_count_; }
  // Indices, ascending, each once.
  std::vector<std::uint32_t> Candidates(std::string_view path) const;

 private:
  struct Entry {
    std::uint64_t hash;
    std::uint32_t rule;
  };
  std::vector<Entry> literal_;         // sorted by hash
  std::vector<std::uint32_t> always_;  // ascending
  std::size_t rule_count_ = 0;
  bool built_ = false;
};

}  // namespace cordon::policy
