// Where git keeps the repository of a directory: what must be writable for it to work there, and
// which directories hold hooks and configuration that run outside later.
//
// A `.git` file or link stands in the writable area, so it may be planted: it opens a directory
// outside only when that directory, which the session cannot have written, points back.
#pragma once

#include <string>
#include <vector>

#include "policy/file_system.h"

namespace cordon::policy {

inline constexpr int kMaxModuleDepth = 4;
inline constexpr std::size_t kMaxGitDirectories = 256;

struct GitLayout {
  // The main repository's git directory, when `root` is a linked worktree of it.
  std::string common_directory;
  // Every git directory that belongs to `root`: its own, the common one, submodules', worktrees'.
  std::vector<std::string> git_directories;
  // A `.git` entry that is a file or a link: replacing it brings other hooks.
  std::string pointer;
  std::vector<std::string> warnings;
};

// True for a directory with HEAD, objects and refs.
bool LooksLikeGitDirectory(const std::string& directory, const FileSystem& fs);

// REQUIRES: `root` is canonical. Reads at most kMaxGitDirectories directories, whatever the size
// of the tree.
GitLayout FindGitLayout(const std::string& root, const FileSystem& fs);

}  // namespace cordon::policy
