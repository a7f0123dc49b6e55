#include "cli/sessions.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <memory>
#include <tuple>

#include "base/unique_fd.h"
#include "cli/quantity.h"
#include "cli/report.h"
#include "cli/text.h"
#include "policy/json_writer.h"

namespace cordon::cli {
namespace {

constexpr std::string_view kMonitorName = "cordon-session";

template <typename T>
bool ReadNumber(std::string_view text, T& value) {
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  return r.ec == std::errc() && r.ptr == text.data() + text.size() && value >= 0;
}

std::string ReadProcFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buf[4096];
  while (fd.valid()) {
    const ssize_t n = ::read(fd.get(), buf, sizeof buf);
    if (n <= 0) break;
    text.append(buf, static_cast<std::size_t>(n));
    if (text.size() > (1u << 20)) break;
  }
  return text;
}

}  // namespace

std::optional<RunningSession> ParseCommandLine(std::string_view cmdline) {
  std::array<std::string_view, 7> parts;
  std::size_t count = 0;
  while (!cmdline.empty()) {
    const std::size_t end = cmdline.find('\0');
    if (end == std::string_view::npos || count == parts.size()) return std::nullopt;
    parts[count++] = cmdline.substr(0, end);
    cmdline.remove_prefix(end + 1);
  }
  RunningSession session;
  if (count != parts.size() || parts[0] != kMonitorName || parts[1].empty()) return std::nullopt;
  if (!ReadNumber(parts[2], session.start) || !ReadNumber(parts[3], session.host_pid)) {
    return std::nullopt;
  }
  session.id = parts[1];
  session.backend = parts[4];
  session.workdir = parts[5];
  session.command = parts[6];
  return session;
}

int PidNamespaceDepth(std::string_view status) {
  const std::size_t at = status.find("\nNSpid:");
  if (at == std::string_view::npos) return 0;
  const std::size_t begin = at + 7;
  const std::string_view line = status.substr(begin, status.find('\n', begin) - begin);
  int depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool digit = line[i] >= '0' && line[i] <= '9';
    const bool begun = i > 0 && line[i - 1] >= '0' && line[i - 1] <= '9';
    if (digit && !begun) ++depth;
  }
  return depth;
}

std::vector<RunningSession> ListSessions(std::optional<uid_t> uid) {
  std::vector<RunningSession> sessions;
  const int own_depth = PidNamespaceDepth(ReadProcFile("/proc/self/status"));
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/proc"), &::closedir);
  while (dir != nullptr) {
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    pid_t pid = 0;
    if (!ReadNumber(std::string_view(entry->d_name), pid)) continue;
    const std::string base = std::string("/proc/") + entry->d_name;
    const std::string cmdline = ReadProcFile(base + "/cmdline");
    if (!cmdline.starts_with(kMonitorName)) continue;
    // The directory of a process that is not dumpable belongs to root: the real id is in its
    // status.
    const std::string status = ReadProcFile(base + "/status");
    const std::size_t at = status.find("\nUid:\t");
    uid_t owner = 0;
    if (at == std::string::npos) continue;
    const std::size_t begin = at + 6;
    if (!ReadNumber(std::string_view(status).substr(begin, status.find('\t', begin) - begin),
                    owner)) {
      continue;
    }
    auto session = ParseCommandLine(cmdline);
    if (!session || (uid && owner != *uid) || PidNamespaceDepth(status) != own_depth) continue;
    session->pid = pid;
    session->uid = owner;
    sessions.push_back(*std::move(session));
  }
  std::sort(sessions.begin(), sessions.end(), [](const RunningSession& a, const RunningSession& b) {
    return std::tie(a.start, a.id, a.pid) < std::tie(b.start, b.id, b.pid);
  });
  return sessions;
}

std::vector<RunningSession> MatchSessions(const std::vector<RunningSession>& all,
                                          std::string_view text) {
  std::vector<RunningSession> exact, begins;
  for (const RunningSession& session : all) {
    if (session.id == text) exact.push_back(session);
    if (!text.empty() && session.id.starts_with(text)) begins.push_back(session);
  }
  return exact.empty() ? begins : exact;
}

std::string SessionsText(const std::vector<RunningSession>& sessions, std::int64_t now) {
  std::vector<std::array<std::string, 6>> rows = {
      {"SESSION", "PID", "AGE", "BACKEND", "COMMAND", "WORKDIR"}};
  for (const RunningSession& s : sessions) {
    rows.push_back({Printable(s.id), std::to_string(s.pid),
                    FormatAge(std::chrono::seconds(now - s.start)), Printable(s.backend),
                    Printable(s.command), Printable(s.workdir)});
  }
  std::array<std::size_t, 6> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      row[i].resize(widths[i] + 2, ' ');
      out += row[i];
    }
    out += row.back() + "\n";
  }
  return out;
}

std::string SessionsJson(const std::vector<RunningSession>& sessions, std::int64_t now) {
  const auto number = [](std::int64_t value) {
    return policy::JsonNumber(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)));
  };
  policy::JsonValue list = policy::JsonArray();
  for (const RunningSession& s : sessions) {
    policy::JsonValue row = policy::JsonObject();
    policy::AddMember(row, "session", policy::JsonString(s.id));
    policy::AddMember(row, "pid", number(s.pid));
    policy::AddMember(row, "uid", number(s.uid));
    policy::AddMember(row, "hostPid", number(s.host_pid));
    policy::AddMember(row, "start", number(s.start));
    policy::AddMember(row, "ageSeconds", number(now - s.start));
    policy::AddMember(row, "backend", policy::JsonString(s.backend));
    policy::AddMember(row, "workdir", policy::JsonString(s.workdir));
    policy::AddMember(row, "command", policy::JsonString(s.command));
    list.items.push_back(std::move(row));
  }
  return policy::WriteJson(list);
}

int PsMain(const Arguments& arguments) {
  const uid_t uid = ::getuid();
  const auto sessions = ListSessions(uid == 0 ? std::nullopt : std::optional<uid_t>(uid));
  const std::int64_t now = std::time(nullptr);
  const bool printed =
      Print(arguments.Has(Opt::kJson) ? SessionsJson(sessions, now) : SessionsText(sessions, now));
  return printed ? 0 : kExitCordon;
}

}  // namespace cordon::cli
