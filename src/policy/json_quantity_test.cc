#include "policy/json_quantity.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace cordon::policy {
namespace {

TEST(JsonQuantityTest, ReadsSizes) {
  EXPECT_EQ(ParseByteSize("0"), 0u);
  EXPECT_EQ(ParseByteSize("4096"), 4096u);
  EXPECT_EQ(ParseByteSize("4096B"), 4096u);
  EXPECT_EQ(ParseByteSize("1K"), 1024u);
  EXPECT_EQ(ParseByteSize("512M"), 512u << 20);
  EXPECT_EQ(ParseByteSize("2GiB"), 2ull << 30);
  EXPECT_EQ(ParseByteSize("3TiB"), 3ull << 40);
  EXPECT_EQ(ParseByteSize("500MB"), 500'000'000u);
  EXPECT_EQ(ParseByteSize("1.5G"), 3ull << 29);
  EXPECT_EQ(ParseByteSize("8388607T"), 8388607ull << 40);
  for (const char* wrong :
       {"", "M", "-1", "1.5", "1.0000001K", "1 K", "1k", "1KIB", "1Ki", "1.K", ".5K", "1e3",
        "9223372036854775808", "8388608T", "99999999999999999999", "512M "}) {
    EXPECT_EQ(ParseByteSize(wrong), std::nullopt) << wrong;
  }
}

TEST(JsonQuantityTest, ReadsTimes) {
  EXPECT_EQ(ParseMilliseconds("500ms"), 500u);
  EXPECT_EQ(ParseMilliseconds("30s"), 30'000u);
  EXPECT_EQ(ParseMilliseconds("5m"), 300'000u);
  EXPECT_EQ(ParseMilliseconds("1h30m"), 5'400'000u);
  EXPECT_EQ(ParseMilliseconds("1d1h1m1s1ms"), 90'061'001u);
  EXPECT_EQ(ParseMilliseconds("3650d"), kMaxMilliseconds);
  for (const char* wrong : {"", "5", "s", "-1s", "1.5s", "5 m", "5M", "30m1h", "1s1s", "1sm", "5x",
                            "3650d1ms", "99999999999999999999s"}) {
    EXPECT_EQ(ParseMilliseconds(wrong), std::nullopt) << wrong;
  }
}

// The schema's patterns take every text that the functions take; the functions are stricter only
// about magnitude and fractions of a byte.
TEST(JsonQuantityTest, PatternsAgreeWithTheFunctions) {
  const std::regex size{std::string(kByteSizePattern)};
  const std::regex duration{std::string(kDurationPattern)};
  for (const char* text : {"0", "1K", "2GiB", "500MB", "1.5G", "7B", "", "M", "-1", "1 K", "1k",
                           "1Ki", "1.K", "512M ", "1e3"}) {
    EXPECT_EQ(ParseByteSize(text).has_value(), std::regex_match(text, size)) << text;
  }
  for (const char* text :
       {"500ms", "30s", "1h30m", "1d1h1m1s1ms", "", "5", "s", "1.5s", "30m1h", "1s1s"}) {
    EXPECT_EQ(ParseMilliseconds(text).has_value(), std::regex_match(text, duration)) << text;
  }
}

}  // namespace
}  // namespace cordon::policy
