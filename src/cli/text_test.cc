#include "cli/text.h"

#include <gtest/gtest.h>

#include <array>

namespace cordon::cli {
namespace {

TEST(PrintableTest, KeepsTextAndEscapesWhatDrivesATerminal) {
  EXPECT_EQ(Printable("plain äöü 漢 🙂"), "plain äöü 漢 🙂");
  EXPECT_EQ(Printable("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(Printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(Printable(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
}

TEST(PrintableTest, EscapesC1ControlsInBothSpellings) {
  EXPECT_EQ(Printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");
}

TEST(PrintableTest, EscapesDirectionOverridesAndBrokenUtf8) {
  EXPECT_EQ(Printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");
  EXPECT_EQ(Printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
}

TEST(NearestTest, FindsWhatWasMeant) {
  constexpr std::array<std::string_view, 4> kNames = {"--deny-read", "--deny-write", "--timeout",
                                                      "--tty"};
  EXPECT_EQ(Nearest("--deny-raed", kNames), "--deny-read");
  EXPECT_EQ(Nearest("--timeou", kNames), "--timeout");
  EXPECT_EQ(Nearest("--time", kNames), "--timeout");
  EXPECT_EQ(Nearest("--colour", kNames), "");
}

TEST(WrapTest, BreaksAtSpaces) {
  EXPECT_EQ(Wrap("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(Wrap("incomprehensible x", 4), (std::vector<std::string>{"incomprehensible", "x"}));
  EXPECT_TRUE(Wrap("", 10).empty());
}

}  // namespace
}  // namespace cordon::cli
