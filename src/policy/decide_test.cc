// What the compiled rules answer, kind by kind.
#include "policy/policy.h"
#include "policy/policy_test_support.h"

namespace cordon::policy {
namespace {

struct Row {
  const char* path;
  bool readable, writable;
};

void ExpectRows(const EffectivePolicy& policy, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(Reads(policy, row.path), row.readable)
        << row.path << ": " << policy.Decide(Operation::kRead, row.path).reason;
    EXPECT_EQ(Writes(policy, row.path), row.writable)
        << row.path << ": " << policy.Decide(Operation::kWrite, row.path).reason;
    EXPECT_EQ(May(policy, Operation::kCreate, row.path), row.writable) << row.path;
  }
}

TEST(DecideTest, AVerdictDeniesUntilItIsMade) { EXPECT_FALSE(Verdict{}.allowed); }

TEST(DecideTest, HostViewReadsAllAndWritesTheWorkingDirectory) {
  ExpectRows(PolicyWorld().Compile(), {{"/home/u/w", true, true},
                                       {"/home/u/w/new/deep", true, true},
                                       {"/home/u/w/../w/x", true, true},
                                       {"/home/u/w/../x", true, false},
                                       {"/home/u", true, false},
                                       {"/home/u/w2", true, false},
                                       {"/etc/passwd", true, false},
                                       {"/", true, false}});
}

TEST(DecideTest, BoundViewShowsOnlyWhatIsListed) {
  PolicyWorld world;
  world.spec.view = View::kBound;
  world.fs.AddDirectory("/srv/data").AddDirectory("/srv/out").AddDirectory("/srv/ref");
  world.spec.bind_mounts.push_back({"/srv/data", "/srv/data", false, {"test"}});
  world.spec.bind_mounts.push_back({"/srv/ref", "/srv/ref", true, {"test"}});
  world.AllowRead({"~/.config"}).AllowWrite({"/srv/out"});
  const EffectivePolicy policy = world.Compile();
  ExpectRows(policy, {{"/usr/bin/x", true, false},
                      {"/home/u/w/x", true, true},
                      {"/srv/data/x", true, true},
                      {"/srv/ref/x", true, false},
                      {"/srv/out/x", true, true},
                      {"/home/u/.config/x", true, false},
                      {"/home/u/x", false, false},
                      {"/srv", false, false},
                      {"/root", false, false}});
  EXPECT_EQ(policy.Decide(Operation::kRead, "/root/x").reason, "not in the view");
}

TEST(DecideTest, TheLongestReadRuleDecides) {
  PolicyWorld world;
  world.DenyRead({"~/d", "~/d/in/deny"}).AllowRead({"~/d/in"});
  ExpectRows(world.Compile(), {{"/home/u/d", false, false},
                               {"/home/u/d/x", false, false},
                               {"/home/u/d/in/x", true, false},
                               {"/home/u/d/in/deny", false, false},
                               {"/home/u/d/in/deny/x", false, false}});
}

TEST(DecideTest, AtEqualLengthDenyWins) {
  PolicyWorld world;
  world.DenyRead({"~/w/x"}).AllowRead({"~/w/x"}).AllowWrite({"~/w/x"});
  EXPECT_FALSE(Reads(world.Compile(), "/home/u/w/x"));
  EXPECT_FALSE(Writes(world.Compile(), "/home/u/w/x"));
}

TEST(DecideTest, AUsersAllowBeatsABuiltInDefaultOfTheSameLength) {
  PolicyWorld world;
  world.spec.filesystem.default_denies = true;
  EXPECT_FALSE(Reads(world.Compile(), "/home/u/.aws/credentials"));
  world.AllowRead({"~/.aws"});
  EXPECT_TRUE(Reads(world.Compile(), "/home/u/.aws/credentials"));
  world.DenyRead({"~/.aws"});
  EXPECT_FALSE(Reads(world.Compile(), "/home/u/.aws/credentials"));
}

TEST(DecideTest, AWiderAllowDoesNotLiftADefaultDeny) {
  PolicyWorld world;
  world.spec.filesystem.default_denies = true;
  world.AllowRead({"~"}).AllowWrite({"~"});
  const EffectivePolicy policy = world.Compile();
  EXPECT_FALSE(Reads(policy, "/home/u/.ssh/id_ed25519"));
  EXPECT_FALSE(Writes(policy, "/home/u/.aws/credentials"));
  EXPECT_EQ(policy.Decide(Operation::kRead, "/home/u/.ssh/id").rule->source.origin,
            "built-in deny-read set");
}

TEST(DecideTest, SomeNamesStayReadableForRun) {
  PolicyWorld world;
  world.spec.filesystem.default_denies = true;
  world.fs.AddFile("/home/u/.ssh/known_hosts").AddFile("/home/u/.ssh/id");
  EXPECT_FALSE(Reads(world.Compile(), "/home/u/.ssh/known_hosts"));
  world.context.keep_readable = true;
  EXPECT_TRUE(Reads(world.Compile(), "/home/u/.ssh/known_hosts"));
  EXPECT_FALSE(Reads(world.Compile(), "/home/u/.ssh/id"));
  world.DenyRead({"~/.ssh"});
  EXPECT_FALSE(Reads(world.Compile(), "/home/u/.ssh/known_hosts"));
}

TEST(DecideTest, SystemSecretsMatterToRootOnly) {
  PolicyWorld world;
  world.spec.filesystem.default_denies = true;
  EXPECT_FALSE(Reads(world.Compile(), "/etc/shadow"));
  world.context.root = false;
  EXPECT_TRUE(Reads(world.Compile(), "/etc/shadow"));
}

TEST(DecideTest, DenyWriteWinsAtAnyLength) {
  PolicyWorld world;
  world.fs.AddDirectory("/home/u/w/ro/rw");
  world.DenyWrite({"ro"}).AllowWrite({"ro/rw", "ro/rw/deep"});
  ExpectRows(world.Compile(), {{"/home/u/w/x", true, true},
                               {"/home/u/w/ro", true, false},
                               {"/home/u/w/ro/x", true, false},
                               {"/home/u/w/ro/rw/x", true, false},
                               {"/home/u/w/rolling", true, true}});
}

TEST(DecideTest, AllowWriteImpliesAllowRead) {
  PolicyWorld world;
  world.fs.AddDirectory("/home/u/d/out");
  world.DenyRead({"~/d"}).AllowWrite({"~/d/out"});
  ExpectRows(world.Compile(), {{"/home/u/d/x", false, false}, {"/home/u/d/out/x", true, true}});
}

TEST(DecideTest, WhatIsHiddenIsNotWritable) {
  PolicyWorld world;
  world.DenyRead({"secret"});
  ExpectRows(world.Compile(),
             {{"/home/u/w/secret", false, false}, {"/home/u/w/secret/new", false, false}});
}

TEST(DecideTest, RemoveSparesHeldPathsAndTheirAncestors) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/w/a/b/keep").AddFile("/home/u/w/a/hidden").AddDirectory("/home/u/w/m");
  world.DenyWrite({"a/b/keep"}).DenyRead({"c/hidden"});
  world.spec.bind_mounts.push_back({"/home/u/w/m", "/home/u/w/m", false, {"test"}});
  const EffectivePolicy policy = world.Compile();
  EXPECT_FALSE(Removes(policy, "/home/u/w/a/b/keep"));
  EXPECT_FALSE(Removes(policy, "/home/u/w/a/b"));
  EXPECT_FALSE(Removes(policy, "/home/u/w/a"));
  EXPECT_FALSE(Removes(policy, "/home/u/w/c"));
  EXPECT_FALSE(Removes(policy, "/home/u/w/c/hidden"));
  EXPECT_FALSE(Removes(policy, "/home/u/w"));  // its parent is not writable
  EXPECT_FALSE(Removes(policy, "/"));
  EXPECT_FALSE(Removes(policy, "/home/u/w/m"));
  EXPECT_TRUE(Removes(policy, "/home/u/w/m/x"));
  EXPECT_TRUE(Removes(policy, "/home/u/w/a/b/other"));
  EXPECT_TRUE(Removes(policy, "/home/u/w/src"));
}

TEST(DecideTest, AReadOnlyMountRefusesInsideAWritableOne) {
  PolicyWorld world;
  world.fs.AddDirectory("/d/ro/rw");
  world.spec.bind_mounts = {{"/d", "/d", false, {"test"}}, {"/d/ro", "/d/ro", true, {"test"}}};
  world.AllowWrite({"/d/ro/rw"});
  ExpectRows(world.Compile(),
             {{"/d/x", true, true}, {"/d/ro/x", true, false}, {"/d/ro/rw/x", true, true}});
  world.AllowWrite({"/d/ro"});
  ExpectRows(world.Compile(), {{"/d/ro/x", true, false}});
}

TEST(DecideTest, ModesMakeAllButRunnerStateReadOnly) {
  for (const Mode mode : {Mode::kPlan, Mode::kReview, Mode::kOrchestrate}) {
    PolicyWorld world;
    world.spec.mode = mode;
    world.fs.AddDirectory("/m/state").AddDirectory("/out");
    world.spec.bind_mounts = {{"/m", "/m", false, {"test"}}};
    world.AllowWrite({"/out"});
    world.spec.runner_state_dirs = PolicyWorld::Entries({"/m/state"}, "test");
    const EffectivePolicy policy = world.Compile();
    ExpectRows(policy, {{"/home/u/w/x", true, false},
                        {"/m/x", true, false},
                        {"/out/x", true, false},
                        {"/m/state/x", true, true}});
    EXPECT_TRUE(policy.Decide(Operation::kWrite, "/tmp/x").session_own);
  }
}

TEST(DecideTest, PrivateDirectoriesAnswerForTheHost) {
  PolicyWorld world;
  world.fs.AddDirectory("/tmp/job").AddFile("/tmp/other");
  world.AllowRead({"/tmp/job"});
  const EffectivePolicy policy = world.Compile();
  for (const char* path :
       {"/tmp", "/tmp/other", "/var/tmp/x", "/dev/shm/x", "/run/user/1000/bus"}) {
    for (const Operation op :
         {Operation::kRead, Operation::kWrite, Operation::kCreate, Operation::kRemove}) {
      const Verdict v = policy.Decide(op, path);
      EXPECT_FALSE(v.allowed) << path;
      EXPECT_TRUE(v.session_own) << path;
      EXPECT_NE(v.reason.find("the session has its own"), std::string::npos);
    }
  }
  ExpectRows(policy, {{"/tmp/job/x", true, false}, {"/tmpx", true, false}});
  EXPECT_FALSE(policy.Decide(Operation::kRead, "/tmp/job/x").session_own);
}

TEST(DecideTest, AWorkingDirectoryBelowTmpIsPutBack) {
  PolicyWorld world;
  world.fs.AddDirectory("/tmp/w").AddFile("/tmp/token");
  world.context.workdir = "/tmp/w";
  ExpectRows(world.Compile(), {{"/tmp/w/x", true, true}, {"/tmp/token", false, false}});
}

TEST(DecideTest, DisabledRulesAllowEverything) {
  PolicyWorld world;
  world.DenyRead({"/etc"}).DenyWrite({"."});
  world.spec.filesystem.disabled = true;
  world.spec.view = View::kBound;
  ExpectRows(world.Compile(),
             {{"/etc/passwd", true, true}, {"/home/u/w/.git/hooks/x", true, true}});
}

TEST(DecideTest, CannotBeJudgedMeansNo) {
  PolicyWorld world;
  world.AllowWrite({"/"});
  const EffectivePolicy policy = world.Compile();
  for (const std::string& path :
       {std::string(), std::string("x"), std::string("./x"), std::string("/a\0b", 4)}) {
    for (const Operation op :
         {Operation::kRead, Operation::kWrite, Operation::kCreate, Operation::kRemove}) {
      EXPECT_FALSE(May(policy, op, path));
    }
  }
  EXPECT_FALSE(EffectivePolicy().Decide(Operation::kWrite, "/x").allowed);
}

TEST(DecideTest, FoldsCaseWhereTheDirectoryDoes) {
  PolicyWorld world;
  world.fs.FoldCase("/home/u/w/ci").AddFile("/home/u/w/ci/Secret");
  world.DenyRead({"ci/secret"}).DenyWrite({"ci/Sub/Keep"});
  const EffectivePolicy policy = world.Compile();
  ExpectRows(policy, {{"/home/u/w/ci/SECRET", false, false},
                      {"/home/u/w/ci/SECRETS", true, true},
                      {"/home/u/w/ci/sub/keep/x", true, false},
                      {"/home/u/w/CI/secret", true, true}});
}

TEST(DecideTest, FoldsGlobsWhereTheDirectoryDoes) {
  PolicyWorld world;
  world.fs.FoldCase("/home/u/w/ci").AddFile("/home/u/w/ci/a.KEY").AddFile("/home/u/w/b.KEY");
  world.DenyRead({"ci/*.key", "*.key"});
  const EffectivePolicy policy = world.Compile();
  ExpectRows(policy, {{"/home/u/w/ci/a.KEY", false, false}, {"/home/u/w/b.KEY", true, true}});
}

// --- shared/cases FS02, FS06, FS08 ---------------------------------------------------------------

TEST(DecideTest, ADeniedFileInAnAllowedDirectoryStaysDenied) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/w/token.txt");
  world.DenyRead({"/home/u", "/home/u/w/token.txt"})
      .AllowRead({"/home/u/w"})
      .AllowWrite({"/home/u/w"});
  ExpectRows(world.Compile(),
             {{"/home/u/w/token.txt", false, false}, {"/home/u/w/readme", true, true}});
}

TEST(DecideTest, ALinkedOrDanglingDenyHoldsOnBothEnds) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/dots/shellrc").AddLink("/home/u/.shellrc", "/home/u/dots/shellrc");
  world.fs.AddLink("/home/u/.otherrc", "/home/u/nowhere/rc");
  world.AllowWrite({"~"}).DenyWrite({"~/.shellrc", "~/.otherrc"});
  const EffectivePolicy policy = world.Compile();
  for (const char* path :
       {"/home/u/.shellrc", "/home/u/dots/shellrc", "/home/u/.otherrc", "/home/u/nowhere/rc"}) {
    EXPECT_FALSE(Writes(policy, path)) << path;
    EXPECT_FALSE(Removes(policy, path)) << path;
  }
  EXPECT_FALSE(Removes(policy, "/home/u/dots"));
  const Rule* rule = FindRule(policy, RuleKind::kDenyWrite, "~/.shellrc");
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->links, std::vector<std::string>{"/home/u/.shellrc"});
  EXPECT_EQ(rule->existing, (std::vector<ExistingPath>{{"/home/u/dots/shellrc", FileKind::kFile}}));
}

TEST(DecideTest, AWorkingDirectoryBelowADeniedAncestorIsKept) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/a/b/c/f");
  world.context.workdir = "/home/u/a/b/c";
  world.DenyRead({"..", "../.."}).AllowWrite({"."});
  ExpectRows(world.Compile(), {{"/home/u/a/b/c/f", true, true},
                               {"/home/u/a/b", false, false},
                               {"/home/u/a/x", false, false}});
}

}  // namespace
}  // namespace cordon::policy
