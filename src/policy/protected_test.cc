// The always-protected set: where it stands, and that no allow lifts it.
#include "policy/builtin.h"
#include "policy/policy.h"
#include "policy/policy_test_support.h"

namespace cordon::policy {
namespace {

// One concrete path that an entry of the table forbids.
std::string Sample(std::string_view path) {
  std::string out(path);
  if (out.back() == '*') out.back() = 'x';
  return out;
}

void ExpectProtected(const EffectivePolicy& policy, const std::string& path) {
  for (const Operation op : {Operation::kWrite, Operation::kCreate, Operation::kRemove}) {
    const Verdict v = policy.Decide(op, path);
    EXPECT_FALSE(v.allowed) << OperationName(op) << " " << path;
    ASSERT_NE(v.rule, nullptr) << path;
    EXPECT_EQ(v.rule->kind, RuleKind::kProtected) << path;
    EXPECT_EQ(v.rule->source.origin, "built-in protected set") << path;
    EXPECT_FALSE(v.rule->reason.empty()) << path;
  }
}

TEST(ProtectedTest, EveryEntryHoldsInEveryWritableRoot) {
  PolicyWorld world;
  world.fs.AddDirectory("/out").AddDirectory("/m").AddDirectory("/state");
  world.AllowWrite({"/out"});
  world.spec.bind_mounts = {{"/m", "/m", false, {"test"}}};
  world.spec.runner_state_dirs = PolicyWorld::Entries({"/state"}, "test");
  const EffectivePolicy policy = world.Compile();
  for (const ProtectedEntry& entry : ProtectedEntries()) {
    if (entry.scope != ProtectedScope::kWritableRoot) continue;
    for (const char* root : {"/home/u/w", "/out", "/m", "/state"}) {
      ExpectProtected(policy, JoinPath(root, Sample(entry.path)));
    }
  }
  EXPECT_TRUE(Writes(policy, "/home/u/w/.claude/notes.md"));
  EXPECT_TRUE(Writes(policy, "/home/u/w/package.json"));
  EXPECT_TRUE(Writes(policy, "/home/u/w/.github/workflows/ci.yml"));
}

TEST(ProtectedTest, WhatAGitConfigurationIncludesIsProtected) {
  PolicyWorld world;
  world.fs.AddDirectory("/home/u/w/.git/objects")
      .AddDirectory("/home/u/w/.git/refs")
      .AddFile("/home/u/w/.git/HEAD")
      .AddFile("/home/u/w/.git/config",
               "[include]\n\tpath = ../team.conf\n\tpath = ../team.conf\n\tpath = ~/other\n"
               "[includeIf \"gitdir:/x/\"]\n\tpath = /home/u/w/not/yet\n")
      .AddFile("/home/u/w/team.conf", "[include]\n\tpath = deeper\n[include]\n\tpath = team.conf\n")
      .AddFile("/home/u/other");
  const EffectivePolicy policy = world.Compile();
  for (const char* path : {"/home/u/w/team.conf", "/home/u/w/deeper", "/home/u/w/not/yet"})
    ExpectProtected(policy, path);
  EXPECT_TRUE(Writes(policy, "/home/u/w/other"));
  world.spec.filesystem.allow_git_config = true;
  EXPECT_TRUE(Writes(world.Compile(), "/home/u/w/team.conf"));
}

TEST(ProtectedTest, TheWorkingDirectoryInsideAWiderRootIsARootToo) {
  PolicyWorld world;
  world.fs.AddDirectory("/m/sub");
  world.spec.bind_mounts = {{"/m", "/m", false, {"test"}}};
  world.context.workdir = "/m/sub";
  const EffectivePolicy policy = world.Compile();
  ExpectProtected(policy, "/m/sub/.envrc");
  ExpectProtected(policy, "/m/.envrc");
}

TEST(ProtectedTest, EveryHomeEntryHoldsWhenHomeIsWritable) {
  for (const char* root : {"~", "/home", "/"}) {
    PolicyWorld world;
    world.AllowWrite({root});
    const EffectivePolicy policy = world.Compile();
    for (const ProtectedEntry& entry : ProtectedEntries()) {
      if (entry.scope == ProtectedScope::kHome || entry.scope == ProtectedScope::kWritableRoot) {
        ExpectProtected(policy, "/home/u/" + Sample(entry.path));
      }
    }
    EXPECT_TRUE(Writes(policy, "/home/u/notes"));
  }
}

TEST(ProtectedTest, EveryEntryHoldsAboveTheWorkingDirectory) {
  PolicyWorld world;
  world.AllowWrite({"/home"});
  world.fs.AddDirectory("/home/u/w/a/b");
  world.context.workdir = "/home/u/w/a/b";
  const EffectivePolicy policy = world.Compile();
  for (const ProtectedEntry& entry : ProtectedEntries()) {
    if (entry.scope != ProtectedScope::kWorkdirAndUp) continue;
    for (const char* dir : {"/home/u/w/a/b", "/home/u/w/a", "/home/u/w", "/home/u", "/home"}) {
      ExpectProtected(policy, JoinPath(dir, Sample(entry.path)));
    }
  }
}

TEST(ProtectedTest, NoAllowLiftsIt) {
  PolicyWorld world;
  world.fs.AddDirectory("/home/u/w/.git/hooks")
      .AddFile("/home/u/w/.git/HEAD")
      .AddFile("/home/u/w/.bashrc");
  world.fs.AddDirectory("/home/u/w/.git/objects")
      .AddDirectory("/home/u/w/.git/refs")
      .AddDirectory("/home/u/.ssh");
  world.AllowWrite(
      {".bashrc", ".git/hooks", ".git", "~/.ssh/sub", ".vscode", "~/.claude/settings.json"});
  const EffectivePolicy policy = world.Compile();
  for (const char* path :
       {"/home/u/w/.bashrc", "/home/u/w/.git/hooks/pre-commit", "/home/u/w/.git/config",
        "/home/u/.ssh/sub/x", "/home/u/w/.vscode/tasks.json", "/home/u/.claude/settings.json"}) {
    ExpectProtected(policy, path);
  }
  EXPECT_TRUE(Writes(policy, "/home/u/w/.git/index"));
  EXPECT_TRUE(
      Warns(policy, "allowWrite \"~/.ssh/sub\" (test:allowWrite) opens nothing: /home/u/.ssh"));
}

TEST(ProtectedTest, ALinkAtAProtectedPathProtectsItsTarget) {
  PolicyWorld world;
  world.fs.AddDirectory("/home/u/w/shared/cmds")
      .AddLink("/home/u/w/.claude", "shared")
      .AddFile("/home/u/w/shared/rc");
  world.fs.AddDirectory("/home/u/w/shared/commands").AddLink("/home/u/w/.bashrc", "shared/rc");
  const EffectivePolicy policy = world.Compile();
  ExpectProtected(policy, "/home/u/w/shared/commands/x");
  ExpectProtected(policy, "/home/u/w/.claude/commands/x");
  ExpectProtected(policy, "/home/u/w/shared/rc");
  ExpectProtected(policy, "/home/u/w/.bashrc");
  EXPECT_FALSE(Removes(policy, "/home/u/w/.claude"));
  const Rule* rule = FindRule(policy, RuleKind::kProtected, "/home/u/w/.bashrc");
  EXPECT_EQ(rule->links, std::vector<std::string>{"/home/u/w/.bashrc"});
  EXPECT_EQ(rule->existing, (std::vector<ExistingPath>{{"/home/u/w/shared/rc", FileKind::kFile}}));
  EXPECT_TRUE(rule->needs_supervisor);
}

TEST(ProtectedTest, ACyclicLinkRefusesTheStart) {
  PolicyWorld world;
  world.fs.AddLink("/home/u/w/.vscode", ".vscode");
  const Error error = world.CompileError();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_NE(error.message.find("/home/u/w/.vscode"), std::string::npos);
  EXPECT_FALSE(error.remedy.empty());
}

TEST(ProtectedTest, MissingEntriesAreKeptWithoutAWarning) {
  PolicyWorld world;
  const EffectivePolicy policy = world.Compile();
  const Rule* rule = FindRule(policy, RuleKind::kProtected, "/home/u/w/.envrc");
  ASSERT_NE(rule, nullptr);
  EXPECT_TRUE(rule->existing.empty());
  EXPECT_TRUE(rule->needs_supervisor);
  EXPECT_TRUE(policy.warnings.empty());
}

TEST(ProtectedTest, PatternsFindWhatIsThere) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/w/.claude/settings.local.json").AddFile("/home/u/w/.claude/x");
  const Rule* rule = nullptr;
  const EffectivePolicy policy = world.Compile();
  rule = FindRule(policy, RuleKind::kProtected, "/home/u/w/.claude/settings*");
  ASSERT_NE(rule, nullptr);
  ASSERT_EQ(rule->existing.size(), 1u);
  EXPECT_EQ(rule->existing[0].path, "/home/u/w/.claude/settings.local.json");
}

TEST(ProtectedTest, RunnerStateOpensTheAgentsDirectoryButNotItsSettings) {
  PolicyWorld world;
  world.fs.AddDirectory("/home/u/.claude/hooks")
      .AddFile("/home/u/.claude/settings.json")
      .AddFile("/home/u/.claude.json");
  world.AllowWrite({"~"});
  ExpectProtected(world.Compile(), "/home/u/.claude/history");
  world.spec.runner_state_dirs = PolicyWorld::Entries({"~/.claude", "~/.claude.json"}, "test");
  const EffectivePolicy policy = world.Compile();
  EXPECT_TRUE(Writes(policy, "/home/u/.claude/history"));
  EXPECT_TRUE(Writes(policy, "/home/u/.claude.json"));
  for (const char* name :
       {"settings.json", "settings.local.json", "hooks/x", "skills/x", "agents/x", "commands/x"}) {
    ExpectProtected(policy, "/home/u/.claude/" + std::string(name));
  }
}

TEST(ProtectedTest, TheConfigurationDirectoryMayStandElsewhere) {
  PolicyWorld world;
  world.context.environment["CLAUDE_CONFIG_DIR"] = "/home/u/w/agent";
  world.fs.AddDirectory("/home/u/w/agent");
  ExpectProtected(world.Compile(), "/home/u/w/agent/history");
  ExpectProtected(world.Compile(), "/home/u/w/agent/.claude.json");
  world.spec.runner_state_dirs = PolicyWorld::Entries({"agent"}, "test");
  const EffectivePolicy policy = world.Compile();
  EXPECT_TRUE(Writes(policy, "/home/u/w/agent/history"));
  EXPECT_TRUE(Writes(policy, "/home/u/w/agent/.claude.json"));
  ExpectProtected(policy, "/home/u/w/agent/settings.json");
  ExpectProtected(policy, "/home/u/w/agent/hooks/x");
}

TEST(ProtectedTest, ProgramDirectoriesAndProtectedPathsHold) {
  PolicyWorld world;
  world.fs.AddDirectory("/home/u/w/bin").AddDirectory("/home/u/w/main");
  world.context.program_dirs = {"/home/u/w/bin"};
  world.spec.protected_paths = PolicyWorld::Entries({"main"}, "spec.json");
  const EffectivePolicy policy = world.Compile();
  ExpectProtected(policy, "/home/u/w/bin/cordon");
  const Verdict v = policy.Decide(Operation::kWrite, "/home/u/w/main/x");
  EXPECT_FALSE(v.allowed);
  EXPECT_EQ(v.rule->source.origin, "spec.json");
}

TEST(ProtectedTest, AgreesWithTheGitDirectoryRows) {
  PolicyWorld world;
  world.fs.AddDirectory("/home/u/w/.git/refs")
      .AddDirectory("/home/u/w/.git/objects")
      .AddFile("/home/u/w/.git/HEAD");
  const EffectivePolicy policy = world.Compile();
  for (const ProtectedEntry& entry : ProtectedEntries()) {
    if (entry.scope == ProtectedScope::kGitDirectory)
      ExpectProtected(policy, "/home/u/w/.git/" + Sample(entry.path));
  }
  EXPECT_TRUE(Writes(policy, "/home/u/w/.git/refs/heads/main"));
  EXPECT_FALSE(Removes(policy, "/home/u/w/.git"));
  world.spec.filesystem.allow_git_config = true;
  const EffectivePolicy open = world.Compile();
  EXPECT_TRUE(Writes(open, "/home/u/w/.git/config"));
  EXPECT_FALSE(Writes(open, "/home/u/w/.git/config.worktree"));
  EXPECT_FALSE(Writes(open, "/home/u/w/.git/hooks/x"));
}

}  // namespace
}  // namespace cordon::policy
