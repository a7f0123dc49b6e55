// Paths as text, and links resolved against a FileSystem. Pure but for the FileSystem given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/file_system.h"

namespace cordon::policy {

// REQUIRES of all: absolute, normalised paths.
std::string JoinPath(std::string_view directory, std::string_view name);
std::string_view ParentPath(std::string_view path);  // "/" for "/"
std::string_view BaseName(std::string_view path);    // "" for "/"
bool IsAtOrBelow(std::string_view path, std::string_view directory);
// `directory` escaped, as the start of a pattern that goes on with "/": "" for "/".
std::string PatternStart(const std::string& directory);

struct ResolvedPath {
  std::string path;  // without links; a missing tail is kept as written
  FileKind kind = FileKind::kMissing;
  std::vector<std::string> links;  // the links that the last component itself went through
};
// Error kInvalid: more than 40 links.
Result<ResolvedPath> ResolveLinks(const std::string& path, const FileSystem& fs);

}  // namespace cordon::policy
