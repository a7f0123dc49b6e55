// docs/reference/builtin-sets.md, generated from the built-in tables.
#pragma once

#include <string>

namespace cordon::policy {

// Markdown with one row an entry: what, where, why.
std::string BuiltinReference();

}  // namespace cordon::policy
