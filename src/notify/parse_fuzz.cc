// Any bytes as a path, an address, a text of /proc and a report: each reader ends, and gives
// nothing that was not there.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "jail/wire_report.h"
#include "notify/parse.h"

namespace {

using namespace cordon::notify;

void Require(bool holds) {
  if (!holds) std::abort();
}

bool Inside(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void CheckPath(std::string_view path) {
  if (path.empty()) return;
  const Split split = SplitPath(path);
  Require(!split.name.empty() && split.name.find('/') == std::string::npos);
  Require(split.parent.empty() || split.parent.back() == '/');
  const std::string together = split.parent + split.name;
  if (path.find_first_not_of('/') == std::string_view::npos) {
    Require(together == "/.");
    return;
  }
  Require(path.starts_with(together));
  const std::string_view rest = path.substr(together.size());
  Require(rest.find_first_not_of('/') == std::string_view::npos);
  Require(split.slash == !rest.empty());
}

void CheckAddress(std::string_view address) {
  const std::string_view path = UnixPath(address);
  Require(Inside(path, address) && path.find('\0') == std::string_view::npos);
  Require(!InternetAddress(address).empty());
}

void CheckProc(std::string_view text) {
  if (IsHarmlessProc(text)) Require(text.starts_with("/proc/") && !text.ends_with("/mem"));
  if (const auto descriptor = ParseProcDescriptor(text)) {
    Require(descriptor->fd >= 0 && descriptor->process >= 0);
    Require(text.find("/fd/") != std::string_view::npos && !IsHarmlessProc(text));
  }
  for (const char* key : {"Name", "Tgid", "NStgid", "Umask", ""}) {
    const std::string_view line = StatusLine(text, key);
    Require(Inside(line, text) && line.find('\n') == std::string_view::npos);
    Require(LastNumber(line) >= 0);
  }
  (void)HasPendingSignal(text);
  if (const auto number = TerminalNumber(text)) Require(*number < 8u << 20);
}

void CheckReport(std::string_view payload) {
  bool ok = false;
  const auto report = cordon::jail::wire::ReadReport(payload, ok);
  for (const std::string_view part :
       {report.call, report.target, report.raw, report.program, report.reason}) {
    Require(Inside(part, payload));
    if (ok) Require(part.data()[part.size()] == '\0');
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  CheckPath(input);
  CheckAddress(input);
  CheckProc(input);
  CheckReport(input);
  return 0;
}
