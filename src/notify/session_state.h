// What the broker knows of its session, shared by the handlers of the calls.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "notify/caller.h"
#include "notify/place.h"
#include "notify/reporter.h"
#include "policy/name_judge.h"
#include "policy/policy.h"
#include "sys/host_file_system.h"

namespace cordon::notify {

// Identity of a file that is not shared by a later one with the same inode number.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  std::int64_t born_seconds = 0;
  std::uint32_t born_nanoseconds = 0;
  bool operator==(const FileIdentity&) const = default;
};
struct FileIdentityHash {
  std::size_t operator()(const FileIdentity& f) const {
    return f.inode * 0x9e3779b97f4a7c15ull ^ f.device ^
           static_cast<std::size_t>(f.born_nanoseconds);
  }
};
// Of an open descriptor (O_PATH will do). False: it cannot be told.
bool IdentityOf(int fd, FileIdentity& out);

// The unix sockets that commands bound lately: a storm of them takes no memory without end. One
// that is connected to counts as new.
class OwnSockets {
 public:
  void Add(const FileIdentity& socket) {
    constexpr std::size_t kMost = 16 * 1024;
    if (recent_.size() >= kMost) older_ = std::exchange(recent_, {});
    recent_.insert(socket);
  }
  bool Has(const FileIdentity& socket) {
    if (recent_.contains(socket)) return true;
    if (older_.erase(socket) == 0) return false;
    Add(socket);
    return true;
  }

 private:
  std::unordered_set<FileIdentity, FileIdentityHash> recent_, older_;
};

// Programs that must not start: their start is reported (the mounts refuse it).
struct RefusedProgram {
  std::string path;
  std::string reason;
};

// A child that makes a call which blocks.
struct Helper {
  pid_t pid = 0;
  int listener = -1;
  std::uint64_t id = 0;  // of the notification
  pid_t thread = 0;      // that waits
};

struct SessionState {
  policy::EffectivePolicy policy;
  sys::HostFileSystem view;
  std::unique_ptr<policy::NameJudge> judge;
  std::unordered_map<std::string, RefusedProgram> refused_programs;  // by canonical path
  std::unordered_set<std::string> refused_names;                     // their base names
  std::unique_ptr<Walker> walker;
  std::unique_ptr<Reporter> reporter;
  OwnSockets own_sockets;
  // Files of protected and denied paths, for writes through an old hard link; filled on first use.
  std::unordered_map<FileIdentity, const policy::Rule*, FileIdentityHash> protected_files;
  bool protected_files_known = false;
  // File system types by st_dev, of those that have no device.
  std::unordered_map<dev_t, std::uint64_t> file_system_types;
  mode_t umask = 0;  // the broker's own, as it is set now
  std::vector<Helper> helpers;
};

}  // namespace cordon::notify
