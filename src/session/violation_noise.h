// Refusals that mean nothing: a program tries, is refused, goes on without, and no change of the
// policy would make a difference that anybody wants. One table, with reasons.
//
// A rule that a person wrote is never noise, nor is what an agent could act upon (a cache in the
// home directory, a socket of a service that it may need). Pure and thread-safe.
#pragma once

#include <span>
#include <string_view>

#include "session/violation.h"

namespace cordon::session {

struct NoiseRow {
  std::string_view actions;  // 'r' read, 'w' write, create or unlink, 's' unix socket
  std::string_view target;   // glob; "{pid}" stands for the process's own id, inside or outside
  std::string_view program;  // base name that it holds for; "" for all
  std::string_view reason;
};
std::span<const NoiseRow> NoiseRows();

// The row that explains it; null when it is to be said.
const NoiseRow* FindNoise(const Violation& violation);

}  // namespace cordon::session
