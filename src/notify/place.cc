#include "notify/place.h"

#include <dirent.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "notify/parse.h"

namespace cordon::notify {
namespace {

constexpr int kPathFlags = O_PATH | O_CLOEXEC;
int outer_proc = -1;

Place Fail(int error) {
  Place place;
  place.error = error;
  return place;
}

UniqueFd Open(int directory, const char* path, int flags) {
  return UniqueFd(::openat(directory, path, flags));
}

// Text of a link; "" with errno when it cannot be read.
std::string LinkText(int directory, const char* name) {
  char text[PATH_MAX];
  ssize_t n = ::readlinkat(directory, name, text, sizeof text);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

// The name of `child` in `parent`, by its inode; "" when it is not there.
std::string NameIn(int parent, const struct stat& child) {
  UniqueFd readable = notify::Open(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = readable.valid() ? ::fdopendir(readable.get()) : nullptr;
  if (entries == nullptr) return {};
  [[maybe_unused]] int owned = readable.release();
  std::string found;
  while (dirent* entry = ::readdir(entries)) {
    struct stat st{};
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." ||
        ::fstatat(parent, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        st.st_ino != child.st_ino || st.st_dev != child.st_dev)
      continue;
    found = name;
    break;
  }
  ::closedir(entries);
  return found;
}

// A directory whose name is longer than the kernel tells: its own name, and those above it.
std::string NameUpwards(int fd) {
  constexpr int kMostLevels = 4096;
  std::string tail;
  UniqueFd at(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  for (int level = 0; level < kMostLevels && at.valid(); ++level) {
    struct stat st{};
    UniqueFd up = notify::Open(at.get(), "..", kPathFlags | O_DIRECTORY);
    if (!up.valid() || ::fstat(at.get(), &st) != 0) return {};
    const std::string name = NameIn(up.get(), st);
    if (name.empty()) return {};
    tail.insert(0, "/" + name);
    char link[32];
    std::snprintf(link, sizeof link, "self/fd/%d", up.get());
    const std::string head = LinkText(AT_FDCWD, link);
    if (!head.empty()) return head == "/" ? tail : head + tail;
    at = std::move(up);
  }
  return {};
}

}  // namespace

std::string NameOf(int fd) {
  char link[32];
  std::snprintf(link, sizeof link, "self/fd/%d", fd);
  std::string name = LinkText(AT_FDCWD, link);
  struct stat st{};
  if (!name.empty() || errno != ENAMETOOLONG || ::fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode))
    return name;
  return NameUpwards(fd);
}

void KeepOuterProc(int proc) { outer_proc = proc; }

std::string NameOfDirectory(int fd) {
  // Refused where the caller could not search it either.
  if (outer_proc < 0 || ::fchdir(fd) != 0) return NameOf(fd);
  char text[PATH_MAX];
  const long n = ::syscall(SYS_getcwd, text, sizeof text);
  const int error = errno;
  // Every look-up of a caller starts there.
  if (::fchdir(outer_proc) != 0) ::_exit(1);
  // One that was removed still has the name it had, and one that is too long is put together.
  if (n <= 1) return error == ENOENT || error == ERANGE || error == ENAMETOOLONG ? NameOf(fd) : "";
  return text[0] == '/' ? std::string(text, static_cast<std::size_t>(n) - 1) : std::string();
}

// What /proc/self and /proc/thread-self mean to the caller.
std::string Walker::SelfName(const Caller& caller, std::string_view name) const {
  CallerIds ids = caller.Ids();
  std::string process = std::to_string(ids.inner_process);
  return name == "self" ? process : process + "/task/" + std::to_string(ids.inner_thread);
}

// The directory that a path starts from; invalid with errno.
UniqueFd Walker::Start(const Caller& caller, int directory, const std::string& path) const {
  constexpr int kFlags = kPathFlags | O_DIRECTORY;
  if (!path.empty() && path.front() == '/') return notify::Open(AT_FDCWD, "/", kFlags);
  if (directory == AT_FDCWD) return notify::Open(AT_FDCWD, caller.Proc("cwd").c_str(), kFlags);
  UniqueFd start = notify::Open(AT_FDCWD, caller.ProcDescriptor(directory).c_str(), kFlags);
  if (start.valid()) return start;
  // One that is not open, is no directory, or is of a process that keeps its files in /proc to
  // itself.
  UniqueFd copy = caller.CopyDescriptor(directory);
  struct stat st{};
  if (!copy.valid()) {
    errno = EBADF;
    return {};
  }
  if (::fstat(copy.get(), &st) == 0 && !S_ISDIR(st.st_mode)) {
    errno = ENOTDIR;
    return {};
  }
  return copy;
}

UniqueFd Walker::OpenDirectory(const Caller& caller, int directory, const std::string& path) const {
  constexpr int kFlags = kPathFlags | O_DIRECTORY;
  UniqueFd fd;
  if (!path.empty() && path.front() == '/') {
    fd = notify::Open(AT_FDCWD, path.c_str(), kFlags);
  } else {
    std::string from =
        directory == AT_FDCWD ? caller.Proc("cwd") : caller.ProcDescriptor(directory);
    // The kernel goes through the link in /proc to the caller's own directory, and on from there.
    if (!path.empty()) from += "/" + path;
    fd = notify::Open(AT_FDCWD, from.c_str(), kFlags);
  }
  const bool again = errno == ENOENT || errno == ELOOP || errno == EACCES ||
                     errno == ENAMETOOLONG || errno == ENOTDIR || errno == EBADF;
  if (fd.valid() || !again) return fd;
  UniqueFd start = Start(caller, directory, path);
  if (!start.valid() || path.empty()) return start;
  if (path.front() != '/') {
    fd = notify::Open(start.get(), path.c_str(), kFlags);
    if (fd.valid() || errno == ENAMETOOLONG || errno == ENOTDIR) return fd;
  } else if (errno == ENAMETOOLONG || errno == ENOTDIR) {
    return {};
  }
  // `self` may stand on the way, which names the caller and not the broker.
  return WalkByHand(caller, std::move(start), path);
}

UniqueFd Walker::WalkByHand(const Caller& caller, UniqueFd at, std::string path) const {
  int links = 0;
  while (true) {
    std::size_t begin = path.find_first_not_of('/');
    if (begin == std::string::npos) return at;
    std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    path.erase(0, end);
    UniqueFd next = notify::Open(at.get(), name.c_str(), kPathFlags | O_NOFOLLOW);
    struct stat st{};
    if (!next.valid() || ::fstat(next.get(), &st) != 0) return {};
    if (S_ISDIR(st.st_mode)) {
      at = std::move(next);
      continue;
    }
    if (!S_ISLNK(st.st_mode)) {
      errno = ENOTDIR;
      return {};
    }
    if (++links > kMostLinks) {
      errno = ELOOP;
      return {};
    }
    std::string text;
    if (InProc(st) && (name == "self" || name == "thread-self")) {
      text = SelfName(caller, name);
    } else if (InProc(st) && NameOf(at.get()) != "/proc") {
      // cwd, root or fd/N of a process: the kernel goes there by itself.
      at = notify::Open(at.get(), name.c_str(), kPathFlags | O_DIRECTORY);
      if (!at.valid()) return {};
      continue;
    } else {
      text = LinkText(next.get(), "");
      if (text.empty()) return {};
    }
    path = text + "/" + path;
    if (text.front() == '/') {
      at = notify::Open(AT_FDCWD, "/", kPathFlags | O_DIRECTORY);
      if (!at.valid()) return {};
    }
  }
}

Place Walker::Resolve(const Caller& caller, int directory, std::string_view path) const {
  if (path.empty()) return Fail(ENOENT);
  Split split = SplitPath(path);
  Place place;
  place.directory = OpenDirectory(caller, directory, split.parent);
  if (!place.directory.valid()) return Fail(errno);
  place.path = NameOfDirectory(place.directory.get());
  if (place.path.empty() || place.path.front() != '/') return Fail(ENOENT);
  place.name = std::move(split.name);
  place.slash = split.slash;
  place.root = path.find_first_not_of('/') == std::string_view::npos;
  if (place.path.size() > 1) place.path += '/';
  place.path += place.name;
  return place;
}

Place Walker::ResolveBeside(const Caller& caller, int directory, std::string_view path,
                            const Place& first, int first_directory,
                            std::string_view first_path) const {
  if (path.empty() || first_path.empty() || first.error != 0)
    return Resolve(caller, directory, path);
  Split split = SplitPath(path);
  const bool absolute = split.parent.starts_with('/');
  const bool same =
      split.parent == SplitPath(first_path).parent && (absolute || directory == first_directory);
  if (!same) return Resolve(caller, directory, path);
  Place place;
  place.directory = UniqueFd(::fcntl(first.directory.get(), F_DUPFD_CLOEXEC, 0));
  if (!place.directory.valid()) return Fail(errno);
  place.path = first.path.substr(0, first.path.size() - first.name.size()) + split.name;
  place.name = std::move(split.name);
  place.slash = split.slash;
  place.root = path.find_first_not_of('/') == std::string_view::npos;
  return place;
}

bool Walker::Follow(const Caller& caller, Place& place) const {
  struct stat st{};
  if (::fstatat(place.directory.get(), place.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    place.error = errno;
    return true;
  }
  std::string text;
  if (InProc(st) && (place.name == "self" || place.name == "thread-self")) {
    text = SelfName(caller, place.name);
  } else if (InProc(st) && place.path.rfind('/') > 5) {  // below /proc/PID
    return false;
  } else {
    text = LinkText(place.directory.get(), place.name.c_str());
  }
  if (text.empty()) {
    place.error = errno != 0 ? errno : ENOENT;
    return true;
  }
  // A link's text is walked from the directory that holds it.
  bool slash = place.slash;
  Split split = SplitPath(text);
  UniqueFd next;
  if (split.parent.empty()) {
    next = std::move(place.directory);
  } else {
    constexpr int kFlags = kPathFlags | O_DIRECTORY;
    next = split.parent.front() == '/'
               ? notify::Open(AT_FDCWD, split.parent.c_str(), kFlags)
               : notify::Open(place.directory.get(), split.parent.c_str(), kFlags);
    if (!next.valid() && (errno == ENOENT || errno == ELOOP)) {
      UniqueFd start = split.parent.front() == '/' ? notify::Open(AT_FDCWD, "/", kFlags)
                                                   : std::move(place.directory);
      next = WalkByHand(caller, std::move(start), split.parent);
    }
  }
  if (!next.valid()) {
    place.error = errno;
    return true;
  }
  place.directory = std::move(next);
  place.path = NameOfDirectory(place.directory.get());
  if (place.path.empty() || place.path.front() != '/') {
    place.error = ENOENT;
    return true;
  }
  place.name = std::move(split.name);
  place.slash = slash || split.slash;
  if (place.path.size() > 1) place.path += '/';
  place.path += place.name;
  return true;
}

Target Walker::Open(const Caller& caller, Place place) const {
  Target target;
  for (int links = 0;; ++links) {
    if (place.error != 0 || links > kMostLinks) {
      target.error = place.error != 0 ? place.error : ELOOP;
      return target;
    }
    target.object =
        notify::Open(place.directory.get(), place.name.c_str(), kPathFlags | O_NOFOLLOW);
    if (!target.object.valid() || ::fstat(target.object.get(), &target.st) != 0) {
      target.error = errno;
      return target;
    }
    if (!S_ISLNK(target.st.st_mode)) break;
    if (Follow(caller, place)) continue;
    // A link of /proc that is no path.
    target.object = notify::Open(place.directory.get(), place.name.c_str(), kPathFlags);
    if (!target.object.valid() || ::fstat(target.object.get(), &target.st) != 0) {
      target.error = errno;
      return target;
    }
    target.magic = true;
    break;
  }
  // The kernel tells no name of a file that is longer than a path may be.
  target.path = NameOf(target.object.get());
  if (target.path.empty() && !target.magic) target.path = place.path;
  if (place.slash && !S_ISDIR(target.st.st_mode)) target.error = ENOTDIR;
  return target;
}

}  // namespace cordon::notify
