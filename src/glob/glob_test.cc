#include "glob/glob.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "glob/fold.h"

namespace cordon::glob {
namespace {

Pattern P(std::string_view text, Case fold = Case::kSensitive) {
  auto p = Pattern::Parse(text, fold);
  EXPECT_TRUE(p.ok()) << text << ": " << (p.ok() ? "" : p.error().message);
  return p.ok() ? *p : *Pattern::Parse("x");
}

struct Row {
  const char* pattern;
  const char* path;
  bool matches;
};

TEST(GlobTest, MatchesWholePaths) {
  const Row rows[] = {
      {"/a/b", "/a/b", true},
      {"/a/b", "/a/b/c", false},
      {"/a/b", "/a", false},
      {"/a/*", "/a/b", true},
      {"/a/*", "/a", false},
      {"/a/*", "/a/b/c", false},
      {"/a/*", "/a/.env", true},
      {"/a/*.c", "/a/.c", true},
      {"/a/?.c", "/a/x.c", true},
      {"/a/?.c", "/a/xy.c", false},
      {"/a/?.c", "/a/\xC3\xA9.c", true},
      {"/a/?.c", "/a/\xE9.c", true},
      {"/a/[xyz]", "/a/y", true},
      {"/a/[!x]", "/a/x", false},
      {"/a/[!x]", "/a/y", true},
      {"/a/[^x]", "/a/x", false},
      {"/a/[]]", "/a/]", true},
      {"/a/[]-a]", "/a/^", true},
      {"/a/[a-]", "/a/-", true},
      {"/a/[\\]]", "/a/]", true},
      {"/a/[[:digit:]x]", "/a/7", true},
      {"/a/[[:digit:]x]", "/a/y", false},
      {"/a/[\xC3\xA0-\xC3\xBC]", "/a/\xC3\xA9", true},
      {"/**/x", "/x", true},
      {"/**/x", "/a/b/x", true},
      {"/**/x", "/a/b/xx", false},
      {"/a/**/b", "/a/b", true},
      {"/a/**/b", "/a/c/d/b", true},
      {"/a/**/b", "/a/c/d/b/e", false},
      {"/a/**", "/a", true},
      {"/a/**", "/a/b/c", true},
      {"/a/**", "/ab", false},
      {"/a/*/", "/a/b", true},
      {"/a/*/", "/a/b/c", true},
      {"/a/*/", "/a", false},
      {"/", "/", true},
      {"/", "/a", true},
      {"/**", "/", true},
      {"/a**b", "/axxb", true},
      {"/a**b", "/ax/xb", false},
      {"/{a,b}", "/b", true},
      {"/{a,b}", "/c", false},
      {"/{a,b{c,d}}/e", "/bd/e", true},
      {"/{a/b,c}/d", "/a/b/d", true},
      {"/x{,y}", "/x", true},
      {"/x{,y}", "/xy", true},
      {"/{[,],b}", "/,", true},
      {"/[{]", "/{", true},
      {"/\\*", "/*", true},
      {"/\\*", "/a", false},
      {"/\\{a,b\\}", "/{a,b}", true},
      {"/a}", "/a}", true},
      {"/a]", "/a]", true},
      {"/a\\/b", "/a\\/b", true},
      {"//a//*", "/a/b", true},
      {"*.key", "id.key", true},
      {"*.key", "/id.key", true},
      {"*.key", "/a/id.key", false},
      {"/a/\n*", "/a/\nb", true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(P(row.pattern).Matches(row.path), row.matches) << row.pattern << " on " << row.path;
  }
}

TEST(GlobTest, MatchLengthIsTheLongestMatchingAncestor) {
  EXPECT_EQ(P("/a").MatchLength("/a/b"), 2u);
  EXPECT_EQ(P("/a").MatchLength("/ab"), 0u);
  EXPECT_EQ(P("/a/*").MatchLength("/a/b/c/d"), 4u);
  EXPECT_EQ(P("/**/x").MatchLength("/x/y/x/z"), 6u);
  EXPECT_EQ(P("/**").MatchLength("/a/b"), 1u);
  EXPECT_EQ(P("/").MatchLength("/a/b"), 1u);
  // A subtree says no more than its directory.
  EXPECT_EQ(P("/a/*/**").MatchLength("/a/b/c/d"), 4u);
  EXPECT_EQ(P("/**/m/**").MatchLength("/m/x/m/y"), 6u);
  EXPECT_EQ(P("/a/**/*").MatchLength("/a/b/c"), 6u);
}

TEST(GlobTest, CouldMatchBelowPrunesOnlyWhatCannotMatch) {
  EXPECT_TRUE(P("/a/b/*.c").CouldMatchBelow("/a"));
  EXPECT_TRUE(P("/a/b/*.c").CouldMatchBelow("/"));
  EXPECT_TRUE(P("/a/b/*.c").CouldMatchBelow("/a/b"));
  EXPECT_FALSE(P("/a/b/*.c").CouldMatchBelow("/a/c"));
  EXPECT_FALSE(P("/a/b/*.c").CouldMatchBelow("/a/b/x.c"));
  EXPECT_TRUE(P("/a/**/x").CouldMatchBelow("/a/any/depth"));
  EXPECT_TRUE(P("/a/**").CouldMatchBelow("/a/any/depth"));
  EXPECT_FALSE(P("/a").CouldMatchBelow("/a"));
}

TEST(GlobTest, FixedPrefixEndsAtASlash) {
  EXPECT_EQ(P("/a/b/*.c").fixed_prefix(), "/a/b");
  EXPECT_EQ(P("/a/b/*.c").magic_suffix(), "/*.c");
  EXPECT_EQ(P("/a/bc*").fixed_prefix(), "/a");
  EXPECT_EQ(P("/*").fixed_prefix(), "/");
  EXPECT_EQ(P("*.c").fixed_prefix(), "");
  EXPECT_EQ(P("/a/b").fixed_prefix(), "/a/b");
  EXPECT_EQ(P("/a\\*/b/?").fixed_prefix(), "/a*/b");
  EXPECT_EQ(P("/a//b/*").fixed_prefix(), "/a/b");
}

TEST(GlobTest, RefusesWhatIsNoPattern) {
  for (const std::string& bad :
       {std::string(), std::string("/[a"), std::string("/[a/b]"), std::string("/{a"),
        std::string("/{a,{b}"), std::string("/a\0b", 4), std::string(kMaxPatternBytes + 1, 'a'),
        std::string("/[[:alpha:]"), std::string(100, '{') + std::string(100, '}')}) {
    auto p = Pattern::Parse(bad);
    ASSERT_FALSE(p.ok()) << bad;
    EXPECT_EQ(p.error().code, ErrorCode::kInvalid);
  }
  EXPECT_NE(Pattern::Parse("/ab[c").error().message.find("byte 4"), std::string::npos);
}

TEST(GlobTest, LimitsBraceAlternatives) {
  std::string ten, eleven;
  for (int i = 0; i < 10; ++i) ten += "{a,b}";
  EXPECT_TRUE(Pattern::Parse("/" + ten).ok());
  EXPECT_TRUE(P("/" + ten).Matches("/ababababab"));
  for (int i = 0; i < 400; ++i) eleven += "{a,b}";
  EXPECT_FALSE(Pattern::Parse("/" + eleven).ok());
}

// Patterns that send a backtracking matcher into exponential time.
TEST(GlobTest, HostilePatternsStayFast) {
  const auto start = std::chrono::steady_clock::now();
  std::string stars = "/";
  for (int i = 0; i < 500; ++i) stars += "*a";
  EXPECT_FALSE(P(stars + "b").Matches("/" + std::string(4000, 'a')));
  std::string depth;
  for (int i = 0; i < 500; ++i) depth += "/**/a";
  std::string path;
  for (int i = 0; i < 2000; ++i) path += "/a";
  EXPECT_FALSE(P(depth + "/b").Matches(path));
  std::string mixed;
  for (int i = 0; i < 60; ++i) mixed += "/**/*a*";
  EXPECT_FALSE(P(mixed + "/b").Matches(path));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(GlobTest, FoldsCaseOnRequest) {
  EXPECT_TRUE(P("/A/*.Key", Case::kFolded).Matches("/a/x.KEY"));
  EXPECT_FALSE(P("/A/*.Key").Matches("/a/x.KEY"));
  EXPECT_TRUE(P("/[A-C]", Case::kFolded).Matches("/b"));
  EXPECT_TRUE(P("/[a-c]", Case::kFolded).Matches("/B"));
  EXPECT_FALSE(P("/[!a]", Case::kFolded).Matches("/A"));
  EXPECT_TRUE(
      P("/\xC3\x89t\xC3\xA9", Case::kFolded).Matches("/\xC3\xA9T\xC3\x89"));  // Ete with accents
  EXPECT_TRUE(P("/k", Case::kFolded).Matches("/\xE2\x84\xAA"));               // Kelvin sign
  EXPECT_EQ(FoldedPrefix("\xE2\x84\xAAx", "k"), 3u);
  EXPECT_EQ(FoldedPrefix("ab", "abc"), std::string_view::npos);
  EXPECT_FALSE(EqualFolded("\xFF", "\xFE"));
}

TEST(GlobTest, EscapeMakesAPatternOfExactlyThatText) {
  std::mt19937 random(7);
  const std::string alphabet = "ab*?[]{},\\!-^.\xC3\xA9\n";
  for (int round = 0; round < 2000; ++round) {
    std::string text = "/";
    for (unsigned i = 0, n = random() % 12; i < n; ++i)
      text += alphabet[random() % alphabet.size()];
    ASSERT_TRUE(P(Escape(text)).Matches(text)) << text;
    ASSERT_FALSE(HasMagic(Escape(text)));
  }
}

// Any bytes parse or are refused; what matches is never pruned on the way, and the walk's states
// say the same as the whole-path functions.
TEST(GlobTest, RandomPatternsAgreeWithThemselves) {
  std::mt19937 random(11);
  const std::string pattern_alphabet = "ab/**?[]{},\\!-";
  const std::string path_alphabet = "ab/a-";
  int matched = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = "/", path;
    for (unsigned i = 0, n = random() % 10; i < n; ++i)
      text += pattern_alphabet[random() % pattern_alphabet.size()];
    for (unsigned i = 0, n = random() % 5; i < n; ++i) {
      path += "/";
      for (unsigned j = 0, m = 1 + random() % 2; j < m; ++j) path += path_alphabet[random() % 2];
    }
    if (path.empty()) path = "/";
    auto p = Pattern::Parse(text);
    if (!p.ok()) continue;
    const bool whole = p->Matches(path);
    const std::size_t length = p->MatchLength(path);
    ASSERT_LE(length, path.size());
    if (whole) {
      ++matched;
      ASSERT_GT(length, 0u) << text << " " << path;
    }
    if (length > 0) {
      ASSERT_TRUE(p->Matches(path.substr(0, length))) << text << " " << path;
    }
    Pattern::State state = p->Start();
    std::string walked;
    std::size_t covered = p->Covers(state) ? 1 : 0;
    for (std::size_t i = 1; i < path.size();) {
      const std::size_t end = std::min(path.find('/', i), path.size());
      ASSERT_EQ(p->Alive(state), p->CouldMatchBelow(walked.empty() ? "/" : walked));
      if (whole || length > walked.size() + 1) {
        ASSERT_TRUE(p->Alive(state)) << text << " " << path;
      }
      state = p->Enter(state, path.substr(i, end - i));
      walked = path.substr(0, end);
      if (p->Covers(state)) covered = end;
      i = end + 1;
    }
    ASSERT_EQ(covered, length) << text << " " << path;
  }
  EXPECT_GT(matched, 300);
}

}  // namespace
}  // namespace cordon::glob
