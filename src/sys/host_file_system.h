// The file system of this machine, as the policy asks about it. Paths longer than PATH_MAX are
// walked in pieces. One instance belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "sys/file_system.h"

namespace cordon::sys {

class HostFileSystem : public FileSystem {
 public:
  FileKind Kind(const std::string& path) const override;
  std::optional<std::string> ReadLink(const std::string& path) const override;
  // getdents64(2) with its own types: no lstat for each entry.
  bool List(const std::string& path,
            const std::function<bool(std::string_view name, FileKind kind)>& visit) const override;
  // Never blocks on a FIFO and never opens a device.
  std::optional<std::string> ReadSmallFile(const std::string& path) const override;
  bool CaseFolds(const std::string& directory) const override;
  bool TakeBlind() const override { return std::exchange(blind_, false); }

 private:
  // The device seen last, and whether its whole file system folds: statfs(2) is slow on some.
  mutable std::optional<std::pair<std::uint64_t, bool>> folding_device_;
  mutable bool blind_ = false;
};

}  // namespace cordon::sys
