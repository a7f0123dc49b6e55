#include "cli/stdio_plan.h"

namespace cordon::cli {

std::array<StdioWay, 3> DecideStdio(const std::array<bool, 3>& is_terminal, TtyChoice choice) {
  const bool none = !is_terminal[0] && !is_terminal[1] && !is_terminal[2];
  std::array<StdioWay, 3> ways;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (choice == TtyChoice::kNever) {
      ways[i] = is_terminal[i] ? StdioWay::kPipe : StdioWay::kInherit;
    } else {
      const bool terminal = is_terminal[i] || (none && choice == TtyChoice::kAlways);
      ways[i] = terminal ? StdioWay::kTerminal : StdioWay::kInherit;
    }
  }
  return ways;
}

}  // namespace cordon::cli
