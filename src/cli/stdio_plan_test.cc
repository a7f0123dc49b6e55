#include "cli/stdio_plan.h"

#include <gtest/gtest.h>

namespace cordon::cli {
namespace {

using Ways = std::array<StdioWay, 3>;
constexpr StdioWay kIn = StdioWay::kInherit, kTt = StdioWay::kTerminal, kPi = StdioWay::kPipe;

TEST(StdioPlanTest, TerminalsBecomeTheSessionsOwn) {
  EXPECT_EQ(DecideStdio({true, true, true}, TtyChoice::kAuto), (Ways{kTt, kTt, kTt}));
  EXPECT_EQ(DecideStdio({true, false, false}, TtyChoice::kAuto), (Ways{kTt, kIn, kIn}));
  EXPECT_EQ(DecideStdio({false, false, false}, TtyChoice::kAuto), (Ways{kIn, kIn, kIn}));
}

TEST(StdioPlanTest, ForcedWithoutAnyTerminalAllAreOne) {
  EXPECT_EQ(DecideStdio({false, false, false}, TtyChoice::kAlways), (Ways{kTt, kTt, kTt}));
  EXPECT_EQ(DecideStdio({false, true, false}, TtyChoice::kAlways), (Ways{kIn, kTt, kIn}));
}

TEST(StdioPlanTest, NoTerminalEverEnters) {
  for (int bits = 0; bits < 8; ++bits) {
    const std::array<bool, 3> terminals = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    for (const TtyChoice choice : {TtyChoice::kAuto, TtyChoice::kAlways, TtyChoice::kNever}) {
      const Ways ways = DecideStdio(terminals, choice);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_FALSE(terminals[i] && ways[i] == StdioWay::kInherit);
        EXPECT_FALSE(choice == TtyChoice::kNever && ways[i] == StdioWay::kTerminal);
      }
    }
  }
}

}  // namespace
}  // namespace cordon::cli
