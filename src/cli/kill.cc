#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "base/unique_fd.h"
#include "cli/report.h"
#include "cli/sessions.h"

namespace cordon::cli {
namespace {

constexpr int kWaitMs = 5000;

bool StillTheSame(const RunningSession& session) {
  const std::string path = "/proc/" + std::to_string(session.pid) + "/cmdline";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(64 * 1024, '\0');
  const ssize_t n = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : -1;
  if (n <= 0) return false;
  text.resize(static_cast<std::size_t>(n));
  const auto now = ParseCommandLine(text);
  return now && now->id == session.id && now->start == session.start;
}

// True when the process of `pidfd` is gone within `ms`.
bool WaitGone(int pidfd, int ms) {
  pollfd set{pidfd, POLLIN, 0};
  int ready;
  do {
    ready = ::poll(&set, 1, ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Status EndSession(const RunningSession& session) {
  const auto failed = [&] { return ErrnoError("end session " + session.id); };
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, session.pid, 0)));
  if (!pidfd.valid()) return errno == ESRCH ? Ok() : Status(failed());
  // The number may have passed to another process before the descriptor was opened.
  if (!StillTheSame(session)) return Ok();
  for (const int signal : {SIGTERM, SIGKILL}) {
    if (::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) != 0) {
      return errno == ESRCH ? Ok() : Status(failed());
    }
    if (WaitGone(pidfd.get(), kWaitMs)) return Ok();
  }
  return MakeError(ErrorCode::kTimeout, "session " + session.id + " does not end",
                   "look at process " + std::to_string(session.pid) + " (cordon ps)");
}

// 1 when `text` names no session or more than one.
int Choose(const std::vector<RunningSession>& all, const std::string& text,
           std::vector<RunningSession>& chosen) {
  const auto found = MatchSessions(all, text);
  std::set<std::string> ids;
  for (const RunningSession& session : found) ids.insert(session.id);
  if (ids.empty()) {
    ReportError(
        MakeError(ErrorCode::kNotFound, "no session '" + text + "'", "cordon ps lists them"));
    return 1;
  }
  if (ids.size() > 1) {
    std::string list;
    for (const std::string& id : ids) list += " " + id;
    ReportError(MakeError(ErrorCode::kInvalid,
                          "'" + text + "' is the beginning of several sessions", "one of" + list));
    return 1;
  }
  chosen.insert(chosen.end(), found.begin(), found.end());
  return 0;
}

}  // namespace

int KillMain(const Arguments& arguments) {
  const bool all = arguments.Has(Opt::kAll);
  if (all != arguments.operands.empty()) {
    return ReportError(MakeError(ErrorCode::kInvalid,
                                 all ? "kill: --all and a session's name cannot be used together"
                                     : "kill: no session is named",
                                 "cordon kill SESSION, or cordon kill --all"));
  }
  const uid_t uid = ::getuid();
  const auto sessions = ListSessions(uid == 0 ? std::nullopt : std::optional<uid_t>(uid));
  std::vector<RunningSession> chosen;
  int code = 0;
  if (all) chosen = sessions;
  for (const std::string& text : arguments.operands) {
    if (Choose(sessions, text, chosen) != 0) code = 1;
  }
  for (const RunningSession& session : chosen) {
    if (const Status ended = EndSession(session); !ended.ok()) code = ReportError(ended.error());
  }
  return code;
}

}  // namespace cordon::cli
