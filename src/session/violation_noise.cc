#include "session/violation_noise.h"

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "glob/glob.h"

namespace cordon::session {
namespace {

constexpr auto kRows = std::to_array<NoiseRow>({
    {"rw", "/proc/{pid}/{oom_score_adj,oom_adj}", "",
     "services and browsers rank themselves for the out-of-memory killer; the session has its own"},
    {"w", "/proc/{pid}/{autogroup,coredump_filter,timerslack_ns,loginuid}", "",
     "a process tunes itself or notes who signed in; nothing depends on it"},
    {"rw", "/dev/tty", "", "the command has no terminal; programs ask for one and go on without"},
    {"w", "/{usr,lib,lib64,opt}/**/__pycache__/**", "",
     "Python keeps compiled modules there when it can, and runs the same without"},
    {"w", "/**/{dist-packages,site-packages}/**/__pycache__/**", "",
     "Python keeps compiled modules there when it can, and runs the same without"},
    {"s", "/{var/,}run/nscd/socket", "",
     "the C library asks a name cache that hardly any machine runs, then looks itself"},
    {"r", "/{var/,}run/nscd/socket", "",
     "the C library asks a name cache that hardly any machine runs, then looks itself"},
    {"s", "/run/systemd/userdb/**", "",
     "the C library asks for users of systemd, then reads /etc/passwd"},
    {"s", "/var/lib/sss/pipes/**", "", "the C library asks for users of a directory service"},
    {"s", "/{var/,}run/nslcd/socket", "", "the C library asks for users of a directory service"},
    {"s", "/dev/log", "", "syslog(3): messages for the system's log, dropped without a log"},
    {"s", "/run/systemd/journal/{dev-log,socket,stdout}", "",
     "messages for the system's log, dropped without a log"},
    {"w", "/var/cache/man/**", "", "man keeps formatted pages and an index when it can"},
    {"w", "/var/cache/fontconfig/**", "", "fontconfig keeps an index when it can"},
    {"w", "/var/log/{wtmp,btmp,lastlog}", "", "terminal programs note who signed in"},
    {"w", "/{var/,}run/utmp", "", "terminal programs note who signed in"},
    {"s", "/**/fsmonitor--daemon.ipc", "git",
     "git asks its file watcher outside for changes, then looks itself"},
    {"r", "/usr/lib/locale/locale-archive", "",
     "the C library looks for a locale in one file, then in directories"},
    {"w", "/**/.lesshst", "less", "the pager notes what was searched for"},
    {"w", "/**/.wget-hsts", "wget", "wget notes which hosts want encryption"},
});

char LetterOf(Action action) {
  switch (action) {
    case Action::kFileRead: return 'r';
    case Action::kFileWrite:
    case Action::kFileCreate:
    case Action::kFileUnlink: return 'w';
    case Action::kUnixSocket: return 's';
    default: return '\0';
  }
}

constexpr std::string_view kPidMark = "{pid}";

glob::Pattern MustParse(const std::string& text) {
  auto parsed = glob::Pattern::Parse(text);
  if (!parsed.ok()) std::abort();  // a row of the table; the tests meet each
  return *std::move(parsed);
}

// Parallel to kRows; rows with a process id are parsed when they are asked.
const std::vector<glob::Pattern>& Patterns() {
  static const auto* patterns = [] {
    auto* made = new std::vector<glob::Pattern>;
    for (const NoiseRow& row : kRows) made->push_back(MustParse(std::string(row.target)));
    return made;
  }();
  return *patterns;
}

bool OfOwnProcess(std::string_view target, const Violation& v) {
  if (!v.target.starts_with("/proc/")) return false;
  for (const std::string& pid :
       {std::string("self"), std::to_string(v.pid), std::to_string(v.host_pid)}) {
    std::string own(target);
    own.replace(own.find(kPidMark), kPidMark.size(), pid);
    if (pid != "0" && MustParse(own).Matches(v.target)) return true;
  }
  return false;
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
}

// "[git]" is how a program is named whose path could not be read.
bool IsProgram(std::string_view program, std::string_view name) {
  const std::string_view base = BaseName(program);
  return base == name || base == "[" + std::string(name) + "]";
}

}  // namespace

std::span<const NoiseRow> NoiseRows() { return kRows; }

const NoiseRow* FindNoise(const Violation& v) {
  const char letter = LetterOf(v.action);
  if (letter == '\0' || (v.by == RefusedBy::kRule && !v.built_in)) return nullptr;
  if (v.by == RefusedBy::kMoment) return nullptr;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const NoiseRow& row = kRows[i];
    if (row.actions.find(letter) == std::string_view::npos) continue;
    if (!row.program.empty() && !IsProgram(v.program, row.program)) continue;
    const bool own = row.target.find(kPidMark) != std::string_view::npos;
    if (own ? OfOwnProcess(row.target, v) : Patterns()[i].Matches(v.target)) return &row;
  }
  return nullptr;
}

}  // namespace cordon::session
