#include "notify/place.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

namespace cordon::notify {
namespace {

constexpr int kPathFlags = O_PATH | O_CLOEXEC;

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

struct Split {
  std::string parent;  // "" when there is none; "/" for the root
  std::string name;
  bool slash = false;
};

Split SplitPath(std::string_view path) {
  Split out;
  std::size_t end = path.find_last_not_of('/');
  if (end == std::string_view::npos) {
    out.parent = "/";
    out.name = ".";
    return out;
  }
  out.slash = end + 1 < path.size();
  path = path.substr(0, end + 1);
  std::size_t at = path.rfind('/');
  out.name = std::string(path.substr(at == std::string_view::npos ? 0 : at + 1));
  if (at != std::string_view::npos) out.parent = std::string(path.substr(0, at + 1));
  return out;
}

}  // namespace

std::string NameOf(int fd) {
  char link[32];
  std::snprintf(link, sizeof link, "self/fd/%d", fd);
  return LinkText(AT_FDCWD, link);
}

// What /proc/self and /proc/thread-self mean to the caller.
std::string Walker::SelfName(const Caller& caller, std::string_view name) const {
  CallerIds ids = caller.Ids();
  std::string process = std::to_string(ids.inner_process);
  return name == "self" ? process : process + "/task/" + std::to_string(ids.inner_thread);
}

UniqueFd Walker::OpenDirectory(const Caller& caller, int directory, const std::string& path) const {
  constexpr int kFlags = kPathFlags | O_DIRECTORY;
  UniqueFd fd;
  if (!path.empty() && path.front() == '/') {
    fd = notify::Open(AT_FDCWD, path.c_str(), kFlags);
  } else {
    std::string from = directory == AT_FDCWD ? caller.Proc("cwd") : caller.ProcDescriptor(directory);
    // The kernel goes through the link in /proc to the caller's own directory, and on from there.
    if (!path.empty()) from += "/" + path;
    fd = notify::Open(AT_FDCWD, from.c_str(), kFlags);
  }
  if (fd.valid() || (errno != ENOENT && errno != ELOOP && errno != EACCES)) return fd;
  int error = errno;
  // `self` may stand on the way, which names the caller and not the broker.
  UniqueFd start;
  if (!path.empty() && path.front() == '/') {
    start = notify::Open(AT_FDCWD, "/", kFlags);
  } else {
    std::string from = directory == AT_FDCWD ? caller.Proc("cwd") : caller.ProcDescriptor(directory);
    start = notify::Open(AT_FDCWD, from.c_str(), kFlags);
    if (!start.valid()) {
      // A descriptor that is not open, or is no directory.
      struct stat st{};
      if (directory != AT_FDCWD)
        errno = ::lstat(from.c_str(), &st) != 0 ? EBADF : errno == ENOENT ? ENOENT : ENOTDIR;
      return start;
    }
  }
  if (path.empty()) {
    errno = error;
    return {};
  }
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
  place.path = NameOf(place.directory.get());
  if (place.path.empty() || place.path.front() != '/') return Fail(ENOENT);
  place.name = std::move(split.name);
  place.slash = split.slash;
  if (place.path.size() > 1) place.path += '/';
  place.path += place.name;
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
  place.path = NameOf(place.directory.get());
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
    target.object = notify::Open(place.directory.get(), place.name.c_str(), kPathFlags | O_NOFOLLOW);
    if (!target.object.valid() || ::fstat(target.object.get(), &target.st) != 0) {
      target.error = errno;
      return target;
    }
    if (!S_ISLNK(target.st.st_mode)) break;
    if (Follow(caller, place)) continue;
    // A link of /proc that is no path. Which process and descriptor it is stands in its name.
    int process = 0, fd = -1, length = 0;
    if (std::sscanf(place.path.c_str(), "/proc/%d/fd/%d%n", &process, &fd, &length) != 2 ||
        static_cast<std::size_t>(length) != place.path.size()) {
      int task = 0;
      if (std::sscanf(place.path.c_str(), "/proc/%d/task/%d/fd/%d%n", &process, &task, &fd, &length) != 3)
        fd = -1;
    }
    target.object = notify::Open(place.directory.get(), place.name.c_str(), kPathFlags);
    if (!target.object.valid() || ::fstat(target.object.get(), &target.st) != 0) {
      target.error = errno;
      return target;
    }
    target.magic = true;
    if (fd >= 0 && process == caller.Ids().inner_process) target.caller_fd = fd;
    break;
  }
  target.path = NameOf(target.object.get());
  if (place.slash && !S_ISDIR(target.st.st_mode)) target.error = ENOTDIR;
  return target;
}

}  // namespace cordon::notify
