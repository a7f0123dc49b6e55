// From entries to rules: readings, links, globs, refusals and warnings.
#include "policy/policy.h"
#include "policy/policy_test_support.h"

namespace cordon::policy {
namespace {

using Paths = std::vector<std::string>;

Paths Existing(const Rule* rule) {
  Paths out;
  if (rule == nullptr) return {"no such rule"};
  for (const ExistingPath& e : rule->existing) out.push_back(e.path);
  return out;
}

TEST(CompileTest, ARuleHoldsAsWrittenAndResolved) {
  PolicyWorld world;
  world.fs.AddDirectory("/data/secrets/in").AddLink("/home/u/link", "/data/secrets");
  world.DenyRead({"~/link/in/none"});
  const EffectivePolicy policy = world.Compile();
  const Rule* rule = FindRule(policy, RuleKind::kDenyRead, "~/link/in/none");
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->paths, (Paths{"/home/u/link/in/none", "/data/secrets/in/none"}));
  EXPECT_TRUE(rule->existing.empty());
  EXPECT_TRUE(rule->links.empty());
  EXPECT_TRUE(rule->needs_supervisor);
  EXPECT_FALSE(Reads(policy, "/data/secrets/in/none/x"));
  EXPECT_TRUE(Warns(policy, "~/link/in/none"));
}

TEST(CompileTest, ADenyAboveALinkHoldsOnBothReadings) {
  PolicyWorld world;
  world.fs.AddDirectory("/data/in").AddFile("/data/x").AddLink("/home/u/w/link", "/data/in");
  world.DenyRead({"link/../x"});
  const EffectivePolicy policy = world.Compile();
  EXPECT_FALSE(Reads(policy, "/home/u/w/x"));
  EXPECT_FALSE(Reads(policy, "/data/x"));
}

TEST(CompileTest, ATrailingSubtreeIsALiteral) {
  for (const char* text : {"sub/**", "sub/", "sub", "./sub/**/**"}) {
    PolicyWorld world;
    world.fs.AddDirectory("/home/u/w/sub");
    world.DenyWrite({text});
    const EffectivePolicy policy = world.Compile();
    const Rule* rule = FindRule(policy, RuleKind::kDenyWrite, text);
    ASSERT_NE(rule, nullptr) << text;
    EXPECT_EQ(rule->paths, Paths{"/home/u/w/sub"}) << text;
    EXPECT_TRUE(rule->globs.empty());
  }
  PolicyWorld world;
  world.DenyRead({"**"}).AllowRead({"."});
  EXPECT_EQ(world.CompileError().code,
            ErrorCode::kInvalid);  // the working directory, at equal length
}

TEST(CompileTest, GlobsAreExpandedWithoutFollowingLinks) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/w/a.key")
      .AddFile("/home/u/w/s/b.key")
      .AddDirectory("/home/u/w/d.key/in");
  world.fs.AddFile("/else/c.key")
      .AddLink("/home/u/w/dirlink", "/else")
      .AddLink("/home/u/w/l.key", "/else/real");
  world.fs.AddFile("/else/real").AddLink("/home/u/w/dead.key", "/gone");
  world.DenyRead({"**/*.key"});
  const EffectivePolicy policy = world.Compile();
  const Rule* rule = FindRule(policy, RuleKind::kDenyRead, "**/*.key");
  EXPECT_EQ(Existing(rule),
            (Paths{"/else/real", "/home/u/w/a.key", "/home/u/w/d.key", "/home/u/w/s/b.key"}));
  EXPECT_EQ(rule->links, (Paths{"/home/u/w/dead.key", "/home/u/w/l.key"}));
  EXPECT_TRUE(rule->needs_supervisor);
  EXPECT_FALSE(Reads(policy, "/else/real"));
  EXPECT_FALSE(Reads(policy, "/home/u/w/new/later.key"));
  EXPECT_TRUE(Reads(policy, "/else/c.key"));
  EXPECT_TRUE(Warns(policy, "names that match it later are readable"));
}

TEST(CompileTest, AllowGlobsDoNotCrossPlantedLinks) {
  PolicyWorld world;
  world.fs.AddDirectory("/o/a").AddLink("/o/evil", "/home/u").AddFile("/home/u/.profile");
  world.AllowWrite({"/o/*"});
  const EffectivePolicy policy = world.Compile();
  EXPECT_EQ(Existing(FindRule(policy, RuleKind::kAllowWrite, "/o/*")), Paths{"/o/a"});
  EXPECT_TRUE(Writes(policy, "/o/a/x"));
  EXPECT_FALSE(Writes(policy, "/home/u/x"));
}

TEST(CompileTest, TheFixedPrefixOfAGlobIsResolvedToo) {
  PolicyWorld world;
  world.fs.AddFile("/data/x.pem").AddLink("/home/u/certs", "/data");
  world.DenyRead({"~/certs/*.pem"});
  const EffectivePolicy policy = world.Compile();
  const Rule* rule = FindRule(policy, RuleKind::kDenyRead, "~/certs/*.pem");
  EXPECT_EQ(rule->globs, (Paths{"/home/u/certs/*.pem", "/data/*.pem"}));
  EXPECT_EQ(Existing(rule), Paths{"/data/x.pem"});
  EXPECT_FALSE(Reads(policy, "/data/y.pem"));
  EXPECT_FALSE(Reads(policy, "/home/u/certs/y.pem"));
}

TEST(CompileTest, AnExistingNameWithGlobCharactersIsThatPathAsWell) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/w/[id]")
      .AddFile("/home/u/w/i")
      .AddDirectory("/out/[id]")
      .AddDirectory("/out/i");
  world.DenyRead({"[id]"}).AllowWrite({"/out/[id]"});
  const EffectivePolicy policy = world.Compile();
  EXPECT_FALSE(Reads(policy, "/home/u/w/[id]"));
  EXPECT_FALSE(Reads(policy, "/home/u/w/i"));
  EXPECT_TRUE(Writes(policy, "/out/[id]/x"));
  EXPECT_FALSE(Writes(policy, "/out/i/x"));
}

TEST(CompileTest, LiteralForcesThePath) {
  PolicyWorld world;
  world.spec.filesystem.deny_read = {{"[id]", true, {"test"}}, {"a\\*", false, {"test"}}};
  const EffectivePolicy policy = world.Compile();
  EXPECT_FALSE(Reads(policy, "/home/u/w/[id]"));
  EXPECT_TRUE(Reads(policy, "/home/u/w/i"));
  EXPECT_FALSE(Reads(policy, "/home/u/w/a*"));
  EXPECT_TRUE(Reads(policy, "/home/u/w/ab"));
}

TEST(CompileTest, ABrokenPatternThatExistsIsThePath) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/w/[draft");
  world.DenyRead({"[draft"});
  EXPECT_FALSE(Reads(world.Compile(), "/home/u/w/[draft"));
  world.DenyRead({"[other"});
  const Error error = world.CompileError();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_NE(error.message.find("denyRead \"[other\" (test:denyRead)"), std::string::npos)
      << error.message;
}

TEST(CompileTest, RefusalsNameRuleSourceAndRemedy) {
  struct Case {
    const char* what;
    void (*set)(PolicyWorld&);
    ErrorCode code;
  };
  const Case cases[] = {
      {"denyWrite \"*.key\" (test:denyWrite)", [](PolicyWorld& w) { w.DenyWrite({"*.key"}); },
       ErrorCode::kUnsupported},
      {"denyWrite \"a/*/\"", [](PolicyWorld& w) { w.DenyWrite({"a/*/"}); },
       ErrorCode::kUnsupported},
      {"protectedPaths \"/c/*\"",
       [](PolicyWorld& w) { w.spec.protected_paths = PolicyWorld::Entries({"/c/*"}, "test"); },
       ErrorCode::kUnsupported},
      {"denyNames \".env\" (test)",
       [](PolicyWorld& w) {
         w.spec.filesystem.deny_names = PolicyWorld::Entries({".env"}, "test");
       },
       ErrorCode::kUnsupported},
      {"defaultDenyNames: this also forbids names that do not exist yet",
       [](PolicyWorld& w) { w.spec.filesystem.default_deny_names = true; },
       ErrorCode::kUnsupported},
      {"denyRead \"~bob/x\"", [](PolicyWorld& w) { w.DenyRead({"~bob/x"}); }, ErrorCode::kInvalid},
      {"denyRead \"{a\"", [](PolicyWorld& w) { w.DenyRead({"{a"}); }, ErrorCode::kInvalid},
      {"denyRead \"loop\"",
       [](PolicyWorld& w) {
         w.fs.AddLink("/home/u/w/loop", "loop");
         w.DenyRead({"loop"});
       },
       ErrorCode::kInvalid},
      {"bind mount \"data:/data\" (test)",
       [](PolicyWorld& w) { w.spec.bind_mounts = {{"data", "/data", false, {"test"}}}; },
       ErrorCode::kInvalid},
      {"there is no /none",
       [](PolicyWorld& w) { w.spec.bind_mounts = {{"/none", "/none", false, {"test"}}}; },
       ErrorCode::kInvalid},
      {"/home/u/w/none does not exist",
       [](PolicyWorld& w) { w.spec.guest_workdir = "/home/u/w/none"; }, ErrorCode::kInvalid},
      {"/home/u/w/readme is not a directory",
       [](PolicyWorld& w) { w.spec.guest_workdir = "/home/u/w/readme"; }, ErrorCode::kInvalid},
      {"no working directory", [](PolicyWorld& w) { w.context.workdir.clear(); },
       ErrorCode::kInvalid},
      {"may not be read: hidden by denyRead \".\"", [](PolicyWorld& w) { w.DenyRead({"."}); },
       ErrorCode::kInvalid},
      {"execGrantRoots \"b/*\"",
       [](PolicyWorld& w) { w.spec.exec_grant_roots = PolicyWorld::Entries({"b/*"}, "test"); },
       ErrorCode::kInvalid},
  };
  for (const Case& c : cases) {
    PolicyWorld world;
    c.set(world);
    const Error error = world.CompileError();
    EXPECT_EQ(error.code, c.code) << c.what;
    EXPECT_NE(error.message.find(c.what), std::string::npos) << error.message;
    EXPECT_FALSE(error.remedy.empty()) << error.message;
  }
}

TEST(CompileTest, TildeWithoutHomeIsAnError) {
  PolicyWorld world;
  world.context.home.clear();
  EXPECT_TRUE(Warns(world.Compile(), "no home directory is known"));
  world.DenyRead({"~/x"});
  EXPECT_EQ(world.CompileError().code, ErrorCode::kInvalid);
}

TEST(CompileTest, AMissingDenyWriteIsReportedWhereItCouldBeMade) {
  PolicyWorld world;
  world.DenyWrite({"later", "/etc/later", "readme"});
  const EffectivePolicy policy = world.Compile();
  EXPECT_TRUE(
      Warns(policy,
            "denyWrite \"later\" (test:denyWrite) is not there yet: its creation is not refused"));
  EXPECT_FALSE(Warns(policy, "/etc/later"));
  EXPECT_FALSE(Warns(policy, "readme"));
  EXPECT_TRUE(FindRule(policy, RuleKind::kDenyWrite, "later")->needs_supervisor);
  EXPECT_FALSE(FindRule(policy, RuleKind::kDenyWrite, "/etc/later")->needs_supervisor);
  EXPECT_FALSE(May(policy, Operation::kCreate, "/home/u/w/later"));
}

TEST(CompileTest, TheBuiltInSetsWarnOfNothing) {
  PolicyWorld world;
  world.spec.filesystem.default_denies = true;
  EXPECT_TRUE(world.Compile().warnings.empty());
}

TEST(CompileTest, SupervisedSessionsTakeNamesAndGlobs) {
  PolicyWorld world;
  world.context.supervised = true;
  world.fs.AddFile("/home/u/w/a/.env")
      .AddFile("/home/u/w/.env.example")
      .AddFile("/home/u/w/node_modules/p/t.pem");
  world.fs.AddFile("/home/u/w/s/x.pem").AddFile("/etc/y.pem").AddFile("/home/u/w/k1");
  world.spec.filesystem.deny_names = PolicyWorld::Entries(
      {".env", ".env.*", "*.pem", "!.env.example", "!**/node_modules/**"}, "test");
  world.DenyWrite({"k*"});
  const EffectivePolicy policy = world.Compile();
  EXPECT_TRUE(policy.warnings.empty());
  EXPECT_FALSE(Writes(policy, "/home/u/w/a/.env"));
  EXPECT_FALSE(May(policy, Operation::kCreate, "/home/u/w/new/.env"));
  EXPECT_FALSE(Writes(policy, "/home/u/w/.env.local"));
  EXPECT_TRUE(Writes(policy, "/home/u/w/.env.example"));
  EXPECT_TRUE(Writes(policy, "/home/u/w/node_modules/p/t.pem"));
  EXPECT_FALSE(Writes(policy, "/home/u/w/s/x.pem"));
  EXPECT_TRUE(Removes(policy, "/home/u/w/s/x.pem"));
  EXPECT_FALSE(Writes(policy, "/home/u/w/k2"));
  EXPECT_TRUE(FindRule(policy, RuleKind::kDenyName, "*.pem")->existing.empty());
  EXPECT_EQ(Existing(FindRule(policy, RuleKind::kDenyWrite, "k*")), Paths{"/home/u/w/k1"});
}

TEST(CompileTest, TheBuiltInNameListHoldsWithItsExceptions) {
  PolicyWorld world;
  world.context.supervised = true;
  world.spec.filesystem.default_deny_names = true;
  world.spec.filesystem.deny_names =
      PolicyWorld::Entries({"*.secret", "!public.pem", "!fixtures/"}, "test");
  const EffectivePolicy policy = world.Compile();
  EXPECT_TRUE(policy.warnings.empty());
  for (const char* path : {".env", "a/.env.local", "server.key", "a.pem", "target/a.secret"})
    EXPECT_FALSE(Writes(policy, "/home/u/w/" + std::string(path))) << path;
  for (const char* path : {".env.example", "node_modules/a/b.pem", "target/x.key", "public.pem",
                           "a/fixtures/x.key", "fixtures/a.secret", "environment"})
    EXPECT_TRUE(Writes(policy, "/home/u/w/" + std::string(path))) << path;
  const Rule* rule = FindRule(policy, RuleKind::kDenyName, ".env");
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->source.origin, "built-in name list");
  EXPECT_FALSE(rule->reason.empty());
  EXPECT_TRUE(rule->needs_supervisor);
}

TEST(CompileTest, NamesAreNotLookedForAtStart) {
  PolicyWorld world;
  world.context.supervised = true;
  for (int i = 0; i < 100; ++i) world.fs.AddFile("/home/u/w/d" + std::to_string(i) + "/x.key");
  (void)world.Compile();
  const int without = std::exchange(world.fs.listed, 0);
  world.spec.filesystem.default_deny_names = true;
  (void)world.Compile();
  EXPECT_EQ(world.fs.listed, without);
}

TEST(CompileTest, SystemDirectoriesAsWorkingDirectoryStayReadOnly) {
  for (const char* dir : {"/", "/usr", "/etc", "/home"}) {
    PolicyWorld world;
    world.context.workdir = dir;
    const EffectivePolicy policy = world.Compile();
    EXPECT_FALSE(Writes(policy, dir)) << dir;
    EXPECT_TRUE(Reads(policy, dir)) << dir;
    EXPECT_TRUE(
        Warns(policy, "is a system directory and stays read-only; --write " + std::string(dir)))
        << dir;
    world.AllowWrite({dir});
    EXPECT_TRUE(Writes(world.Compile(), JoinPath(dir, "x"))) << dir;
    EXPECT_FALSE(Warns(world.Compile(), "system directory")) << dir;
  }
  PolicyWorld home;
  home.context.workdir = "/home/u";
  EXPECT_TRUE(Writes(home.Compile(), "/home/u/x"));
  EXPECT_TRUE(home.Compile().warnings.empty());
}

TEST(CompileTest, APrivateDirectoryIsNotOpenedByItsOwnName) {
  PolicyWorld world;
  world.context.workdir = "/tmp";
  world.AllowWrite({"/var/tmp"}).DenyRead({"/dev/shm"});
  const EffectivePolicy policy = world.Compile();
  EXPECT_TRUE(Warns(policy, "the working directory /tmp is the session's own"));
  EXPECT_TRUE(Warns(policy, "the session has its own /var/tmp"));
  for (const char* path : {"/tmp/x", "/var/tmp/x", "/dev/shm/x"}) {
    EXPECT_TRUE(policy.Decide(Operation::kWrite, path).session_own) << path;
  }
  EXPECT_TRUE(FindRule(policy, RuleKind::kDenyRead, "/dev/shm")->existing.empty());
}

TEST(CompileTest, AMountOfAPrivateDirectoryBringsTheHosts) {
  PolicyWorld world;
  world.fs.AddFile("/tmp/x");
  world.spec.bind_mounts = {{"/tmp", "/tmp", false, {"test"}}};
  EXPECT_TRUE(Writes(world.Compile(), "/tmp/x"));
}

TEST(CompileTest, MountsMapTheWorkingDirectory) {
  PolicyWorld world;
  world.fs.AddDirectory("/host/data/sub");
  world.spec.bind_mounts = {{"/host/data", "/shown", false, {"test"}}};
  world.spec.guest_workdir = "/shown/sub";
  const EffectivePolicy policy = world.Compile();
  EXPECT_EQ(policy.workdir, "/host/data/sub");
  EXPECT_EQ(policy.mounts.front().guest_path, "/shown");
  EXPECT_TRUE(Writes(policy, "/host/data/x"));
}

TEST(CompileTest, AReadOnlyMountKeepsItsWorkingDirectoryReadOnly) {
  PolicyWorld world;
  world.spec.bind_mounts = {{"/home/u/w", "/home/u/w", true, {"test"}}};
  EXPECT_FALSE(Writes(world.Compile(), "/home/u/w/x"));
}

TEST(CompileTest, BlockWritableDirsMarksWritableRules) {
  PolicyWorld world;
  world.fs.AddDirectory("/home/u/w/bin");
  world.spec.exec.block_writable_dirs = true;
  world.spec.exec_grant_roots = PolicyWorld::Entries({"bin"}, "test");
  const EffectivePolicy policy = world.Compile();
  EXPECT_FALSE(FindRule(policy, RuleKind::kWorkdir, "/home/u/w")->executable);
  EXPECT_EQ(policy.exec_grants, Paths{"/home/u/w/bin"});
}

TEST(CompileTest, NothingIsListedWithoutGlobs) {
  PolicyWorld world;
  world.spec.filesystem.default_denies = true;
  for (int i = 0; i < 500; ++i) world.fs.AddFile("/home/u/w/src/f" + std::to_string(i));
  world.DenyWrite({"src"}).DenyRead({"~/x"}).AllowWrite({"/home/u/w/src"});
  world.fs.listed = world.fs.asked = 0;
  world.Compile();
  const int few = world.fs.asked;
  for (int i = 0; i < 500; ++i) world.fs.AddFile("/home/u/w/deep/a/f" + std::to_string(i));
  world.fs.listed = world.fs.asked = 0;
  world.Compile();
  EXPECT_LE(world.fs.asked, few);
  // The directories that many rules stand in (home, the working directory, ...), never a tree.
  EXPECT_LE(world.fs.listed, 6);
}

TEST(CompileTest, AFullDirectoryIsAskedAboutOneByOne) {
  PolicyWorld world;
  for (int i = 0; i < 2000; ++i) world.fs.AddFile("/home/u/w/a" + std::to_string(i));
  world.fs.AddFile("/home/u/w/zz");
  std::vector<std::string> rules;
  for (int i = 0; i < 20; ++i) rules.push_back("q" + std::to_string(i));
  rules.push_back("zz");
  world.DenyRead(rules);
  const EffectivePolicy policy = world.Compile();
  EXPECT_EQ(FindRule(policy, RuleKind::kDenyRead, "zz")->existing.size(), 1u);
  EXPECT_TRUE(FindRule(policy, RuleKind::kDenyRead, "q19")->existing.empty());
}

TEST(CompileTest, AFoldingDirectoryFindsOtherSpellings) {
  PolicyWorld world;
  world.fs.FoldCase("/home/u/w/ci").AddFile("/home/u/w/ci/Secret");
  std::vector<std::string> rules;
  for (int i = 0; i < 20; ++i) rules.push_back("ci/q" + std::to_string(i));
  rules.push_back("ci/sECRET");
  world.DenyRead(rules);
  EXPECT_EQ(FindRule(world.Compile(), RuleKind::kDenyRead, "ci/sECRET")->existing.size(), 1u);
}

TEST(CompileTest, TheWorkingDirectoryIsWritableOnlyWhereTheCallerSaysSo) {
  PolicyWorld world;
  world.context.workdir_writable = false;
  EXPECT_FALSE(Writes(world.Compile(), "/home/u/w/x"));
  EXPECT_TRUE(Reads(world.Compile(), "/home/u/w/x"));
  world.AllowWrite({"."});
  EXPECT_TRUE(Writes(world.Compile(), "/home/u/w/x"));
}

TEST(CompileTest, TheWalkIsPruned) {
  PolicyWorld world;
  for (int i = 0; i < 50; ++i) world.fs.AddFile("/home/u/w/d" + std::to_string(i) + "/x/y/z");
  world.fs.AddDirectory("/proc/1").AddDirectory("/sys/x");
  const auto lists_more = [&](const std::vector<std::string>& rules) {
    world.DenyRead({});
    world.fs.listed = 0;
    world.Compile();
    const int without = world.fs.listed;
    world.DenyRead(rules);
    world.fs.listed = 0;
    world.Compile();
    return world.fs.listed - without;
  };
  EXPECT_EQ(lists_more({"d1/*.key"}), 1);
  EXPECT_EQ(lists_more({"d1/*.key", "d1/x/*.key"}), 2);
  EXPECT_EQ(lists_more({"none/**/*.key"}), 0);
  EXPECT_LT(lists_more({"/proc/*/environ", "/*/environ"}), 16);
  EXPECT_FALSE(Reads(world.Compile(), "/proc/1/environ"));
}

TEST(CompileTest, LongPathsAndStrangeNamesWork) {
  PolicyWorld world;
  std::string deep = "/home/u/w";
  while (deep.size() < 6000) deep += "/" + std::string(200, 'd');
  world.fs.AddFile(deep).AddFile("/home/u/w/new\nline");
  world.DenyRead({deep, "new\nline"});
  const EffectivePolicy policy = world.Compile();
  EXPECT_FALSE(Reads(policy, deep));
  EXPECT_FALSE(Reads(policy, "/home/u/w/new\nline"));
}

// An earlier session planted the link; what the person opens is not what it leads to.
TEST(CompileTest, AnOpeningThatLeadsOutThroughAPlantedLinkIsRefused) {
  PolicyWorld world;
  world.fs.AddFile("/home/u/.aws/key").AddDirectory("/home/u/other").AddDirectory("/home/u/w/in");
  world.fs.AddLink("/home/u/w/data", "/home/u/.aws").AddLink("/home/u/w/out", "/home/u/other");
  world.fs.AddLink("/home/u/w/inner", "in");
  world.DenyRead({"~/.aws"}).AllowRead({"data"});
  EXPECT_NE(world.CompileError().message.find("it leads to /home/u/.aws"), std::string::npos);
  world.spec.filesystem.allow_read.clear();
  world.AllowWrite({"out"});
  EXPECT_NE(world.CompileError().message.find("it leads to /home/u/other"), std::string::npos);
  world.spec.filesystem.allow_write.clear();
  // Named by its own path, within the writable place, or where nothing is denied: as before.
  world.AllowWrite({"/home/u/other", "inner"});
  world.AllowRead({"/home/u/.aws", "out"});
  EXPECT_EQ(world.Compile().workdir, "/home/u/w");
}

TEST(CompileTest, ALinkMountedWhereItStandsMountsItsTarget) {
  PolicyWorld world;
  world.fs.AddDirectory("/srv/real").AddLink("/srv/link", "real");
  world.spec.bind_mounts.push_back({"/srv/link", "/srv/link", false, {}});
  world.spec.view = View::kHost;
  EXPECT_EQ(world.Compile().mounts.at(0).guest_path, "/srv/real");
  world.spec.view = View::kBound;
  EXPECT_EQ(world.Compile().mounts.at(0).guest_path, "/srv/link");
}

// Another session may write above it, and swaps it for a link between getcwd and this look.
TEST(CompileTest, AWorkingDirectoryThatBecameALinkOpensNothing) {
  PolicyWorld world;
  world.fs.AddLink("/home/u/w/sub", "/home/u");
  world.spec.guest_workdir = "/home/u/w/sub";
  EXPECT_EQ(world.Compile().workdir, "/home/u");
  world.context.workdir_exact = true;
  EXPECT_NE(world.CompileError().message.find("replaced by a link to /home/u"), std::string::npos);
  world.spec.guest_workdir = "/home/u/w/src";
  EXPECT_EQ(world.Compile().workdir, "/home/u/w/src");
}

}  // namespace
}  // namespace cordon::policy
