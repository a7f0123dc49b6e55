// What the pure policy code may ask of the file system, as an interface: the real one is
// sys/host_file_system.h, tests use a tree in memory (policy/memory_file_system.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::sys {

enum class FileKind { kMissing, kFile, kDirectory, kSymlink, kOther };

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Kind of the last component itself (links are not followed there). kMissing also when a
  // parent is missing or may not be searched.
  virtual FileKind Kind(const std::string& path) const = 0;
  // Target text of a symbolic link; nullopt when it is none.
  virtual std::optional<std::string> ReadLink(const std::string& path) const = 0;
  // Calls `visit(name, kind)` for each entry except . and ..; false when the directory cannot be
  // read. The order is not defined. `visit` returns false to stop.
  virtual bool List(
      const std::string& path,
      const std::function<bool(std::string_view name, FileKind kind)>& visit) const = 0;
  // Whole contents of a small regular file (at most 64 KiB); nullopt when it cannot be read or is
  // larger. The last component is not followed when it is a link.
  virtual std::optional<std::string> ReadSmallFile(const std::string& path) const = 0;
  // Whether names in this directory are compared case-folded (ext4/f2fs casefold flag, vfat, ...).
  virtual bool CaseFolds(const std::string& directory) const = 0;
  // Whether, since the last call of this, something was answered as missing or as not folding only
  // because it may not be looked at: who owns a directory can close it.
  virtual bool TakeBlind() const { return false; }
};

}  // namespace cordon::sys
