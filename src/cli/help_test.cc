#include "cli/help.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cordon::cli {
namespace {

std::string ReadSource(const std::string& path) {
  std::ifstream in(std::string(CORDON_SOURCE_DIR "/") + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

constexpr const char* kHowToUpdate =
    " is behind src/cli/options.cc; run the test with CORDON_UPDATE_DOCS=1 to write it anew";

// With CORDON_UPDATE_DOCS set the file is written first.
void ExpectUpToDate(const std::string& path, const std::string& expected) {
  if (::getenv("CORDON_UPDATE_DOCS") != nullptr) {
    std::ofstream(std::string(CORDON_SOURCE_DIR "/") + path) << expected;
  }
  EXPECT_EQ(ReadSource(path), expected) << path << kHowToUpdate;
}

TEST(HelpTest, NamesEveryOptionWithinEightyColumns) {
  for (const Command& command : Commands()) {
    const std::string help = CommandHelp(command);
    for (const Option& option : command.options) {
      EXPECT_NE(help.find("  " + std::string(option.name)), std::string::npos) << option.name;
    }
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
    EXPECT_NE(GlobalHelp().find("  " + std::string(command.name) + " "), std::string::npos);
  }
}

TEST(HelpTest, ManPageHoldsTheTable) {
  const std::string page = ReadSource("docs/man/cordon.1");
  const std::size_t begin = page.find(kManBegin), end = page.find(kManEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  ExpectUpToDate("docs/man/cordon.1",
                 page.substr(0, begin + kManBegin.size()) + ManOptions() + page.substr(end));
}

TEST(HelpTest, CompletionsHoldTheTable) {
  ExpectUpToDate("completions/cordon.bash", *CompletionScript("bash"));
  ExpectUpToDate("completions/_cordon", *CompletionScript("zsh"));
  ExpectUpToDate("completions/cordon.fish", *CompletionScript("fish"));
  EXPECT_FALSE(CompletionScript("tcsh").ok());
}

TEST(HelpTest, CompletionsNameEveryOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = *CompletionScript(shell);
    for (const Command& command : Commands()) {
      for (const Option& option : command.options) {
        const bool fish = std::string_view(shell) == "fish";
        const std::string name(fish ? option.name.substr(option.name.find_first_not_of('-'))
                                    : option.name);
        EXPECT_NE(script.find(name), std::string::npos) << shell << " " << option.name;
      }
    }
  }
}

}  // namespace
}  // namespace cordon::cli
