#include "maskfs/asker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>

namespace cordon::maskfs {
namespace {

TEST(StatusNumberTest, FindsColumnsOfWholeKeys) {
  constexpr std::string_view kStatus =
      "Name:\tNSpid:\t3\nTgid:\t12\nPPid:\t7\nNStgid:\t12\t4\t1\nNSpid:\t12\t5\n";
  EXPECT_EQ(StatusNumber(kStatus, "Tgid"), 12u);
  EXPECT_EQ(StatusNumber(kStatus, "NStgid", 1), 4u);
  EXPECT_EQ(StatusNumber(kStatus, "NStgid", 2), 1u);
  EXPECT_EQ(StatusNumber(kStatus, "NStgid", 3), 0u);
  EXPECT_EQ(StatusNumber(kStatus, "NSpid"), 12u);
  EXPECT_EQ(StatusNumber(kStatus, "Pid"), 0u);
  EXPECT_EQ(StatusNumber("", "Tgid"), 0u);
}

// This process stands for one of a session, whose /proc is the one here.
class AskersTest : public ::testing::Test {
 protected:
  AskersTest() {
    askers_.SetSession(UniqueFd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)),
                       UniqueFd(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)));
  }
  Askers askers_;
  const std::uint32_t self_ = static_cast<std::uint32_t>(::getpid());
};

TEST_F(AskersTest, FindsProgramAndProcess) {
  const Asker asker = askers_.Find(static_cast<std::uint32_t>(::gettid()));
  EXPECT_EQ(asker.pid, self_);
  EXPECT_TRUE(asker.host_pid == self_ || asker.host_pid == 0);
  char exe[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", exe, sizeof exe);
  ASSERT_GT(n, 0);
  EXPECT_EQ(asker.program, std::string(exe, static_cast<std::size_t>(n)));
}

TEST_F(AskersTest, ExecIsThatOfTheSessionLeaderOrAnAncestor) {
  EXPECT_EQ(askers_.Find(self_).exec, 0u);
  askers_.AddLeader(0x7ffffff0, 7);
  askers_.AddLeader(static_cast<std::uint32_t>(::getppid()), 8);
  const std::uint32_t by_parent = ::getppid() > 1 ? 8 : 0;
  EXPECT_EQ(askers_.Find(self_).exec, by_parent);
  askers_.AddLeader(static_cast<std::uint32_t>(::getsid(0)), 9);
  EXPECT_EQ(askers_.Find(self_).exec, 9u);
}

TEST_F(AskersTest, WhatHasNoAncestorsIsOfTheOnlyExec) {
  askers_.AddLeader(0x7ffffff0, 7);
  EXPECT_EQ(askers_.Find(self_).exec, 7u);
  askers_.AddLeader(0x7ffffff1, 8);
  EXPECT_EQ(askers_.Find(self_).exec, 0u);
}

TEST_F(AskersTest, UnknownProcessHasNothing) {
  const Asker asker = askers_.Find(0x7ffffff0);
  EXPECT_EQ(asker.pid, 0u);
  EXPECT_EQ(asker.exec, 0u);
  EXPECT_EQ(asker.program, "");
  EXPECT_EQ(Askers().Find(self_).pid, 0u);
}

TEST_F(AskersTest, KnowsWhetherTheSessionEnds) {
  EXPECT_FALSE(askers_.SessionEnds());
  EXPECT_TRUE(Askers().SessionEnds());
}

}  // namespace
}  // namespace cordon::maskfs
