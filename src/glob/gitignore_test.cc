// The matcher against git's own, where the two languages mean the same: anchored patterns without
// braces. Skipped where git is not installed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "glob/glob.h"

namespace cordon::glob {
namespace {

class GitIgnoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "git is not installed";
    char name[] = "/tmp/cordon-glob-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir_ = name;
    ASSERT_EQ(std::system(("git init -q " + dir_ + " >/dev/null 2>&1").c_str()), 0);
  }
  void TearDown() override {
    if (!dir_.empty()) std::filesystem::remove_all(dir_);
  }
  // The paths (relative, existing nowhere) that git ignores under one pattern.
  std::set<std::string> Ignored(const std::string& pattern, const std::vector<std::string>& paths) {
    std::ofstream(dir_ + "/.gitignore") << pattern << "\n";
    std::ofstream in(dir_ + "/.git/paths");
    for (const std::string& p : paths) in << p << "\n";
    in.close();
    const std::string command =
        "cd " + dir_ + " && git check-ignore --no-index --stdin < .git/paths";
    std::set<std::string> out;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return out;
    char line[512];
    while (fgets(line, sizeof line, pipe) != nullptr) {
      std::string text = line;
      if (!text.empty() && text.back() == '\n') text.pop_back();
      out.insert(text);
    }
    pclose(pipe);
    return out;
  }
  std::string dir_;
};

TEST_F(GitIgnoreTest, AgreesOnAnchoredPatterns) {
  std::vector<std::string> paths;
  const std::string names[] = {"a", "b", "ab", "ba", "a.b", ".a", "aab", "c-d"};
  for (const std::string& x : names) {
    paths.push_back(x);
    for (const std::string& y : names) {
      paths.push_back(x + "/" + y);
      paths.push_back(x + "/" + y + "/a");
      paths.push_back("a/" + x + "/b/" + y);
    }
  }
  std::vector<std::string> patterns = {
      "/a",    "/*",      "/a*",    "/*a",        "/?",      "/a/*",           "/a/*/b",
      "/**/b", "/a/**/b", "/[ab]",  "/[!a]",      "/[^a]/b", "/[a-c]b",        "/*.b",
      "/.*",   "/a/?b",   "/*/*/a", "/**/a/**/b", "/a\\b",   "/[[:alpha:]]/a", "/c[-x]d",
      "/*a*b", "/**/.a",  "/[]a]",  "/a/[!.]*",   "/a**b",
  };
  std::mt19937 random(3);
  const std::string pieces[] = {"a", "b", "*", "?", "[ab]", "[!b]", "/", "/", "/**/", "."};
  while (patterns.size() < 90) {
    std::string p = "/";
    for (unsigned i = 0, n = 1 + random() % 6; i < n; ++i)
      p += pieces[random() % std::size(pieces)];
    const bool odd =
        p.find("//") != std::string::npos || p.find("***") != std::string::npos || p.back() == '/';
    if (!odd) patterns.push_back(p);
  }
  for (const std::string& text : patterns) {
    auto pattern = Pattern::Parse(text);
    ASSERT_TRUE(pattern.ok()) << text;
    const std::set<std::string> ignored = Ignored(text, paths);
    for (const std::string& path : paths) {
      EXPECT_EQ(pattern->MatchLength("/" + path) > 0, ignored.count(path) > 0)
          << text << " on " << path;
    }
  }
}

}  // namespace
}  // namespace cordon::glob
