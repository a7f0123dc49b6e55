#include "launcher/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>

#include "launcher/raw.h"

namespace cordon::launcher {
namespace {

constexpr std::uint32_t kNoNode = ~0u;
constexpr std::uint32_t kGlob = 1, kLinkAtStart = 2, kOpenings = 4;  // jail::Watches::Flag
constexpr std::uint32_t kMostNodes = 1u << 20;
constexpr std::uint32_t kNodesInAStep = 8;

}  // namespace

void Watcher::Clear() {
  for (int* fd : {&inotify_, &parent_fd_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
  nodes_.clear();
  directories_.clear();
  globs_.Clear();
  data_.clear();
  next_ = 0;
  looked_ = look_again_ = false;
}

void Watcher::Load(Message& message, int masks) {
  Clear();
  data_ = message.payload;
  masks_ = masks;
  inotify_ = message.TakeFd(0);
  globs_.Begin(inotify_, masks_);
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
    node.action = static_cast<WatchAction>(r.U32());
    node.flags = r.U32();
    node.attributes = r.U32();
    bool fits = (i == 0 || node.parent < i) && node.first_child <= count &&
                node.child_count <= count - node.first_child;
    if (!fits) return false;
    if (node.child_count > 0 || (node.flags & kGlob) != 0) directories_.push_back(i);
    nodes_.push_back(node);
  }
  for (std::uint32_t i = 0, n = r.U32(); i < n && r.ok(); ++i) {
    std::string_view text = r.String();
    const bool folded = r.U32() != 0;
    if (!globs_.AddPattern(text, folded)) return false;
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
  [[maybe_unused]] int ignored = ::chdir("/");  // where commands are started is their own matter
}

// Everything, from the beginning; a look that is under way is finished first, so that a flood of
// events cannot keep it from ever coming to its end.
void Watcher::LookAgain() {
  globs_.ReadAll();
  if (next_ < nodes_.size()) {
    look_again_ = true;
  } else {
    next_ = 0;
  }
}

bool Watcher::Pending() const {
  return inotify_ >= 0 && (next_ < nodes_.size() || globs_.Pending());
}

// A directory is watched before its names are looked at: parents come first.
void Watcher::Continue() {
  for (std::uint32_t i = 0; i < kNodesInAStep && next_ < nodes_.size(); ++i) {
    if (next_ == 0 || nodes_[nodes_[next_].parent].there()) {
      LookAt(next_, looked_ ? Moment::kLookAgain : Moment::kFirstLook);
    } else {
      Unwatch(nodes_[next_]);
    }
    if (++next_ < nodes_.size()) continue;
    looked_ = true;
    if (look_again_) next_ = 0;
    look_again_ = false;
  }
  if (next_ == nodes_.size() && globs_.Pending()) globs_.Step();
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
  if (node.action != WatchAction::kNone) {
    Spot spot{parent, node.name.data(), node.action, node.attributes};
    bool linked = moment != Moment::kEvent && (node.flags & kLinkAtStart) != 0;
    struct statx now{};
    bool leave = linked && LookAtName(parent, spot.name, now) && S_ISLNK(now.stx_mode);
    const Outcome outcome =
        leave ? Outcome::kAbsent : PutMount(spot, masks_, moment == Moment::kFirstLook);
    if (outcome == Outcome::kFailed) Say(Weaker::kNotMounted, errno, index);
    if (outcome == Outcome::kCovered) SayBlind(node.parent);
    const bool closed = node.action != WatchAction::kSelf && (node.flags & kOpenings) == 0;
    if (outcome == Outcome::kCovered && closed) {
      Unwatch(node);
      return false;
    }
  }
  if (node.child_count == 0 && (node.flags & kGlob) == 0) return false;
  WatchDirectory(index, parent);
  if ((node.flags & kGlob) != 0) SayBlind(index);
  return node.there();
}

void Watcher::WatchDirectory(std::uint32_t index, int parent) {
  Node& node = nodes_[index];
  int fd = OpenDirectory(parent, index == 0 ? "/" : node.name.data(), O_PATH);
  if (fd < 0) {
    Unwatch(node);
    return;
  }
  int wd = -1;
  if (::fchdir(fd) == 0) {
    wd = ::inotify_add_watch(inotify_, ".", kWatchEvents);
  }
  int error = errno;
  ::close(fd);
  if (wd != node.wd) Unwatch(node);
  node.wd = wd;
  node.blind = wd < 0 ? error : 0;
  char path[PATH_MAX];
  if (wd >= 0 && (node.flags & kGlob) != 0 && PathOf(index, path, sizeof path)) globs_.Add(path);
}

// Two paths of the view may lead to one directory, and so to one watch.
void Watcher::Unwatch(Node& node) {
  node.blind = 0;
  if (node.wd < 0) return;
  const int wd = node.wd;
  node.wd = -1;
  if (globs_.Has(wd)) return;
  for (std::uint32_t other : directories_)
    if (nodes_[other].wd == wd) return;
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
  for (std::uint32_t i : directories_) {
    if (nodes_[i].wd != wd) continue;
    if ((mask & IN_IGNORED) != 0) {
      nodes_[i].wd = -1;
      continue;
    }
    if (std::uint32_t child = ChildOf(nodes_[i], name); child != kNoNode) LookBelow(child);
  }
  globs_.HandleEvent(wd, mask, name);
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

// What is replaced in such a directory is not noticed. Said only where something stands in it.
void Watcher::SayBlind(std::uint32_t directory) {
  Node& node = nodes_[directory];
  if (node.blind == 0 || node.blind_said) return;
  node.blind_said = true;
  Say(Weaker::kNotWatched, node.blind, directory);
}

void Watcher::Say(Weaker what, int error, std::uint32_t node) const {
  char path[PATH_MAX];
  if (PathOf(node, path, sizeof path)) SayWeaker(what, error, path);
}

}  // namespace cordon::launcher
