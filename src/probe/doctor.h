// `cordon doctor`: what this host lets Cordon do, and what to do about the rest.
#pragma once

#include <iosfwd>

namespace cordon::probe {

// Probes and prints: JSON, or a text for people in which `color` adds ANSI colours. Returns the
// exit code: 0 when the native sandbox is available, 1 when it is not.
int DoctorMain(bool json, bool color, std::ostream& out);

}  // namespace cordon::probe
