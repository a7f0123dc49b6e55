// umask, mode bits, set-group-id directories and default ACLs, for every call that makes a name.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "probe.h"

namespace conformance {
namespace {

using std::string;

struct Maker {
  const char* name;
  int (*make)(const char* path, mode_t mode);  // closes what it opens
};

int Closed(int fd) { return fd < 0 ? fd : close(fd); }

const Maker kMakers[] = {
    {"open", [](const char* p, mode_t m) { return Closed(open(p, O_WRONLY | O_CREAT, m)); }},
    {"open-excl",
     [](const char* p, mode_t m) { return Closed(open(p, O_RDWR | O_CREAT | O_EXCL, m)); }},
    {"open-read", [](const char* p, mode_t m) { return Closed(open(p, O_RDONLY | O_CREAT, m)); }},
    {"creat", [](const char* p, mode_t m) { return Closed(creat(p, m)); }},
    {"tmpfile",
     [](const char* p, mode_t m) {
       string directory = p;
       directory.resize(directory.rfind('/'));
       const int fd = open(directory.c_str(), O_TMPFILE | O_RDWR, m);
       if (fd < 0) return fd;
       const string name = "/proc/self/fd/" + std::to_string(fd);
       const int result = linkat(AT_FDCWD, name.c_str(), AT_FDCWD, p, AT_SYMLINK_FOLLOW);
       close(fd);
       return result;
     }},
    {"mkdir", [](const char* p, mode_t m) { return mkdir(p, m); }},
    {"mkdirat", [](const char* p, mode_t m) { return mkdirat(AT_FDCWD, p, m); }},
    {"mknod-fifo", [](const char* p, mode_t m) { return mknod(p, S_IFIFO | (m & 07777), 0); }},
    {"mknod-file", [](const char* p, mode_t m) { return mknod(p, S_IFREG | (m & 07777), 0); }},
    {"mknod-socket", [](const char* p, mode_t m) { return mknod(p, S_IFSOCK | (m & 07777), 0); }},
    {"symlink", [](const char* p, mode_t) { return symlink("x", p); }},
    {"bind",
     [](const char* p, mode_t) {
       sockaddr_un address{};
       address.sun_family = AF_UNIX;
       strncpy(address.sun_path, p, sizeof address.sun_path - 1);
       const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
       const int result = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
       close(fd);
       return result;
     }},
};

constexpr mode_t kUmasks[] = {0, 022, 027, 077, 0777};
constexpr mode_t kModes[] = {0, 0400, 0644, 0666, 0755, 0777, 01777, 02777, 04777, 07777, 0106755};

string Octal(mode_t mode) {
  char text[16];
  snprintf(text, sizeof text, "%04o", mode);
  return text;
}

// What is made in "d", which `prepare` has changed.
void Matrix(const string& place, const std::function<void()>& prepare) {
  for (const Maker& maker : kMakers) {
    const string group = "mode/" + place + "/" + maker.name;
    if (!Wanted(group)) continue;
    for (const mode_t mask : kUmasks) {
      for (const mode_t mode : kModes) {
        Case c(group + "/" + Octal(mask) + "/" + Octal(mode));
        MakeDirectory("d");
        prepare();
        umask(mask);
        c.Add(Outcome(maker.make("d/new", mode)));
        std::array<char, 256> acl;
        for (const char* name : {"system.posix_acl_access", "system.posix_acl_default"}) {
          const ssize_t n = lgetxattr("d/new", name, acl.data(), acl.size());
          if (n >= 0) c.Add(name, Printable({acl.data(), static_cast<std::size_t>(n)}));
        }
        c.Add("umask", Octal(umask(mask)));
      }
    }
  }
}

struct AclEntry {
  unsigned short tag, permissions;
  unsigned id;
};

void SetDefaultAcl(unsigned short others) {
  struct {
    unsigned version = 2;
    AclEntry entries[5];
  } acl;
  constexpr unsigned kNobody = 0xffffffff;
  acl.entries[0] = {0x01, 7, kNobody};
  acl.entries[1] = {0x02, 6, geteuid()};  // a named user, whose id a session knows
  acl.entries[2] = {0x04, 5, kNobody};
  acl.entries[3] = {0x10, 7, kNobody};
  acl.entries[4] = {0x20, others, kNobody};
  if (setxattr("d", "system.posix_acl_default", &acl, sizeof acl, 0) != 0) {
    Current().Add("SETUP-acl", ErrnoName(errno));
  }
}

void UmaskCases() {
  if (!Wanted("umask")) return;
  {
    Case c("umask/returns-the-last");
    for (const mode_t mask : {0, 022, 0777, 01777, 07022, 0}) c.Add(Octal(umask(mask)));
  }
  {
    Case c("umask/of-a-child");
    umask(027);
    c.Add(InChild([] {
      const string before = Octal(umask(0));
      MakeDirectory("made-by-child", 0777);
      return before + Outcome(mkdir("open-to-all", 0777));
    }));
    c.Add(Octal(umask(022)));
    MakeFile("by-parent");
  }
  {
    Case c("umask/changes-between-calls");
    for (int i = 0; i < 512; ++i) {
      umask(static_cast<mode_t>(i));
      const string name = "f" + std::to_string(i);
      const int fd = open(name.c_str(), O_WRONLY | O_CREAT, 0777);
      close(fd);
      struct stat st;
      if (stat(name.c_str(), &st) != 0 ||
          (st.st_mode & 0777) != (0777U & ~static_cast<unsigned>(i))) {
        c.Add(name + " " + Octal(st.st_mode));
      }
      unlink(name.c_str());
    }
  }
}

}  // namespace

void ModesTable() {
  Matrix("plain", [] {});
  Matrix("set-group-id", [] { SetMode("d", 02755); });
  Matrix("sticky", [] { SetMode("d", 01777); });
  Matrix("default-acl", [] { SetDefaultAcl(5); });
  Matrix("default-acl-closed", [] { SetDefaultAcl(0); });
  UmaskCases();
}

}  // namespace conformance
