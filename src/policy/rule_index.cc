#include "policy/rule_index.h"

#include <algorithm>

#include "policy/policy.h"

namespace cordon::policy {
namespace {

// FNV-1a, a byte at a time, so that every prefix of a path is hashed on the way.
constexpr std::uint64_t kStart = 0xcbf29ce484222325ull;
constexpr std::uint64_t kPrime = 0x100000001b3ull;

std::uint64_t Step(std::uint64_t hash, char c) {
  return (hash ^ static_cast<unsigned char>(c)) * kPrime;
}

std::uint64_t Hash(std::string_view text) {
  std::uint64_t hash = kStart;
  for (char c : text) hash = Step(hash, c);
  return hash;
}

bool IsLiteralOnly(const Rule& rule) {
  const bool folded = std::any_of(rule.fold_from.begin(), rule.fold_from.end(),
                                  [](std::size_t from) { return from != std::string::npos; });
  return rule.patterns.empty() && !folded;
}

}  // namespace

void RuleIndex::Build(const std::vector<Rule>& rules) {
  literal_.clear();
  always_.clear();
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    if (!IsLiteralOnly(rules[i])) {
      always_.push_back(i);
      continue;
    }
    for (const std::string& path : rules[i].paths) literal_.push_back({Hash(path), i});
  }
  std::sort(literal_.begin(), literal_.end(), [](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.rule < b.rule;
  });
  rule_count_ = rules.size();
  built_ = true;
}

std::vector<std::uint32_t> RuleIndex::Candidates(std::string_view path) const {
  std::vector<std::uint32_t> found = always_;
  const auto look_up = [&](std::uint64_t hash) {
    auto it = std::lower_bound(literal_.begin(), literal_.end(), hash,
                               [](const Entry& e, std::uint64_t h) { return e.hash < h; });
    for (; it != literal_.end() && it->hash == hash; ++it) found.push_back(it->rule);
  };
  look_up(Hash("/"));
  std::uint64_t hash = kStart;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i > 0 && path[i] == '/') look_up(hash);
    hash = Step(hash, path[i]);
  }
  if (path.size() > 1) look_up(hash);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace cordon::policy
