// What cases say about results, descriptors and trees.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "probe.h"

namespace conformance {
namespace {

char KindLetter(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return '-';
    case S_IFDIR: return 'd';
    case S_IFLNK: return 'l';
    case S_IFIFO: return 'p';
    case S_IFSOCK: return 's';
    case S_IFCHR: return 'c';
    case S_IFBLK: return 'b';
    default: return '?';
  }
}

std::string StatFacts(const struct stat& st) {
  char text[96];
  snprintf(text, sizeof text, "%c%04o %u:%u links=%lu", KindLetter(st.st_mode), st.st_mode & 07777,
           st.st_uid, st.st_gid, static_cast<unsigned long>(st.st_nlink));
  std::string facts = text;
  if (S_ISREG(st.st_mode)) facts += " size=" + std::to_string(st.st_size);
  if (S_ISCHR(st.st_mode)) facts += " device=" + std::to_string(st.st_rdev);
  return facts;
}

struct Flag {
  int bits;
  const char* name;
};
constexpr Flag kFlags[] = {
    {O_APPEND, "APPEND"},       {O_NONBLOCK, "NONBLOCK"}, {O_SYNC, "SYNC"},
    {O_DSYNC, "DSYNC"},         {O_DIRECT, "DIRECT"},     {O_TMPFILE, "TMPFILE"},
    {O_DIRECTORY, "DIRECTORY"}, {O_NOFOLLOW, "NOFOLLOW"}, {O_NOATIME, "NOATIME"},
    {O_PATH, "PATH"},           {O_ASYNC, "ASYNC"},       {0100000, "LARGE"}};

std::string FlagNames(int flags) {
  static constexpr const char* kAccess[] = {"R", "W", "RW", "3"};
  std::string names = kAccess[flags & O_ACCMODE];
  flags &= ~O_ACCMODE;
  for (const Flag& flag : kFlags) {
    if ((flags & flag.bits) == flag.bits) {
      names += std::string("|") + flag.name;
      flags &= ~flag.bits;
    }
  }
  if (flags != 0) names += "|" + std::to_string(flags);
  return names;
}

// The name that the kernel gives the descriptor, relative to the case's directory.
std::string NameOf(int fd) {
  std::array<char, 8192> buffer;
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t n = readlink(link.c_str(), buffer.data(), buffer.size());
  if (n < 0) return ErrnoName(errno);
  std::string name(buffer.data(), static_cast<std::size_t>(n));
  if (name.compare(0, options.top.size(), options.top) == 0)
    name = "~" + name.substr(options.top.size());
  // O_TMPFILE and pipes are named by their inode.
  if (const auto at = name.find('#'); at != std::string::npos) name = name.substr(0, at) + "#N";
  if (const auto at = name.find(":["); at != std::string::npos) name.resize(at);
  return Printable(name);
}

std::string ListTree(int parent, const std::string& prefix) {
  const int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return "; " + Printable(prefix) + "?";
  std::vector<std::string> names;
  DIR* directory = fdopendir(fd);
  while (const dirent* entry = readdir(directory)) names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    struct stat st;
    if (fstatat(fd, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      text += "; " + Printable(prefix + name) + " " + ErrnoName(errno);
      continue;
    }
    text += "; " + Printable(prefix + name) + " " + StatFacts(st);
    std::array<char, 4097> buffer;
    if (S_ISLNK(st.st_mode)) {
      const ssize_t n = readlinkat(fd, name.c_str(), buffer.data(), buffer.size());
      std::string target(buffer.data(), n < 0 ? 0 : static_cast<std::size_t>(n));
      if (target.size() > 80) target = "length " + std::to_string(target.size());
      text += " -> " + Printable(target);
    } else if (S_ISREG(st.st_mode) && st.st_size <= 64) {
      const int file = openat(fd, name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
      const ssize_t n = file < 0 ? -1 : read(file, buffer.data(), 64);
      text += n < 0 ? std::string(" ?")
                    : " \"" + Printable({buffer.data(), static_cast<std::size_t>(n)}) + "\"";
      if (file >= 0) close(file);
    } else if (S_ISDIR(st.st_mode)) {
      const int inner = openat(fd, name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (inner >= 0) {
        text += ListTree(inner, prefix + name + "/");
        close(inner);
      }
    }
  }
  closedir(directory);
  return text;
}

}  // namespace

std::string ErrnoName(int error) {
  const char* name = strerrorname_np(error);
  return name ? name : "errno " + std::to_string(error);
}

std::string Outcome(long result) {
  if (result == 0) return "ok";
  if (result > 0) return "=" + std::to_string(result);
  return ErrnoName(errno);
}

std::string Descriptor(int fd) {
  if (fd < 0) return ErrnoName(errno);
  const int next = fcntl(fd, F_DUPFD, 0);
  close(next);
  struct stat st;
  std::string text = next > fd ? "fd+0" : "fd-not-lowest";
  text += " fl=" + FlagNames(fcntl(fd, F_GETFL));
  if (fcntl(fd, F_GETFD) & FD_CLOEXEC) text += " CLOEXEC";
  if (fstat(fd, &st) == 0) text += " is " + StatFacts(st);
  return text + " name=" + NameOf(fd);
}

std::string DescriptorAndUse(int fd) {
  std::string text = Descriptor(fd);
  if (fd < 0) return text;
  struct stat st;
  char bytes[4];
  // An empty fifo makes a reader wait; a disk makes a writer of O_SYNC wait, too often to be of
  // use.
  const bool fifo = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
  if (!fifo) text += " read=" + Outcome(read(fd, bytes, sizeof bytes));
  if ((fcntl(fd, F_GETFL) & O_SYNC) == 0) text += " write=" + Outcome(write(fd, "xy", 2));
  text += " at=" + Outcome(lseek(fd, 0, SEEK_CUR));
  close(fd);
  return text;
}

std::string Printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 127 && c != '\\') {
      text += c;
    } else {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      text += escaped;
    }
  }
  // Long names are told by their length.
  return text.size() > 300 ? "(" + std::to_string(text.size()) + ")" : text;
}

std::string Facts(const std::string& path) {
  struct stat st;
  return lstat(path.c_str(), &st) == 0 ? StatFacts(st) : ErrnoName(errno);
}

std::string Tree(const std::string& directory) {
  const int fd = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoName(errno);
  const std::string text = ListTree(fd, "");
  close(fd);
  return text.empty() ? "-" : text.substr(2);
}

}  // namespace conformance
