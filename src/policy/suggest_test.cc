#include "policy/suggest.h"

#include <gtest/gtest.h>

namespace cordon::policy {
namespace {

TEST(SuggestTest, CountsEdits) {
  EXPECT_EQ(EditDistance("denyRead", "denyRead"), 0u);
  EXPECT_EQ(EditDistance("deny_read", "denyRead"), 0u);
  EXPECT_EQ(EditDistance("DENY-READ", "denyRead"), 0u);
  EXPECT_EQ(EditDistance("denyReda", "denyRead"), 1u);
  EXPECT_EQ(EditDistance("denyRed", "denyRead"), 1u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(SuggestTest, NamesTheNearestOrNothing) {
  static constexpr std::string_view kKnown[] = {"allowRead", "allowWrite", "denyRead", "denyWrite"};
  EXPECT_EQ(Nearest("alowWrite", kKnown), "allowWrite");
  EXPECT_EQ(Nearest("denyReads", kKnown), "denyRead");
  EXPECT_EQ(Nearest("colour", kKnown), std::nullopt);
  EXPECT_EQ(Nearest("", kKnown), std::nullopt);
  EXPECT_EQ(Nearest(std::string(100'000, 'x'), kKnown), std::nullopt);
}

}  // namespace
}  // namespace cordon::policy
