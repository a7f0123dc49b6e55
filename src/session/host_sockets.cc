#include "session/host_sockets.h"

#include <stdlib.h>

#include <fstream>
#include <set>
#include <sstream>

namespace cordon::session {

// A line is "Num: RefCount Protocol Flags Type St Inode Path"; the path is the rest of the line
// after one space. A path with a newline cannot be told apart; its pieces then name nothing.
std::vector<std::string> ParseSocketTable(const std::string& text) {
  std::set<std::string> paths;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::size_t slash = line.find(" /");
    if (slash != std::string::npos) paths.insert(line.substr(slash + 1));
  }
  return {paths.begin(), paths.end()};
}

std::vector<std::string> HostSockets() {
  std::ifstream in("/proc/net/unix");
  std::stringstream text;
  text << in.rdbuf();
  std::set<std::string> canonical;
  for (const auto& path : ParseSocketTable(text.str())) {
    if (char* real = ::realpath(path.c_str(), nullptr); real != nullptr) {
      canonical.insert(real);
      ::free(real);
    }
  }
  return {canonical.begin(), canonical.end()};
}

}  // namespace cordon::session
