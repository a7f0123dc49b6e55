// Puts mounts back that fell off. A mask or a read-only bind stands on one file; when a program
// outside replaces that file the kernel takes the mount away, and what is there now is plain. Init
// therefore watches the directories of those names (watch_mark.h), looks at the names when
// something was made in one, and mounts again at once.
//
// Work is bounded: one buffer of signals for each turn of init's loop, and the rest in small steps
// (Continue). When signals were lost everything is looked at once more. A name is never followed
// when it is a link: the mount goes on the link itself.
//
// Between the replacement and the new mount the file is plain. Most of that time passes inside the
// host's own rename(2): the kernel takes the mount away, waits for the other processors, and only
// then puts the new file in place and tells of it. So the earlier content shows as well. Together
// some tens of microseconds on an idle machine, milliseconds on a busy one.
#pragma once

#include <sys/signalfd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/channel.h"
#include "launcher/watch_globs.h"
#include "launcher/watch_mark.h"
#include "launcher/watch_mount.h"

namespace cordon::launcher {

class Watcher {
 public:
  // Forgets all; nothing is watched.
  void Clear();
  // Takes what a Watches message names (jail/plan_watches.h). `masks` is the directory of the
  // session's masks, a mount of the present view; it stays the caller's. The watches themselves are
  // made in Continue().
  void Load(Message& message, int masks);
  bool active() const { return !nodes_.empty(); }
  // Takes note of a ChangeSignal() or SIGIO; HandleChanges() then does what there is to do at once.
  void Note(const signalfd_siginfo& signal);
  void HandleChanges();
  // Milliseconds until Continue() has something to do; -1: nothing as long as nothing changes.
  int Timeout() const;
  // A step of some microseconds.
  void Continue();

 private:
  enum class Moment { kFirstLook, kLookAgain, kChange };
  // What was found below a name: nothing to look at, the directory that is watched, another one.
  enum class Below { kNothing, kSame, kOther };
  struct Node {
    std::string_view name;
    std::uint32_t parent = 0, first_child = 0, child_count = 0;
    WatchAction action = WatchAction::kNone;
    std::uint32_t flags = 0, attributes = 0;
    bool there = false;     // a directory, `id`
    bool doubtful = false;  // something below it could not be watched where it should be
    bool changed = false;   // stands in changed_
    int fd = -1;            // its mark
    FileId id;
    int blind = 0;  // it cannot be watched: errno
    bool blind_said = false;
    FileId shown;  // PutMount's
    // kLinkAtStart: which link that was.
    FileId link;
    struct statx_timestamp link_time{};
  };
  bool Parse();
  bool PathOf(std::uint32_t node, char* out, std::size_t size) const;
  int ParentOf(std::uint32_t node);
  void EndBatch();
  void LookAgain();

  Below LookAt(std::uint32_t node, Moment moment);
  Outcome Cover(Node& node, int parent, Moment moment);
  bool IsLinkOfStart(Node& node, int parent, Moment moment) const;
  void LookBelow(std::uint32_t node);
  void LookIn(std::uint32_t directory);
  Below WatchDirectory(std::uint32_t node, int parent, bool itself);
  void Mark(std::uint32_t node, int parent);
  void Unwatch(Node& node);

  void SayBlind(std::uint32_t directory);
  void Say(Weaker what, int error, std::uint32_t node) const;

  std::string data_;  // what the names point into
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> owners_;   // by descriptor: the node, or kNoNode
  std::vector<std::uint32_t> changed_;  // nodes
  GlobFolders globs_;
  int masks_ = -1;
  std::uint32_t next_ = 0;  // the first look has come this far
  bool looked_ = false;     // the first look is over
  bool look_again_ = false;
  int parent_fd_ = -1;  // of `parent_node_`, within one batch
  std::uint32_t parent_node_ = 0;
};

}  // namespace cordon::launcher
