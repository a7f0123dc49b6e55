#include "session/violation.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "session/violation_noise.h"

namespace cordon::session {
namespace {

using jail::wire::kNoRule;
using jail::wire::Report;

policy::Rule MadeRule(policy::RuleKind kind, const std::string& path, const std::string& origin,
                      const std::string& reason = {}) {
  policy::Rule rule;
  rule.kind = kind;
  rule.text = path;
  rule.source.origin = origin;
  rule.reason = reason;
  rule.paths = {path};
  return rule;
}

// 0 the working directory, 1 protected, 2 denied by a person, 3 a built-in secret.
policy::EffectivePolicy MadePolicy() {
  policy::EffectivePolicy policy;
  policy.workdir = "/w";
  policy.rules = {
      MadeRule(policy::RuleKind::kWorkdir, "/w", "working directory", "the session works here"),
      MadeRule(policy::RuleKind::kProtected, "/w/.git/hooks", "built-in protected set", "git runs"),
      MadeRule(policy::RuleKind::kDenyWrite, "/w/keep", "spec.json"),
      MadeRule(policy::RuleKind::kDenyRead, "/h/.ssh", "built-in deny-read set", "keys"),
  };
  policy.rules[2].source.line = 4;
  policy.rules[3].built_in_default = true;
  return policy;
}

Report MadeReport(Action action, std::string_view target, std::uint32_t rule = kNoRule) {
  Report r;
  r.action = action;
  r.exec = 1;
  r.target = target;
  r.raw = target;
  r.program = "/usr/bin/python3";
  r.call = "openat";
  r.pid = 7;
  r.host_pid = 70;
  r.error = EROFS;
  r.rule = rule;
  return r;
}

TEST(ViolationTest, CarriesTheRuleAndWhereItWasWritten) {
  const auto policy = MadePolicy();
  const Violation v = MakeViolation(MadeReport(Action::kFileCreate, "/w/.git/hooks/x", 1), policy);
  EXPECT_EQ(v.rule, "protected /w/.git/hooks");
  EXPECT_EQ(v.source, "built-in protected set");
  EXPECT_EQ(v.by, RefusedBy::kRule);
  EXPECT_TRUE(v.built_in);
  EXPECT_FALSE(v.rule_names_target);
  const Violation own = MakeViolation(MadeReport(Action::kFileWrite, "/w/keep", 2), policy);
  EXPECT_EQ(own.source, "spec.json:4");
  EXPECT_FALSE(own.built_in);
  EXPECT_TRUE(own.rule_names_target);
}

TEST(ViolationTest, FindsOutWhoRefusedWithoutARule) {
  const auto policy = MadePolicy();
  EXPECT_EQ(MakeViolation(MadeReport(Action::kFileWrite, "/etc/x"), policy).by, RefusedBy::kNoRule);
  Report moment = MadeReport(Action::kFileCreate, "/w/sub/.git/hooks");
  moment.reason = "read-only by protected \".git/hooks\" (built-in protected set): git runs them";
  EXPECT_EQ(MakeViolation(moment, policy).by, RefusedBy::kMoment);
  EXPECT_EQ(MakeViolation(moment, policy).rule, "protected .git/hooks");
  EXPECT_EQ(MakeViolation(moment, policy).source, "built-in protected set");
  const Violation secret = MakeViolation(MadeReport(Action::kFileRead, "/h/.ssh/id"), policy);
  EXPECT_EQ(secret.by, RefusedBy::kRule);
  EXPECT_TRUE(secret.built_in_default);
  EXPECT_EQ(MakeViolation(MadeReport(Action::kUnixSocket, "/run/docker.sock"), policy).by,
            RefusedBy::kBoundary);
  // An index of another policy names nothing.
  EXPECT_EQ(MakeViolation(MadeReport(Action::kFileWrite, "/etc/x", 99), policy).by,
            RefusedBy::kNoRule);
}

TEST(ViolationTest, AsksAboutTheHostsPathBelowAMount) {
  auto policy = MadePolicy();
  policy.mounts = {{"/w/keep", "/seen", false, {}}};
  const Violation v = MakeViolation(MadeReport(Action::kFileWrite, "/seen/a"), policy);
  EXPECT_EQ(v.target, "/seen/a");
  EXPECT_EQ(v.host_path, "/w/keep/a");
  EXPECT_EQ(v.rule, "denyWrite /w/keep");
}

TEST(ViolationLogTest, FoldsStormsAndSaysThemWhenTheyDouble) {
  const auto policy = MadePolicy();
  ViolationLog log;
  int events = 0;
  for (int i = 0; i < 1000; ++i) {
    if (log.Add(MadeReport(Action::kFileWrite, "/etc/x"), policy) != nullptr) ++events;
  }
  ASSERT_EQ(log.all().size(), 1u);
  EXPECT_EQ(log.all()[0].count, 1000u);
  EXPECT_EQ(events, 10);  // 1, 2, 4, ... 512
  const auto rest = log.TakeUnsaid();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].count, 1000u);
  EXPECT_EQ(rest[0].number, 1u);
  EXPECT_TRUE(log.TakeUnsaid().empty());
}

TEST(ViolationLogTest, TellsTargetsActionsProgramsAndExecsApart) {
  const auto policy = MadePolicy();
  ViolationLog log;
  Report report = MadeReport(Action::kFileWrite, "/etc/x");
  EXPECT_NE(log.Add(report, policy), nullptr);
  EXPECT_NE(log.Add(MadeReport(Action::kFileUnlink, "/etc/x"), policy), nullptr);
  EXPECT_NE(log.Add(MadeReport(Action::kFileWrite, "/etc/y"), policy), nullptr);
  report.program = "/bin/sh";
  EXPECT_NE(log.Add(report, policy), nullptr);
  report.exec = 2;
  EXPECT_NE(log.Add(report, policy), nullptr);
  EXPECT_EQ(log.all().size(), 5u);
  EXPECT_EQ(log.Of(2).size(), 1u);
  log.Forget(1);
  ASSERT_EQ(log.all().size(), 1u);
  EXPECT_EQ(log.Add(report, policy)->number, 5u);
  report.exec = 3;
  EXPECT_EQ(log.Add(report, policy)->number, 6u);
}

TEST(ViolationLogTest, KeepsABoundedNumber) {
  const auto policy = MadePolicy();
  ViolationLog log;
  for (std::size_t i = 0; i < ViolationLog::kMaxDistinct + 5; ++i)
    log.Add(MadeReport(Action::kFileWrite, "/etc/" + std::to_string(i)), policy);
  EXPECT_EQ(log.all().size(), ViolationLog::kMaxDistinct);
  EXPECT_EQ(log.not_kept(), 5u);
  Report lost = MadeReport(Action::kLost, "");
  lost.count = 9;
  ASSERT_NE(log.Add(lost, policy), nullptr);
  EXPECT_EQ(EventPartsOf(log.all().back()).type, "gap");

  ViolationLog long_names;
  const std::string name(4000, 'a');
  for (int i = 0; i < 2000; ++i)
    long_names.Add(MadeReport(Action::kFileWrite, "/etc/" + name + std::to_string(i)), policy);
  EXPECT_GT(long_names.not_kept(), 0u);
  EXPECT_LT(long_names.all().size(), 600u);
}

TEST(ViolationLogTest, IgnoresWhatTheFilterNames) {
  const auto policy = MadePolicy();
  ViolationLog log(*ViolationFilter::Make({{"make", {"/etc"}}}, "/h", "/w"));
  log.Began(1, {"make", "all"});
  log.Began(2, {"true"});
  Report report = MadeReport(Action::kFileWrite, "/etc/x");
  EXPECT_EQ(log.Add(report, policy), nullptr);
  report.exec = 2;
  EXPECT_NE(log.Add(report, policy), nullptr);
  EXPECT_EQ(log.ignored(), 1u);
}

TEST(ViolationEventTest, HasTheFieldsOfTheSpecification) {
  const auto policy = MadePolicy();
  const Violation v = MakeViolation(MadeReport(Action::kFileCreate, "/w/.git/hooks/x", 1), policy);
  const EventParts parts = EventPartsOf(v);
  EXPECT_EQ(parts.type, "violation");
  EXPECT_EQ(parts.text.at("action"), "file-write-create");
  EXPECT_EQ(parts.text.at("target"), "/w/.git/hooks/x");
  EXPECT_EQ(parts.text.at("raw"), "/w/.git/hooks/x");
  EXPECT_EQ(parts.text.at("program"), "/usr/bin/python3");
  EXPECT_EQ(parts.text.at("rule"), "protected /w/.git/hooks");
  EXPECT_EQ(parts.text.at("source"), "built-in protected set");
  EXPECT_EQ(parts.numbers.at("pid"), 7);
  EXPECT_EQ(parts.numbers.at("count"), 1);
  EXPECT_EQ(parts.numbers.at("errno"), EROFS);
  EXPECT_EQ(parts.numbers.count("inferred"), 0u);
  EXPECT_EQ(EventPartsOf(MakeViolation(MadeReport(Action::kChanged, "/w/Makefile"), policy)).type,
            "changed");
}

TEST(ViolationNoiseTest, EachRowHasAReasonAndAPattern) {
  for (const NoiseRow& row : NoiseRows()) {
    EXPECT_FALSE(row.reason.empty()) << row.target;
    EXPECT_TRUE(row.target.starts_with("/")) << row.target;
    EXPECT_TRUE(glob::Pattern::Parse(row.target).ok()) << row.target;
    EXPECT_EQ(row.actions.find_first_not_of("rws"), std::string_view::npos) << row.target;
  }
}

TEST(ViolationNoiseTest, KnowsNoise) {
  const auto policy = MadePolicy();
  const std::pair<Action, const char*> noise[] = {
      {Action::kFileWrite, "/proc/7/oom_score_adj"},
      {Action::kFileWrite, "/proc/70/oom_score_adj"},
      {Action::kFileWrite, "/proc/self/loginuid"},
      {Action::kFileCreate, "/usr/lib/python3/json/__pycache__"},
      {Action::kFileCreate, "/usr/lib/python3/json/__pycache__/a.cpython-311.pyc.1234"},
      {Action::kFileCreate, "/w/x/lib/python3/site-packages/a/__pycache__/b.pyc"},
      {Action::kFileWrite, "/dev/tty"},
      {Action::kUnixSocket, "/run/nscd/socket"},
      {Action::kUnixSocket, "/var/run/nscd/socket"},
      {Action::kUnixSocket, "/dev/log"},
      {Action::kFileWrite, "/var/cache/man/index.db"},
      {Action::kFileRead, "/usr/lib/locale/locale-archive"},
  };
  for (const auto& [action, target] : noise) {
    Violation v = MakeViolation(MadeReport(action, target), policy);
    v.by = action == Action::kUnixSocket ? RefusedBy::kBoundary : RefusedBy::kNoRule;
    EXPECT_NE(FindNoise(v), nullptr) << target;
  }
  Violation git =
      MakeViolation(MadeReport(Action::kUnixSocket, "/r/.git/fsmonitor--daemon.ipc"), policy);
  EXPECT_EQ(FindNoise(git), nullptr);
  git.program = "/usr/lib/git-core/git";
  EXPECT_NE(FindNoise(git), nullptr);
  git.program = "[git]";
  EXPECT_NE(FindNoise(git), nullptr);
}

TEST(ViolationNoiseTest, LeavesWhatSomebodyMayActUpon) {
  auto policy = MadePolicy();
  policy.rules.push_back(MadeRule(policy::RuleKind::kDenyWrite, "/var/cache/man", "spec.json"));
  policy.rules.push_back(
      MadeRule(policy::RuleKind::kProtected, "/w/.git/hooks", "built-in protected set", "why"));
  const Report reports[] = {
      MadeReport(Action::kFileWrite, "/proc/1/oom_score_adj"),
      MadeReport(Action::kFileWrite, "/proc/8/oom_score_adj"),
      MadeReport(Action::kFileWrite, "/proc/7/mem"),
      MadeReport(Action::kFileCreate, "/h/.cache/pip/x"),
      MadeReport(Action::kFileCreate, "/h/project/__pycache__/x.pyc"),
      MadeReport(Action::kUnixSocket, "/run/docker.sock"),
      MadeReport(Action::kUnixSocket, "/run/dbus/system_bus_socket"),
      MadeReport(Action::kFileWrite, "/var/cache/man/index.db", 4),
      MadeReport(Action::kFileCreate, "/etc/__pycache__"),
      MadeReport(Action::kExec, "/dev/tty"),
  };
  for (const Report& report : reports) {
    EXPECT_EQ(FindNoise(MakeViolation(report, policy)), nullptr) << report.target;
  }
}

}  // namespace
}  // namespace cordon::session
