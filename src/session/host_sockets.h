// Unix sockets that exist on the host, by path.
#pragma once

#include <string>
#include <vector>

namespace cordon::session {

// Canonical paths of the bound pathname sockets of this network namespace, from /proc/net/unix.
// Paths that cannot be resolved are left out: they cannot be reached by name either.
std::vector<std::string> HostSockets();

// The parsing alone: absolute paths in the text of /proc/net/unix, unresolved, each once.
std::vector<std::string> ParseSocketTable(const std::string& text);

}  // namespace cordon::session
