#include "launcher/watch_globs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "launcher/raw.h"
#include "launcher/watch_mount.h"

namespace cordon::launcher {
namespace {

constexpr std::size_t kMostFolders = 4096;
constexpr std::size_t kFirstSweep = 64;
constexpr std::int64_t kLeastPause = 20'000, kMostPause = 2'000'000;  // microseconds
constexpr std::int64_t kPauseFactor = 8;  // a ninth of the time is spent on listing, at most
// File systems may count in steps of as much as two seconds.
constexpr std::int64_t kSecondsUntilExact = 3;

std::string Below(const std::string& folder, std::string_view name) {
  std::string path = folder;
  if (path.size() > 1) path += '/';
  return path.append(name);
}

std::int64_t Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

bool IsLongAgo(const struct statx_timestamp& when) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return when.tv_sec + kSecondsUntilExact < std::int64_t{now.tv_sec};
}

}  // namespace

void GlobFolders::Clear() {
  if (listing_ >= 0) ::close(listing_);
  listing_ = listed_ = -1;
  for (const auto& [fd, folder] : folders_) ::close(fd);
  patterns_.clear();
  folders_.clear();
  by_path_.clear();
  wanted_.clear();
  sweep_at_ = kFirstSweep;
  full_ = false;
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

void GlobFolders::Want(int fd, Folder& folder) {
  if (!folder.wanted) wanted_.push_back(fd);
  folder.wanted = true;
}

bool GlobFolders::IsKnown(const std::string& path, const FileId& id) const {
  auto known = by_path_.find(path);
  return known != by_path_.end() && folders_.at(known->second).id == id;
}

int GlobFolders::Add(const std::string& path) {
  struct statx now{};
  if (!LookAtName(AT_FDCWD, path.c_str(), now)) return errno;
  if (IsKnown(path, IdOf(now))) return 0;
  if (auto earlier = by_path_.find(path); earlier != by_path_.end()) Drop(earlier->second);
  FileId id;
  const int fd = MarkDirectory(AT_FDCWD, path.c_str(), id);
  if (fd < 0) return errno;
  by_path_[path] = fd;
  Folder& folder = folders_[fd];
  folder.path = path;
  folder.id = id;
  Want(fd, folder);
  return 0;
}

void GlobFolders::Drop(int fd) {
  auto it = folders_.find(fd);
  if (it == folders_.end()) return;
  by_path_.erase(it->second.path);
  if (it->second.wanted) std::erase(wanted_, fd);
  if (listed_ == fd) listed_ = -1;
  folders_.erase(it);
  ::close(fd);
}

// What was removed or moved. What is still in sight gets its new path when that place is listed.
void GlobFolders::DropGone() {
  std::vector<int> gone;
  for (const auto& [fd, folder] : folders_) {
    struct statx now{};
    if (!LookAtName(AT_FDCWD, folder.path.c_str(), now) || IdOf(now) != folder.id)
      gone.push_back(fd);
  }
  for (int fd : gone) Drop(fd);
  sweep_at_ = std::max(kFirstSweep, std::min(2 * folders_.size(), kMostFolders));
}

void GlobFolders::AddBelow(const std::string& path, const char* name) {
  struct statx found{};
  const bool same_file_system = LookAtName(listing_, name, found) && S_ISDIR(found.stx_mode) &&
                                IdOf(found).device == listed_device_;
  if (!same_file_system || IsKnown(path, IdOf(found))) return;  // a mask, for one
  if (folders_.size() >= sweep_at_) DropGone();
  const int error = folders_.size() < kMostFolders ? Add(path) : EOVERFLOW;
  if (error == 0 || error == ENOENT || error == ENOTDIR || error == ELOOP || full_) return;
  full_ = error == EMFILE || error == EOVERFLOW;
  SayWeaker(Weaker::kNotWatched, error, path.c_str());
}

void GlobFolders::Judge(const char* name, bool maybe_directory) {
  const std::string path = Below(listed_path_, name);
  if (path.size() >= PATH_MAX) return;
  if (Matches(path)) {
    FileId unused;
    const Spot spot{listing_, name, WatchAction::kMask, 0};
    if (PutMount(spot, masks_, unused) == Outcome::kFailed)
      SayWeaker(Weaker::kNotMounted, errno, path.c_str());
  } else if (maybe_directory && CouldMatchBelow(path)) {
    AddBelow(path, name);
  }
}

void GlobFolders::Changed(int fd) {
  auto it = folders_.find(fd);
  if (it == folders_.end()) return;
  it->second.only_if_changed = false;
  Want(fd, it->second);
}

void GlobFolders::AnyChanged() {
  for (auto& [fd, folder] : folders_) {
    if (!folder.wanted) folder.only_if_changed = folder.listed_exactly;
    Want(fd, folder);
  }
}

int GlobFolders::Timeout() const {
  if (listing_ >= 0) return 0;
  if (wanted_.empty()) return -1;
  std::int64_t first = INT64_MAX;
  for (int fd : wanted_) first = std::min(first, folders_.at(fd).next);
  const std::int64_t left = first - Now();
  return left <= 0 ? 0 : static_cast<int>((left + 999) / 1000);
}

// Opens what is to be listed next, if that may be listed by now.
void GlobFolders::Begin() {
  const std::int64_t now = Now();
  auto due = std::find_if(wanted_.rbegin(), wanted_.rend(),
                          [&](int fd) { return folders_.at(fd).next <= now; });
  if (due == wanted_.rend()) return;
  const int fd = *due;
  std::swap(*due, wanted_.back());
  wanted_.pop_back();
  Folder& folder = folders_.at(fd);
  folder.wanted = false;
  struct statx opened{};
  listing_ = OpenDirectory(AT_FDCWD, folder.path.c_str(), O_RDONLY | O_NONBLOCK);
  if (listing_ < 0 || !LookAtDescriptor(listing_, opened) || IdOf(opened) != folder.id) {
    if (listing_ >= 0) ::close(listing_);
    listing_ = -1;
    Drop(fd);
    return;
  }
  const bool same = opened.stx_mtime.tv_sec == folder.listed.tv_sec &&
                    opened.stx_mtime.tv_nsec == folder.listed.tv_nsec;
  if (same && folder.only_if_changed) {
    ::close(listing_);
    listing_ = -1;
    return;
  }
  folder.listed = opened.stx_mtime;
  folder.listed_exactly = IsLongAgo(folder.listed);
  folder.only_if_changed = false;
  listed_ = fd;
  listed_path_ = folder.path;
  listed_device_ = folder.id.device;
  begun_ = now;
}

void GlobFolders::End() {
  ::close(listing_);
  listing_ = -1;
  if (listed_ < 0) return;
  const std::int64_t now = Now();
  folders_.at(listed_).next =
      now + std::clamp(kPauseFactor * (now - begun_), kLeastPause, kMostPause);
}

void GlobFolders::Step() {
  struct Entry {  // linux_dirent64 of getdents(2)
    std::uint64_t ino;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  if (listing_ < 0) Begin();
  if (listing_ < 0) return;
  alignas(Entry) static char buffer[4 * 1024];
  const long n = ::syscall(SYS_getdents64, listing_, buffer, sizeof buffer);
  for (long at = 0; at < n;) {
    const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
    const char* name = buffer + at + offsetof(Entry, name);
    at += entry->length;
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
    Judge(name, entry->type == DT_DIR || entry->type == DT_UNKNOWN);
  }
  if (n <= 0) End();
}

}  // namespace cordon::launcher
