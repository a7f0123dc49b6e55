#include "launcher/watch_globs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "launcher/raw.h"
#include "launcher/watch_mount.h"

namespace cordon::launcher {
namespace {

constexpr std::size_t kMostFolders = 4096;

std::string Below(const std::string& folder, std::string_view name) {
  std::string path = folder;
  if (path.size() > 1) path += '/';
  return path.append(name);
}

}  // namespace

void GlobFolders::Clear() {
  if (reading_ >= 0) ::close(reading_);
  reading_ = -1;
  patterns_.clear();
  folders_.clear();
  to_read_.clear();
  full_ = false;
}

void GlobFolders::Begin(int inotify, int masks) {
  inotify_ = inotify;
  masks_ = masks;
}

bool GlobFolders::AddPattern(std::string_view text, bool folded) {
  auto pattern = glob::Pattern::Parse(text, folded ? glob::Case::kFolded : glob::Case::kSensitive);
  if (!pattern.ok()) return false;
  patterns_.push_back(*std::move(pattern));
  return true;
}

bool GlobFolders::Matches(std::string_view path) const {
  for (const glob::Pattern& pattern : patterns_)
    if (pattern.Matches(path)) return true;
  return false;
}

bool GlobFolders::CouldMatchBelow(std::string_view path) const {
  for (const glob::Pattern& pattern : patterns_)
    if (pattern.CouldMatchBelow(path)) return true;
  return false;
}

// A directory that was moved keeps its watch, and gets its new path here.
int GlobFolders::Add(const std::string& path) {
  int fd = OpenDirectory(AT_FDCWD, path.c_str(), O_PATH);
  if (fd < 0) return errno;
  int wd = ::fchdir(fd) == 0 ? ::inotify_add_watch(inotify_, ".", kWatchEvents) : -1;
  const int error = errno;
  ::close(fd);
  if (wd < 0) return error;
  auto [it, added] = folders_.try_emplace(wd, path);
  if (!added && it->second == path) return 0;
  it->second = path;
  to_read_.push_back(wd);
  return 0;
}

void GlobFolders::AddBelow(const std::string& path, int parent, const char* name) {
  struct statx folder{}, above{};
  const bool same_file_system = LookAtName(parent, name, folder) &&
                                LookAtName(parent, ".", above) && S_ISDIR(folder.stx_mode) &&
                                folder.stx_dev_major == above.stx_dev_major &&
                                folder.stx_dev_minor == above.stx_dev_minor;
  if (!same_file_system) return;  // a mask, for one
  const int error = folders_.size() < kMostFolders ? Add(path) : EOVERFLOW;
  if (error == 0 || error == ENOENT || error == ENOTDIR || error == ELOOP || full_) return;
  full_ = error == ENOSPC || error == EOVERFLOW;
  SayWeaker(Weaker::kNotWatched, error, path.c_str());
}

void GlobFolders::Judge(const std::string& folder, int fd, const char* name, bool maybe_directory) {
  const std::string path = Below(folder, name);
  if (path.size() >= PATH_MAX) return;
  if (Matches(path)) {
    if (PutMount(Spot{fd, name, WatchAction::kMask, 0}, masks_, false) == Outcome::kFailed)
      SayWeaker(Weaker::kNotMounted, errno, path.c_str());
  } else if (maybe_directory && CouldMatchBelow(path)) {
    AddBelow(path, fd, name);
  }
}

void GlobFolders::HandleEvent(int wd, std::uint32_t mask, std::string_view name) {
  auto it = folders_.find(wd);
  if (it == folders_.end()) return;
  if ((mask & IN_IGNORED) != 0) {
    folders_.erase(it);
    return;
  }
  // By value: what is added may move the table.
  const std::string folder = it->second;
  const std::string path = Below(folder, name);
  if (!Matches(path) && ((mask & IN_ISDIR) == 0 || !CouldMatchBelow(path))) return;
  int fd = OpenCanonical(folder.c_str(), O_DIRECTORY);
  if (fd < 0) return;
  Judge(folder, fd, std::string(name).c_str(), (mask & IN_ISDIR) != 0);
  ::close(fd);
}

void GlobFolders::ReadAll() {
  to_read_.clear();
  for (const auto& [wd, path] : folders_) to_read_.push_back(wd);
}

void GlobFolders::Step() {
  struct Entry {  // linux_dirent64 of getdents(2)
    std::uint64_t ino;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  if (reading_ < 0) {
    auto it = folders_.find(to_read_.back());
    to_read_.pop_back();
    if (it == folders_.end()) return;
    folder_ = it->second;
    reading_ = OpenDirectory(AT_FDCWD, folder_.c_str(), O_RDONLY | O_NONBLOCK);
    if (reading_ < 0) return;
  }
  alignas(Entry) static char buffer[4 * 1024];
  const long n = ::syscall(SYS_getdents64, reading_, buffer, sizeof buffer);
  for (long at = 0; at < n;) {
    const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
    const char* name = buffer + at + offsetof(Entry, name);
    at += entry->length;
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
    Judge(folder_, reading_, name, entry->type == DT_DIR || entry->type == DT_UNKNOWN);
  }
  if (n > 0) return;
  ::close(reading_);
  reading_ = -1;
}

}  // namespace cordon::launcher
