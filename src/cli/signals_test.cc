#include "cli/signals.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace cordon::cli {
namespace {

TEST(SignalsTest, EverySignalHasItsAction) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    EXPECT_EQ(ActionFor(number), SignalAction::kTerminate);
  }
  EXPECT_EQ(ActionFor(SIGUSR1), SignalAction::kForward);
  EXPECT_EQ(ActionFor(SIGTSTP), SignalAction::kSuspend);
  EXPECT_EQ(ActionFor(SIGCONT), SignalAction::kContinue);
  EXPECT_EQ(ActionFor(SIGWINCH), SignalAction::kResize);
  EXPECT_EQ(ActionFor(SIGPIPE), SignalAction::kIgnore);
}

TEST(SignalsTest, SignalsComeInOrderAndWakeThePoll) {
  const auto inbox = SignalInbox::Install();
  ASSERT_TRUE(inbox.ok());
  pollfd set{(*inbox)->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&set, 1, 0), 0);
  ::raise(SIGUSR1);
  ::raise(SIGPIPE);
  ::raise(SIGWINCH);
  EXPECT_EQ(::poll(&set, 1, 0), 1);
  EXPECT_EQ((*inbox)->Take()->number, SIGUSR1);
  EXPECT_EQ((*inbox)->Take()->number, SIGWINCH);
  EXPECT_FALSE((*inbox)->Take().has_value());
  EXPECT_FALSE(SignalInbox::TerminationSeen());
}

TEST(SignalsTest, TerminationIsRememberedAndTheFirstOneCounts) {
  const auto inbox = SignalInbox::Install();
  ASSERT_TRUE(inbox.ok());
  ::raise(SIGUSR2);
  ::raise(SIGTERM);
  ::raise(SIGINT);
  EXPECT_EQ((*inbox)->TakeTermination(), SIGTERM);
  EXPECT_FALSE((*inbox)->TakeTermination().has_value());
  EXPECT_TRUE(SignalInbox::TerminationSeen());
}

TEST(SignalsTest, WhatTheCallerIgnoredStaysSo) {
  ASSERT_NE(::signal(SIGHUP, SIG_IGN), SIG_ERR);
  ASSERT_NE(::signal(SIGINT, SIG_IGN), SIG_ERR);
  {
    const auto inbox = SignalInbox::Install();
    ASSERT_TRUE(inbox.ok());
    ::raise(SIGHUP);
    EXPECT_FALSE((*inbox)->Take().has_value());
    // Somebody asks for it by name: a key would be left alone.
    ::raise(SIGINT);
    const auto caught = (*inbox)->Take();
    ASSERT_TRUE(caught.has_value());
    EXPECT_FALSE(caught->from_terminal);
  }
  // The inbox puts back what it found.
  EXPECT_EQ(::signal(SIGHUP, SIG_DFL), SIG_IGN);
  EXPECT_EQ(::signal(SIGINT, SIG_DFL), SIG_IGN);
}

}  // namespace
}  // namespace cordon::cli
