// The directories in which a denied glob may come to match: watched, and read once when they are
// added. What matches gets a mask; directories that could hold matches are added in turn, up to a
// bound, on the file system of the first one only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "glob/glob.h"

namespace cordon::launcher {

class GlobFolders {
 public:
  void Clear();
  // Both descriptors stay the caller's.
  void Begin(int inotify, int masks);
  bool AddPattern(std::string_view text, bool folded);
  // `path` is watched from now on and read in Step(). Returns 0 or an errno. The working directory
  // changes.
  int Add(const std::string& path);
  bool Has(int wd) const { return folders_.contains(wd); }
  void HandleEvent(int wd, std::uint32_t mask, std::string_view name);
  // Reads everything once more.
  void ReadAll();
  bool Pending() const { return reading_ >= 0 || !to_read_.empty(); }
  // Compares the names of one buffer.
  void Step();

 private:
  bool Matches(std::string_view path) const;
  bool CouldMatchBelow(std::string_view path) const;
  void Judge(const std::string& folder, int fd, const char* name, bool maybe_directory);
  void AddBelow(const std::string& path, int parent, const char* name);

  int inotify_ = -1, masks_ = -1;
  std::vector<glob::Pattern> patterns_;
  std::unordered_map<int, std::string> folders_;  // by watch; the path that it had last
  std::vector<int> to_read_;
  int reading_ = -1;  // descriptor of the directory `folder_`
  std::string folder_;
  bool full_ = false;
};

}  // namespace cordon::launcher
