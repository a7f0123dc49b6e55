#include "launcher/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/stat.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "launcher/mounts.h"
#include "launcher/raw.h"

namespace cordon::launcher {
namespace {

constexpr std::uint32_t kNoNode = ~0u;
constexpr std::uint32_t kGlob = 1, kLinkAtStart = 2, kOpenings = 4;  // jail::Watches::Flag
constexpr std::uint32_t kNoExecAttribute = 2;                        // jail::Operation::kNoExec
constexpr std::uint32_t kEvents =
    IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;
constexpr std::uint32_t kMostNodes = 1u << 20;
constexpr std::uint32_t kNodesInAStep = 8;
constexpr int kRounds = 16;  // a name that is replaced faster than this is left to its next event
constexpr int kMostReports = 4;

// Asks no server, of a network file system or of masks: init must not wait for one.
bool Look(int parent, const char* name, struct statx& out) {
  return ::statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
                 STATX_TYPE | STATX_MODE | STATX_INO, &out) == 0;
}

bool IsMountPoint(const struct statx& s) { return (s.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0; }

// Directory `name` in `parent`, which may be a mount point but no link.
int OpenChild(int parent, const char* name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_DIRECTORY | O_CLOEXEC);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, parent, name, &how, sizeof how));
}

// Whether the mount on `name` shows what stands there in the directory itself. A clone of the
// directory alone has no mounts in it.
enum class Shows { kThis, kAnother, kUnknown };
Shows WhatShows(int parent, const char* name, const struct statx& seen) {
  int plain = OpenTree(parent, "", AT_EMPTY_PATH | kOpenTreeClone | O_CLOEXEC);
  if (plain < 0) return Shows::kUnknown;  // a mount of the host's own in it may not be lifted
  struct statx below{};
  bool there = Look(plain, name, below);
  ::close(plain);
  if (!there) return Shows::kUnknown;
  bool same = below.stx_ino == seen.stx_ino && below.stx_dev_major == seen.stx_dev_major &&
              below.stx_dev_minor == seen.stx_dev_minor;
  return same ? Shows::kThis : Shows::kAnother;
}

}  // namespace

void Watcher::Clear() {
  for (int* fd : {&inotify_, &scan_fd_, &parent_fd_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
  nodes_.clear();
  patterns_.clear();
  scans_.clear();
  data_.clear();
  next_ = 0;
  look_again_ = false;
}

void Watcher::Load(Message& message, int masks) {
  Clear();
  data_ = message.payload;
  masks_ = masks;
  reports_left_ = kMostReports;
  inotify_ = message.TakeFd(0);
  if (inotify_ < 0 || masks_ < 0 || !Parse()) Clear();
}

bool Watcher::Parse() {
  jail::wire::Reader r(data_);
  std::uint32_t count = r.U32();
  if (!r.ok() || count == 0 || count > kMostNodes) return false;
  nodes_.reserve(count);
  for (std::uint32_t i = 0; i < count && r.ok(); ++i) {
    Node node;
    node.name = r.String();
    node.parent = r.U32();
    node.first_child = r.U32();
    node.child_count = r.U32();
    node.action = static_cast<Action>(r.U32());
    node.flags = r.U32();
    node.attributes = r.U32();
    bool fits = (i == 0 || node.parent < i) && node.first_child <= count &&
                node.child_count <= count - node.first_child;
    if (!fits) return false;
    nodes_.push_back(node);
  }
  for (std::uint32_t i = 0, n = r.U32(); i < n && r.ok(); ++i) {
    std::string_view text = r.String();
    bool folded = r.U32() != 0;
    auto pattern =
        glob::Pattern::Parse(text, folded ? glob::Case::kFolded : glob::Case::kSensitive);
    if (!pattern.ok()) return false;
    patterns_.push_back(*std::move(pattern));
  }
  return r.ok();
}

bool Watcher::PathOf(std::uint32_t node, char* out, std::size_t size) const {
  std::size_t at = size;
  for (; node != 0; node = nodes_[node].parent) {
    std::string_view name = nodes_[node].name;
    if (at < name.size() + 2) return false;
    if (at == size) --at;  // for the NUL
    at -= name.size();
    std::memcpy(out + at, name.data(), name.size());
    out[--at] = '/';
  }
  if (at == size) {
    std::memcpy(out, "/", 2);
    return true;
  }
  std::memmove(out, out + at, size - 1 - at);
  out[size - 1 - at] = '\0';
  return true;
}

// The directory of a node; the same one for its neighbours.
int Watcher::ParentOf(std::uint32_t node) {
  std::uint32_t parent = nodes_[node].parent;
  if (parent_fd_ >= 0 && parent_node_ == parent) return parent_fd_;
  if (parent_fd_ >= 0) ::close(parent_fd_);
  char path[PATH_MAX];
  parent_fd_ = PathOf(parent, path, sizeof path) ? OpenCanonical(path, O_DIRECTORY) : -1;
  parent_node_ = parent;
  return parent_fd_;
}

void Watcher::EndBatch() {
  if (parent_fd_ >= 0) ::close(parent_fd_);
  parent_fd_ = -1;
  if (moved_ && ::chdir("/") == 0) moved_ = false;
}

// Everything, from the beginning; a look that is under way is finished first, so that a flood of
// events cannot keep it from ever coming to its end.
void Watcher::LookAgain() {
  if (next_ < nodes_.size()) {
    look_again_ = true;
  } else {
    next_ = 0;
  }
}

bool Watcher::Pending() const {
  return inotify_ >= 0 && (next_ < nodes_.size() || scan_fd_ >= 0 || !scans_.empty());
}

// A directory is watched before its names are looked at: parents come first.
void Watcher::Continue() {
  for (std::uint32_t i = 0; i < kNodesInAStep && next_ < nodes_.size(); ++i) {
    const bool parent_there = next_ == 0 || nodes_[nodes_[next_].parent].wd >= 0;
    if (parent_there) {
      LookAt(next_, Moment::kFirstLook);
    } else {
      Unwatch(nodes_[next_]);
    }
    if (++next_ == nodes_.size() && look_again_) {
      look_again_ = false;
      next_ = 0;
    }
  }
  if (next_ == nodes_.size() && (scan_fd_ >= 0 || !scans_.empty())) ScanStep();
  EndBatch();
}

// Puts the node's own mount on what is there, and watches it when there are names below. False:
// there is no such directory.
bool Watcher::LookAt(std::uint32_t index, Moment moment) {
  Node& node = nodes_[index];
  int parent = index == 0 ? AT_FDCWD : ParentOf(index);
  if (index != 0 && parent < 0) {
    Unwatch(node);
    return false;
  }
  if (node.action != Action::kNone) {
    Spot spot{parent, node.name.data(), node.action, node.attributes};
    bool linked = moment == Moment::kFirstLook && (node.flags & kLinkAtStart) != 0;
    struct statx now{};
    bool leave = linked && Look(parent, spot.name, now) && S_ISLNK(now.stx_mode);
    const Outcome outcome = leave ? Outcome::kAbsent : Put(spot, moment);
    if (outcome == Outcome::kFailed) Report(1, errno, index, "");
    const bool closed = node.action != Action::kSelf && (node.flags & kOpenings) == 0;
    if (outcome == Outcome::kCovered && closed) {
      Unwatch(node);
      return false;
    }
  }
  if (node.child_count == 0 && (node.flags & kGlob) == 0) return false;
  WatchDirectory(index, parent);
  return node.wd >= 0;
}

void Watcher::WatchDirectory(std::uint32_t index, int parent) {
  Node& node = nodes_[index];
  int fd = OpenChild(parent, index == 0 ? "/" : node.name.data(), O_PATH);
  if (fd < 0) {
    Unwatch(node);
    return;
  }
  int wd = -1;
  if (::fchdir(fd) == 0) {
    moved_ = true;
    wd = ::inotify_add_watch(inotify_, ".", kEvents);
  }
  int error = errno;
  ::close(fd);
  if (wd != node.wd) Unwatch(node);
  node.wd = wd;
  // A directory that cannot be listed may still hold what can be read.
  if (wd < 0) Report(0, error, index, "");
  if (wd < 0 || (node.flags & kGlob) == 0 || node.scan_queued) return;
  node.scan_queued = true;
  scans_.push_back(index);
}

// Two paths of the view may lead to one directory, and so to one watch.
void Watcher::Unwatch(Node& node) {
  if (node.wd < 0) return;
  const int wd = node.wd;
  node.wd = -1;
  for (const Node& other : nodes_)
    if (other.wd == wd) return;
  ::inotify_rm_watch(inotify_, wd);
}

void Watcher::LookBelow(std::uint32_t index) {
  std::vector<std::uint32_t> todo{index};
  while (!todo.empty()) {
    const std::uint32_t at = todo.back();
    todo.pop_back();
    const bool there = LookAt(at, Moment::kEvent);
    const Node& node = nodes_[at];
    for (std::uint32_t i = 0; i < node.child_count; ++i) {
      const std::uint32_t child = node.first_child + i;
      if (there) {
        todo.push_back(child);
      } else {
        Unwatch(nodes_[child]);
      }
    }
  }
}

std::uint32_t Watcher::ChildOf(const Node& node, std::string_view name) const {
  std::uint32_t low = node.first_child, high = low + node.child_count;
  while (low < high) {
    std::uint32_t middle = low + (high - low) / 2;
    if (nodes_[middle].name < name) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool found = low < node.first_child + node.child_count && nodes_[low].name == name;
  return found ? low : kNoNode;
}

void Watcher::HandleEvent(int wd, std::uint32_t mask, std::string_view name) {
  if ((mask & IN_Q_OVERFLOW) != 0) {
    LookAgain();
    return;
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].wd != wd) continue;
    if ((mask & IN_IGNORED) != 0) {
      nodes_[i].wd = -1;
      continue;
    }
    if (std::uint32_t child = ChildOf(nodes_[i], name); child != kNoNode) LookBelow(child);
    if ((nodes_[i].flags & kGlob) != 0 && MatchesPattern(i, name)) MaskMatch(i, name.data());
  }
}

void Watcher::HandleEvents() {
  alignas(inotify_event) static char buffer[16 * 1024];
  ssize_t n = ::read(inotify_, buffer, sizeof buffer);
  for (ssize_t at = 0; at < n;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    HandleEvent(event->wd, event->mask, event->len > 0 ? event->name : "");
  }
  EndBatch();
}

bool Watcher::MatchesPattern(std::uint32_t directory, std::string_view name) const {
  char path[PATH_MAX];
  if (patterns_.empty() || !PathOf(directory, path, sizeof path)) return false;
  std::size_t length = std::strlen(path);
  if (length + name.size() + 2 > sizeof path) return false;
  if (length > 1) path[length++] = '/';
  std::memcpy(path + length, name.data(), name.size());
  std::string_view whole(path, length + name.size());
  for (const glob::Pattern& pattern : patterns_)
    if (pattern.Matches(whole)) return true;
  return false;
}

void Watcher::MaskMatch(std::uint32_t directory, const char* name) {
  char path[PATH_MAX];
  int fd = PathOf(directory, path, sizeof path) ? OpenCanonical(path, O_DIRECTORY) : -1;
  if (fd < 0) return;
  // What another node stands for has its own action.
  if (ChildOf(nodes_[directory], name) == kNoNode &&
      Put(Spot{fd, name, Action::kMask, 0}, Moment::kEvent) == Outcome::kFailed)
    Report(1, errno, directory, name);
  ::close(fd);
}

// Compares the names of one buffer.
void Watcher::ScanStep() {
  struct Entry {  // linux_dirent64 of getdents(2)
    std::uint64_t ino;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  if (scan_fd_ < 0) {
    scan_node_ = scans_.back();
    scans_.pop_back();
    nodes_[scan_node_].scan_queued = false;
    char path[PATH_MAX];
    if (!PathOf(scan_node_, path, sizeof path)) return;
    scan_fd_ = OpenChild(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
    if (scan_fd_ < 0) return;
  }
  alignas(Entry) static char buffer[8 * 1024];
  long n = ::syscall(SYS_getdents64, scan_fd_, buffer, sizeof buffer);
  for (long at = 0; at < n;) {
    const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
    at += entry->length;
    const char* name = buffer + (reinterpret_cast<const char*>(entry->name) - buffer);
    if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
    if (MatchesPattern(scan_node_, name)) MaskMatch(scan_node_, name);
  }
  if (n > 0) return;
  ::close(scan_fd_);
  scan_fd_ = -1;
}

// After each mount it is looked at again, for the name may have been replaced meanwhile: a mount
// that was put on what is gone by now is gone with it, or shows the earlier file.
Watcher::Outcome Watcher::Put(const Spot& spot, Moment moment) {
  bool fresh = moment == Moment::kFirstLook;
  for (int round = 0; round < kRounds; ++round) {
    struct statx now{};
    if (!Look(spot.parent, spot.name, now))
      return errno == ENOENT ? Outcome::kAbsent : Outcome::kFailed;
    if ((now.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0) {  // before Linux 5.8
      errno = ENOSYS;
      return Outcome::kFailed;
    }
    if (IsMountPoint(now)) {
      // The plan's own mounts of the start were made in one go from what they stand on.
      if (spot.action != Action::kSelf || fresh) return Outcome::kCovered;
      const Shows shows = WhatShows(spot.parent, spot.name, now);
      if (shows == Shows::kThis || (shows == Shows::kUnknown && round > 0))
        return Outcome::kCovered;
      if (::fchdir(spot.parent) != 0 || ::umount2(spot.name, MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
        return Outcome::kFailed;
      moved_ = true;
      continue;
    }
    fresh = false;
    errno = Attach(spot, now.stx_mode);
    const bool changed =  // between the look and the mount
        errno == ENOENT || errno == ENOTDIR || errno == EINVAL || errno == ESTALE;
    if (errno != 0 && !changed) return Outcome::kFailed;
  }
  errno = EAGAIN;
  return Outcome::kFailed;
}

// 0, or an errno.
int Watcher::Attach(const Spot& spot, std::uint32_t mode) {
  const bool directory = S_ISDIR(mode);
  const bool self = spot.action == Action::kSelf;
  int clone = -1;
  if (self) {
    clone =
        OpenTree(spot.parent, spot.name,
                 AT_SYMLINK_NOFOLLOW | kOpenTreeClone | O_CLOEXEC | (directory ? kRecursive : 0u));
  } else {
    const char* mask = directory ? "dir" : spot.action == Action::kEmptyMask ? "empty" : "file";
    clone = OpenTree(masks_, mask, kOpenTreeClone | O_CLOEXEC);
  }
  if (clone < 0) return errno;
  std::uint64_t attributes = kAttrReadOnly | kAttrNoSuid | kAttrNoDev;
  if ((spot.attributes & kNoExecAttribute) != 0) attributes |= kAttrNoExec;
  int error = 0;
  if (HasMountSetattr()) {
    if (AddAttributes(clone, attributes, self && directory) != 0) error = errno;
  } else if (self) {
    error = ENOSYS;  // a bind would be writable for a moment; the masks are read-only as they are
  }
  if (error == 0 && MoveMount(clone, spot.parent, spot.name) != 0) error = errno;
  ::close(clone);
  return error;
}

// `what`: 0: a directory cannot be watched; 1: a mount cannot be put back. The host makes words of
// it; a few will do.
void Watcher::Report(std::uint32_t what, int error, std::uint32_t node, const char* name) {
  if (reports_left_ == 0) return;
  --reports_left_;
  char payload[3 * sizeof(std::uint32_t) + 2 * PATH_MAX];
  char* path = payload + 3 * sizeof(std::uint32_t);
  if (!PathOf(node, path, PATH_MAX)) return;
  if (*name != '\0') {
    std::size_t length = std::strlen(path);
    if (path[length - 1] != '/') path[length++] = '/';
    std::strncpy(path + length, name, PATH_MAX - 1);
    path[length + PATH_MAX - 1] = '\0';
  }
  const std::uint32_t length = static_cast<std::uint32_t>(std::strlen(path));
  const std::uint32_t head[3] = {what, static_cast<std::uint32_t>(error), length};
  std::memcpy(payload, head, sizeof head);
  Send(jail::wire::Type::kWatchFailed, 0, payload,
       static_cast<std::uint32_t>(sizeof head) + length + 1);
}

}  // namespace cordon::launcher
