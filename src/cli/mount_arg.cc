#include "cli/mount_arg.h"

#include <vector>

namespace cordon::cli {

Result<MountArgument> ParseMount(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return MakeError(ErrorCode::kInvalid, "'" + std::string(text) + "': " + std::string(why),
                     "write HOST[:GUEST][:ro], with \\: for a colon inside a path");
  };
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      if (i + 1 == text.size() || (text[i + 1] != ':' && text[i + 1] != '\\')) {
        return wrong("a backslash stands only before a colon or a backslash");
      }
      parts.back() += text[++i];
    } else if (text[i] == ':') {
      parts.emplace_back();
    } else if (text[i] == '\0') {
      return wrong("a NUL byte");
    } else {
      parts.back() += text[i];
    }
  }
  MountArgument mount;
  if (parts.size() > 1 && (parts.back() == "ro" || parts.back() == "rw")) {
    mount.read_only = parts.back() == "ro";
    parts.pop_back();
  }
  if (parts.size() > 2) return wrong("too many parts");
  for (const std::string& part : parts) {
    if (part.empty()) return wrong("an empty path");
  }
  mount.host = parts[0];
  if (parts.size() == 2) {
    if (parts[1][0] != '/') return wrong("the path inside must be absolute, or be ro");
    mount.guest = parts[1];
  }
  return mount;
}

}  // namespace cordon::cli
