// Seatbelt's verbs for what was refused (spec 05). Pure and thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "jail/wire_report.h"

namespace cordon::session {

using jail::wire::Action;

// "file-write-create"; "changed" and "lost" for the two that are no refusals.
std::string_view ActionVerb(Action action);
// Of a refusal only; nullopt for any other word.
std::optional<Action> ActionOf(std::string_view verb);
// All that are refusals.
std::span<const Action> RefusedActions();

}  // namespace cordon::session
