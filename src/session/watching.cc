// The names that init watches, so that masks which fall off are put back.
#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "jail/plan_watches.h"
#include "session/session_impl.h"

namespace cordon::session {
namespace {

std::string WatchFailureText(bool mounting, int error, const std::string& path) {
  if (mounting)
    return "weaker: a rule is not held for " + path +
           ", which a program outside replaced: " + std::strerror(error);
  std::string line = "weaker: what a program outside replaces in " + path;
  if (error == EMFILE) line += ", and in other directories,";
  line += " is no longer hidden or read-only: ";
  if (error == EMFILE) return line + "raise the hard limit of open files (ulimit -Hn)";
  if (error == EOVERFLOW)
    return line + "there are more directories below a denied glob than are watched";
  return line + std::strerror(error);
}

// Asked for no events: nothing is told to this process, but whether it could be is answered.
bool KernelTellsOfChanges() {
  UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return !root.valid() || ::fcntl(root.get(), F_NOTIFY, 0) == 0 || errno != EINVAL;
}

}  // namespace

// Sent while init builds the view: it is no part of what a launch waits for.
Status Session::Impl::SendWatches(Prepared& next) {
  const jail::Watches watches = jail::WatchesFor(next.policy, next.plan);
  if (watches.empty()) return Ok();
  if (!KernelTellsOfChanges()) {
    next.details.push_back(
        std::string(kMasksAreNotPutBack) +
        ": this kernel does not tell of changes in directories; set fs.dir-notify-enable to 1");
    return Ok();
  }
  // A launcher that has given up says so itself.
  if (Status sent = channel.Send(jail::wire::Type::kWatches, 0, Encode(watches));
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
  prepared.details.push_back(WatchFailureText(mounting, error, path));
}

}  // namespace cordon::session
