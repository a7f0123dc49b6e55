// Calls are judged by their registers alone: memory can change between the look and the call. What
// a row lets through can neither make nor move a name nor change a file's content by its path.
//
// Not asked on purpose: unlink (a protected file that exists is a mount point, which cannot be
// removed); calls on open descriptors (the open was judged); chmod, chown, utimes and extended
// attributes (mounts hold those of protected files).
#include <cerrno>
#include <iterator>

#include "jail/filter_builder.h"

namespace cordon::jail {
namespace {

constexpr std::uint32_t kAsk = SECCOMP_RET_USER_NOTIF;

// The same on both machines (asm-generic/fcntl.h; only O_DIRECTORY, O_NOFOLLOW, O_DIRECT and
// O_LARGEFILE differ on ARM).
constexpr std::uint64_t kOWronly = 01, kORdwr = 02, kOCreat = 0100, kOTrunc = 01000,
                        kOPath = 010000000, kOTmpfileBit = 020000000;
// Access mode 3 asks for both permissions, and O_TRUNC works with O_RDONLY too.
constexpr std::uint64_t kWriting = kOWronly | kORdwr | kOCreat | kOTrunc | kOTmpfileBit;
constexpr std::uint64_t kAtRemovedir = 0x200;

constexpr Call kOpen{"open", 2, -1};
constexpr Call kOpenat{"openat", 257, 56};
constexpr Call kUnlinkat{"unlinkat", 263, 35};
constexpr Call kIoctl{"ioctl", 16, 29};
constexpr Call kBind{"bind", 49, 200};
constexpr Call kConnect{"connect", 42, 203};
constexpr Call kUmask{"umask", 95, 166};
constexpr Call kExecve{"execve", 59, 221};
constexpr Call kExecveat{"execveat", 322, 281};
constexpr Call kSeccomp{"seccomp", 317, 277};

struct NamingCall {
  Call call;
  const char* reason;
};

constexpr NamingCall kNaming[] = {
    {{"creat", 85, -1}, "makes or empties a file"},
    {{"truncate", 76, 45}, "changes a file's content by its path"},
    {{"mkdir", 83, -1}, "makes a name"},
    {{"mkdirat", 258, 34}, "makes a name"},
    {{"mknod", 133, -1}, "makes a name: regular files, fifos and sockets"},
    {{"mknodat", 259, 33}, "makes a name: regular files, fifos and sockets"},
    {{"symlink", 88, -1}, "makes a name, which leads to another"},
    {{"symlinkat", 266, 36}, "makes a name, which leads to another"},
    {{"link", 86, -1}, "makes a second name of a file; gives O_TMPFILE its first"},
    {{"linkat", 265, 37}, "makes a second name of a file; gives O_TMPFILE its first"},
    {{"rename", 82, -1}, "makes one name and removes another, with everything below"},
    {{"renameat", 264, 38}, "makes one name and removes another, with everything below"},
    {{"renameat2", 316, 276}, "makes one name and removes another, with everything below"},
    {{"rmdir", 84, -1}, "removes a directory, which may lead to a protected path"},
};

// _IOW(magic, number, size) of ioctls that take a name from memory.
struct NamingRequest {
  std::uint64_t number;
  const char* name;
};
constexpr NamingRequest kNamingRequests[] = {
    {0x50009401, "BTRFS_IOC_SNAP_CREATE"},      {0x5000940e, "BTRFS_IOC_SUBVOL_CREATE"},
    {0x5000940f, "BTRFS_IOC_SNAP_DESTROY"},     {0x50009417, "BTRFS_IOC_SNAP_CREATE_V2"},
    {0x50009418, "BTRFS_IOC_SUBVOL_CREATE_V2"}, {0x5000943f, "BTRFS_IOC_SNAP_DESTROY_V2"},
    {0x4020bc10, "BCH_IOCTL_SUBVOLUME_CREATE"}, {0x4020bc11, "BCH_IOCTL_SUBVOLUME_DESTROY"},
    {0x40186f04, "OCFS2_IOC_REFLINK"},
};

void AddOpens(FilterBuilder& b, const Supervision& supervise) {
  struct Form {
    Call call;
    unsigned flags;
  };
  constexpr Form kForms[] = {{kOpen, 1}, {kOpenat, 2}};
  for (const Form& f : kForms) {
    // The kernel drops every flag beside O_PATH that would open something.
    const ArgCheck content = Is(f.flags, 0, kOPath);
    if (supervise.reads) {
      b.Add(f.call, {content}, kAsk, "not O_PATH", "opens a file, judged by its path");
    } else if (supervise.names) {
      b.Add(f.call, {content, HasAny(f.flags, kWriting)}, kAsk,
            "not O_PATH; writes, creates, empties or O_TMPFILE",
            "may make a name or change a file");
    }
  }
}

void AddNames(FilterBuilder& b) {
  for (const NamingCall& n : kNaming) b.Add(n.call, {}, kAsk, "", n.reason);
  b.Add(kUnlinkat, {HasAny(2, kAtRemovedir)}, kAsk, "AT_REMOVEDIR",
        "removes a directory, which may lead to a protected path");
  for (const NamingRequest& r : kNamingRequests) {
    b.Add(kIoctl, {Is(1, r.number)}, Refuse(EPERM), r.name,
          "makes, fills or removes a name that stands in memory");
  }
}

}  // namespace

void AddSupervision(FilterBuilder& b, const Supervision& supervise) {
  AddOpens(b, supervise);
  if (supervise.names) AddNames(b);
  if (supervise.names || supervise.sockets) {
    b.Add(kBind, {}, kAsk, "", "a unix socket that is bound is a name");
  }
  if (supervise.sockets) b.Add(kConnect, {}, kAsk, "", "reaches sockets of the host by their path");
  if (supervise.umask) b.Add(kUmask, {}, kAsk, "", "the supervisor makes files with it");
  if (supervise.exec_reports) {
    b.Add(kExecve, {}, kAsk, "", "reported, never decided");
    b.Add(kExecveat, {}, kAsk, "", "reported, never decided");
  }
  if (supervise.Any()) {
    // Said here, before the kernel looks at the program: libseccomp tries the flag without one, and
    // then tells its user that there are no notifications.
    b.Add(kSeccomp, {Is(0, SECCOMP_SET_MODE_FILTER), HasAny(1, SECCOMP_FILTER_FLAG_NEW_LISTENER)},
          Refuse(EBUSY), "SET_MODE_FILTER with NEW_LISTENER",
          "a process has one listener, and it is the supervisor's");
  }
}

}  // namespace cordon::jail
