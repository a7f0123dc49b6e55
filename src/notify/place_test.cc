#include "notify/place.h"

#include <climits>

#include "notify/notify_test_support.h"

namespace cordon::notify {
namespace {

class PlaceTest : public NotifyTest {
 protected:
  void SetUp() override {
    NotifyTest::SetUp();
    MakeDirectory("cwd/a/b");
    MakeDirectory("other");
    Write("cwd/file");
    Link("a/b", "cwd/down");
    Link("../other", "cwd/across");
    Link(directory_ + "/other/", "cwd/absolute");
    Link("down/new", "cwd/to-new");
    Link("loop2", "cwd/loop1");
    Link("loop1", "cwd/loop2");
    Link("gone", "cwd/dangling");
    Link("file/", "cwd/file-slash");
    caller_.emplace([this](const Child::Step& step) {
      if (::chdir(Path("cwd").c_str()) != 0) ::_exit(1);
      step();
      std::filesystem::remove_all(Path("cwd"));
      step();
    });
    struct stat st{};
    ASSERT_EQ(::stat("/proc", &st), 0);
    walker_.emplace(st.st_dev);
  }
  Place Resolve(const std::string& path, int directory = AT_FDCWD) {
    return walker_->Resolve(*MadeCaller(caller_->pid()), directory, path);
  }
  Target Open(const std::string& path) {
    const MadeCaller caller(caller_->pid());
    return walker_->Open(*caller, walker_->Resolve(*caller, AT_FDCWD, path));
  }
  // The path from the scratch directory, a trailing slash and all; or the errno.
  std::string Where(const std::string& path, int directory = AT_FDCWD) {
    const Place place = Resolve(path, directory);
    if (place.error != 0) return std::to_string(place.error);
    struct stat opened{}, named{};
    const std::string parent = place.path.substr(0, place.path.size() - place.name.size());
    EXPECT_EQ(::fstat(place.directory.get(), &opened), 0);
    EXPECT_EQ(::stat(parent.c_str(), &named), 0) << parent;
    EXPECT_EQ(opened.st_ino, named.st_ino) << path;
    std::string out =
        place.NameForCall().size() != place.name.size() ? place.path + "/" : place.path;
    if (out.starts_with(directory_ + "/")) out.erase(0, directory_.size() + 1);
    return out;
  }
  static std::string Errno(int error) { return std::to_string(error); }

  std::optional<Child> caller_;
  std::optional<Walker> walker_;
};

TEST_F(PlaceTest, TheDirectoryIsFollowedAndTheNameIsNot) {
  const std::pair<const char*, const char*> cases[] = {
      {"new", "cwd/new"},
      {"./a/./new", "cwd/a/new"},
      {"a//b///new", "cwd/a/b/new"},
      {"a/../new", "cwd/new"},
      {"down/../new", "cwd/a/new"},
      {"across/new", "other/new"},
      {"absolute/new", "other/new"},
      {"across/../cwd/down/new", "cwd/a/b/new"},
      {"down", "cwd/down"},
      {"dangling", "cwd/dangling"},
      {"loop1", "cwd/loop1"},
      {"missing", "cwd/missing"},
      {"new/", "cwd/new/"},
      {"a/b//", "cwd/a/b/"},
      {"a/.", "cwd/a/."},
      {"a/..", "cwd/a/.."},
      {".", "cwd/."},
      {"..", "cwd/.."},
      {"a/./", "cwd/a/./"},
      {" ", "cwd/ "},
      {"a\nb\"\x01\xff", "cwd/a\nb\"\x01\xff"},
  };
  for (const auto& [path, where] : cases) EXPECT_EQ(Where(path), where) << path;
  EXPECT_EQ(Where(Path("cwd/down/new")), "cwd/a/b/new");
  EXPECT_EQ(Where("/"), "/.");
  EXPECT_EQ(Where("//"), "/.");
  EXPECT_EQ(Where("/.."), "/..");
  EXPECT_EQ(Where("/etc"), "/etc");
}

TEST_F(PlaceTest, WhatDoesNotResolveHasTheErrnoOfTheKernel) {
  EXPECT_EQ(Where(""), Errno(ENOENT));
  EXPECT_EQ(Where("missing/new"), Errno(ENOENT));
  EXPECT_EQ(Where("dangling/new"), Errno(ENOENT));
  EXPECT_EQ(Where("file/new"), Errno(ENOTDIR));
  EXPECT_EQ(Where("file-slash/new"), Errno(ENOTDIR));
  EXPECT_EQ(Where("loop1/new"), Errno(ELOOP));
  EXPECT_EQ(Where("file/../new"), Errno(ENOTDIR));
}

TEST_F(PlaceTest, NothingIsMadeInARemovedWorkingDirectory) {
  caller_->Next();
  const Place place = Resolve("new");
  EXPECT_TRUE(place.error == ENOENT ||
              (::mkdirat(place.directory.get(), "new", 0755) == -1 && errno == ENOENT));
  EXPECT_EQ(Where("../new"), "new") << "its parent is still known";
}

TEST_F(PlaceTest, NamesAndPathsMayBeAsLongAsTheKernelTakesThem) {
  const std::string most(NAME_MAX, 'n'), more(NAME_MAX + 1, 'n');
  EXPECT_EQ(Where(most), "cwd/" + most);
  EXPECT_EQ(Where(most + "/x"), Errno(ENOENT));
  EXPECT_EQ(Where(more + "/x"), Errno(ENAMETOOLONG));
  EXPECT_EQ(Open(more).error, ENAMETOOLONG);
  const auto padded = [](std::string begin, const std::string& end) {
    constexpr std::size_t kMost = PATH_MAX - 1;
    begin.append(kMost - begin.size() - end.size(), '/');
    return begin + end;
  };
  EXPECT_EQ(Where(padded(Path("cwd/a"), "new")), "cwd/a/new");
  EXPECT_EQ(Where(padded("a", "new")), "cwd/a/new");
  EXPECT_EQ(Where(padded("down/..", "b/new")), "cwd/a/b/new");
  EXPECT_EQ(Where(padded("file", "new")), Errno(ENOTDIR));
  EXPECT_EQ(Where(padded("missing", "new")), Errno(ENOENT));
}

TEST_F(PlaceTest, DirectoriesMayLieDeeperThanAPathIsLong) {
  const std::string name(200, 'd');
  std::string expected = directory_ + "/cwd";
  UniqueFd at(::open(Path("cwd").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  constexpr int kLevels = 30;
  for (int i = 0; i < kLevels; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0755), 0);
    at.reset(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.valid());
    expected += "/" + name;
  }
  EXPECT_GT(expected.size(), std::size_t{PATH_MAX});
  Child deep([&](const Child::Step& step) {
    if (::fchdir(at.get()) != 0) ::_exit(1);
    step();
  });
  const Place place = walker_->Resolve(*MadeCaller(deep.pid()), AT_FDCWD, "new");
  EXPECT_EQ(place.error, 0);
  EXPECT_EQ(place.path, expected + "/new");
}

TEST_F(PlaceTest, DescriptorsOfTheCallerAreStarts) {
  const UniqueFd other(::open(Path("other").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd file(::open(Path("cwd/file").c_str(), O_RDONLY | O_CLOEXEC));
  Child child([](const Child::Step& step) { step(); });
  const MadeCaller caller(child.pid());
  const auto resolve = [&](int directory, const std::string& path) {
    const Place place = walker_->Resolve(*caller, directory, path);
    return place.error != 0 ? Errno(place.error) : place.path;
  };
  EXPECT_EQ(resolve(other.get(), "new"), Path("other/new"));
  EXPECT_EQ(resolve(other.get(), "../cwd/down/new"), Path("cwd/a/b/new"));
  EXPECT_EQ(resolve(other.get(), Path("cwd/new")), Path("cwd/new"));
  EXPECT_EQ(resolve(file.get(), "new"), Errno(ENOTDIR));
  EXPECT_EQ(resolve(file.get(), "a/new"), Errno(ENOTDIR));
  EXPECT_EQ(resolve(1000, "new"), Errno(EBADF));
  EXPECT_EQ(resolve(-5, "new"), Errno(EBADF));
  EXPECT_EQ(resolve(1000, Path("cwd/new")), Path("cwd/new"));
  EXPECT_EQ(resolve(1000, ""), Errno(ENOENT));
}

TEST_F(PlaceTest, LinksAreFollowedOneStepAtATime) {
  const MadeCaller caller(caller_->pid());
  const auto step = [&](const std::string& path) {
    Place place = walker_->Resolve(*caller, AT_FDCWD, path);
    EXPECT_EQ(place.error, 0) << path;
    EXPECT_TRUE(walker_->Follow(*caller, place)) << path;
    if (place.error != 0) return Errno(place.error);
    return place.path.substr(directory_.size() + 1) + (place.slash ? "/" : "");
  };
  EXPECT_EQ(step("down"), "cwd/a/b");
  EXPECT_EQ(step("to-new"), "cwd/a/b/new") << "the directory of what a link says is followed";
  EXPECT_EQ(step("loop1"), "cwd/loop2");
  EXPECT_EQ(step("absolute"), "other/");
  EXPECT_EQ(step("dangling"), "cwd/gone");
  EXPECT_EQ(step("dangling/"), "cwd/gone/");
  EXPECT_EQ(step("missing"), Errno(ENOENT));
}

TEST_F(PlaceTest, OpeningFollowsToTheEnd) {
  const auto where = [&](const std::string& path) {
    const Target target = Open(path);
    if (target.error != 0) return Errno(target.error);
    EXPECT_FALSE(target.magic) << path;
    return target.path.substr(directory_.size() + 1);
  };
  EXPECT_EQ(where("file"), "cwd/file");
  EXPECT_EQ(where("down"), "cwd/a/b");
  EXPECT_EQ(where("down/."), "cwd/a/b");
  EXPECT_EQ(where("down/.."), "cwd/a");
  EXPECT_EQ(where("absolute"), "other");
  EXPECT_EQ(where("loop1"), Errno(ELOOP));
  EXPECT_EQ(where("dangling"), Errno(ENOENT));
  EXPECT_EQ(where("to-new"), Errno(ENOENT));
  EXPECT_EQ(where("file/"), Errno(ENOTDIR));
  EXPECT_EQ(where("file-slash"), Errno(ENOTDIR));
  EXPECT_EQ(where("a/"), "cwd/a");
}

TEST_F(PlaceTest, ManyLinksAreFollowedAsTheKernelDoes) {
  for (int i = 1; i <= 50; ++i)
    Link(i == 1 ? "file" : std::to_string(i - 1), "cwd/" + std::to_string(i));
  for (int i : {1, 39, 40, 41, 50}) {
    const int kernel = ::access(Path("cwd/" + std::to_string(i)).c_str(), F_OK) == 0 ? 0 : errno;
    EXPECT_EQ(Open(std::to_string(i)).error, kernel) << i;
  }
}

// Links of /proc that lead to what a process has, not to a path.
TEST_F(PlaceTest, LinksOfOtherProcessesAreMagic) {
  const MadeCaller caller(caller_->pid());
  const std::string proc = "/proc/" + std::to_string(caller_->pid()) + "/";
  EXPECT_EQ(Where(proc + "cwd/a/new"), "cwd/a/new");
  EXPECT_EQ(Where(proc + "root" + Path("other/new")), "other/new");
  const Target cwd = Open(proc + "cwd");
  EXPECT_EQ(cwd.error, 0);
  EXPECT_TRUE(cwd.magic);
  EXPECT_EQ(cwd.path, Path("cwd"));
  Place exe = Resolve(proc + "exe");
  EXPECT_FALSE(walker_->Follow(*caller, exe));
  EXPECT_EQ(exe.path, proc + "exe") << "where it stands is not lost";
  const Target program = Open(proc + "exe");
  EXPECT_TRUE(program.magic);
  EXPECT_TRUE(S_ISREG(program.st.st_mode));
}

}  // namespace
}  // namespace cordon::notify
