#include "launcher/mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <cstring>

#include "launcher/raw.h"

namespace cordon::launcher {
namespace {

struct Text {
  char* data = nullptr;
  std::size_t size = 0;
};

// Reads the whole of mountinfo; the caller frees.
bool ReadAll(int fd, Text& out) {
  std::size_t capacity = 64 * 1024;
  out.data = static_cast<char*>(::malloc(capacity));
  out.size = 0;
  while (out.data != nullptr) {
    ssize_t n =
        ::pread(fd, out.data + out.size, capacity - out.size - 1, static_cast<off_t>(out.size));
    if (n < 0) return false;
    out.size += static_cast<std::size_t>(n);
    if (n == 0) {
      out.data[out.size] = '\0';
      return true;
    }
    if (out.size + 1 >= capacity) {
      capacity *= 2;
      auto* grown = static_cast<char*>(::realloc(out.data, capacity));
      if (grown == nullptr) return false;
      out.data = grown;
    }
  }
  errno = ENOMEM;
  return false;
}

// Undoes mountinfo's octal escapes (\040 and the like) in place.
void Unescape(char* s) {
  char* w = s;
  for (; *s != '\0'; ++s) {
    if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
        s[3] <= '7') {
      *w++ = static_cast<char>(((s[1] - '0') << 6) | ((s[2] - '0') << 3) | (s[3] - '0'));
      s += 3;
    } else {
      *w++ = *s;
    }
  }
  *w = '\0';
}

// Flags that a remount must repeat, or the kernel refuses to drop them (they are locked).
unsigned long CurrentFlags(const char* options) {
  struct {
    const char* name;
    unsigned long flag;
  } const known[] = {{"ro", MS_RDONLY},         {"nosuid", MS_NOSUID},
                     {"nodev", MS_NODEV},       {"noexec", MS_NOEXEC},
                     {"noatime", MS_NOATIME},   {"nodiratime", MS_NODIRATIME},
                     {"relatime", MS_RELATIME}, {"nosymfollow", 256}};
  unsigned long flags = 0;
  for (const auto& k : known) {
    std::size_t n = std::strlen(k.name);
    for (const char* p = std::strstr(options, k.name); p != nullptr;
         p = std::strstr(p + 1, k.name)) {
      bool starts = p == options || p[-1] == ',';
      if (starts && (p[n] == ',' || p[n] == '\0')) flags |= k.flag;
    }
  }
  return flags;
}

unsigned long ToMountFlags(std::uint64_t attributes) {
  unsigned long flags = 0;
  if (attributes & kAttrReadOnly) flags |= MS_RDONLY;
  if (attributes & kAttrNoSuid) flags |= MS_NOSUID;
  if (attributes & kAttrNoDev) flags |= MS_NODEV;
  if (attributes & kAttrNoExec) flags |= MS_NOEXEC;
  return flags;
}

bool IsAtOrBelow(const char* path, const char* root) {
  std::size_t n = std::strlen(root);
  if (n == 1) return true;  // "/"
  return std::strncmp(path, root, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

int RemountEach(const char* root, std::uint64_t attributes, bool recursive, int mountinfo_fd) {
  Text text;
  if (!ReadAll(mountinfo_fd, text)) {
    ::free(text.data);
    return -1;
  }
  int result = 0;
  char* save = nullptr;
  for (char* line = ::strtok_r(text.data, "\n", &save); line != nullptr && result == 0;
       line = ::strtok_r(nullptr, "\n", &save)) {
    char* field[6] = {};
    char* inner = nullptr;
    char* token = ::strtok_r(line, " ", &inner);
    for (int i = 0; i < 6 && token != nullptr; ++i, token = ::strtok_r(nullptr, " ", &inner))
      field[i] = token;
    if (field[5] == nullptr) continue;
    Unescape(field[4]);
    bool wanted = recursive ? IsAtOrBelow(field[4], root) : std::strcmp(field[4], root) == 0;
    if (!wanted) continue;
    unsigned long flags = CurrentFlags(field[5]) | ToMountFlags(attributes) | MS_REMOUNT | MS_BIND;
    // A mount that another one hides cannot be named by path and cannot be reached either: ENOENT,
    // EINVAL and EACCES there are harmless, for what is on top has its own line.
    if (::mount(nullptr, field[4], nullptr, flags, nullptr) != 0 && errno != ENOENT &&
        errno != EINVAL && errno != EACCES)
      result = -1;
  }
  int saved = errno;
  ::free(text.data);
  errno = saved;
  return result;
}

}  // namespace

bool HasMountSetattr() {
  static int known = -1;
  if (known < 0) {
    MountAttr none;
    // An empty request on a bad descriptor: EBADF (or EINVAL) where the call exists.
    known = MountSetattr(-1, "", AT_EMPTY_PATH, none) == 0 || errno != ENOSYS ? 1 : 0;
  }
  return known == 1;
}

int AddAttributes(int fd, std::uint64_t attributes, bool recursive) {
  MountAttr attr;
  attr.attr_set = attributes;
  return MountSetattr(fd, "", AT_EMPTY_PATH | (recursive ? kRecursive : 0), attr);
}

int AddAttributesAt(const char* path, std::uint64_t attributes, bool recursive, bool make_private,
                    int mountinfo_fd) {
  if (HasMountSetattr()) {
    MountAttr attr;
    attr.attr_set = attributes;
    attr.propagation = make_private ? MS_PRIVATE : 0;
    return MountSetattr(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | (recursive ? kRecursive : 0), attr);
  }
  if (make_private &&
      ::mount(nullptr, path, nullptr, MS_PRIVATE | (recursive ? MS_REC : 0), nullptr) != 0)
    return -1;
  return attributes == 0 ? 0 : RemountEach(path, attributes, recursive, mountinfo_fd);
}

}  // namespace cordon::launcher
