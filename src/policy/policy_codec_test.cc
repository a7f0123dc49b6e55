#include "policy/policy_codec.h"

#include "policy/policy_test_support.h"

namespace cordon::policy {
namespace {

PolicyWorld FullWorld() {
  PolicyWorld world;
  world.context.supervised = true;
  world.spec.filesystem.default_denies = true;
  world.fs.AddFile("/home/u/w/a/.env").AddFile("/host/data/x").AddLink("/home/u/w/l", "src");
  world.fs.FoldCase("/home/u/w/Folded").AddFile("/home/u/w/Folded/k1");
  world.AllowWrite({"/var/out", "~/cache"}).DenyRead({"**/*.secret", "l"});
  world.DenyWrite({"k*", "Folded/k*"});
  world.spec.filesystem.deny_names =
      PolicyWorld::Entries({".env", "*.{key,pem}", "!.env.example"}, "test");
  world.spec.bind_mounts = {{"/host/data", "/shown", false, {"test", 3, 4}}};
  return world;
}

TEST(PolicyCodecTest, ADecodedPolicyAnswersAlike) {
  const EffectivePolicy policy = FullWorld().Compile();
  const std::string bytes = EncodePolicy(policy);
  const auto decoded = DecodePolicy(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().ToString();
  ASSERT_EQ(decoded->rules.size(), policy.rules.size());
  EXPECT_TRUE(decoded->index.Covers(policy.rules.size()));
  EXPECT_EQ(EncodePolicy(*decoded), bytes);
  for (const char* path :
       {"/home/u/w/x", "/home/u/w/.env", "/home/u/w/a/b/.env.example", "/home/u/w/t.key",
        "/home/u/w/k2", "/home/u/w/Folded/K2", "/home/u/w/K2", "/home/u/w/.git/hooks/p",
        "/home/u/.ssh/id", "/tmp/x", "/host/data/y", "/etc/passwd", "/var/out/z.secret"}) {
    for (const Operation op :
         {Operation::kRead, Operation::kWrite, Operation::kCreate, Operation::kRemove}) {
      const Verdict a = policy.Decide(op, path);
      const Verdict b = decoded->Decide(op, path);
      EXPECT_EQ(a.allowed, b.allowed) << path;
      EXPECT_EQ(a.session_own, b.session_own) << path;
      EXPECT_EQ(a.reason, b.reason) << path;
      const auto index = [](const EffectivePolicy& p, const Rule* rule) {
        return rule == nullptr ? -1 : rule - p.rules.data();
      };
      EXPECT_EQ(index(policy, a.rule), index(*decoded, b.rule)) << path;
    }
  }
}

TEST(PolicyCodecTest, RefusesWhatIsCutOrChanged) {
  const std::string bytes = EncodePolicy(FullWorld().Compile());
  for (std::size_t n = 0; n < bytes.size(); n += 1 + n / 50) {
    EXPECT_FALSE(DecodePolicy(bytes.substr(0, n)).ok()) << n;
  }
  EXPECT_FALSE(DecodePolicy(bytes + "x").ok());
  std::string other = bytes;
  other[0] ^= 1;
  EXPECT_FALSE(DecodePolicy(other).ok());
}

}  // namespace
}  // namespace cordon::policy
