// What `cordon run` says about refusals: a few lines at the end, and one line each with --debug.
//
//   cordon: the sandbox refused 3 calls:
//     create /home/u/w/.env (2 times, cp)
//         denyNames .env (command line: --deny-name); leave out --deny-name .env, or add ...
//     write /etc/hosts (sed)
//         no rule makes it writable; --write /etc/hosts
//   cordon: changed here, run later outside (look before you run them):
//     /home/u/w/Makefile
//
// Pure and thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "session/event.h"
#include "session/violation.h"

namespace cordon::cli {

// One event of type violation, changed or gap as one line without newline; printable.
std::string DenialLine(const session::Event& event);
// "denyNames .env (command line: --deny-name)", or the reason where no rule decided; printable.
std::string WhyText(const session::Violation& v);

// Both lists; "" when there is nothing to say. `events`: the caller gets every one with --events.
inline constexpr std::size_t kShownDenials = 6;
inline constexpr std::size_t kShownChanges = 10;
enum class Events { kNone, kWritten };
std::string DenialSummary(const std::vector<session::Violation>& all,
                          const policy::EffectivePolicy& policy, Events events);

}  // namespace cordon::cli
