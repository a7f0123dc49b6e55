#include "notify/reporter.h"

#include "notify/notify_test_support.h"

namespace cordon::notify {
namespace {

using jail::wire::Action;
using jail::wire::ReadReport;
using jail::wire::Type;

class ReporterTest : public ::testing::Test {
 protected:
  static Denial Make(const std::string& target) {
    Denial denial;
    denial.target = target;
    denial.program = "/bin/sh";
    denial.error = EROFS;
    return denial;
  }
  // As the handlers do it.
  void Refuse(const Denial& denial) {
    if (reporter_.Count(denial)) reporter_.Send(denial);
  }
  // "target:count" of each message that has arrived; the counts are added up in `sums_`.
  std::vector<std::string> Arrived() {
    std::vector<std::string> out;
    LinkMessage message;
    while (ReceiveLink(pair_.near.get(), message, false) == LinkResult::kMessage) {
      EXPECT_EQ(message.header.type, Type::kReport);
      bool ok = false;
      const jail::wire::Report report = ReadReport(message.payload, ok);
      EXPECT_TRUE(ok);
      const std::string target =
          report.action == Action::kLost ? "lost" : std::string(report.target);
      out.push_back(target + ":" + std::to_string(report.count));
      sums_[target] += report.count;
    }
    return out;
  }

  SocketPair pair_;
  Reporter reporter_{pair_.far.get()};
  std::unordered_map<std::string, std::uint64_t> sums_;
};

using Lines = std::vector<std::string>;

TEST_F(ReporterTest, SaysAllThatIsKnown) {
  Denial denial;
  denial.action = Action::kFileUnlink;
  denial.exec = 3;
  denial.rule = 17;
  denial.error = EACCES;
  denial.call = "rename";
  denial.target = "/a\nb\xff";
  denial.raw = "../b";
  denial.program = "[sh]";
  denial.reason = "because";
  denial.host_pid = 1234567;
  denial.pid = 2;
  Refuse(denial);
  LinkMessage message;
  ASSERT_EQ(ReceiveLink(pair_.near.get(), message, false), LinkResult::kMessage);
  bool ok = false;
  const jail::wire::Report report = ReadReport(message.payload, ok);
  ASSERT_TRUE(ok);
  EXPECT_EQ(report.action, Action::kFileUnlink);
  EXPECT_EQ(report.exec, 3u);
  EXPECT_EQ(report.count, 1u);
  EXPECT_EQ(report.host_pid, 1234567u);
  EXPECT_EQ(report.pid, 2u);
  EXPECT_EQ(report.rule, 17u);
  EXPECT_EQ(report.error, EACCES);
  EXPECT_EQ(report.call, "rename");
  EXPECT_EQ(report.target, "/a\nb\xff");
  EXPECT_EQ(report.raw, "../b");
  EXPECT_EQ(report.program, "[sh]");
  EXPECT_EQ(report.reason, "because");
  for (std::size_t cut = 0; cut < message.payload.size(); ++cut) {
    (void)ReadReport(std::string_view(message.payload).substr(0, cut), ok);
    EXPECT_FALSE(ok) << cut;
  }
}

TEST_F(ReporterTest, TheFirstIsSaidAndThenEachDoubling) {
  for (int i = 0; i < 5; ++i) Refuse(Make("/a"));
  EXPECT_EQ(Arrived(), (Lines{"/a:1", "/a:1", "/a:2"}));
  for (int i = 0; i < 4; ++i) Refuse(Make("/a"));
  EXPECT_EQ(Arrived(), (Lines{"/a:4"}));
  EXPECT_FALSE(reporter_.waiting());
  reporter_.Flush();
  EXPECT_EQ(Arrived(), (Lines{"/a:1"}));
  EXPECT_EQ(sums_["/a"], 9u);
  reporter_.Flush();
  EXPECT_EQ(Arrived(), Lines{});
}

TEST_F(ReporterTest, OnlyTheSameRefusalFolds) {
  const Denial base = Make("/a");
  Refuse(base);
  Denial other = base;
  other.raw = "./a";
  other.reason = "in other words";
  other.pid = 9;
  Refuse(other);
  EXPECT_EQ(Arrived().size(), 2u);
  Refuse(other);
  EXPECT_EQ(Arrived(), Lines{}) << "the third of the same";
  const auto distinct = [&](auto change) {
    Denial denial = base;
    change(denial);
    Refuse(denial);
    return Arrived().size() == 1;
  };
  EXPECT_TRUE(distinct([](Denial& d) { d.target = "/b"; }));
  EXPECT_TRUE(distinct([](Denial& d) { d.program = "/bin/cat"; }));
  EXPECT_TRUE(distinct([](Denial& d) { d.action = Action::kFileRead; }));
  EXPECT_TRUE(distinct([](Denial& d) { d.rule = 1; }));
  EXPECT_TRUE(distinct([](Denial& d) { d.exec = 2; }));
}

TEST_F(ReporterTest, WhatDoesNotFitIsKeptAndSaidLater) {
  constexpr int kTargets = 3000;
  const auto name = [](int i) { return "/" + std::string(500, 'x') + std::to_string(i); };
  for (int i = 0; i < kTargets; ++i)
    for (int times = 0; times < 3; ++times) Refuse(Make(name(i)));
  EXPECT_TRUE(reporter_.waiting());
  for (int rounds = 0; reporter_.waiting(); ++rounds) {
    ASSERT_LT(rounds, kTargets);
    EXPECT_FALSE(Arrived().empty());
    reporter_.Flush();
  }
  Arrived();
  EXPECT_EQ(sums_.size(), static_cast<std::size_t>(kTargets));
  for (const auto& [target, count] : sums_) EXPECT_EQ(count, 3u) << target;
}

TEST_F(ReporterTest, BeyondTheBoundTheyAreCountedAsLost) {
  constexpr int kMore = 100;
  const int kept = static_cast<int>(Reporter::kMostKept);
  const auto name = [](int i) { return "/" + std::string(500, 'x') + std::to_string(i); };
  for (int i = 0; i < kept + kMore; ++i) Refuse(Make(name(i)));
  Refuse(Make(name(0)));
  EXPECT_TRUE(reporter_.waiting());
  while (reporter_.waiting()) {
    ASSERT_FALSE(Arrived().empty());
    reporter_.Flush();
  }
  Arrived();
  EXPECT_EQ(sums_["lost"], static_cast<std::uint64_t>(kMore));
  EXPECT_EQ(sums_[name(0)], 2u);
  EXPECT_EQ(sums_.size(), Reporter::kMostKept + 1);
  Refuse(Make("/new"));
  EXPECT_EQ(Arrived(), (Lines{"/new:1"})) << "what was said makes room";
}

TEST_F(ReporterTest, ManyKindsInTurnNeedNoMoreMemory) {
  for (int i = 0; i < 3 * static_cast<int>(Reporter::kMostKept); ++i) {
    Refuse(Make("/" + std::to_string(i)));
    ASSERT_EQ(Arrived().size(), 1u);
  }
  EXPECT_EQ(sums_.count("lost"), 0u);
}

TEST_F(ReporterTest, AHostThatIsGoneIsNoHarm) {
  pair_.near.reset();
  for (int i = 0; i < 10; ++i) Refuse(Make("/a"));
  reporter_.Flush();
  EXPECT_TRUE(reporter_.waiting());
}

}  // namespace
}  // namespace cordon::notify
