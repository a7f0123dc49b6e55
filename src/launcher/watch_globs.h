// The directories in which a denied glob may come to match: watched, and listed when they are added
// and when something was made in them. What matches gets a mask; directories that could hold
// matches are added in turn, up to a bound, on the file system of the first one only.
//
// A directory that changes all the time is not listed for each change: the next listing waits some
// milliseconds, and longer where listing takes long.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "glob/glob.h"
#include "launcher/watch_mark.h"

namespace cordon::launcher {

class GlobFolders {
 public:
  void Clear();
  // The descriptor stays the caller's.
  void Begin(int masks) { masks_ = masks; }
  bool AddPattern(std::string_view text, bool folded);
  // `path` is watched from now on and listed in Step(). Returns 0 or an errno.
  int Add(const std::string& path);
  // A directory of these, or of somebody else's, was changed.
  void Changed(int fd);
  // Any of them may have been.
  void AnyChanged();
  // Milliseconds until Step() has something to do; -1: nothing as long as nothing changes.
  int Timeout() const;
  // Compares the names of one buffer.
  void Step();

 private:
  struct Folder {
    std::string path;
    FileId id;                        // what was there when it was added
    std::int64_t next = 0;            // not to be listed before (microseconds)
    struct statx_timestamp listed{};  // its time of change then
    bool listed_exactly = false;      // a later change has another time
    bool wanted = false, only_if_changed = false;
  };
  bool Matches(std::string_view path) const;
  bool IsKnown(const std::string& path, const FileId& id) const;
  bool CouldMatchBelow(std::string_view path) const;
  void Judge(const char* name, bool maybe_directory);
  void AddBelow(const std::string& path, const char* name);
  void Want(int fd, Folder& folder);
  void Drop(int fd);
  void DropGone();
  void Begin();
  void End();

  int masks_ = -1;
  std::vector<glob::Pattern> patterns_;
  std::unordered_map<int, Folder> folders_;  // by descriptor
  std::unordered_map<std::string, int> by_path_;
  std::vector<int> wanted_;
  std::size_t sweep_at_ = 0;
  // The listing that is under way: of a descriptor of its own.
  int listing_ = -1, listed_ = -1;
  std::string listed_path_;
  std::uint64_t listed_device_ = 0;
  std::int64_t begun_ = 0;
  bool full_ = false;
};

}  // namespace cordon::launcher
