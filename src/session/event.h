// What happens in a session, as values and as JSON Lines (spec 05 "Events").
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cordon::session {

// One event. `type`: starting, ready, stdout, stderr, exit, killed, violation, changed, gap, state.
// (The fields of violation, changed and gap: session/violation.h.)
struct Event {
  std::string type;
  std::string session;
  std::optional<std::uint64_t> exec;
  std::uint64_t sequence = 0;  // from 1, without holes within one session
  std::chrono::system_clock::time_point time;
  std::map<std::string, std::string> text;      // string fields of the type
  std::map<std::string, std::int64_t> numbers;  // integer fields of the type
};

// One line without the newline. Bytes that are not UTF-8 are carried as "<field>Base64".
std::string ToJsonLine(const Event& event);

}  // namespace cordon::session
