// Puts one mount on one name of the view that is in use, and makes sure that it covers what is
// there.
#pragma once

#include <linux/stat.h>
#include <sys/stat.h>

#include <cstdint>

#include "launcher/watch_mark.h"

namespace cordon::launcher {

// What is done about a name that has no mount on it (jail::Watches::Action).
enum class WatchAction : std::uint32_t { kNone, kMask, kEmptyMask, kSelf };

struct Spot {
  int parent = -1;  // directory, O_PATH
  const char* name = "";
  WatchAction action = WatchAction::kMask;
  std::uint32_t attributes = 0;  // jail::Operation::Attribute, for kSelf
};

enum class Outcome { kAbsent, kCovered, kFailed };

// A link is not followed: the mount goes on the link itself. `masks`: the directory of the
// session's masks, a mount of this namespace. `known`, for kSelf: what the mount shows that was
// found to cover the name; such a one is taken as good, any other is compared with what it stands
// on. It becomes what is shown now. kFailed leaves errno. The working directory may be `parent`
// afterwards.
Outcome PutMount(const Spot& spot, int masks, FileId& known);

// The name itself, not what a link leads to. Asks no server, of a network file system or of masks:
// init must not wait for one. False with errno.
bool LookAtName(int parent, const char* name, struct statx& out);
bool LookAtDescriptor(int fd, struct statx& out);

// Directory `name` in `parent` (or an absolute path); no component may be a link. -1 with errno.
int OpenDirectory(int parent, const char* name, int flags);

// Tells the host that something is not held; the host makes words of it. A few times a session, and
// that directories cannot be watched at all (EINVAL, EMFILE) once.
enum class Weaker : std::uint32_t { kNotWatched, kNotMounted };
void SayWeaker(Weaker what, int error, const char* path);

}  // namespace cordon::launcher
