// NameJudge on git directories and repositories.
#include "policy/name_judge_test_support.h"

namespace cordon::policy {
namespace {

using NameJudgeGitTest = NameJudgeTest;

TEST_F(NameJudgeGitTest, GitDirectoriesTakeNoHooksWhereverTheyAre) {
  for (const char* path :
       {"old/.git/hooks/x", "old/.git/hooks/pre-push", "old/.git/config",
        "old/.git/config.worktree", "old/.git/info/attributes", "old/.git/commondir",
        "new/.git/hooks", "new/.git/hooks/x", "new/.git/config"}) {
    EXPECT_FALSE(Create(path)) << path;
    EXPECT_FALSE(Write(path)) << path;
    EXPECT_FALSE(Mkdir(path)) << path;
    EXPECT_FALSE(Symlink(path)) << path;
    EXPECT_FALSE(Link("src/a", path)) << path;
    EXPECT_FALSE(Link(path, "src/b")) << path;
    EXPECT_FALSE(Rename("src", path)) << path;
    const NameVerdict v = judge().Create(Full(path), FileKind::kFile);
    ASSERT_NE(v.rule, nullptr);
    EXPECT_EQ(v.rule->kind, RuleKind::kProtected);
  }
  EXPECT_FALSE(Symlink("old/.git/info"));
  EXPECT_TRUE(Create("old/.git/info/exclude"));
  EXPECT_TRUE(Create("old/.git/refs/heads/hooks"));
  EXPECT_TRUE(Create("old/.git/refs/remotes/origin/HEAD"));
  EXPECT_TRUE(Create("old/.git/refs/remotes/origin/config"));
  EXPECT_TRUE(Create("src/hooks/useState.ts"));
  EXPECT_TRUE(Mkdir("src/config"));
  EXPECT_TRUE(Create("src/config/x"));
  world_.fs.AddFile("/home/u/w/i/attributes");
  EXPECT_FALSE(Rename("i", "plain/.git/info"));
}

TEST_F(NameJudgeGitTest, GitInitAndCloneWork) {
  // As git 2.39 does it, with an empty template.
  ASSERT_TRUE(Mkdir("p"));
  ASSERT_TRUE(Mkdir("p/.git"));
  for (const char* d : {"refs", "refs/heads", "refs/tags"})
    ASSERT_TRUE(Mkdir("p/.git/" + std::string(d)));
  ASSERT_TRUE(Create("p/.git/HEAD.lock"));
  ASSERT_TRUE(Rename("p/.git/HEAD.lock", "p/.git/HEAD"));
  std::string config = "[core]\n\trepositoryformatversion = 0\n";
  EXPECT_TRUE(SetConfig("p/.git", config).allowed);
  config += "\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";
  EXPECT_TRUE(SetConfig("p/.git", config).allowed);
  ASSERT_TRUE(Symlink("p/.git/t3cZiyi"));
  for (const char* d : {"objects", "objects/pack", "objects/info"})
    ASSERT_TRUE(Mkdir("p/.git/" + std::string(d))) << d;
  config +=
      "[remote \"origin\"]\n\turl = ../up.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
  EXPECT_TRUE(SetConfig("p/.git", config).allowed);
  EXPECT_FALSE(SetConfig("p/.git", config + "[core]\n\thooksPath = /tmp\n").allowed);
  EXPECT_FALSE(Create("p/.git/hooks/pre-commit"));
  // Its work tree names are the session's, and told.
  const NameVerdict v = judge().Create(Full("p/.gitmodules"), FileKind::kFile);
  EXPECT_TRUE(v.allowed);
  EXPECT_TRUE(v.notable);
  EXPECT_FALSE(v.reason.empty());
}

TEST_F(NameJudgeGitTest, BareRepositoriesAndSubmodulesWork) {
  for (const char* d : {"up.git", "old/.git/modules/lib"}) {
    const std::string base = d;
    ASSERT_TRUE(Mkdir(base));
    ASSERT_TRUE(Mkdir(base + "/refs"));
    ASSERT_TRUE(Create(base + "/HEAD.lock"));
    ASSERT_TRUE(Rename(base + "/HEAD.lock", base + "/HEAD"));
    EXPECT_FALSE(Create(base + "/config")) << d;
    ASSERT_TRUE(SetConfig(base, "[core]\n\tbare = true\n").allowed) << d;
    ASSERT_TRUE(Mkdir(base + "/objects")) << d;
    EXPECT_FALSE(Mkdir(base + "/hooks")) << d;
    EXPECT_FALSE(Write(base + "/config")) << d;
    ASSERT_TRUE(Create(base + "/HEAD.lock"));
    ASSERT_TRUE(Rename(base + "/HEAD.lock", base + "/HEAD"));
  }
  EXPECT_TRUE(
      SetConfig("old/.git/modules/lib", "[core]\n\tbare = true\n\tworktree = ../../../lib\n")
          .allowed);
  EXPECT_FALSE(
      SetConfig("old/.git/modules/lib", "[core]\n\tbare = true\n\tworktree = ../../../../../../x\n")
          .allowed);
  ASSERT_TRUE(Mkdir("old/lib"));
  EXPECT_TRUE(Create("old/lib/.git"));
  EXPECT_TRUE(Write("old/lib/.git"));
}

TEST_F(NameJudgeGitTest, WorktreesCanBeAdded) {
  ASSERT_TRUE(Mkdir(".git/worktrees"));
  ASSERT_TRUE(Mkdir(".git/worktrees/wt"));
  for (const char* name : {"locked", "gitdir", "HEAD", "commondir"})
    EXPECT_TRUE(Create(".git/worktrees/wt/" + std::string(name))) << name;
  EXPECT_FALSE(Write(".git/worktrees/wt/commondir"));
  EXPECT_FALSE(Create(".git/worktrees/wt/config.worktree"));
  EXPECT_FALSE(Create(".git/commondir"));
  world_.fs.AddFile("/home/u/w/old/.git/worktrees/o/HEAD");
  EXPECT_FALSE(Create("old/.git/worktrees/o/commondir"));
}

TEST_F(NameJudgeGitTest, AnExistingRepositoryTakesOnlyBranches) {
  const std::string head = "[remote \"origin\"]\n\turl = ext::sh\n";
  world_.fs.AddFile("/home/u/w/.git/config", head).AddFile("/home/u/w/old/.git/config", head);
  for (const char* d : {".git", "old/.git"}) {
    EXPECT_TRUE(
        SetConfig(d, head + "[branch \"t\"]\n\tremote = origin\n\tmerge = refs/heads/t\n").allowed)
        << d;
    EXPECT_FALSE(SetConfig(d, head + "[branch \"t\"]\n\tremote = other\n").allowed);
    const NameVerdict v = SetConfig(d, head + "[core]\n\tpager = x\n");
    EXPECT_FALSE(v.allowed);
    EXPECT_NE(v.reason.find("core.pager"), std::string::npos) << v.reason;
    EXPECT_FALSE(Rename("src/a", std::string(d) + "/config"));
    EXPECT_FALSE(Link(std::string(d) + "/config.lock", std::string(d) + "/config"));
  }
}

TEST_F(NameJudgeGitTest, AllowGitConfigOpensConfigAlone) {
  world_.spec.filesystem.allow_git_config = true;
  EXPECT_TRUE(Write(".git/config"));
  EXPECT_TRUE(Write("old/.git/config"));
  EXPECT_TRUE(Rename("old/.git/config", "old/.git/config2"));
  EXPECT_FALSE(Create("old/.git/config.worktree"));
}

TEST_F(NameJudgeGitTest, NoBareRepositoryIsCompleted) {
  // The names alone are free.
  for (const char* name : {"config", "hooks", "objects", "refs"})
    EXPECT_TRUE(judge().Create(Full(name), FileKind::kDirectory).allowed) << name;
  EXPECT_TRUE(judge().Create(Full("HEAD"), FileKind::kFile).allowed);
  // All three at the top of a root are refused, whichever comes last.
  ASSERT_TRUE(Mkdir("objects"));
  ASSERT_TRUE(Mkdir("refs"));
  EXPECT_FALSE(Create("HEAD"));
  EXPECT_FALSE(Mkdir("hooks"));
  EXPECT_FALSE(Create("config"));
  // With a directory that is named config (many projects have one) too.
  ASSERT_TRUE(Mkdir("f"));
  for (const char* name : {"config", "objects", "refs"})
    ASSERT_TRUE(Mkdir("f/" + std::string(name)));
  world_.fs.Remove("/home/u/w/f/config");
  EXPECT_FALSE(Create("f/config"));
  // Below it only beside nothing that git would run.
  ASSERT_TRUE(Mkdir("b"));
  ASSERT_TRUE(Create("b/config"));
  ASSERT_TRUE(Mkdir("b/objects"));
  EXPECT_FALSE(Mkdir("b/refs"));
  ASSERT_TRUE(Mkdir("c"));
  ASSERT_TRUE(Mkdir("c/hooks"));
  ASSERT_TRUE(Create("c/HEAD"));
  ASSERT_TRUE(Mkdir("c/refs"));
  world_.fs.AddDirectory("/home/u/w/store");
  EXPECT_FALSE(Rename("store", "c/objects"));
}

TEST_F(NameJudgeGitTest, AJudgedConfigThatWasTouchedCountsNoMore) {
  ASSERT_TRUE(Mkdir("d"));
  ASSERT_TRUE(Create("d/HEAD"));
  ASSERT_TRUE(SetConfig("d", "[core]\n\tbare = true\n").allowed);
  world_.fs.Remove("/home/u/w/d/HEAD");
  ASSERT_TRUE(Write("d/config"));  // no git directory now: free
  ASSERT_TRUE(Create("d/HEAD"));
  ASSERT_TRUE(Mkdir("d/objects"));
  EXPECT_FALSE(Mkdir("d/refs"));
}

TEST_F(NameJudgeGitTest, AMadeUpGitDirectoryIsNotMovedIntoPlace) {
  world_.fs.AddFile("/home/u/w/g/hooks/post-checkout").AddFile("/home/u/w/h/config");
  world_.fs.AddFile("/home/u/w/i/info/attributes").AddFile("/home/u/w/j/description");
  for (const char* from : {"g", "h", "i"}) EXPECT_FALSE(Rename(from, "plain/.git")) << from;
  EXPECT_TRUE(Rename("j", "plain/.git"));
  // One whose configuration was judged goes there and back.
  ASSERT_TRUE(Mkdir("q"));
  ASSERT_TRUE(Mkdir("q/.git"));
  ASSERT_TRUE(SetConfig("q/.git", "[core]\n\tbare = false\n").allowed);
  ASSERT_TRUE(Rename("q/.git", "q/git"));
  ASSERT_TRUE(Rename("q", "q2"));
  ASSERT_TRUE(Rename("q2/git", "q2/.git"));
}

TEST_F(NameJudgeGitTest, WorkTreeNamesOfRepositoriesThatWereThere) {
  for (const char* path : {"old/.vscode/tasks.json", "old/.gitmodules", "old/.envrc", "old/.vscode",
                           "old/.claude/settings.json", "old/.github/hooks/x"}) {
    EXPECT_FALSE(Create(path)) << path;
    EXPECT_FALSE(Write(path)) << path;
    EXPECT_FALSE(Rename("src", path)) << path;
    EXPECT_FALSE(Link(path, "src/x")) << path;
  }
  world_.fs.AddFile("/home/u/w/cl/settings.json");
  EXPECT_FALSE(Rename("cl", "old/.claude"));
  EXPECT_FALSE(Symlink("old/.claude"));
  EXPECT_FALSE(Rename("old/.vscode", "old/vs"));
  EXPECT_TRUE(Mkdir("old/.claude"));
  EXPECT_TRUE(Create("old/.claude/notes.md"));
  EXPECT_TRUE(Create("old/src/.vscode/tasks.json"));
  EXPECT_TRUE(Create("plain/.vscode/tasks.json"));  // no repository
  EXPECT_TRUE(Rmdir("old/.vscode"));                // so that a clone can be removed
}

TEST_F(NameJudgeGitTest, WhatIsMountedTwiceIsOneThing) {
  world_.fs.AddDirectory("/host/d").AddDirectory("/a").AddDirectory("/b");
  world_.spec.bind_mounts = {{"/host/d", "/a", false, {"t"}}, {"/host/d", "/b", false, {"t"}}};
  Start();
  const auto both = [&](auto change) {
    for (const char* base : {"/a", "/b"}) change(std::string(base) + "/r");
  };
  both([&](const std::string& r) { world_.fs.AddDirectory(r).AddFile(r + "/HEAD"); });
  judge().Made("/a/r/HEAD", FileKind::kFile);
  ASSERT_TRUE(SetConfig("/a/r", "[core]\n\tbare = true\n").allowed);
  both([&](const std::string& r) { world_.fs.AddFile(r + "/config").Remove(r + "/HEAD"); });
  ASSERT_TRUE(Write("/b/r/config"));
  both([&](const std::string& r) { world_.fs.AddDirectory(r + "/objects"); });
  EXPECT_FALSE(Mkdir("/a/r/refs"));
}

TEST_F(NameJudgeGitTest, ASubmodulesWorkTreeDoesNotLeadOutThroughALink) {
  world_.fs.AddLink("/home/u/w/s", "/home/u/other");
  ASSERT_TRUE(Mkdir(".git/modules"));
  ASSERT_TRUE(Mkdir(".git/modules/s"));
  ASSERT_TRUE(Create(".git/modules/s/HEAD"));
  EXPECT_FALSE(SetConfig(".git/modules/s", "[core]\n\tworktree = ../../../s\n").allowed);
  EXPECT_TRUE(SetConfig(".git/modules/s", "[core]\n\tworktree = ../../../src\n").allowed);
}

TEST_F(NameJudgeGitTest, ARepositoryThatWasThereIsNotMadeToLookNew) {
  // Its config is taken away (unlink asks nobody), and a part of it is moved away and back.
  world_.fs.Remove("/home/u/w/old/.git/config").AddDirectory("/home/u/w/shop");
  ASSERT_TRUE(Rename("old/.git/HEAD", "old/.git/H"));
  ASSERT_TRUE(Rename("old/.git/H", "old/.git/HEAD"));
  EXPECT_FALSE(Create("old/.envrc"));
  for (const char* name : {"HEAD", "objects/x", "refs/x"})
    world_.fs.AddFile("/home/u/w/bare/" + std::string(name));
  ASSERT_TRUE(Rename("bare/HEAD", "bare/H"));
  ASSERT_TRUE(Rename("bare/H", "bare/HEAD"));
  EXPECT_FALSE(SetConfig("bare", "[user]\n\tname = x\n").allowed);
  // A worktree that was there, with a directory that is new in it.
  world_.fs.AddFile("/home/u/w/old/.git/worktrees/o/HEAD");
  ASSERT_TRUE(Mkdir("old/.git/worktrees/o/refs"));
  EXPECT_FALSE(Create("old/.git/worktrees/o/commondir"));
  ASSERT_TRUE(Rename("old/.git/worktrees/o", "old/.git/worktrees/p"));
  EXPECT_FALSE(Create("old/.git/worktrees/p/commondir"));
  // An empty directory that was there may become a repository.
  ASSERT_TRUE(Mkdir("shop/refs"));
  ASSERT_TRUE(Create("shop/HEAD"));
  EXPECT_TRUE(SetConfig("shop", "[core]\n\tbare = true\n").allowed);
}

TEST_F(NameJudgeGitTest, AnExchangeMixesNothingUp) {
  ASSERT_TRUE(Mkdir("x"));
  ASSERT_TRUE(Mkdir("x/.git"));
  ASSERT_TRUE(Create("x/.envrc"));
  judge().Exchanged(Full("x"), Full("old"));
  world_.fs.Move("/home/u/w/x", "/home/u/w/t")
      .Move("/home/u/w/old", "/home/u/w/x")
      .Move("/home/u/w/t", "/home/u/w/old");
  EXPECT_TRUE(Write("old/.envrc"));
  EXPECT_FALSE(Create("x/.envrc"));
}

TEST_F(NameJudgeGitTest, ADirectoryThatIsGoneIsNotRemembered) {
  ASSERT_TRUE(Mkdir("x"));
  ASSERT_TRUE(Mkdir("x/.git"));
  EXPECT_TRUE(Create("x/.envrc"));
  ASSERT_TRUE(Rmdir("x/.git"));
  judge().Removed(Full("x/.git"));
  world_.fs.Remove("/home/u/w/x/.git").AddDirectory("/home/u/w/x/.git");
  EXPECT_FALSE(Write("x/.envrc"));
}

TEST_F(NameJudgeGitTest, WhatMayNotBeLookedAtIsRefused) {
  world_.fs.AddFile("/home/u/w/z/hooks/pre-commit").AddDirectory("/home/u/w/above/r/.git");
  Start();
  world_.fs.Close("/home/u/w/z").Close("/home/u/w/above");
  EXPECT_FALSE(Rename("z", "plain/.git"));
  EXPECT_FALSE(Mkdir("above/r/.vscode"));
  EXPECT_TRUE(Create("above/r/main.c"));  // such a name means nothing anywhere
  EXPECT_TRUE(Mkdir("plain/.vscode"));
}

TEST_F(NameJudgeGitTest, ACopyOfAConfigIsTheBrokersOwn) {
  const std::string copy = ".git/" + std::string(NameJudge::kConfigCopy) + "1-1";
  world_.fs.AddFile(Full(copy));
  EXPECT_FALSE(Write(copy));
  EXPECT_FALSE(Create(copy));
  EXPECT_FALSE(Link(copy, "x"));
  EXPECT_FALSE(Rename("src", copy));
  EXPECT_TRUE(judge().Remove(Full(copy), FileKind::kFile).allowed);
}

TEST_F(NameJudgeGitTest, ACommonDirectoryIsNotPlantedBesideAHead) {
  ASSERT_TRUE(Mkdir("e"));
  ASSERT_TRUE(Create("e/commondir"));
  EXPECT_FALSE(Create("e/HEAD"));
}

}  // namespace
}  // namespace cordon::policy
