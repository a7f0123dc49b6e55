#include "maskfs/asker.h"

#include <fcntl.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdio>
#include <string_view>

namespace cordon::maskfs {
namespace {

constexpr std::size_t kMostLeaders = 1u << 16;
constexpr int kMostAncestors = 32;
// linux/nsfs.h, Linux 6.12: the process, as the caller numbers it, of a thread of the namespace.
constexpr unsigned long kProcessFromNamespace = _IOR(0xb7, 0x7, int);

std::string_view Line(std::string_view status, std::string_view key) {
  for (std::size_t at = 0; at < status.size();) {
    const std::size_t end = std::min(status.find('\n', at), status.size());
    const std::string_view line = status.substr(at, end - at);
    if (line.starts_with(key) && line.substr(key.size()).starts_with(":\t"))
      return line.substr(key.size() + 2);
    at = end + 1;
  }
  return {};
}

std::string_view ReadFile(int directory, const std::string& name, char* out, std::size_t size) {
  UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t n = fd.valid() ? ::read(fd.get(), out, size) : -1;
  return {out, n > 0 ? static_cast<std::size_t>(n) : 0};
}

}  // namespace

std::uint32_t StatusNumber(std::string_view status, std::string_view key, unsigned index) {
  std::string_view line = Line(status, key);
  for (; index > 0; --index) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return 0;
    line.remove_prefix(tab + 1);
  }
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  return error == std::errc() ? value : 0;
}

void Askers::SetSession(UniqueFd proc, UniqueFd pid_namespace) {
  proc_ = std::move(proc);
  pid_namespace_ = std::move(pid_namespace);
}

void Askers::UseHostIds() {
  host_ids_ = true;
  host_proc_.reset(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

void Askers::AddLeader(std::uint32_t pid, std::uint32_t exec) {
  if (execs_.size() >= kMostLeaders) execs_.clear();
  execs_[pid] = exec;
}

Askers::Facts Askers::Read(std::uint32_t thread) const {
  Facts facts;
  char text[4096];
  const std::string_view status =
      ReadFile(Asked(), std::to_string(thread) + "/status", text, sizeof text);
  // The session's numbers come after the host's, where the host's /proc was asked.
  const unsigned inner = host_ids_ ? 1 : 0;
  facts.pid = StatusNumber(status, "Tgid");
  facts.inner_pid = StatusNumber(status, "NStgid", inner);
  facts.parent = StatusNumber(status, "PPid");
  facts.session = StatusNumber(status, "NSsid", inner);
  facts.name = std::string(Line(status, "Name"));
  return facts;
}

// A process that has left its exec's terminal session (setsid) is found by its ancestors; one that
// has lost those too is of the only exec that there was, or of an unknown one.
std::uint32_t Askers::ExecOf(Facts facts) const {
  for (int i = 0; i < kMostAncestors && facts.pid != 0; ++i) {
    for (const std::uint32_t pid : {facts.session, facts.inner_pid})
      if (const auto it = execs_.find(pid); it != execs_.end()) return it->second;
    if (facts.parent <= 1) break;
    facts = Read(facts.parent);
  }
  return execs_.size() == 1 ? execs_.begin()->second : 0;
}

Asker Askers::Find(std::uint32_t thread) const {
  Asker asker;
  if (Asked() < 0) return asker;
  const Facts facts = Read(thread);
  asker.pid = facts.inner_pid;
  asker.exec = ExecOf(facts);
  if (host_ids_) {
    asker.host_pid = facts.pid;
  } else if (pid_namespace_.valid()) {
    const int pid = ::ioctl(pid_namespace_.get(), kProcessFromNamespace, thread);
    if (pid > 0) asker.host_pid = static_cast<std::uint32_t>(pid);
  }
  char program[PATH_MAX];
  const ssize_t n =
      ::readlinkat(Asked(), (std::to_string(thread) + "/exe").c_str(), program, sizeof program);
  if (n > 0)
    asker.program.assign(program, static_cast<std::size_t>(n));
  else if (!facts.name.empty())
    asker.program = "[" + facts.name + "]";
  return asker;
}

bool Askers::SessionEnds() const {
  if (!proc_.valid()) return true;
  char text[1024];
  std::string_view stat = ReadFile(proc_.get(), "1/stat", text, sizeof text - 1);
  const std::size_t end = stat.rfind(')');
  if (end == std::string_view::npos) return true;
  text[stat.size()] = '\0';
  constexpr unsigned kExiting = 0x4;  // PF_EXITING
  unsigned flags = kExiting;
  std::sscanf(text + end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags);
  return (flags & kExiting) != 0;
}

}  // namespace cordon::maskfs
