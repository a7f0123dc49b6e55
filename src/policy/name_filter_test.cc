#include "policy/name_filter.h"

#include <gtest/gtest.h>

namespace cordon::policy {
namespace {

std::string Fold(std::string_view name) {
  std::string buffer;
  return std::string(FoldName(name, &buffer));
}

TEST(NameFilterTest, FoldsAsAFoldingDirectoryDoes) {
  EXPECT_EQ(Fold("plain.txt"), "plain.txt");
  EXPECT_EQ(Fold("Server.KEY"), "server.key");
  EXPECT_EQ(Fold("\xE2\x84\xAA"
                 "ey"),
            "key");                                   // Kelvin sign
  EXPECT_EQ(Fold(".e\xE2\x80\x8Dnv"), ".env");        // zero width joiner
  EXPECT_EQ(Fold("con\xEF\xAC\x81g"), "config");      // ligature
  EXPECT_EQ(Fold("\xC3\x84\xFFx"), "\xC3\xA4\xFFx");  // not UTF-8 stays
}

TEST(NameFilterTest, NeverMissesWhatTheSegmentMatches) {
  for (const char* segment : {"*.key", ".env", ".env.*", "a*b", "[ab]c", "*.{pem,P12}", "{a,b}",
                              "*", "**", "\\*x", "x\\*", "A?", "{,a}b"}) {
    NameFilter filter;
    EXPECT_TRUE(filter.empty());
    filter.Add(segment);
    EXPECT_FALSE(filter.empty());
    const auto exact = glob::Pattern::Parse(segment, glob::Case::kFolded);
    ASSERT_TRUE(exact.ok()) << segment;
    for (const char* name : {"a.key", "A.KEY", ".env", ".ENV.x", "ab", "axb", "bc", "x.pem",
                             "y.p12", "a", "b", "*x", "x*", "a1", "none", "\xE2\x84\xAA.key"}) {
      EXPECT_TRUE(!exact->Matches(name) || filter.Hit(Fold(name))) << segment << " " << name;
    }
  }
  NameFilter filter;
  filter.Add("*.key");
  filter.Add(".env");
  EXPECT_FALSE(filter.Hit("key"));
  EXPECT_FALSE(filter.Hit("env"));
  EXPECT_FALSE(filter.Hit(".envrc"));
}

TEST(NameFilterTest, CutsPatternsAtSlashesOutsideBraces) {
  using Segments = std::vector<std::string_view>;
  EXPECT_EQ(PatternSegments("/**/*.key"), (Segments{"**", "*.key"}));
  EXPECT_EQ(PatternSegments("/a/**"), (Segments{"a"}));
  EXPECT_EQ(PatternSegments("/a/"), (Segments{"a"}));
  EXPECT_EQ(PatternSegments("/**/.env{,.*}"), (Segments{"**", ".env{,.*}"}));
  EXPECT_EQ(PatternSegments("/x}/{a,b}"), (Segments{"x}", "{a,b}"}));
  EXPECT_EQ(PatternSegments("/a/{b/c,d}"), Segments{});
  EXPECT_EQ(PatternSegments("/a/{b,}"), Segments{});
  EXPECT_EQ(PatternSegments("/[{]/{a,b}"), Segments{});
}

}  // namespace
}  // namespace cordon::policy
