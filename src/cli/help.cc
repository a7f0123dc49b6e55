#include "cli/help.h"

#include <algorithm>
#include <vector>

#include "cli/text.h"

namespace cordon::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kHelpColumn = 26;

std::string Left(const Option& option) {
  std::string left = "  " + std::string(option.name);
  if (!option.alias.empty()) left += ", " + std::string(option.alias);
  if (!option.argument.empty()) left += " " + std::string(option.argument);
  return left;
}

// `left` and `text` side by side; a long `left` stands on a line of its own.
std::string Row(std::string left, std::string_view text, std::size_t column) {
  std::string out = std::move(left);
  if (out.size() + 2 > column) {
    out += "\n" + std::string(column, ' ');
  } else {
    out.resize(column, ' ');
  }
  const auto lines = Wrap(text, kWidth - column);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += std::string(column, ' ');
    out += lines[i] + "\n";
  }
  return out;
}

std::string HelpOf(const Option& option) {
  std::string text(option.help);
  if (option.repeatable) text += " (repeatable)";
  return text;
}

std::string Synopsis(const Command& command) {
  std::string text = "cordon " + std::string(command.name);
  if (command.options.size() > 1) text += " [options]";
  if (!command.operands.empty()) text += " " + std::string(command.operands);
  return text;
}

// man(7): a backslash begins an escape, a hyphen of an option is \-.
std::string Roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string GlobalHelp() {
  std::string out =
      "Usage: cordon COMMAND [options]\n"
      "       cordon run [options] [--] COMMAND [ARGUMENT]...\n"
      "\n"
      "Runs commands inside a sandbox that the operating system enforces.\n"
      "\n"
      "Commands:\n";
  for (const Command& command : Commands()) {
    out += Row("  " + std::string(command.name), command.summary, 14);
  }
  out += "\nOptions:\n";
  for (const Option& option : GlobalOptions()) out += Row(Left(option), option.help, kHelpColumn);
  return out + "\nSee cordon help COMMAND for each, and cordon(1).\n";
}

std::string CommandHelp(const Command& command) {
  std::string out = "Usage: " + Synopsis(command) + "\n";
  if (command.name == "run") out += "       cordon run [options] -c LINE [ARGUMENT]...\n";
  out += "\n" + std::string(command.summary) + ".\n";
  std::string_view about = command.about;
  while (!about.empty()) {
    const std::size_t end = std::min(about.find('\n'), about.size());
    out += "\n";
    for (const std::string& line : Wrap(about.substr(0, end), kWidth)) out += line + "\n";
    about.remove_prefix(std::min(end + 1, about.size()));
  }
  out += "\nOptions:\n";
  for (const Option& option : command.options)
    out += Row(Left(option), HelpOf(option), kHelpColumn);
  return out;
}

std::string ManOptions() {
  std::string out;
  for (const Command& command : Commands()) {
    out += ".SS \"" + Roff(Synopsis(command)) + "\"\n";
    out += Roff(command.summary) + ".\n";
    std::string_view about = command.about;
    while (!about.empty()) {
      const std::size_t end = std::min(about.find('\n'), about.size());
      out += ".PP\n" + Roff(about.substr(0, end)) + "\n";
      about.remove_prefix(std::min(end + 1, about.size()));
    }
    for (const Option& option : command.options) {
      if (option.id == Opt::kHelp) continue;
      out += ".TP\n\\fB" + Roff(option.name) + "\\fR";
      if (!option.argument.empty()) out += " \\fI" + Roff(option.argument) + "\\fR";
      out += "\n" + Roff(HelpOf(option)) + ".\n";
    }
  }
  return out;
}

}  // namespace cordon::cli
