#include "launcher/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
  EndBatch();
  for (Node& node : nodes_) Unwatch(node);
  nodes_.clear();
  owners_.clear();
  changed_.clear();
  globs_.Clear();
  data_.clear();
  LiftSignalQueueLimit();
  next_ = 0;
  looked_ = look_again_ = false;
}

void Watcher::Load(Message& message, int masks) {
  Clear();
  data_ = message.payload;
  masks_ = masks;
  globs_.Begin(masks_);
  if (masks_ < 0 || !Parse()) return Clear();
  LimitSignalQueue();
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
// changes cannot keep it from ever coming to its end.
void Watcher::LookAgain() {
  globs_.AnyChanged();
  if (next_ < nodes_.size()) {
    look_again_ = true;
  } else {
    next_ = 0;
  }
}

int Watcher::Timeout() const { return next_ < nodes_.size() ? 0 : globs_.Timeout(); }

// A directory is watched before its names are looked at: parents come first.
void Watcher::Continue() {
  for (std::uint32_t i = 0; i < kNodesInAStep && next_ < nodes_.size(); ++i) {
    if (next_ == 0 || nodes_[nodes_[next_].parent].there) {
      LookAt(next_, looked_ ? Moment::kLookAgain : Moment::kFirstLook);
    } else {
      Unwatch(nodes_[next_]);
    }
    if (++next_ < nodes_.size()) continue;
    looked_ = true;
    if (look_again_) next_ = 0;
    look_again_ = false;
  }
  if (next_ == nodes_.size()) globs_.Step();
  EndBatch();
}

// A change tells no name: the link of the start may be there still.
bool Watcher::IsLinkOfStart(Node& node, int parent, Moment moment) const {
  struct statx now{};
  if ((node.flags & kLinkAtStart) == 0 || !LookAtName(parent, node.name.data(), now) ||
      !S_ISLNK(now.stx_mode))
    return false;
  if (moment == Moment::kFirstLook) {
    node.link = IdOf(now);
    node.link_time = now.stx_ctime;
  }
  return node.link == IdOf(now) && node.link_time.tv_sec == now.stx_ctime.tv_sec &&
         node.link_time.tv_nsec == now.stx_ctime.tv_nsec;
}

Outcome Watcher::Cover(Node& node, int parent, Moment moment) {
  const Spot spot{parent, node.name.data(), node.action, node.attributes};
  // The plan's own mounts of the start were made in one go from what they stand on.
  if (struct statx now{}; moment == Moment::kFirstLook && LookAtName(parent, spot.name, now))
    node.shown = IdOf(now);
  if (IsLinkOfStart(node, parent, moment)) return Outcome::kAbsent;
  return PutMount(spot, masks_, node.shown);
}

// Puts the node's own mount on what is there, and watches it when there are names below.
Watcher::Below Watcher::LookAt(std::uint32_t index, Moment moment) {
  Node& node = nodes_[index];
  const int parent = index == 0 ? AT_FDCWD : ParentOf(index);
  if (index != 0 && parent < 0) {
    Unwatch(node);
    return Below::kNothing;
  }
  bool mask = false;
  if (node.action != WatchAction::kNone) {
    const Outcome outcome = Cover(node, parent, moment);
    if (outcome == Outcome::kFailed) Say(Weaker::kNotMounted, errno, index);
    if (outcome == Outcome::kCovered) SayBlind(node.parent);
    mask = outcome == Outcome::kCovered && node.action != WatchAction::kSelf;
    if (mask && (node.flags & kOpenings) == 0) {
      Unwatch(node);
      return Below::kNothing;
    }
  }
  if (node.child_count == 0 && (node.flags & kGlob) == 0) return Below::kNothing;
  const Below below = WatchDirectory(index, parent, !mask);
  if ((node.flags & kGlob) != 0) SayBlind(index);
  return below;
}

// `itself`: it is no mask, in which nobody makes names.
Watcher::Below Watcher::WatchDirectory(std::uint32_t index, int parent, bool itself) {
  Node& node = nodes_[index];
  struct statx now{};
  if (!LookAtName(parent, index == 0 ? "/" : node.name.data(), now) || !S_ISDIR(now.stx_mode)) {
    Unwatch(node);
    return Below::kNothing;
  }
  const bool same = node.there && node.id == IdOf(now);
  const bool doubtful = node.doubtful;
  node.doubtful = false;
  if (!same) {
    Unwatch(node);
    node.there = true;
    node.id = IdOf(now);
    if (itself && node.child_count > 0) Mark(index, parent);
  }
  char path[PATH_MAX];
  if (itself && (node.flags & kGlob) != 0 && PathOf(index, path, sizeof path))
    if (const int error = globs_.Add(path); error != 0) node.blind = error;
  return same && !doubtful ? Below::kSame : Below::kOther;
}

void Watcher::Mark(std::uint32_t index, int parent) {
  Node& node = nodes_[index];
  node.fd = MarkDirectory(parent, index == 0 ? "/" : node.name.data(), node.id);
  if (node.fd < 0) {
    node.blind = errno;
    return;
  }
  const auto at = static_cast<std::size_t>(node.fd);
  if (at >= owners_.size()) owners_.resize(at + 1, kNoNode);
  owners_[at] = index;
}

void Watcher::Unwatch(Node& node) {
  node.there = false;
  node.blind = 0;
  if (node.fd < 0) return;
  owners_[static_cast<std::size_t>(node.fd)] = kNoNode;
  ::close(node.fd);
  node.fd = -1;
}

void Watcher::LookBelow(std::uint32_t index) {
  std::vector<std::uint32_t> todo{index};
  while (!todo.empty()) {
    const std::uint32_t at = todo.back();
    todo.pop_back();
    const Node& node = nodes_[at];
    const bool was_there = node.there;
    const Below below = LookAt(at, Moment::kChange);
    if (below == Below::kSame || (below == Below::kNothing && !was_there)) continue;
    for (std::uint32_t i = 0; i < node.child_count; ++i) todo.push_back(node.first_child + i);
  }
}

// Something was made in it. When it does not stand any longer where it did, what is below it is
// looked at anew as soon as a directory comes back there, be it the same one.
void Watcher::LookIn(std::uint32_t index) {
  const Node& node = nodes_[index];
  if (node.child_count == 0) return;
  struct statx now{};
  const int fd = ParentOf(node.first_child);
  if (fd < 0 || !LookAtDescriptor(fd, now) || IdOf(now) != node.id) {
    for (std::uint32_t above = index; above != 0; above = nodes_[above].parent)
      nodes_[above].doubtful = true;
    nodes_[0].doubtful = true;
    LookBelow(index);
    return;
  }
  for (std::uint32_t i = 0; i < node.child_count; ++i) LookBelow(node.first_child + i);
}

void Watcher::Note(const signalfd_siginfo& signal) {
  if (signal.ssi_signo == SIGIO) {
    LookAgain();
    return;
  }
  // Others may send this signal too.
  if (signal.ssi_code != POLL_MSG || signal.ssi_fd < 0) return;
  globs_.Changed(signal.ssi_fd);
  const auto at = static_cast<std::size_t>(signal.ssi_fd);
  const std::uint32_t index = at < owners_.size() ? owners_[at] : kNoNode;
  if (index == kNoNode || nodes_[index].changed) return;
  nodes_[index].changed = true;
  changed_.push_back(index);
}

void Watcher::HandleChanges() {
  for (std::uint32_t index : changed_) {
    nodes_[index].changed = false;
    LookIn(index);
  }
  changed_.clear();
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
