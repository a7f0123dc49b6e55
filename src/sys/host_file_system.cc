#include "sys/host_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/unique_fd.h"

namespace cordon::sys {
namespace {

constexpr std::size_t kSmallFile = 64 * 1024;
constexpr std::size_t kDirentBuffer = 32 * 1024;
constexpr unsigned kCasefoldFlag = 0x40000000;  // FS_CASEFOLD_FL, absent from older headers

// File systems that compare without regard to case everywhere.
constexpr unsigned kFoldingFileSystems[] = {
    0x00004d44,  // msdos, vfat
    0x2011bab0,  // exfat
    0x7366746e,  // ntfs3
    0x5346544e,  // ntfs
    0x0000482b,  // hfs+
    0xff534d42,  // cifs
    0xfe534d42,  // smb2
};

FileKind KindOfMode(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kFile;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  if (S_ISLNK(mode)) return FileKind::kSymlink;
  return FileKind::kOther;
}

// A path that fits one call, relative to a descriptor. Longer ones are entered piece by piece.
class Anchored {
 public:
  explicit Anchored(const std::string& path) : rest_(path.c_str()) {
    while (std::strlen(rest_) >= PATH_MAX) {
      std::size_t cut = PATH_MAX - 1;
      while (cut > 0 && rest_[cut] != '/') --cut;
      if (cut == 0) {
        Fail();
        return;
      }
      const std::string piece(rest_, cut);
      UniqueFd next(::openat(at(), piece.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!next.valid()) {
        Fail();
        return;
      }
      fd_ = std::move(next);
      rest_ += cut;
      while (*rest_ == '/') ++rest_;
    }
  }
  // Where the way could not be gone every call fails with EBADF.
  int at() const { return failed_ ? -1 : fd_.valid() ? fd_.get() : AT_FDCWD; }
  const char* rest() const { return rest_; }

 private:
  void Fail() {
    failed_ = true;
    rest_ = ".";
  }

  UniqueFd fd_;
  bool failed_ = false;
  const char* rest_;
};

struct KernelDirent {
  ino64_t d_ino;
  off64_t d_off;
  unsigned short d_reclen;
  unsigned char d_type;
  char d_name[];
};

FileKind KindOfEntry(int directory, const KernelDirent& entry) {
  switch (entry.d_type) {
    case DT_REG: return FileKind::kFile;
    case DT_DIR: return FileKind::kDirectory;
    case DT_LNK: return FileKind::kSymlink;
    case DT_UNKNOWN: {
      struct stat st;
      if (::fstatat(directory, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return FileKind::kMissing;
      return KindOfMode(st.st_mode);
    }
    default: return FileKind::kOther;
  }
}

// Whether a look-up failed although what was looked for may be there.
bool MayBeThere(int error) {
  return error != ENOENT && error != ENOTDIR && error != ENAMETOOLONG && error != ELOOP;
}

}  // namespace

FileKind HostFileSystem::Kind(const std::string& path) const {
  const Anchored anchored(path);
  struct stat st;
  if (::fstatat(anchored.at(), anchored.rest(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    blind_ = blind_ || MayBeThere(errno);
    return FileKind::kMissing;
  }
  return KindOfMode(st.st_mode);
}

std::optional<std::string> HostFileSystem::ReadLink(const std::string& path) const {
  const Anchored anchored(path);
  char target[PATH_MAX];
  const ssize_t n = ::readlinkat(anchored.at(), anchored.rest(), target, sizeof target);
  if (n < 0) return std::nullopt;
  return std::string(target, static_cast<std::size_t>(n));
}

bool HostFileSystem::List(const std::string& path,
                          const std::function<bool(std::string_view, FileKind)>& visit) const {
  const Anchored anchored(path);
  const UniqueFd directory(
      ::openat(anchored.at(), anchored.rest(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  if (!directory.valid()) return false;
  alignas(KernelDirent) char buffer[kDirentBuffer];
  for (;;) {
    const long n = ::syscall(SYS_getdents64, directory.get(), buffer, sizeof buffer);
    if (n < 0) return false;
    if (n == 0) return true;
    for (long at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const KernelDirent*>(buffer + at);
      at += entry->d_reclen;
      const std::string_view name(entry->d_name);
      if (name == "." || name == "..") continue;
      const FileKind kind = KindOfEntry(directory.get(), *entry);
      if (kind != FileKind::kMissing && !visit(name, kind)) return true;
    }
  }
}

std::optional<std::string> HostFileSystem::ReadSmallFile(const std::string& path) const {
  const Anchored anchored(path);
  struct stat st;
  // Opening a device can act on it, so the kind is looked at before as well as after.
  if (::fstatat(anchored.at(), anchored.rest(), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(st.st_mode)) {
    return std::nullopt;
  }
  const UniqueFd file(::openat(anchored.at(), anchored.rest(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid() || ::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > kSmallFile) return std::nullopt;
  }
}

bool HostFileSystem::CaseFolds(const std::string& path) const {
  const Anchored anchored(path);
  UniqueFd directory(
      ::openat(anchored.at(), anchored.rest(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  if (directory.valid()) {
    // The kernel writes an int here, whatever the request's own number says.
    unsigned flags = 0;
    if (::ioctl(directory.get(), FS_IOC_GETFLAGS, &flags) == 0 && (flags & kCasefoldFlag) != 0)
      return true;
  } else {
    blind_ = blind_ || MayBeThere(errno);
    directory.reset(::openat(anchored.at(), anchored.rest(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  struct stat st;
  if (!directory.valid() || ::fstat(directory.get(), &st) != 0) return false;
  if (folding_device_ && folding_device_->first == st.st_dev) return folding_device_->second;
  struct statfs fs;
  if (::fstatfs(directory.get(), &fs) != 0) return false;
  const auto type = static_cast<unsigned>(fs.f_type);
  const bool folds = std::find(std::begin(kFoldingFileSystems), std::end(kFoldingFileSystems),
                               type) != std::end(kFoldingFileSystems);
  folding_device_ = {st.st_dev, folds};
  return folds;
}

}  // namespace cordon::sys
