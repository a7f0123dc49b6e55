#include "policy/path.h"

#include <gtest/gtest.h>

#include "policy/memory_file_system.h"
#include "policy/policy.h"

namespace cordon::policy {
namespace {

TEST(PathTest, NormalizeIsLexical) {
  const std::pair<const char*, const char*> rows[] = {
      {"/", "/"},          {"//", "/"},          {"/a", "/a"},         {"/a/", "/a"},
      {"//a///b", "/a/b"}, {"/a/./b", "/a/b"},   {"/a/../b", "/b"},    {"/..", "/"},
      {"/../../a", "/a"},  {"/a/b/..", "/a"},    {"/a/...", "/a/..."}, {"/.a/..b", "/.a/..b"},
      {"", "/"},           {"/a\n/b", "/a\n/b"},
  };
  for (const auto& [in, out] : rows) EXPECT_EQ(NormalizePath(in), out) << in;
}

TEST(PathTest, AbsolutePathKnowsThePrefixes) {
  const std::string home = "/home/u", base = "/p";
  const std::pair<const char*, const char*> rows[] = {
      {"/x", "/x"},          {"~", "/home/u"},
      {"~/x", "/home/u/x"},  {"./x", "/p/x"},
      {"x", "/p/x"},         {".", "/p"},
      {"..", "/"},           {"../q/", "/q"},
      {"x/*.c", "/p/x/*.c"}, {"~/*/", "/home/u/*/**"},
      {"**/x", "/p/**/x"},   {"/a/**", "/a/**"},
      {"x~", "/p/x~"},       {"./~x", "/p/~x"},
  };
  for (const auto& [in, out] : rows) {
    auto path = AbsolutePath(in, home, base);
    ASSERT_TRUE(path.ok()) << in;
    EXPECT_EQ(*path, out) << in;
  }
}

TEST(PathTest, AbsolutePathEscapesWhatItPutsBeforeAPattern) {
  EXPECT_EQ(*AbsolutePath("*.c", "", "/w/[id]"), "/w/\\[id\\]/*.c");
  EXPECT_EQ(*AbsolutePath("a.c", "", "/w/[id]"), "/w/[id]/a.c");
  EXPECT_EQ(*AbsolutePath("*.c", "", "/w/[id]", PathReading::kLiteral), "/w/[id]/*.c");
}

TEST(PathTest, AbsolutePathRefuses) {
  for (const std::string& bad :
       {std::string(), std::string("a\0b", 3), std::string("~other/x"), std::string("~"),
        std::string("a/*/../b"), std::string("{a,b/../c}")}) {
    auto path = AbsolutePath(bad, "", "/p");
    ASSERT_FALSE(path.ok()) << bad;
    EXPECT_EQ(path.error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(path.error().message.empty());
  }
  EXPECT_FALSE(AbsolutePath("x", "", "").ok());
}

TEST(PathTest, ResolveFollowsLinksAsTheKernelDoes) {
  MemoryFileSystem fs;
  fs.AddFile("/a/b/f")
      .AddLink("/l", "a/b")
      .AddLink("/abs", "/a")
      .AddLink("/a/up", "..")
      .AddLink("/chain", "l");
  fs.AddLink("/dangling", "/nowhere/x")
      .AddLink("/a/dot", ".")
      .AddDirectory("/z/y")
      .AddLink("/out", "/z/y");
  const std::pair<const char*, const char*> rows[] = {
      {"/l/f", "/a/b/f"},
      {"/abs/b", "/a/b"},
      {"/a/up/a/b", "/a/b"},
      {"/chain", "/a/b"},
      {"/out/..", "/z"},  // the target's parent, not the link's
      {"/out/../x", "/z/x"},
      {"/dangling", "/nowhere/x"},
      {"/dangling/y", "/nowhere/x/y"},
      {"/missing/../a", "/a"},
      {"/l/none/deep", "/a/b/none/deep"},
      {"/a/dot/dot/b", "/a/b"},
      {"/a/b/f/below", "/a/b/f/below"},
      {"/", "/"},
  };
  for (const auto& [in, out] : rows) {
    auto path = ResolvePath(in, fs);
    ASSERT_TRUE(path.ok()) << in;
    EXPECT_EQ(*path, out) << in;
  }
}

TEST(PathTest, ResolveReportsTheLinksOfTheLastComponent) {
  MemoryFileSystem fs;
  fs.AddFile("/t/f").AddLink("/one", "/two").AddLink("/two", "t/f").AddLink("/dir", "/t");
  auto chain = ResolveLinks("/one", fs);
  ASSERT_TRUE(chain.ok());
  EXPECT_EQ(chain->links, (std::vector<std::string>{"/one", "/two"}));
  EXPECT_EQ(chain->kind, FileKind::kFile);
  EXPECT_TRUE(ResolveLinks("/dir/f", fs)->links.empty());
}

TEST(PathTest, ResolveStopsAtLoops) {
  MemoryFileSystem fs;
  fs.AddLink("/a", "b").AddLink("/b", "a").AddLink("/self", "self/x");
  EXPECT_EQ(ResolvePath("/a", fs).error().code, ErrorCode::kInvalid);
  EXPECT_FALSE(ResolvePath("/self", fs).ok());
  for (int i = 0; i < 41; ++i) fs.AddLink("/n" + std::to_string(i), "n" + std::to_string(i + 1));
  EXPECT_TRUE(ResolvePath("/n1", fs).ok());   // 40 links
  EXPECT_FALSE(ResolvePath("/n0", fs).ok());  // 41
}

TEST(PathTest, IsAtOrBelowKnowsComponents) {
  EXPECT_TRUE(IsAtOrBelow("/a/b", "/a"));
  EXPECT_TRUE(IsAtOrBelow("/a", "/a"));
  EXPECT_TRUE(IsAtOrBelow("/a", "/"));
  EXPECT_FALSE(IsAtOrBelow("/ab", "/a"));
  EXPECT_FALSE(IsAtOrBelow("/a", "/a/b"));
  EXPECT_EQ(ParentPath("/a"), "/");
  EXPECT_EQ(ParentPath("/"), "/");
  EXPECT_EQ(BaseName("/a/b"), "b");
}

}  // namespace
}  // namespace cordon::policy
