// What the server of masks is told about a plan, and which masks it may stand behind.
#include <gtest/gtest.h>

#include "jail/plan_builder.h"
#include "jail/wire_report.h"
#include "policy/memory_file_system.h"

namespace cordon::jail {
namespace {

class PlanMasksTest : public ::testing::Test {
 protected:
  PlanMasksTest() {
    for (const char* dir :
         {"/tmp", "/var/tmp", "/dev", "/run", "/sys", "/usr/bin", "/home/u/w", "/home/u/.ssh/open"})
      fs_.AddDirectory(dir);
    fs_.AddFile("/home/u/.netrc");
    spec_.session_id = "s";
    spec_.workspace_id = "w";
    spec_.view = policy::View::kHost;
    spec_.guest_workdir = "/home/u/w";
    spec_.filesystem.default_denies = false;
    context_.home = "/home/u";
    context_.workdir = "/home/u/w";
    context_.workdir_writable = true;
  }
  Plan Build() {
    auto policy = policy::Compile(spec_, context_, fs_);
    EXPECT_TRUE(policy.ok()) << policy.error().ToString();
    policy_ = *policy;
    PlanInput input;
    input.policy = &policy_;
    input.inner_uid = 1000;
    input.host_sockets = sockets_;
    auto plan = BuildPlan(input, fs_);
    EXPECT_TRUE(plan.ok()) << plan.error().ToString();
    return *plan;
  }
  static const Operation* At(const Plan& plan, const std::string& path) {
    for (const auto& op : plan.operations)
      if (op.target == path) return &op;
    return nullptr;
  }

  policy::MemoryFileSystem fs_;
  policy::SandboxSpec spec_;
  policy::Context context_;
  policy::EffectivePolicy policy_;
  std::vector<std::string> sockets_;
};

TEST_F(PlanMasksTest, DeniedReadsAreReportedWithTheirRule) {
  spec_.filesystem.deny_read = {{"/home/u/.ssh", false, {}}, {"/home/u/.netrc", false, {}}};
  const Plan plan = Build();
  for (const char* path : {"/home/u/.ssh", "/home/u/.netrc"}) {
    const Operation* op = At(plan, path);
    ASSERT_NE(op, nullptr);
    EXPECT_TRUE(op->reported);
    ASSERT_LT(op->rule, policy_.rules.size());
    EXPECT_EQ(policy_.rules[op->rule].text, path);
  }
}

TEST_F(PlanMasksTest, SkeletonsAndSocketsAreNot) {
  fs_.AddOther("/home/u/agent");
  sockets_ = {"/home/u/agent"};
  spec_.filesystem.deny_read = {{"/home/u/.ssh", false, {}}};
  spec_.filesystem.allow_read = {{"/home/u/.ssh/open", false, {}}};
  const Plan plan = Build();
  for (const char* path : {"/home/u/.ssh", "/home/u/agent"}) {
    ASSERT_NE(At(plan, path), nullptr) << path;
    EXPECT_FALSE(At(plan, path)->reported) << path;
  }
  EXPECT_EQ(EncodeMasks(plan, 1000, 1000), "");
}

TEST_F(PlanMasksTest, TableHasTheNumbersOfTheOperations) {
  spec_.filesystem.deny_read = {{"/home/u/.netrc", false, {}}};
  const Plan plan = Build();
  const std::string bytes = EncodeMasks(plan, 1000, 1001);
  wire::Reader r(bytes);
  EXPECT_EQ(r.U32(), 1000u);
  EXPECT_EQ(r.U32(), 1001u);
  ASSERT_EQ(r.U32(), 1u);
  const std::uint32_t number = r.U32();
  ASSERT_LT(number, plan.operations.size());
  EXPECT_EQ(plan.operations[number].target, "/home/u/.netrc");
  EXPECT_EQ(r.U32(), static_cast<std::uint32_t>(wire::MaskKind::kFile));
  EXPECT_EQ(r.U32(), plan.operations[number].rule);
  EXPECT_EQ(r.String(), "/home/u/.netrc");
  EXPECT_TRUE(r.ok() && r.AtEnd());
}

}  // namespace
}  // namespace cordon::jail
