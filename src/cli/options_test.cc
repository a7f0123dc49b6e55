#include "cli/options.h"

#include <gtest/gtest.h>

#include <set>

namespace cordon::cli {
namespace {

using Words = std::vector<std::string>;

Result<Arguments> Parse(std::string_view command, const Words& words) {
  return ParseArguments(*FindCommand(command), words);
}

TEST(OptionsTest, TakesValuesInBothSpellings) {
  const auto parsed = Parse("run", {"--write", "/a", "--write=/b=c", "--quiet", "make"});
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->values.size(), 3u);
  EXPECT_EQ(parsed->values[0].value, "/a");
  EXPECT_EQ(parsed->values[1].value, "/b=c");
  EXPECT_TRUE(parsed->Has(Opt::kQuiet));
  EXPECT_EQ(parsed->operands, Words{"make"});
}

TEST(OptionsTest, OptionsAfterTheCommandBelongToIt) {
  const auto parsed = Parse("run", {"--quiet", "ls", "--view", "x", "--", "-c"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->values.size(), 1u);
  EXPECT_EQ(parsed->operands, (Words{"ls", "--view", "x", "--", "-c"}));
}

TEST(OptionsTest, TwoHyphensEndTheOptions) {
  const auto parsed = Parse("run", {"--", "--quiet", "x"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->values.empty());
  EXPECT_EQ(parsed->operands, (Words{"--quiet", "x"}));
}

TEST(OptionsTest, ShellLineTakesOptionsBehindIt) {
  const auto parsed = Parse("run", {"-c", "echo $0", "--quiet", "zero", "--one"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Last(Opt::kShellLine), "echo $0");
  EXPECT_TRUE(parsed->Has(Opt::kQuiet));
  EXPECT_EQ(parsed->operands, (Words{"zero", "--one"}));
}

TEST(OptionsTest, OtherCommandsTakeOptionsAnywhere) {
  const auto parsed = Parse("kill", {"run-a", "--all"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->Has(Opt::kAll));
  EXPECT_EQ(parsed->operands, Words{"run-a"});
}

TEST(OptionsTest, AnOptionOnlyValueIsTakenAsItStands) {
  const auto parsed = Parse("run", {"--env", "--x=y", "true"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Last(Opt::kEnv), "--x=y");
}

TEST(OptionsTest, UnknownOptionNamesTheNearest) {
  const auto parsed = Parse("run", {"--deny-raed", "/x", "true"});
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message, "unknown option --deny-raed");
  EXPECT_EQ(parsed.error().remedy, "--deny-read");
}

TEST(OptionsTest, RefusesWrongUse) {
  EXPECT_FALSE(Parse("run", {"--write"}).ok());
  EXPECT_FALSE(Parse("run", {"--write="}).ok());
  EXPECT_FALSE(Parse("run", {"--quiet=yes"}).ok());
  EXPECT_FALSE(Parse("run", {"--view", "all", "true"}).ok());
  EXPECT_FALSE(Parse("run", {"--timeout", "1s", "--timeout", "2s", "true"}).ok());
  EXPECT_FALSE(Parse("run", {"-x", "true"}).ok());
  EXPECT_FALSE(Parse("ps", {"--all"}).ok());
}

TEST(OptionsTest, UnknownCommandNamesTheNearest) {
  EXPECT_EQ(UnknownCommand("rnu").remedy, "cordon run");
  EXPECT_EQ(FindCommand("rnu"), nullptr);
}

TEST(OptionsTest, EveryTableIsConsistent) {
  for (const Command& command : Commands()) {
    std::set<std::string_view> names;
    for (const Option& option : command.options) {
      EXPECT_TRUE(names.insert(option.name).second) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_FALSE(option.help.ends_with('.')) << option.name;
      EXPECT_EQ(option.completes == Completes::kChoice, !option.choices.empty()) << option.name;
      EXPECT_TRUE(!option.repeatable || !option.argument.empty()) << option.name;
    }
    EXPECT_TRUE(names.contains("--help")) << command.name;
  }
}

}  // namespace
}  // namespace cordon::cli
