#include "notify/parse.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cordon::notify {
namespace {

constexpr std::string_view kHarmlessProc[] = {"comm",          "oom_score_adj",   "oom_adj",
                                              "timerslack_ns", "coredump_filter", "clear_refs",
                                              "autogroup"};

// A number without a sign at the start of `text`, which then begins behind it.
template <typename Number>
std::optional<Number> TakeNumber(std::string_view& text, int base = 10) {
  Number value{};
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool TakeWord(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// The process of "/proc/PID/" or "/proc/PID/task/TID/"; `path` is then what follows.
std::optional<pid_t> TakeProcess(std::string_view& path) {
  if (!TakeWord(path, "/proc/")) return std::nullopt;
  const auto process = TakeNumber<pid_t>(path);
  if (!process || !TakeWord(path, "/")) return std::nullopt;
  std::string_view inner = path;
  if (TakeWord(inner, "task/") && TakeNumber<pid_t>(inner) && TakeWord(inner, "/")) path = inner;
  return process;
}

std::uint64_t SignalMask(std::string_view status, std::string_view key) {
  std::string_view text = StatusLine(status, key);
  return TakeNumber<std::uint64_t>(text, 16).value_or(0);
}

}  // namespace

Split SplitPath(std::string_view path) {
  Split out;
  const std::size_t end = path.find_last_not_of('/');
  if (end == std::string_view::npos) {
    out.parent = "/";
    out.name = ".";
    return out;
  }
  out.slash = end + 1 < path.size();
  path = path.substr(0, end + 1);
  const std::size_t at = path.rfind('/');
  out.name = std::string(path.substr(at == std::string_view::npos ? 0 : at + 1));
  if (at != std::string_view::npos) out.parent = std::string(path.substr(0, at + 1));
  return out;
}

std::string_view UnixPath(std::string_view address) {
  constexpr std::size_t kPathOffset = offsetof(sockaddr_un, sun_path);
  if (address.size() <= kPathOffset) return {};
  const std::string_view path = address.substr(kPathOffset);
  return path.substr(0, path.find('\0'));
}

std::string InternetAddress(std::string_view address) {
  char text[INET6_ADDRSTRLEN] = "";
  sockaddr any{};
  std::memcpy(&any, address.data(), std::min(address.size(), sizeof any));
  if (any.sa_family == AF_INET && address.size() >= sizeof(sockaddr_in)) {
    sockaddr_in in{};
    std::memcpy(&in, address.data(), sizeof in);
    ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(in.sin_port));
  }
  if (any.sa_family == AF_INET6 && address.size() >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in{};
    std::memcpy(&in, address.data(), sizeof in);
    ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(in.sin6_port));
  }
  return "an address of family " + std::to_string(any.sa_family);
}

bool IsHarmlessProc(std::string_view path) {
  return TakeProcess(path) && std::find(std::begin(kHarmlessProc), std::end(kHarmlessProc), path) !=
                                  std::end(kHarmlessProc);
}

std::optional<ProcDescriptor> ParseProcDescriptor(std::string_view path) {
  const auto process = TakeProcess(path);
  if (!process || !TakeWord(path, "fd/")) return std::nullopt;
  const auto fd = TakeNumber<int>(path);
  if (!fd || !path.empty()) return std::nullopt;
  return ProcDescriptor{*process, *fd};
}

std::string_view StatusLine(std::string_view status, std::string_view key) {
  while (!status.empty()) {
    std::string_view line = status.substr(0, status.find('\n'));
    status.remove_prefix(std::min(status.size(), line.size() + 1));
    if (TakeWord(line, key) && TakeWord(line, ":\t")) return line;
  }
  return {};
}

pid_t LastNumber(std::string_view numbers) {
  const std::size_t at = numbers.find_last_of(" \t");
  if (at != std::string_view::npos) numbers.remove_prefix(at + 1);
  return TakeNumber<pid_t>(numbers).value_or(0);
}

bool HasPendingSignal(std::string_view status) {
  const std::uint64_t pending = SignalMask(status, "SigPnd") | SignalMask(status, "ShdPnd");
  return (pending & ~SignalMask(status, "SigBlk")) != 0;
}

std::optional<unsigned> TerminalNumber(std::string_view stat) {
  // The program's name may hold anything, also ") ": it ends with the last of them.
  const std::size_t name = stat.rfind(')');
  if (name == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(name + 1);
  constexpr int kFieldsBefore = 4;  // state, parent, process group, session
  for (int i = 0; i < kFieldsBefore; ++i) {
    if (!TakeWord(stat, " ")) return std::nullopt;
    stat.remove_prefix(std::min(stat.size(), stat.find(' ')));
  }
  if (!TakeWord(stat, " ")) return std::nullopt;
  const auto device = TakeNumber<unsigned>(stat);
  if (!device) return std::nullopt;
  // The old encoding of device numbers: minor in bits 0..7 and 20..31, major in bits 8..19.
  const unsigned major = (*device >> 8) & 0xfff;
  const unsigned minor = (*device & 0xff) | ((*device >> 12) & 0xfff00);
  constexpr unsigned kFirstPty = 136, kLastPty = 143;
  if (major < kFirstPty || major > kLastPty) return std::nullopt;
  return (major - kFirstPty) * 256 + minor;
}

}  // namespace cordon::notify
