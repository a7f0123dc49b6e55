// The names that init watches, so that masks which fall off are put back.
#include <sys/inotify.h>

#include <cerrno>
#include <cstring>

#include "jail/plan_watches.h"
#include "session/session_impl.h"

namespace cordon::session {

// Sent while init builds the view: it is no part of what a launch waits for.
Status Session::Impl::SendWatches(Prepared& next) {
  const jail::Watches watches = jail::WatchesFor(next.policy, next.plan);
  if (watches.empty()) return Ok();
  UniqueFd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.valid()) {
    std::string line = kMasksAreNotPutBack;
    line += std::string(": no inotify instance (") + std::strerror(errno);
    next.details.push_back(line + "); raise fs.inotify.max_user_instances");
    return Ok();
  }
  // A launcher that has given up says so itself.
  if (Status sent = channel.Send(jail::wire::Type::kWatches, 0, Encode(watches), {inotify.get()});
      !sent.ok() && sent.error().sys_errno != EPIPE)
    return sent.error();
  return Ok();
}

void Session::Impl::NoteWatchFailure(std::string_view payload) {
  jail::wire::Reader r(payload);
  const bool mounting = r.U32() != 0;
  const int error = static_cast<int>(r.U32());
  const std::string path(r.String());
  if (!r.ok()) return;
  std::string line =
      mounting ? "weaker: a rule is not held for " + path + ", which a program outside replaced: "
               : "weaker: what a program outside replaces in " + path +
                     " is no longer hidden or read-only: ";
  line += error == EOVERFLOW ? "there are more directories below a denied glob than are watched"
                             : std::strerror(error);
  if (!mounting && error == ENOSPC) line += "; raise fs.inotify.max_user_watches";
  prepared.details.push_back(line);
}

}  // namespace cordon::session
