// Puts mounts back that fell off. A mask or a read-only bind stands on one file; when a program
// outside replaces that file the kernel takes the mount away, and what is there now is plain. Init
// therefore watches the directories of those names (inotify, by inode, so that what happens
// outside is seen in the session's own mount namespace), and mounts again at once.
//
// Work is bounded: one buffer of events for each turn of init's loop, and the rest in small steps
// (Continue). When events were lost everything is looked at once more. A name is never followed
// when it is a link: the mount goes on the link itself.
//
// Between the replacement and the new mount the file is plain. Most of that time passes inside the
// host's own rename(2): the kernel takes the mount away, waits for the other processors, and only
// then puts the new file in place and tells of it. So the earlier content shows as well. Together
// some tens of microseconds on an idle machine, milliseconds on a busy one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/channel.h"
#include "launcher/watch_globs.h"
#include "launcher/watch_mount.h"

namespace cordon::launcher {

class Watcher {
 public:
  // Forgets all; nothing is watched.
  void Clear();
  // Takes what a Watches message names (jail/plan_watches.h) and its inotify instance. `masks` is
  // the directory of the session's masks, a mount of the present view; it stays the caller's. The
  // watches themselves are made in Continue().
  void Load(Message& message, int masks);
  // Readable when HandleEvents() has something to do; -1: nothing is watched.
  int fd() const { return inotify_; }
  void HandleEvents();
  // True while Continue() has more to do.
  bool Pending() const;
  // A step of some microseconds.
  void Continue();

 private:
  enum class Moment { kFirstLook, kLookAgain, kEvent };
  struct Node {
    std::string_view name;
    std::uint32_t parent = 0, first_child = 0, child_count = 0;
    WatchAction action = WatchAction::kNone;
    std::uint32_t flags = 0, attributes = 0;
    int wd = -1;
    int blind = 0;  // a directory that exists and cannot be watched: errno
    bool blind_said = false;
    bool there() const { return wd >= 0 || blind != 0; }
  };
  bool Parse();
  bool PathOf(std::uint32_t node, char* out, std::size_t size) const;
  int ParentOf(std::uint32_t node);
  void EndBatch();
  void LookAgain();

  bool LookAt(std::uint32_t node, Moment moment);
  void LookBelow(std::uint32_t node);
  void WatchDirectory(std::uint32_t node, int parent);
  void Unwatch(Node& node);
  void HandleEvent(int wd, std::uint32_t mask, std::string_view name);
  std::uint32_t ChildOf(const Node& node, std::string_view name) const;

  void SayBlind(std::uint32_t directory);
  void Say(Weaker what, int error, std::uint32_t node) const;

  std::string data_;  // what the names point into
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> directories_;  // nodes that can have a watch
  GlobFolders globs_;
  int inotify_ = -1;
  int masks_ = -1;
  std::uint32_t next_ = 0;  // the first look has come this far
  bool looked_ = false;     // the first look is over
  bool look_again_ = false;
  int parent_fd_ = -1;  // of `parent_node_`, within one batch
  std::uint32_t parent_node_ = 0;
};

}  // namespace cordon::launcher
