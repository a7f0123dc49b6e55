// An EffectivePolicy as bytes, for the broker, which decides with the same code as the host but in
// a process of its own.
//
// The form is private to one build (both ends are the same one). Patterns travel as text and are
// parsed again; `Rule::existing` and `links` travel as they are. A policy that was decoded gives
// the same answers as the one that was encoded.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "policy/policy.h"

namespace cordon::policy {

std::string EncodePolicy(const EffectivePolicy& policy);
// Error kInvalid: cut short, or not of this form.
Result<EffectivePolicy> DecodePolicy(std::string_view bytes);

}  // namespace cordon::policy
