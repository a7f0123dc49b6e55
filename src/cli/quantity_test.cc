#include "cli/quantity.h"

#include <gtest/gtest.h>

namespace cordon::cli {
namespace {

std::int64_t Ms(std::string_view text) {
  const auto parsed = ParseDuration(text);
  return parsed.ok() ? parsed->count() : -1;
}
std::uint64_t Bytes(std::string_view text) {
  const auto parsed = ParseSize(text);
  return parsed.ok() ? *parsed : 0;
}

TEST(DurationTest, ReadsUnitsAndSums) {
  EXPECT_EQ(Ms("90"), 90000);
  EXPECT_EQ(Ms("1.5s"), 1500);
  EXPECT_EQ(Ms("250ms"), 250);
  EXPECT_EQ(Ms("2m"), 120000);
  EXPECT_EQ(Ms("1h30m"), 5400000);
  EXPECT_EQ(Ms("1d"), 86400000);
  EXPECT_EQ(Ms("0.5"), 500);
}

TEST(DurationTest, RefusesEverythingElse) {
  for (const char* text : {"", "s", "soon", "-1", "+1", "1x", "1 s", "1s ", "0", "0s", "1e3", "inf",
                           "nan", "1h30", "..", "99999999d", "1..5s"}) {
    EXPECT_EQ(Ms(text), -1) << text;
  }
}

TEST(SizeTest, ReadsPowersOf1024AndOf1000) {
  EXPECT_EQ(Bytes("1048576"), 1048576u);
  EXPECT_EQ(Bytes("512K"), 512u << 10);
  EXPECT_EQ(Bytes("64m"), 64u << 20);
  EXPECT_EQ(Bytes("2GiB"), 2ull << 30);
  EXPECT_EQ(Bytes("1.5G"), 3ull << 29);
  EXPECT_EQ(Bytes("2MB"), 2000000u);
  EXPECT_EQ(Bytes("100B"), 100u);
}

TEST(SizeTest, RefusesEverythingElse) {
  for (const char* text : {"", "M", "-1", "0", "1X", "1MM", "1 M", "1e9", "9999999T", "0x10"}) {
    EXPECT_EQ(Bytes(text), 0u) << text;
  }
}

TEST(CountTest, StaysWithinItsRange) {
  EXPECT_EQ(*ParseCount("12", 1, 20), 12u);
  for (const char* text : {"", "0", "21", "-1", "1.5", "12x", " 12", "99999999999999999999"}) {
    EXPECT_FALSE(ParseCount(text, 1, 20).ok()) << text;
  }
}

TEST(FormatTest, WritesWhatIsReadBack) {
  EXPECT_EQ(FormatDuration(std::chrono::milliseconds(1500)), "1500ms");
  EXPECT_EQ(FormatDuration(std::chrono::milliseconds(90000)), "90s");
  EXPECT_EQ(FormatDuration(std::chrono::milliseconds(7200000)), "2h");
  EXPECT_EQ(FormatSize(512u << 20), "512M");
  EXPECT_EQ(FormatSize(1000), "1000");
  for (const char* text : {"1500ms", "90s", "2h", "5m"}) {
    EXPECT_EQ(FormatDuration(*ParseDuration(text)), text);
  }
}

TEST(FormatTest, WritesAges) {
  EXPECT_EQ(FormatAge(std::chrono::seconds(5)), "5s");
  EXPECT_EQ(FormatAge(std::chrono::seconds(60)), "1m");
  EXPECT_EQ(FormatAge(std::chrono::seconds(3725)), "1h 2m");
  EXPECT_EQ(FormatAge(std::chrono::seconds(90000)), "1d 1h");
  EXPECT_EQ(FormatAge(std::chrono::seconds(-4)), "0s");
}

}  // namespace
}  // namespace cordon::cli
