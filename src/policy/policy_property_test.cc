// Random trees and rules: what must hold for every policy.
#include <random>

#include "policy/name_judge.h"
#include "policy/policy.h"
#include "policy/policy_test_support.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  unsigned Below(unsigned n) { return static_cast<unsigned>(engine_() % n); }
  bool Chance(unsigned percent) { return Below(100) < percent; }

  std::string Name() {
    static const char* const kNames[] = {"a", "b",     "c",       ".git", "hooks",
                                         "A", "x.key", ".bashrc", "[b]"};
    return kNames[Below(std::size(kNames))];
  }
  std::string Path() {
    std::string path = "/w";
    for (unsigned i = 0, n = Below(4); i < n; ++i) path += "/" + Name();
    return Chance(10) ? path.substr(2).empty() ? "/" : path.substr(2) : path;
  }
  std::string RuleText() {
    std::string text = Path();
    if (Chance(20)) text += "/**";
    return text;
  }
  std::string ReadText() {
    std::string text = RuleText();
    if (Chance(20))
      text = "/w/" + std::string(Chance(50) ? "**/" : "") + (Chance(50) ? "*.key" : "?");
    return text;
  }
  std::vector<std::string> Some(unsigned most, std::string (Random::*make)()) {
    std::vector<std::string> out;
    for (unsigned i = 0, n = Below(most + 1); i < n; ++i) out.push_back((this->*make)());
    return out;
  }

 private:
  std::mt19937 engine_;
};

PolicyWorld RandomWorld(Random& random) {
  PolicyWorld world;
  world.fs.AddDirectory("/w/a/b").AddDirectory("/elsewhere/t");
  std::vector<std::string> made = {"/w", "/w/a", "/w/a/b"};
  for (unsigned i = 0, n = random.Below(15); i < n; ++i) {
    const std::string path =
        JoinPath(made[random.Below(static_cast<unsigned>(made.size()))], random.Name());
    if (world.fs.Kind(path) != FileKind::kMissing) continue;
    switch (random.Below(5)) {
      case 0:
      case 1:
        world.fs.AddDirectory(path);
        made.push_back(path);
        break;
      case 2:
      case 3: world.fs.AddFile(path); break;
      default: world.fs.AddLink(path, random.Chance(50) ? random.Path() : random.Name());
    }
  }
  world.context.workdir = random.Chance(70) ? "/w" : "/w/a";
  world.spec.view = random.Chance(70) ? View::kHost : View::kBound;
  if (random.Chance(15)) world.spec.mode = Mode::kPlan;
  if (random.Chance(20))
    world.spec.bind_mounts.push_back({"/elsewhere", "/elsewhere", random.Chance(30), {"test"}});
  world.AllowWrite(random.Some(3, &Random::ReadText)).DenyWrite(random.Some(3, &Random::RuleText));
  world.AllowRead(random.Some(3, &Random::ReadText)).DenyRead(random.Some(3, &Random::ReadText));
  return world;
}

constexpr Operation kOperations[] = {Operation::kRead, Operation::kWrite, Operation::kCreate,
                                     Operation::kRemove};

// Compiles many random worlds and calls check(world, policy, random); worlds that are refused (a
// loop, an unreadable working directory) are skipped. Returns how many were not.
template <typename Check>
int ForRandomWorlds(unsigned seeds, Check check) {
  int compiled = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    Random random(seed);
    PolicyWorld world = RandomWorld(random);
    auto policy = world.TryCompile();
    if (!policy.ok()) continue;
    ++compiled;
    SCOPED_TRACE("seed " + std::to_string(seed));
    check(world, *policy, random);
    if (testing::Test::HasFailure()) break;
  }
  return compiled;
}

TEST(PolicyPropertyTest, DenyWriteAlwaysWins) {
  const int compiled =
      ForRandomWorlds(500, [](const PolicyWorld&, const EffectivePolicy& policy, Random& random) {
        for (int i = 0; i < 30; ++i) {
          const std::string path = random.Path();
          for (const Rule& rule : policy.rules) {
            const bool refuses =
                rule.kind == RuleKind::kDenyWrite || rule.kind == RuleKind::kProtected;
            if (!refuses || RuleMatch(rule, path) == 0) continue;
            ASSERT_FALSE(Writes(policy, path)) << path << " under " << DescribeRule(rule);
            ASSERT_FALSE(Removes(policy, path)) << path << " under " << DescribeRule(rule);
          }
        }
      });
  EXPECT_GT(compiled, 200);
}

TEST(PolicyPropertyTest, WriteNeedsReadAndRemoveNeedsWrite) {
  ForRandomWorlds(500, [](const PolicyWorld&, const EffectivePolicy& policy, Random& random) {
    for (int i = 0; i < 30; ++i) {
      const std::string path = random.Path();
      if (Writes(policy, path)) {
        ASSERT_TRUE(Reads(policy, path)) << path;
      }
      if (Removes(policy, path)) {
        ASSERT_TRUE(Writes(policy, path)) << path;
      }
      ASSERT_EQ(Writes(policy, path), May(policy, Operation::kCreate, path)) << path;
    }
  });
}

TEST(PolicyPropertyTest, ADenyNeverAllowsMore) {
  ForRandomWorlds(500, [](PolicyWorld& world, const EffectivePolicy& before, Random& random) {
    PolicyWorld more = world;
    auto& files = more.spec.filesystem;
    auto& list = random.Chance(50) ? files.deny_read : files.deny_write;
    list.push_back({random.RuleText(), false, {"added"}});
    auto after = more.TryCompile();
    if (!after.ok()) return;
    for (int i = 0; i < 40; ++i) {
      const std::string path = random.Path();
      for (const Operation op : kOperations) {
        const Verdict now = after->Decide(op, path);
        ASSERT_FALSE(now.allowed && !May(before, op, path))
            << OperationName(op) << " " << path << " after " << list.back().text << ": "
            << now.reason;
      }
    }
  });
}

// A new writable root brings its own protected set, which is the one thing that an allow takes
// away.
TEST(PolicyPropertyTest, AnAllowNeverDeniesMore) {
  ForRandomWorlds(500, [](PolicyWorld& world, const EffectivePolicy& before, Random& random) {
    PolicyWorld more = world;
    auto& files = more.spec.filesystem;
    auto& list = random.Chance(50) ? files.allow_read : files.allow_write;
    list.push_back({random.ReadText(), false, {"added"}});
    auto after = more.TryCompile();
    if (!after.ok()) return;
    for (int i = 0; i < 40; ++i) {
      const std::string path = random.Path();
      for (const Operation op : kOperations) {
        const Verdict now = after->Decide(op, path);
        if (now.rule != nullptr && now.rule->kind == RuleKind::kProtected) continue;
        ASSERT_FALSE(!now.allowed && May(before, op, path))
            << OperationName(op) << " " << path << " after " << list.back().text << ": "
            << now.reason;
      }
    }
  });
}

// Every path that a deny rule found, and every link on the way, is denied by its own name.
TEST(PolicyPropertyTest, WhatARuleFoundIsWhatItDenies) {
  ForRandomWorlds(500, [](const PolicyWorld& world, const EffectivePolicy& policy, Random&) {
    for (const Rule& rule : policy.rules) {
      for (const ExistingPath& e : rule.existing) {
        ASSERT_EQ(*ResolvePath(e.path, world.fs), e.path) << DescribeRule(rule);
        ASSERT_EQ(world.fs.Kind(e.path), e.kind) << DescribeRule(rule);
        ASSERT_GT(RuleMatch(rule, e.path), 0u) << DescribeRule(rule) << " " << e.path;
        if (rule.kind == RuleKind::kDenyWrite || rule.kind == RuleKind::kProtected) {
          ASSERT_FALSE(Writes(policy, e.path)) << DescribeRule(rule) << " " << e.path;
        }
      }
      for (const std::string& link : rule.links) ASSERT_EQ(world.fs.Kind(link), FileKind::kSymlink);
      ASSERT_EQ(rule.globs.size(), rule.patterns.size());
      ASSERT_EQ(rule.paths.size(), rule.fold_from.size());
    }
  });
}

TEST(PolicyPropertyTest, CompilingIsDeterministic) {
  ForRandomWorlds(300, [](const PolicyWorld& world, const EffectivePolicy& policy, Random&) {
    const EffectivePolicy again = world.Compile();
    ASSERT_EQ(again.rules.size(), policy.rules.size());
    for (std::size_t i = 0; i < policy.rules.size(); ++i) {
      ASSERT_EQ(again.rules[i].paths, policy.rules[i].paths);
      ASSERT_EQ(again.rules[i].existing, policy.rules[i].existing);
    }
    ASSERT_EQ(again.warnings, policy.warnings);
  });
}

TEST(PolicyPropertyTest, AnyBytesGetAnAnswer) {
  std::mt19937 engine(5);
  PolicyWorld world;
  world.fs.FoldCase("/home/u/w/ci");
  world.AllowWrite({"/w", "/w/**/x?"})
      .DenyRead({"/w/*a*", "/w/[!b]*/{c,d}", "ci/\xC3\x89"})
      .DenyWrite({"/w/q"});
  const EffectivePolicy policy = world.Compile();
  for (int round = 0; round < 20000; ++round) {
    std::string path = round % 3 == 0 ? "" : round % 3 == 1 ? "/w/" : "/home/u/w/ci/";
    for (unsigned i = 0, n = static_cast<unsigned>(engine() % 12); i < n; ++i) {
      path += engine() % 3 == 0 ? '/' : static_cast<char>(engine() % 256);
    }
    for (const Operation op : kOperations) {
      const Verdict v = policy.Decide(op, path);
      ASSERT_FALSE(v.reason.empty());
      ASSERT_FALSE(v.allowed && v.session_own);
      if (path.find('\0') != std::string::npos || path.empty() || path.front() != '/') {
        ASSERT_FALSE(v.allowed);
      }
    }
  }
}

// The quick answer of the supervisor is never wider than the whole one.
TEST(PolicyPropertyTest, TheNameJudgeAllowsNothingThatDecideRefuses) {
  int quick = 0;
  ForRandomWorlds(300, [&](PolicyWorld world, const EffectivePolicy&, Random& random) {
    world.context.supervised = true;
    if (random.Chance(20)) world.fs.FoldCase("/w/a");
    world.DenyWrite(random.Some(3, &Random::ReadText));
    if (random.Chance(50))
      world.spec.filesystem.deny_names =
          PolicyWorld::Entries({"*.key", "[b]/{a,c}", "a{,x}/b", "!**/c/**"}, "test:denyNames");
    auto policy = world.TryCompile();
    if (!policy.ok()) return;
    NameJudge judge(*policy, world.fs);
    for (int i = 0; i < 60; ++i) {
      const std::string path = random.Path();
      if (path == "/" || path.find("//") != std::string::npos) continue;
      const FileKind kind = world.fs.Kind(path);
      if (world.fs.Kind(std::string(ParentPath(path))) == FileKind::kSymlink) continue;
      const auto check = [&](Operation op, const NameVerdict& verdict) {
        const Verdict whole = policy->Decide(op, path);
        const bool may = whole.allowed || whole.session_own;
        ASSERT_TRUE(may || !verdict.allowed)
            << OperationName(op) << " " << path << ": " << whole.reason;
        quick += may && verdict.allowed ? 1 : 0;
      };
      check(Operation::kWrite, judge.Write(path));
      check(Operation::kCreate, judge.Create(path, FileKind::kFile));
      check(Operation::kRemove, judge.Remove(path, kind));
      check(Operation::kCreate, judge.Rename("/w/none", FileKind::kFile, path, FileKind::kMissing));
    }
  });
  EXPECT_GT(quick, 1000);
}

}  // namespace
}  // namespace cordon::policy
