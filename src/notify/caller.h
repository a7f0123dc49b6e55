// The thread that made a trapped call: its memory, descriptors, working directory, umask and name.
//
// Everything is read through the outer /proc, which is the broker's working directory, by the
// thread id of the notification. Such an id may be of another thread by the time it is used: the
// caller of these functions asks Valid() after the last of them and before acting (step 1 of
// docs/decisions/0003-supervisor.md).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "notify/kernel.h"

namespace cordon::notify {

// Ids of a thread and its process, outside and inside the session.
struct CallerIds {
  pid_t process = 0;        // thread group, outside
  pid_t inner_process = 0;  // inside; 0 when it could not be read
  pid_t inner_thread = 0;
  std::string name;  // comm
};

class Caller {
 public:
  Caller(int listener, const seccomp_notif& notification)
      : listener_(listener), notification_(notification) {}

  int listener() const { return listener_; }
  std::uint64_t id() const { return notification_.id; }
  pid_t thread() const { return static_cast<pid_t>(notification_.pid); }
  int number() const { return notification_.data.nr; }
  std::uint64_t argument(unsigned index) const { return notification_.data.args[index]; }
  // As the kernel takes an int: what stands above the low 32 bits is dropped.
  int integer(unsigned index) const { return static_cast<int>(argument(index)); }
  bool Valid() const { return IsValid(listener_, id()); }

  // All return 0 or an errno. A string as getname() takes it: at most 4095 bytes (ENAMETOOLONG).
  int ReadString(std::uint64_t address, std::string& out) const;
  int ReadBytes(std::uint64_t address, void* out, std::size_t size) const;

  // "PID/cwd", "PID/fd/7" and the like, relative to the outer /proc.
  std::string Proc(const char* what) const;
  std::string ProcDescriptor(int fd) const;
  // A copy of one of its descriptors; invalid with errno.
  UniqueFd CopyDescriptor(int fd) const;

  CallerIds Ids() const;
  // Path of its program in the session's view, or its name in brackets.
  std::string Program() const;

 private:
  int listener_;
  const seccomp_notif& notification_;
};

// True when a signal waits for this thread that it does not block. Notifications of Cordon's
// filters are interrupted by a fatal signal only (WAIT_KILLABLE_RECV), so this must be asked for.
bool SignalPending(pid_t thread);

// umask(2) traps and is answered with CONTINUE, so the value is known at the price of a look-up.
//
// The value of a thread that never called umask(2) is read once from /proc (9 microseconds) and
// kept. A call of umask(2) by one thread changes that of all that share its file system
// information: all that is kept is dropped then, and nothing is kept until that thread has made
// its next call, because only then is the change done for sure.
class UmaskCache {
 public:
  // The umask that every command starts with.
  explicit UmaskCache(mode_t initial) : initial_(initial) {}
  void Changing(const Caller& caller, mode_t next);
  // Call for every notification, first of all.
  void Seen(pid_t thread);
  mode_t Of(const Caller& caller);

 private:
  struct Entry {
    mode_t value = 0;
    UniqueFd alive;  // of the thread's process: ids are used again
  };
  mode_t initial_;
  bool ever_changed_ = false;
  std::vector<pid_t> changing_;
  std::unordered_map<pid_t, Entry> known_;
};

}  // namespace cordon::notify
