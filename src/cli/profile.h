// Named sandbox descriptions: $XDG_CONFIG_HOME/cordon/profiles/NAME.json, where XDG_CONFIG_HOME is
// ~/.config unless it is set to an absolute path.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/spec.h"

namespace cordon::cli {

// One or more of A-Z a-z 0-9 . _ -, and neither "." nor "..": a name never leaves the directory.
bool IsProfileName(std::string_view name);

// Error kNotFound: neither variable says where.
Result<std::string> ProfileDirectory(const std::map<std::string, std::string>& environment);

// Names of the profiles in `directory`, sorted; none when it does not exist.
std::vector<std::string> ListProfiles(const std::string& directory);

// Reads a profile. sessionId and workspaceId may be left out in it. Errors: a bad name, an unknown
// one (the known ones are listed), or what policy::ReadSpecFile says.
Result<policy::SandboxSpec> ReadProfile(const std::string& name, const std::string& directory);

}  // namespace cordon::cli
