#include "jail/plan_proc.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cordon::jail {
namespace {

using policy::EffectivePolicy;
using policy::FileKind;
using policy::Rule;
using policy::RuleKind;

EffectivePolicy Hiding(const std::string& path, FileKind kind = FileKind::kFile) {
  EffectivePolicy policy;
  Rule rule;
  rule.kind = RuleKind::kDenyRead;
  rule.text = path;
  rule.paths = {path};
  rule.existing = {{path, kind}};
  policy.rules.push_back(rule);
  return policy;
}

const Operation* Find(const Plan& plan, const std::string& target) {
  const auto it = std::find_if(plan.after_proc.begin(), plan.after_proc.end(),
                               [&](const Operation& op) { return op.target == target; });
  return it == plan.after_proc.end() ? nullptr : &*it;
}

TEST(PlanProcTest, HidesWhatARuleNames) {
  Plan plan;
  PlanProc(Hiding("/proc/cpuinfo"), 1000, plan);
  const Operation* mask = Find(plan, "/proc/cpuinfo");
  ASSERT_NE(mask, nullptr);
  EXPECT_EQ(mask->source, "/proc/masks/file");
  EXPECT_TRUE(mask->early);
  PlanProc(Hiding("/proc/sys", FileKind::kDirectory), 1000, plan);
  EXPECT_EQ(Find(plan, "/proc/sys")->source, "/proc/masks/dir");
}

TEST(PlanProcTest, ProcessesOfTheHostAreNotThereToBeHidden) {
  Plan plan;
  PlanProc(Hiding("/proc/4711/environ"), 1000, plan);
  EXPECT_EQ(Find(plan, "/proc/4711/environ"), nullptr);
}

TEST(PlanProcTest, OnlyUserZeroNeedsKernelSettingsReadOnly) {
  Plan user, root;
  PlanProc(EffectivePolicy{}, 1000, user);
  PlanProc(EffectivePolicy{}, 0, root);
  EXPECT_EQ(Find(user, "/proc/sys"), nullptr);
  ASSERT_NE(Find(root, "/proc/sys"), nullptr);
  EXPECT_EQ(Find(root, "/proc/sys")->attributes, static_cast<std::uint32_t>(Operation::kReadOnly));
  EXPECT_NE(Find(user, "/proc/keys"), nullptr);
}

TEST(PlanProcTest, RefusesMountsOfProcAndBelowIt) {
  for (const auto& [host, guest] : {std::pair{"/proc", "/proc"}, std::pair{"/proc", "/tmp/p"},
                                    std::pair{"/data", "/proc/x"}, std::pair{"/proc/sys", "/s"}}) {
    EffectivePolicy policy;
    policy.mounts.push_back({host, guest, false, {}});
    const Status status = CheckProc(policy);
    ASSERT_FALSE(status.ok()) << host << ":" << guest;
    EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  }
  EffectivePolicy other;
  other.mounts.push_back({"/process", "/processes", false, {}});
  EXPECT_TRUE(CheckProc(other).ok());
}

TEST(PlanProcTest, RefusesToHideProcAsAWhole) {
  EXPECT_FALSE(CheckProc(Hiding("/proc", FileKind::kDirectory)).ok());
  EXPECT_TRUE(CheckProc(Hiding("/proc/cpuinfo")).ok());
}

TEST(WritablePlacesTest, AreTheWritableTargetsAndTheSessionsOwn) {
  Plan plan;
  Operation work, kept, root;
  work.source = work.target = "/home/u/w";
  kept.source = kept.target = "/home/u/w/.git/hooks";
  kept.attributes = Operation::kReadOnly;
  root.source = kNewRoot;
  root.target = "/";
  plan.operations = {root, work, kept};
  EXPECT_EQ(WritablePlaces(plan), (std::vector<std::string>{"/dev", "/proc", "/home/u/w"}));
  plan.read_only_tree = false;
  EXPECT_EQ(WritablePlaces(plan), std::nullopt);
}

}  // namespace
}  // namespace cordon::jail
