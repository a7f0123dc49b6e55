#include "policy/rule_index.h"

#include <gtest/gtest.h>

#include <random>

#include "policy/policy.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

std::string RandomPath(std::mt19937& random) {
  static const char* const kNames[] = {"a", "b", "ab", ".git", "a.pem", "A"};
  std::string path;
  for (unsigned depth = random() % 5; depth > 0; --depth) {
    path += "/";
    path += kNames[random() % 6];
  }
  return path.empty() ? "/" : path;
}

TEST(RuleIndexTest, FindsEveryRuleThatMatches) {
  std::mt19937 random(20);
  for (int round = 0; round < 200; ++round) {
    std::vector<Rule> rules(random() % 40);
    for (Rule& rule : rules) {
      rule.paths.push_back(RandomPath(random));
      if (random() % 4 == 0) rule.fold_from.push_back(random() % 3);
      if (random() % 4 == 0) rule.patterns.push_back(*glob::Pattern::Parse("/**/*.pem"));
    }
    RuleIndex index;
    EXPECT_FALSE(index.Covers(rules.size()));
    index.Build(rules);
    EXPECT_TRUE(index.Covers(rules.size()));
    EXPECT_FALSE(index.Covers(rules.size() + 1));
    for (int k = 0; k < 50; ++k) {
      const std::string path = RandomPath(random);
      const auto found = index.Candidates(path);
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
      for (std::uint32_t i = 0; i < rules.size(); ++i) {
        if (RuleMatch(rules[i], path) == 0) continue;
        EXPECT_TRUE(std::binary_search(found.begin(), found.end(), i))
            << path << " and " << rules[i].paths[0];
      }
    }
  }
}

}  // namespace
}  // namespace cordon::policy
