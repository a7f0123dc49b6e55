#include "policy/name_judge.h"

#include <chrono>

#include "policy/name_judge_test_support.h"

namespace cordon::policy {
namespace {

TEST_F(NameJudgeTest, OrdinaryNamesAreFreeAndAskTheViewNothing) {
  Start();
  world_.fs.asked = world_.fs.listed = 0;
  for (const char* path : {"a", "src/b.cc", "plain/deep/er/c", "old/src/x", ".git/objects/ab/cd"}) {
    EXPECT_TRUE(judge().Create(Full(path), FileKind::kFile).allowed) << path;
    EXPECT_TRUE(judge().Write(Full(path)).allowed) << path;
    EXPECT_TRUE(judge()
                    .Rename(Full(path) + ".lock", FileKind::kFile, Full(path), FileKind::kMissing)
                    .allowed)
        << path;
  }
  EXPECT_EQ(world_.fs.asked, 0);
  EXPECT_EQ(world_.fs.listed, 0);
}

TEST_F(NameJudgeTest, ThePolicyDecidesWithItsRuleAndReason) {
  const NameVerdict v = judge().Create("/home/u/w/.bashrc", FileKind::kFile);
  EXPECT_FALSE(v.allowed);
  ASSERT_NE(v.rule, nullptr);
  EXPECT_GE(v.rule, policy_.rules.data());
  EXPECT_LT(v.rule, policy_.rules.data() + policy_.rules.size());
  EXPECT_NE(v.reason.find("a shell runs it at start"), std::string::npos) << v.reason;
  EXPECT_FALSE(Create("/home/u/x"));
  EXPECT_FALSE(Create("/etc/x"));
  EXPECT_FALSE(Mkdir(".vscode"));
  EXPECT_FALSE(Create(".vscode/tasks.json"));
  EXPECT_FALSE(judge().Create("relative", FileKind::kFile).allowed);
  EXPECT_FALSE(judge().Create("/home/u/w/..", FileKind::kFile).allowed);
  EXPECT_FALSE(judge().Create(std::string_view("/home/u/w/a\0b", 13), FileKind::kFile).allowed);
}

TEST_F(NameJudgeTest, TheSessionsOwnPlacesAreTheKernels) {
  for (const char* path : {"/tmp/x", "/tmp/.git/hooks/x", "/dev/shm/y", "/run/z", "/proc/self/comm",
                           "/sys/a", "/dev/null"}) {
    EXPECT_TRUE(judge().Write(path).allowed) << path;
    EXPECT_TRUE(judge().Create(path, FileKind::kFile).allowed) << path;
  }
}

TEST_F(NameJudgeTest, AWorkingDirectoryBelowAPrivateOneIsJudged) {
  world_.fs.AddDirectory("/tmp/a/p/.git");
  world_.context.workdir = "/tmp/a/p";
  EXPECT_TRUE(Create("/tmp/a/p/x"));
  EXPECT_FALSE(Create("/tmp/a/p/.envrc"));
  EXPECT_FALSE(Create("/tmp/a/p/.git/hooks/x"));
  EXPECT_TRUE(Create("/tmp/a/q"));
  EXPECT_FALSE(Rename("/tmp/a", "/tmp/b"));
  EXPECT_FALSE(Rmdir("/tmp/a"));
  EXPECT_TRUE(Mkdir("/tmp/c"));
  EXPECT_TRUE(Rename("/tmp/c", "/tmp/d"));
}

TEST_F(NameJudgeTest, MountsAreJudgedByTheirHostPath) {
  world_.fs.AddDirectory("/host/data/sub").AddDirectory("/shown");
  world_.spec.bind_mounts = {{"/host/data", "/shown", false, {"test"}},
                             {"/host/data", "/tmp/in/side", false, {"test"}}};
  world_.DenyWrite({"/host/data/no"});
  for (const char* guest : {"/shown", "/tmp/in/side"}) {
    const std::string base = std::string(guest) + "/";
    EXPECT_TRUE(judge().Create(base + "a", FileKind::kFile).allowed) << guest;
    EXPECT_FALSE(judge().Create(base + "no", FileKind::kFile).allowed) << guest;
    EXPECT_FALSE(judge().Create(base + ".envrc", FileKind::kFile).allowed) << guest;
    EXPECT_FALSE(judge().Create(base + ".git/hooks/x", FileKind::kFile).allowed) << guest;
  }
  EXPECT_FALSE(Rmdir("/tmp/in"));
}

TEST_F(NameJudgeTest, DenyNamesHoldForEveryWayToMakeAName) {
  DenyNames({".env", ".env.*", "*.key", "conf/*.{ini,toml}", "!.env.example", "!**/vendor/**"});
  Start();
  for (const char* path : {".env", "a/b/.env", "src/.env.local", "x.key", "conf/a.ini",
                           "src/conf/b.toml", "x.key/below"}) {
    EXPECT_FALSE(Create(path)) << path;
    EXPECT_FALSE(Write(path)) << path;
    EXPECT_FALSE(Mkdir(path)) << path;
    EXPECT_FALSE(Symlink(path)) << path;
    EXPECT_FALSE(Link("src/a", path)) << path;
    EXPECT_FALSE(
        judge().Rename(Full("src/a"), FileKind::kFile, Full(path), FileKind::kMissing).allowed)
        << path;
    const NameVerdict v = judge().Create(Full(path), FileKind::kFile);
    ASSERT_NE(v.rule, nullptr) << path;
    EXPECT_EQ(v.rule->kind, RuleKind::kDenyName) << path;
  }
  for (const char* path : {".env.example", "vendor/a/x.key", "a/env", "conf/a.txt", "key", ".envx"})
    EXPECT_TRUE(judge().Create(Full(path), FileKind::kFile).allowed) << path;
  EXPECT_TRUE(judge().Create("/tmp/.env", FileKind::kFile).allowed);
  // A match may be taken away (12.20), but not be linked to.
  world_.fs.AddFile("/home/u/w/here.key");
  EXPECT_TRUE(judge().Remove(Full("here.key"), FileKind::kFile).allowed);
  EXPECT_FALSE(Link("here.key", "here.txt"));
  EXPECT_TRUE(Rename("here.key", "here.txt"));
  EXPECT_FALSE(Rename("here.txt", "here.key"));
}

TEST_F(NameJudgeTest, DenyNamesAreFoldedWhereTheDirectoryFolds) {
  DenyNames({".env", "*.key"});
  world_.fs.FoldCase("/home/u/w/Folds").FoldCase("/home/u/w/Folds/.GIT");
  EXPECT_FALSE(Create("Folds/.ENV"));
  EXPECT_FALSE(Create("Folds/a.KEY"));
  EXPECT_FALSE(
      Create("Folds/a.\xE2\x84\xAA"
             "ey"));                               // the Kelvin sign
  EXPECT_FALSE(Create("Folds/.e\xE2\x80\x8Dnv"));  // a joiner that the directory ignores
  EXPECT_FALSE(Create("Folds/.GIT/Hooks"));
  EXPECT_TRUE(Create(".ENV"));
  EXPECT_TRUE(Create("src/a.KEY"));
}

TEST_F(NameJudgeTest, MovedDirectoriesBringNoForbiddenName) {
  DenyNames({"*.key", "conf/*.ini", "!**/node_modules/**"});
  world_.fs.AddFile("/home/u/w/node_modules/p/test/t.key")
      .AddFile("/home/u/w/m/a.ini")
      .AddFile("/home/u/w/k/deep/x.key")
      .AddFile("/home/u/w/ok/a/b");
  const NameVerdict v = RenameVerdict("node_modules/p", "lib");
  EXPECT_FALSE(v.allowed);
  EXPECT_NE(v.reason.find("test/t.key"), std::string::npos) << v.reason;
  EXPECT_FALSE(Rename("m", "conf"));
  EXPECT_FALSE(Rename("k", "k2"));
  EXPECT_TRUE(Rename("ok", "fine"));
  EXPECT_TRUE(Rename("node_modules/p", "node_modules/.p-x1"));
  EXPECT_TRUE(Rename("m", "m2"));
}

TEST_F(NameJudgeTest, ADirectoryTooLargeToLookAtIsMovedOnlyWhereNothingCanAppear) {
  DenyNames({"*.key", "!**/node_modules/**"});
  for (int i = 0; i < 20'100; ++i) {
    world_.fs.AddFile("/home/u/w/node_modules/f" + std::to_string(i));
    world_.fs.AddFile("/home/u/w/big/f" + std::to_string(i));
  }
  EXPECT_FALSE(RenameVerdict("node_modules", "other").allowed);
  EXPECT_TRUE(RenameVerdict("big", "other").allowed);
}

TEST_F(NameJudgeTest, AncestorsOfProtectedPathsStay) {
  world_.DenyWrite({"a/b/c", "keep/*.lock"});
  world_.fs.AddFile("/home/u/w/a/b/x").AddDirectory("/home/u/w/keep");
  world_.fs.AddFile("/home/u/w/evil/hooks/post-merge").AddFile("/home/u/w/fake/b/c");
  world_.fs.AddFile("/home/u/w/evil2/skills/s").AddFile("/home/u/w/locks/x.lock");
  for (const char* path : {"a", "a/b", ".git", "/home/u/w"}) {
    EXPECT_FALSE(Rename(path, "moved")) << path;
    EXPECT_FALSE(Rmdir(path)) << path;
  }
  EXPECT_FALSE(Symlink(".git"));
  EXPECT_FALSE(Symlink(".claude"));
  EXPECT_FALSE(Symlink(".config"));
  EXPECT_FALSE(Symlink("keep"));  // where a pattern starts
  EXPECT_TRUE(Symlink("elsewhere"));
  EXPECT_FALSE(Rename("evil2", ".claude"));
  EXPECT_FALSE(Rename("locks", "keep"));
  world_.fs.AddFile("/home/u/w/keep/new.lock");
  EXPECT_FALSE(Rename("keep", "kept"));
  world_.fs.AddLink("/home/u/w/tmp3/skills", "/home/u/w/src");
  EXPECT_FALSE(Rename("tmp3", ".claude"));
}

TEST_F(NameJudgeTest, GlobsOfDenyWriteHoldForNewNames) {
  world_.DenyWrite({"**/*.lock", "gen/**/out"});
  EXPECT_FALSE(Create("a.lock"));
  EXPECT_FALSE(Create("src/a.lock"));
  EXPECT_FALSE(Create("gen/x/y/out/z"));
  EXPECT_FALSE(Mkdir("gen/out"));
  EXPECT_TRUE(Create("gen/x/y/in"));
  EXPECT_FALSE(Symlink("gen"));
}

TEST_F(NameJudgeTest, NotableChangesAreAllowedAndTold) {
  Start();
  for (const char* path : {"package.json", "sub/Makefile", ".github/workflows/ci.yml", ".husky/x",
                           "conftest.py", ".pre-commit-config.yaml", ".devcontainer/d.json"}) {
    const NameVerdict v = judge().Create(Full(path), FileKind::kFile);
    EXPECT_TRUE(v.allowed) << path;
    EXPECT_TRUE(v.notable) << path;
    EXPECT_FALSE(v.reason.empty()) << path;
    EXPECT_TRUE(judge().Write(Full(path)).notable) << path;
    EXPECT_FALSE(judge().Remove(Full(path), FileKind::kFile).notable) << path;
  }
  for (const char* path : {"node_modules/p/package.json", "/tmp/Makefile", "makefile.txt"})
    EXPECT_FALSE(judge().Create(Full(path), FileKind::kFile).notable) << path;
}

TEST_F(NameJudgeTest, LinksOutOfReadOnlyPlacesAreTheKernels) {
  EXPECT_TRUE(Link("/etc/passwd", "p"));  // EXDEV
  EXPECT_FALSE(Link("src/a", "/etc/x"));
  world_.DenyRead({"secret"});
  Start();
  EXPECT_FALSE(Link("secret", "p"));
}

TEST_F(NameJudgeTest, MovesBetweenMountsAreTheKernels) {
  // EXDEV, so that mv copies.
  world_.fs.AddFile("/tmp/x/.git/hooks/h");
  EXPECT_TRUE(RenameVerdict("/tmp/x", "got").allowed);
  EXPECT_TRUE(RenameVerdict("/etc/passwd", "got").allowed);
  EXPECT_FALSE(RenameVerdict("src", "/etc/got").allowed);
}

TEST_F(NameJudgeTest, ReadRefusesOnlyWhatARuleHides) {
  world_.DenyRead({"**/*.secret", "hidden"});
  EXPECT_FALSE(judge().Read(Full("a/b.secret")).allowed);
  EXPECT_FALSE(judge().Read(Full("hidden/x")).allowed);
  EXPECT_TRUE(judge().Read(Full("a/b")).allowed);
  EXPECT_TRUE(judge().Read("/tmp/b.secret").allowed);
}

TEST_F(NameJudgeTest, NothingIsJudgedWithoutFileRules) {
  world_.spec.filesystem.disabled = true;
  EXPECT_TRUE(Create(".git/hooks/x"));
  EXPECT_TRUE(Write("/etc/passwd"));
}

// Not a promise that a busy machine could break: only that nothing grew out of all proportion.
TEST_F(NameJudgeTest, AnOrdinaryNameIsQuick) {
  world_.spec.filesystem.default_deny_names = true;
  world_.spec.filesystem.default_denies = true;
  Start();
  const std::string path = "/home/u/w/src/one/two/three/file.cc";
  constexpr int kTimes = 20'000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) ASSERT_TRUE(judge().Create(path, FileKind::kFile).allowed);
  const auto spent = std::chrono::steady_clock::now() - start;
  const auto each = std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count() / kTimes;
  RecordProperty("nanoseconds", static_cast<int>(each));
  EXPECT_LT(each, 50'000);
}

}  // namespace
}  // namespace cordon::policy
