// network.allowUnixSockets: what it opens, and what it refuses to speak of.
#include "policy/policy.h"
#include "policy/policy_test_support.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

PolicyWorld SocketWorld(const std::vector<std::string>& allowed) {
  PolicyWorld world;
  world.fs.AddOther("/run/user/1000/agent")
      .AddOther("/run/user/1000/bus")
      .AddOther("/home/u/.gnupg/S.agent")
      .AddFile("/home/u/.gnupg/key")
      .AddOther("/home/u/w/own.sock");
  world.spec.network.allow_unix_sockets = PolicyWorld::Entries(allowed, "test:allowUnixSockets");
  return world;
}

TEST(SocketRuleTest, OpensTheSocketAndNothingBesideIt) {
  PolicyWorld world = SocketWorld({"/run/user/1000/agent", "~/.gnupg/S.agent"});
  world.DenyRead({"~/.gnupg"});
  const EffectivePolicy policy = world.Compile();
  EXPECT_TRUE(Reads(policy, "/run/user/1000/agent"));
  EXPECT_TRUE(policy.Decide(Operation::kRead, "/run/user/1000/bus").session_own);
  EXPECT_TRUE(Reads(policy, "/home/u/.gnupg/S.agent"));
  EXPECT_FALSE(Reads(policy, "/home/u/.gnupg/key"));
  EXPECT_FALSE(Writes(policy, "/run/user/1000/agent"));
  const Verdict verdict = policy.Decide(Operation::kRead, "/run/user/1000/agent");
  ASSERT_NE(verdict.rule, nullptr);
  EXPECT_EQ(DescribeRule(*verdict.rule),
            "allowUnixSockets \"/run/user/1000/agent\" (test:allowUnixSockets)");
  EXPECT_TRUE(policy.warnings.empty());
}

TEST(SocketRuleTest, LiftsABuiltInDenyButNotTheUsersOwn) {
  PolicyWorld world = SocketWorld({"~/.gnupg/S.agent"});
  world.spec.filesystem.default_denies = true;
  EXPECT_TRUE(Reads(world.Compile(), "/home/u/.gnupg/S.agent"));
  world.DenyRead({"~/.gnupg/S.agent"});
  EXPECT_FALSE(Reads(world.Compile(), "/home/u/.gnupg/S.agent"));
}

TEST(SocketRuleTest, WorksWhereThereAreNoFileRules) {
  PolicyWorld world = SocketWorld({"/run/user/1000/agent"});
  world.spec.filesystem.disabled = true;
  const EffectivePolicy policy = world.Compile();
  ASSERT_EQ(policy.rules.size(), 1u);
  EXPECT_EQ(policy.rules[0].kind, RuleKind::kAllowSocket);
  EXPECT_EQ(policy.rules[0].existing[0].path, "/run/user/1000/agent");
}

TEST(SocketRuleTest, FollowsTheUsersLinks) {
  PolicyWorld world = SocketWorld({"/etc/agent.sock"});
  world.fs.AddLink("/etc/agent.sock", "/run/user/1000/agent");
  const EffectivePolicy policy = world.Compile();
  EXPECT_TRUE(Reads(policy, "/run/user/1000/agent"));
  EXPECT_EQ(policy.rules[1].links, std::vector<std::string>{"/etc/agent.sock"});
}

TEST(SocketRuleTest, RefusesALinkThatASessionMayHaveMade) {
  PolicyWorld world = SocketWorld({"link.sock"});
  world.fs.AddLink("/home/u/w/link.sock", "/run/user/1000/bus");
  const Error error = world.CompileError();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_EQ(
      error.message,
      "allowUnixSockets \"link.sock\" (test:allowUnixSockets): /home/u/w/link.sock is reached "
      "through a link in a writable directory, which a session may have made; it leads to "
      "/run/user/1000/bus");
  // A chain whose middle stands there is no better.
  world = SocketWorld({"/etc/agent.sock"});
  world.fs.AddLink("/etc/agent.sock", "/home/u/w/link.sock")
      .AddLink("/home/u/w/link.sock", "/run/user/1000/bus");
  EXPECT_EQ(world.CompileError().code, ErrorCode::kInvalid);
  // Who names the socket itself as well knows where the link leads.
  world = SocketWorld({"link.sock", "/run/user/1000/bus"});
  world.fs.AddLink("/home/u/w/link.sock", "/run/user/1000/bus");
  EXPECT_TRUE(Reads(world.Compile(), "/run/user/1000/bus"));
}

TEST(SocketRuleTest, RefusesPatternsDirectoriesAndFiles) {
  const struct {
    const char* text;
    const char* message;
    const char* remedy;
  } cases[] = {
      {"/run/user/1000/*",
       "allowUnixSockets \"/run/user/1000/*\" (test:allowUnixSockets): a pattern would also allow "
       "sockets that nobody thought of",
       "name each socket (with \"literal\": true where its name holds * ? [ or {)"},
      {"/run/user/1000/**",
       "allowUnixSockets \"/run/user/1000/**\" (test:allowUnixSockets) is a directory, not a "
       "socket",
       "name the socket itself"},
      {"~/.gnupg",
       "allowUnixSockets \"~/.gnupg\" (test:allowUnixSockets) is a directory, not a socket",
       "name the socket itself"},
      {"~/.gnupg/key", "allowUnixSockets \"~/.gnupg/key\" (test:allowUnixSockets) is no socket",
       "take it out; --allow-read is for files"},
  };
  for (const auto& c : cases) {
    const Error error = SocketWorld({c.text}).CompileError();
    EXPECT_EQ(error.code, ErrorCode::kInvalid) << c.text;
    EXPECT_EQ(error.message, c.message);
    EXPECT_EQ(error.remedy, c.remedy);
  }
}

TEST(SocketRuleTest, TakesANameWithMagicLiterally) {
  PolicyWorld world = SocketWorld({});
  world.fs.AddOther("/run/s[1]*");
  world.spec.network.allow_unix_sockets.push_back({"/run/s[1]*", true, {}});
  EXPECT_TRUE(Reads(world.Compile(), "/run/s[1]*"));
}

TEST(SocketRuleTest, WarnsOfASocketThatIsNotThere) {
  const EffectivePolicy policy = SocketWorld({"/run/later.sock"}).Compile();
  EXPECT_TRUE(Warns(policy,
                    "allowUnixSockets \"/run/later.sock\" (test:allowUnixSockets) is not "
                    "there: it must exist when the session starts"));
  EXPECT_NE(FindRule(policy, RuleKind::kAllowSocket, "/run/later.sock"), nullptr);
}

}  // namespace
}  // namespace cordon::policy
