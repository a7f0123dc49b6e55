// What each of the descriptors 0, 1, 2 becomes inside. Pure and thread-safe.
//
// A terminal of the caller never enters a session: whoever holds it can type into it, read what
// others type and change its modes.
#pragma once

#include <array>

namespace cordon::cli {

enum class TtyChoice { kAuto, kAlways, kNever };

enum class StdioWay {
  kInherit,   // the caller's own descriptor, as it is
  kTerminal,  // the session's own terminal, relayed
  kPipe,      // a pipe, relayed
};

// kAuto, kAlways: a terminal becomes the session's own; kAlways without any: all three do.
// kNever: a terminal becomes a pipe. Everything else is inherited.
std::array<StdioWay, 3> DecideStdio(const std::array<bool, 3>& is_terminal, TtyChoice choice);

}  // namespace cordon::cli
