// Taking apart what a session's processes wrote, and what /proc says of them. Whatever the bytes
// are, these functions end, and give no more than was there.
//
// Pure and thread-safe: tested and fuzzed (parse_fuzz.cc) without a session.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace cordon::notify {

// "a/b//" is the parent "a/", the name "b" and a slash; "/" is the name "." in "/".
struct Split {
  std::string parent;  // with the slash that ends it; "" when there is none
  std::string name;    // never empty, no slash in it
  bool slash = false;  // one or more followed the name
};
// REQUIRES: the path is not empty.
Split SplitPath(std::string_view path);

// The path in a sockaddr_un of this length, as unix(7) takes it: up to the first NUL or the end. ""
// for an address that names no path (unnamed, abstract, too short).
std::string_view UnixPath(std::string_view address);
// Any sockaddr for people: "192.0.2.1:80", "[2001:db8::1]:80", "an address of family 16".
std::string InternetAddress(std::string_view address);

// Files of /proc/PID and /proc/PID/task/TID that a program may write although another process
// opened them: the right is asked for when they are written, or none is needed.
bool IsHarmlessProc(std::string_view path);

// "/proc/PID/fd/N", "/proc/PID/task/TID/fd/N".
struct ProcDescriptor {
  pid_t process = 0;
  int fd = -1;
};
std::optional<ProcDescriptor> ParseProcDescriptor(std::string_view path);

// The value of one line of /proc/PID/status; "" when there is none.
std::string_view StatusLine(std::string_view status, std::string_view key);
// Of a list of ids (NStgid), the innermost; 0 when there is none.
pid_t LastNumber(std::string_view numbers);
// By the masks in /proc/PID/status: a signal waits that is not blocked.
bool HasPendingSignal(std::string_view status);

// The number below /dev/pts of the controlling terminal in /proc/PID/stat; nothing when there is no
// terminal, or it is none of that kind.
std::optional<unsigned> TerminalNumber(std::string_view stat);

}  // namespace cordon::notify
