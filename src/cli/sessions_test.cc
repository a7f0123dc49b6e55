#include "cli/sessions.h"

#include <gtest/gtest.h>

namespace cordon::cli {
namespace {

std::string Cmdline(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return text;
}

const std::vector<std::string> kWords = {"cordon-session", "run-ab12", "1700000000", "41",
                                         "native",         "/w d",     "make"};

TEST(SessionsTest, ReadsAMonitorsArguments) {
  const auto session = ParseCommandLine(Cmdline(kWords));
  ASSERT_TRUE(session.has_value());
  EXPECT_EQ(session->id, "run-ab12");
  EXPECT_EQ(session->start, 1700000000);
  EXPECT_EQ(session->host_pid, 41);
  EXPECT_EQ(session->backend, "native");
  EXPECT_EQ(session->workdir, "/w d");
  EXPECT_EQ(session->command, "make");
}

TEST(SessionsTest, RefusesOtherArguments) {
  EXPECT_FALSE(ParseCommandLine("").has_value());
  EXPECT_FALSE(ParseCommandLine("cordon-session").has_value());
  for (std::size_t i = 0; i < 4; ++i) {
    auto words = kWords;
    words[i] = i == 0 ? "/tmp/cordon-session" : i == 1 ? "" : "12x";
    EXPECT_FALSE(ParseCommandLine(Cmdline(words)).has_value()) << i;
  }
  auto longer = kWords;
  longer.push_back("more");
  EXPECT_FALSE(ParseCommandLine(Cmdline(longer)).has_value());
  EXPECT_FALSE(ParseCommandLine(Cmdline({kWords.begin(), kWords.end() - 1})).has_value());
}

TEST(SessionsTest, TellsAPidNamespaceByItsDepth) {
  EXPECT_EQ(PidNamespaceDepth("Name:\tx\nNSpid:\t17\nNSpgid:\t17\n"), 1);
  EXPECT_EQ(PidNamespaceDepth("Name:\tx\nNSpid:\t17\t3\nNSpgid:\t17\t3\n"), 2);
  EXPECT_EQ(PidNamespaceDepth("Name:\tx\n"), 0);
}

TEST(SessionsTest, MatchesUniqueBeginnings) {
  RunningSession a, b, c;
  a.id = "run-a1";
  b.id = "run-a12";
  c.id = "build";
  const std::vector<RunningSession> all = {a, b, c};
  EXPECT_EQ(MatchSessions(all, "run-a1"), std::vector{a});  // exact beats a beginning
  EXPECT_EQ(MatchSessions(all, "run-").size(), 2u);
  EXPECT_EQ(MatchSessions(all, "b"), std::vector{c});
  EXPECT_TRUE(MatchSessions(all, "x").empty());
  EXPECT_TRUE(MatchSessions(all, "").empty());
}

TEST(SessionsTest, PrintsNothingThatDrivesATerminal) {
  RunningSession s = *ParseCommandLine(Cmdline(kWords));
  s.workdir = "/w\x1b[2J\nx";
  const std::string text = SessionsText({s}, s.start + 65);
  EXPECT_NE(text.find("1m 5s"), std::string::npos);
  EXPECT_NE(text.find("/w\\x1b[2J\\nx"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const std::string json = SessionsJson({s}, s.start);
  EXPECT_EQ(json.find('\x1b'), std::string::npos);
  EXPECT_NE(json.find("\"session\": \"run-ab12\""), std::string::npos);
  EXPECT_EQ(SessionsJson({}, 0), "[]\n");
}

}  // namespace
}  // namespace cordon::cli
