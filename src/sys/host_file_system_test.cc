#include "sys/host_file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace cordon::sys {
namespace {

class HostFileSystemTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cordon-host-fs-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  std::string dir_;
  HostFileSystem fs_;
};

TEST_F(HostFileSystemTest, TellsKindsApartWithoutFollowing) {
  std::ofstream(dir_ + "/f") << "x";
  mkdir((dir_ + "/d").c_str(), 0700);
  ASSERT_EQ(symlink("d", (dir_ + "/l").c_str()), 0);
  ASSERT_EQ(symlink("gone", (dir_ + "/dead").c_str()), 0);
  ASSERT_EQ(mkfifo((dir_ + "/p").c_str(), 0600), 0);
  EXPECT_EQ(fs_.Kind(dir_ + "/f"), FileKind::kFile);
  EXPECT_EQ(fs_.Kind(dir_ + "/d"), FileKind::kDirectory);
  EXPECT_EQ(fs_.Kind(dir_ + "/l"), FileKind::kSymlink);
  EXPECT_EQ(fs_.Kind(dir_ + "/dead"), FileKind::kSymlink);
  EXPECT_EQ(fs_.Kind(dir_ + "/p"), FileKind::kOther);
  EXPECT_EQ(fs_.Kind(dir_ + "/none"), FileKind::kMissing);
  EXPECT_EQ(fs_.Kind(dir_ + "/f/below"), FileKind::kMissing);
  EXPECT_EQ(fs_.Kind(""), FileKind::kMissing);
  EXPECT_EQ(fs_.ReadLink(dir_ + "/l"), "d");
  EXPECT_EQ(fs_.ReadLink(dir_ + "/f"), std::nullopt);
}

TEST_F(HostFileSystemTest, ListsEveryEntryOnce) {
  std::map<std::string, FileKind> expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "file-with-a-rather-long-name-" + std::to_string(i) + "\n";
    std::ofstream(dir_ + "/" + name) << "";
    expected[name] = FileKind::kFile;
  }
  mkdir((dir_ + "/.hidden").c_str(), 0700);
  expected[".hidden"] = FileKind::kDirectory;
  std::map<std::string, FileKind> found;
  int calls = 0;
  EXPECT_TRUE(fs_.List(dir_, [&](std::string_view name, FileKind kind) {
    ++calls;
    found[std::string(name)] = kind;
    return true;
  }));
  EXPECT_EQ(found, expected);
  EXPECT_EQ(calls, 3001);
  calls = 0;
  fs_.List(dir_, [&](std::string_view, FileKind) { return ++calls < 5; });
  EXPECT_EQ(calls, 5);
  EXPECT_FALSE(fs_.List(dir_ + "/none", [](std::string_view, FileKind) { return true; }));
}

TEST_F(HostFileSystemTest, ReadsOnlySmallRegularFiles) {
  std::ofstream(dir_ + "/small") << "gitdir: x\n";
  std::ofstream(dir_ + "/limit") << std::string(64 * 1024, 'x');
  std::ofstream(dir_ + "/large") << std::string(64 * 1024 + 1, 'x');
  ASSERT_EQ(mkfifo((dir_ + "/p").c_str(), 0600), 0);
  ASSERT_EQ(symlink("small", (dir_ + "/l").c_str()), 0);
  EXPECT_EQ(fs_.ReadSmallFile(dir_ + "/small"), "gitdir: x\n");
  EXPECT_TRUE(fs_.ReadSmallFile(dir_ + "/limit").has_value());
  EXPECT_FALSE(fs_.ReadSmallFile(dir_ + "/large").has_value());
  EXPECT_FALSE(fs_.ReadSmallFile(dir_ + "/p").has_value());
  EXPECT_FALSE(fs_.ReadSmallFile(dir_ + "/l").has_value());
  EXPECT_FALSE(fs_.ReadSmallFile(dir_).has_value());
  EXPECT_FALSE(fs_.ReadSmallFile("/dev/zero").has_value());
}

TEST_F(HostFileSystemTest, ReachesPathsLongerThanTheKernelTakes) {
  std::string path = dir_;
  const std::string name(200, 'd');
  int at = open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (path.size() < 10000) {
    ASSERT_EQ(mkdirat(at, name.c_str(), 0700), 0);
    const int next = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(at);
    at = next;
    path += "/" + name;
  }
  close(openat(at, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  close(at);
  EXPECT_EQ(fs_.Kind(path), FileKind::kDirectory);
  EXPECT_EQ(fs_.Kind(path + "/f"), FileKind::kFile);
  EXPECT_EQ(fs_.Kind(path + "/g"), FileKind::kMissing);
  EXPECT_EQ(fs_.Kind("/" + std::string(9000, 'x')), FileKind::kMissing);
  int seen = 0;
  EXPECT_TRUE(
      fs_.List(path, [&](std::string_view entry, FileKind) { return seen += entry == "f", true; }));
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(fs_.CaseFolds(path));
}

TEST_F(HostFileSystemTest, SaysWhenItMayNotLook) {
  EXPECT_EQ(fs_.Kind(dir_ + "/gone/x"), FileKind::kMissing);
  EXPECT_EQ(fs_.Kind(dir_ + "/" + std::string(300, 'n')), FileKind::kMissing);
  EXPECT_FALSE(fs_.TakeBlind()) << "what is not there";
  if (geteuid() == 0) GTEST_SKIP() << "root may look everywhere";
  ASSERT_EQ(mkdir((dir_ + "/d").c_str(), 0700), 0);
  std::ofstream(dir_ + "/d/f") << "x";
  ASSERT_EQ(chmod((dir_ + "/d").c_str(), 0300), 0);
  EXPECT_EQ(fs_.Kind(dir_ + "/d/f"), FileKind::kFile);
  EXPECT_FALSE(fs_.TakeBlind());
  EXPECT_FALSE(fs_.CaseFolds(dir_ + "/d"));
  EXPECT_TRUE(fs_.TakeBlind());
  ASSERT_EQ(chmod((dir_ + "/d").c_str(), 0), 0);
  EXPECT_EQ(fs_.Kind(dir_ + "/d/f"), FileKind::kMissing);
  EXPECT_TRUE(fs_.TakeBlind());
  EXPECT_FALSE(fs_.TakeBlind()) << "said once";
  chmod((dir_ + "/d").c_str(), 0700);
}

TEST_F(HostFileSystemTest, OrdinaryDirectoriesDoNotFoldCase) {
  EXPECT_FALSE(fs_.CaseFolds(dir_));
  EXPECT_FALSE(fs_.CaseFolds(dir_ + "/none"));
  EXPECT_FALSE(fs_.CaseFolds("/proc"));
}

}  // namespace
}  // namespace cordon::sys
