#include "cli/denial_summary.h"

#include <gtest/gtest.h>

#include "cli/denial_test_support.h"
#include "session/event.h"

namespace cordon::cli {
namespace {

using session::Action;
using session::Violation;

TEST(DenialSummaryTest, NamesPathCountRuleAndOption) {
  DenialWorld world;
  Violation hosts = world.Refused(Action::kFileWrite, "/etc/hosts");
  hosts.count = 3;
  const Violation hook = world.Refused(Action::kFileCreate, "/home/u/w/.git/hooks/x");
  const std::string text = DenialSummary({hosts, hook}, world.Compile(), Events::kNone);
  EXPECT_EQ(text,
            "cordon: the sandbox refused 4 calls:\n"
            "  write /etc/hosts (3 times, cp)\n"
            "      no rule makes it writable; --write /etc/hosts\n"
            "  create /home/u/w/.git/hooks/x (cp)\n"
            "      protected /home/u/w/.git/hooks (built-in protected set); nothing lifts it but "
            "filesystem.disabled in a --spec file\n");
}

TEST(DenialSummaryTest, IsShortAndSafeToShow) {
  DenialWorld world;
  std::vector<Violation> all;
  for (int i = 0; i < 100; ++i)
    all.push_back(world.Refused(Action::kFileWrite, "/etc/\x1b[31m" + std::to_string(i)));
  const std::string text = DenialSummary(all, world.Compile(), Events::kNone);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("/etc/\\x1b[31m0"), std::string::npos);
  EXPECT_NE(text.find("and 94 more (--events FILE has all)"), std::string::npos);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 14);
}

TEST(DenialSummaryTest, ChangedFilesAndLostReportsAreListedApart) {
  DenialWorld world;
  const auto policy = world.Compile();
  std::vector<Violation> all = {world.Refused(Action::kChanged, "/home/u/w/Makefile", "openat"),
                                world.Refused(Action::kChanged, "/home/u/w/Makefile", "rename"),
                                world.Refused(Action::kLost, "")};
  all[2].count = 12;
  EXPECT_EQ(DenialSummary(all, policy, Events::kNone),
            "cordon: 12 more refusals came too fast to be written down\n"
            "cordon: changed here, run later outside (look before you run them):\n"
            "  /home/u/w/Makefile\n");
  EXPECT_EQ(DenialSummary({}, policy, Events::kNone), "");
}

TEST(DenialLineTest, IsOnePrintableLine) {
  DenialWorld world;
  const auto line = [](Violation v, std::uint64_t count) {
    v.count = count;
    session::EventParts parts = session::EventPartsOf(v);
    session::Event event;
    event.type = parts.type;
    event.text = parts.text;
    event.numbers = parts.numbers;
    return DenialLine(event);
  };
  EXPECT_EQ(line(world.Refused(Action::kFileWrite, "/etc/a\nb"), 1),
            "refused: file-write* /etc/a\\nb: no rule makes it writable");
  EXPECT_EQ(line(world.Refused(Action::kFileCreate, "/home/u/w/.git/hooks/x"), 4),
            "refused: file-write-create /home/u/w/.git/hooks/x (4 times): protected "
            "/home/u/w/.git/hooks (built-in protected set)");
  EXPECT_EQ(line(world.Refused(Action::kChanged, "/home/u/w/Makefile"), 1),
            "changed, runs later outside: /home/u/w/Makefile");
  EXPECT_EQ(line(world.Refused(Action::kLost, ""), 7),
            "7 refusals came too fast to be written down");
}

}  // namespace
}  // namespace cordon::cli
