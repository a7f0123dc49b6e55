// The argument of --mount: HOST[:GUEST][:ro|:rw]. A colon inside a path is written "\:", a
// backslash "\\". Pure and thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace cordon::cli {

struct MountArgument {
  std::string host;
  std::string guest;  // empty when not given: the same path as on the host
  bool read_only = false;
};

// Error kInvalid: an empty part, too many parts, an unknown last part, a lone backslash, a guest
// path that is not absolute.
Result<MountArgument> ParseMount(std::string_view text);

}  // namespace cordon::cli
