#include "policy/spec_json.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "policy/json_reader.h"

namespace cordon::policy {
namespace {

// Reads on after EINTR; stops one byte above the limit, so that /dev/zero ends too.
Result<std::string> ReadAll(int fd, const std::string& path) {
  std::string text;
  char buffer[1 << 16];
  while (text.size() <= kMaxJsonBytes) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(path + ": read");
    if (n == 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

Result<SandboxSpec> ReadSpecFile(const std::string& path, Ids ids) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return ErrnoError(path + ": open the spec");
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return ErrnoError(path + ": stat");
  if (S_ISDIR(info.st_mode)) {
    return MakeError(ErrorCode::kInvalid, path + ": is a directory", "name a JSON file");
  }
  if (S_ISREG(info.st_mode) && info.st_size > static_cast<off_t>(kMaxJsonBytes)) {
    return MakeError(ErrorCode::kInvalid, path + ": is larger than 16 MiB");
  }
  CORDON_TRY(const std::string text, ReadAll(fd.get(), path));
  return ParseSpec(text, path, ids);
}

}  // namespace cordon::policy
