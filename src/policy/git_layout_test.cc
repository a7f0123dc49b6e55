#include "policy/git_layout.h"

#include "policy/policy_test_support.h"

namespace cordon::policy {
namespace {

using Paths = std::vector<std::string>;

void AddRepository(MemoryFileSystem& fs, const std::string& git) {
  fs.AddFile(git + "/HEAD")
      .AddDirectory(git + "/objects")
      .AddDirectory(git + "/refs")
      .AddFile(git + "/config");
}

// /main is a repository, /tree a linked worktree of it.
void AddWorktree(MemoryFileSystem& fs) {
  AddRepository(fs, "/main/.git");
  fs.AddFile("/main/.git/worktrees/tree/HEAD")
      .AddFile("/main/.git/worktrees/tree/commondir", "../..\n");
  fs.AddFile("/main/.git/worktrees/tree/gitdir", "/tree/.git\n");
  fs.AddFile("/tree/.git", "gitdir: /main/.git/worktrees/tree\n");
}

TEST(GitLayoutTest, FindsNothingWhereNothingIs) {
  MemoryFileSystem fs;
  fs.AddDirectory("/w");
  const GitLayout layout = FindGitLayout("/w", fs);
  EXPECT_TRUE(layout.git_directories.empty());
  EXPECT_TRUE(layout.common_directory.empty());
  EXPECT_TRUE(layout.warnings.empty());
}

TEST(GitLayoutTest, FindsSubmodulesAndWorktrees) {
  MemoryFileSystem fs;
  AddRepository(fs, "/w/.git");
  AddRepository(fs, "/w/.git/modules/a");
  AddRepository(fs, "/w/.git/modules/libs/b");
  AddRepository(fs, "/w/.git/modules/a/modules/c");
  fs.AddFile("/w/.git/worktrees/t/HEAD");
  EXPECT_EQ(FindGitLayout("/w", fs).git_directories,
            (Paths{"/w/.git", "/w/.git/modules/a", "/w/.git/modules/a/modules/c",
                   "/w/.git/modules/libs/b", "/w/.git/worktrees/t"}));
}

TEST(GitLayoutTest, SubmoduleSearchIsBounded) {
  MemoryFileSystem fs;
  AddRepository(fs, "/w/.git");
  for (int i = 0; i < 400; ++i) fs.AddFile("/w/.git/modules/m" + std::to_string(i) + "/HEAD");
  fs.AddFile("/w/.git/worktrees/t/HEAD");
  const GitLayout layout = FindGitLayout("/w", fs);
  EXPECT_LE(layout.git_directories.size(), kMaxGitDirectories + 1);
  ASSERT_EQ(layout.warnings.size(), 1u);
  std::string deep = "/x/.git/modules";
  AddRepository(fs, "/x/.git");
  for (int i = 0; i < 30; ++i) deep += "/d";
  fs.AddFile(deep + "/HEAD");
  EXPECT_EQ(FindGitLayout("/x", fs).git_directories, Paths{"/x/.git"});
}

TEST(GitLayoutTest, ABareRepositoryIsItsOwnGitDirectory) {
  MemoryFileSystem fs;
  AddRepository(fs, "/bare");
  EXPECT_EQ(FindGitLayout("/bare", fs).git_directories, Paths{"/bare"});
  fs.AddFile("/half/HEAD").AddDirectory("/half/objects");
  EXPECT_TRUE(FindGitLayout("/half", fs).git_directories.empty());
}

TEST(GitLayoutTest, AWorktreeThatPointsBackOpensTheCommonDirectory) {
  MemoryFileSystem fs;
  AddWorktree(fs);
  const GitLayout layout = FindGitLayout("/tree", fs);
  EXPECT_EQ(layout.common_directory, "/main/.git");
  EXPECT_EQ(layout.pointer, "/tree/.git");
  EXPECT_EQ(layout.git_directories, (Paths{"/main/.git/worktrees/tree", "/main/.git"}));
  EXPECT_TRUE(layout.warnings.empty());
}

TEST(GitLayoutTest, RelativePointersWork) {
  MemoryFileSystem fs;
  AddWorktree(fs);
  fs.AddFile("/tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
  fs.AddFile("/main/.git/worktrees/tree/gitdir", "../../../../tree/.git\n");
  EXPECT_EQ(FindGitLayout("/tree", fs).common_directory, "/main/.git");
}

// Each way in which a session could have prepared a pointer for the next one.
TEST(GitLayoutTest, PlantedPointersOpenNothing) {
  struct Case {
    const char* why;
    void (*plant)(MemoryFileSystem&);
  };
  const Case cases[] = {
      {"a directory that is no repository",
       [](MemoryFileSystem& fs) {
         fs.AddFile("/tree/.git", "gitdir: /home/u\n").AddDirectory("/home/u");
       }},
      {"a main repository",
       [](MemoryFileSystem& fs) { fs.AddFile("/tree/.git", "gitdir: /main/.git\n"); }},
      {"another worktree's directory",
       [](MemoryFileSystem& fs) {
         fs.AddFile("/main/.git/worktrees/tree/gitdir", "/other/.git\n");
       }},
      {"commondir leads elsewhere",
       [](MemoryFileSystem& fs) {
         AddRepository(fs, "/victim/.git");
         fs.AddFile("/main/.git/worktrees/tree/commondir", "/victim/.git\n");
       }},
      {"commondir leads to a home",
       [](MemoryFileSystem& fs) {
         fs.AddDirectory("/home/u");
         fs.AddFile("/main/.git/worktrees/tree/commondir", "/home/u\n");
       }},
      {"nothing there", [](MemoryFileSystem& fs) { fs.AddFile("/tree/.git", "gitdir: /none\n"); }},
      {"no pointer at all", [](MemoryFileSystem& fs) { fs.AddFile("/tree/.git", "x"); }},
      {"empty", [](MemoryFileSystem& fs) { fs.AddFile("/tree/.git", "gitdir:"); }},
      {"a loop",
       [](MemoryFileSystem& fs) {
         fs.AddLink("/loop", "loop");
         fs.AddFile("/tree/.git", "gitdir: /loop\n");
       }},
      {"the back pointer is a link to the right file",
       [](MemoryFileSystem& fs) { fs.AddLink("/main/.git/worktrees/tree/gitdir", "/tree/.git"); }},
  };
  for (const Case& c : cases) {
    MemoryFileSystem fs;
    AddWorktree(fs);
    c.plant(fs);
    const GitLayout layout = FindGitLayout("/tree", fs);
    EXPECT_EQ(layout.common_directory, "") << c.why;
    EXPECT_EQ(layout.warnings.size(), 1u) << c.why;
    EXPECT_EQ(layout.pointer, "/tree/.git") << c.why;
  }
}

TEST(GitLayoutTest, APointerIntoTheRootItselfIsFollowed) {
  MemoryFileSystem fs;
  AddRepository(fs, "/w/real");
  fs.AddFile("/w/.git", "gitdir: real\n");
  const GitLayout layout = FindGitLayout("/w", fs);
  EXPECT_EQ(layout.git_directories, Paths{"/w/real"});
  EXPECT_TRUE(layout.warnings.empty());
}

TEST(GitLayoutTest, AWorktreeSessionWritesRefsButNotHooks) {
  PolicyWorld world;
  AddWorktree(world.fs);
  world.context.workdir = "/tree";
  const EffectivePolicy policy = world.Compile();
  for (const char* path : {"/main/.git/objects/ab/x", "/main/.git/refs/heads/topic",
                           "/main/.git/worktrees/tree/index", "/tree/file"}) {
    EXPECT_TRUE(Writes(policy, path)) << path;
  }
  for (const char* path :
       {"/main/.git/hooks/x", "/main/.git/config", "/main/.git/info/attributes", "/main/file",
        "/main/.git/worktrees/tree/hooks/x", "/main/.git/worktrees/tree/config",
        "/main/.git/worktrees/tree/config.worktree", "/main/.git/worktrees/tree/commondir",
        "/main/.git/config.worktree", "/tree/.git"}) {
    EXPECT_FALSE(Writes(policy, path)) << path;
  }
  EXPECT_NE(
      policy.Decide(Operation::kWrite, "/main/.git/index").reason.find("git keeps the objects"),
      std::string::npos);
}

TEST(GitLayoutTest, ReadOnlyModesDoNotOpenTheCommonDirectory) {
  PolicyWorld world;
  AddWorktree(world.fs);
  world.context.workdir = "/tree";
  world.spec.mode = Mode::kPlan;
  EXPECT_FALSE(Writes(world.Compile(), "/main/.git/index"));
}

TEST(GitLayoutTest, APlantedPointerWarnsAndOpensNothing) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/w/.git", "gitdir: /home/u\n");
  const EffectivePolicy policy = world.Compile();
  EXPECT_FALSE(Writes(policy, "/home/u/x"));
  EXPECT_TRUE(Warns(policy, "/home/u/w/.git names /home/u, which is no linked worktree"));
}

}  // namespace
}  // namespace cordon::policy
