#include "cli/dry_run.h"

#include <gtest/gtest.h>

#include "policy/json_reader.h"

namespace cordon::cli {
namespace {

RunPlan MadePlan() {
  RunPlan plan;
  plan.spec.session_id = "run-1";
  plan.spec.limits.memory_bytes = 512u << 20;
  plan.spec.limits.wall_time = std::chrono::seconds(90);
  plan.argv = {"make", "a\x1b[2Jb"};
  plan.warnings = {"first warning"};
  return plan;
}

session::Preview MadePreview() {
  session::Preview preview;
  preview.policy.view = policy::View::kHost;
  preview.policy.workdir = "/home/u/p";
  preview.policy.mounts = {{"/data", "/seen", true, {}}};
  preview.policy.warnings = {"second warning"};
  preview.enforcement = {{"denyRead ~/.ssh (built-in deny-read set)", "/home/u/.ssh", "mask"},
                         {"denyWrite x", "/home/u/p/x", "not held yet: the path does not exist"}};
  preview.environment = {{"HOME", "/home/u"}};
  preview.removed_variables = {"LD_PRELOAD: code"};
  preview.plan_text = "plan";
  preview.filter_text = "filter";
  return preview;
}

TEST(DryRunTest, TextSaysWhatIsHeldAndWhatNot) {
  const std::string text = DryRunText(MadePlan(), MadePreview());
  const std::size_t not_held = text.find("\nNot held yet:\n");
  ASSERT_NE(not_held, std::string::npos);
  EXPECT_LT(text.find("/home/u/.ssh"), not_held);
  EXPECT_GT(text.find("/home/u/p/x"), not_held);
  for (const char* part : {"view        host", "/data at /seen (read-only)", "512M", "90s",
                           "LD_PRELOAD: code", "first warning", "second warning"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(DryRunTest, TextLeavesEmptyPartsOut) {
  RunPlan plan;
  const std::string text = DryRunText(plan, session::Preview{});
  for (const char* part : {"Not held", "Mounts", "Limits", "Warnings", "Removed", "command"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << part;
  }
}

TEST(DryRunTest, JsonHoldsTheSame) {
  const auto root = policy::ParseJson(DryRunJson(MadePlan(), MadePreview()), "dry run");
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(root->Find("view")->value.text, "host");
  EXPECT_EQ(root->Find("command")->value.items[1].text, "a\x1b[2Jb");
  const auto& rules = root->Find("rules")->value.items;
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_TRUE(rules[0].Find("held")->value.boolean);
  EXPECT_FALSE(rules[1].Find("held")->value.boolean);
  EXPECT_EQ(root->Find("limits")->value.Find("wallTimeMs")->value.AsUint64(), 90000u);
  EXPECT_TRUE(root->Find("mounts")->value.items[0].Find("readOnly")->value.boolean);
  EXPECT_EQ(root->Find("warnings")->value.items.size(), 2u);
}

}  // namespace
}  // namespace cordon::cli
