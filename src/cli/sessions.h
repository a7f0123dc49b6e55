// Running sessions, as the process table shows them: `cordon ps` and `cordon kill`.
//
// A session's monitor (jail, docs/decisions/0001) carries its facts in its argument list:
//   cordon-session ID START HOST_PID BACKEND WORKDIR COMMAND
// There is no registry that could be left behind. A process inside a session may write the same
// into its own list: it is told apart by its pid namespace.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace cordon::cli {

struct RunningSession {
  pid_t pid = 0;  // the monitor's
  uid_t uid = 0;
  std::string id;
  std::int64_t start = 0;  // seconds since 1970
  pid_t host_pid = 0;
  std::string backend, workdir, command;
  bool operator==(const RunningSession&) const = default;
};

// Reads a /proc/PID/cmdline. nullopt: not a monitor's. Pure.
std::optional<RunningSession> ParseCommandLine(std::string_view cmdline);

// Number of pid namespaces that a /proc/PID/status is in, by its NSpid line; 0 when there is none.
// Pure.
int PidNamespaceDepth(std::string_view status);

// Sessions of `uid`, or of every user; the oldest first.
std::vector<RunningSession> ListSessions(std::optional<uid_t> uid);

// Sessions that `text` means: the one with exactly this id, else those whose id begins with it.
// Pure.
std::vector<RunningSession> MatchSessions(const std::vector<RunningSession>& all,
                                          std::string_view text);

// A table for people, or JSON. Pure; `now` is in seconds since 1970.
std::string SessionsText(const std::vector<RunningSession>& sessions, std::int64_t now);
std::string SessionsJson(const std::vector<RunningSession>& sessions, std::int64_t now);

int PsMain(const Arguments& arguments);
// 0; 1 when a session was not found or named by several; 125 when one could not be ended.
int KillMain(const Arguments& arguments);

}  // namespace cordon::cli
