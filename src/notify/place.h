// Where the path of a trapped call leads: the directory, opened, and the last component, which is
// not followed.
//
//   Place place = walker.Resolve(caller, AT_FDCWD, "a/link/../b");
//   if (place.error != 0) return place.error;
//   place.path;   // "/home/u/a/b": canonical, as the kernel names it
//   ::mkdirat(place.directory.get(), place.name.c_str(), mode);
//
// Links on the way are followed by the kernel, from the caller's own working directory or
// descriptor, in the session's view. Only where that does not do, because `self` in /proc means
// the caller and not the broker, are the components walked one by one.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "notify/caller.h"

namespace cordon::notify {

struct Place {
  int error = 0;       // errno of the resolution; the rest is then undefined
  UniqueFd directory;  // O_PATH
  std::string path;    // canonical name of `directory`, "/", `name`
  std::string name;    // last component; "." or ".." when the path ends so (or is "/")
  bool slash = false;  // a slash followed the last component
  bool root = false;   // the path is "/", however it is written
  bool Special() const { return name == "." || name == ".."; }
  // For calls that do not follow the last component; the slash makes the kernel answer as it would.
  std::string NameForCall() const { return slash ? name + "/" : name; }
};

// What a path leads to in the end, opened with O_PATH.
struct Target {
  int error = 0;
  UniqueFd object;  // O_PATH
  struct stat st{};
  std::string path;  // canonical
  // Reached through a link in /proc that is no path: /proc/self/fd/N.
  bool magic = false;
};

class Walker {
 public:
  // `proc_device`: st_dev of the session's /proc.
  explicit Walker(dev_t proc_device) : proc_device_(proc_device) {}

  Place Resolve(const Caller& caller, int directory, std::string_view path) const;
  // The second path of one call. Where it goes through the very same words as `first`, which was
  // resolved from `first_path` for this call, it has the same directory.
  Place ResolveBeside(const Caller& caller, int directory, std::string_view path,
                      const Place& first, int first_directory, std::string_view first_path) const;
  // Follows the link at `place` one step; `place` is then where its text leads. False: it leads to
  // something that is no path (a magic link): Open() has it.
  // REQUIRES: the last component is a symbolic link.
  bool Follow(const Caller& caller, Place& place) const;
  // Follows links at the last component too, and opens what is there.
  Target Open(const Caller& caller, Place place) const;

  bool InProc(const struct stat& st) const { return st.st_dev == proc_device_; }

 private:
  UniqueFd OpenDirectory(const Caller& caller, int directory, const std::string& path) const;
  UniqueFd Start(const Caller& caller, int directory, const std::string& path) const;
  UniqueFd WalkByHand(const Caller& caller, UniqueFd start, std::string path) const;
  std::string SelfName(const Caller& caller, std::string_view name) const;

  dev_t proc_device_;
};

// Canonical name of an O_PATH descriptor, from the outer /proc; "" when there is none.
std::string NameOf(int fd);
// The same of a directory, in 1.1 microseconds instead of 2.7; "" also where no path leads to it
// from the session's root.
std::string NameOfDirectory(int fd);
// The outer /proc, which is and stays the working directory: NameOfDirectory leaves it for a
// moment. `proc` stays open. Without this call NameOfDirectory is NameOf.
void KeepOuterProc(int proc);

inline constexpr int kMostLinks = 40;  // MAXSYMLINKS

}  // namespace cordon::notify
