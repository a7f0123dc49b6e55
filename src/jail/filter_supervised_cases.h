// Calls that ask the supervisor, each with a neighbour that it must not be asked about: shared by
// the tests in the emulator and in the kernel. For tests only.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <vector>

#include "jail/filter_cases.h"

namespace cordon::jail {

// What a session with name rules and a protected set has.
inline FilterOptions SupervisedOptions() {
  FilterOptions options;
  options.supervise = {.names = true, .sockets = true, .umask = true, .exec_reports = true};
  return options;
}

// Arguments are null, -1 or out of range, so that the kernel does nothing where nobody asks.
struct AskedCall {
  const char* name;
  int nr;
  CallArgs args;
  int neighbour_nr;
  CallArgs neighbour_args;
};

namespace asked {
inline constexpr std::uint64_t kHigh = 0xdeadbeef00000000;
inline constexpr std::uint64_t kBad = ~0ull;
inline constexpr std::uint64_t kTmpfileBit = 020000000;

// Flags of an open that asks, and the nearest ones that do not.
struct OpenFlags {
  const char* name;
  std::uint64_t asks;
  std::uint64_t neighbour;
};
inline std::vector<OpenFlags> Opens() {
  constexpr std::uint64_t kPlain = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_DIRECTORY;
  return {
      {"write", O_WRONLY, O_RDONLY},
      {"read and write", O_RDWR, O_CLOEXEC},
      {"both permissions (3)", O_ACCMODE, O_APPEND},
      {"append", O_WRONLY | O_APPEND, O_RDONLY | O_APPEND},
      {"create to read", O_CREAT, O_EXCL},
      {"create", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, O_EXCL | O_CLOEXEC},
      {"empty to read", O_TRUNC, kPlain},
      {"empty", O_WRONLY | O_TRUNC, O_NOATIME | O_DIRECT | O_SYNC},
      {"unnamed", O_TMPFILE | O_RDWR, O_DIRECTORY},
      {"unnamed bit alone", kTmpfileBit, O_DIRECTORY | O_CLOEXEC},
      {"high bits", kHigh | O_CREAT, kHigh},
      {"no real O_PATH", (std::uint64_t{O_PATH} << 32) | O_WRONLY, O_PATH | O_WRONLY},
      {"all but O_PATH", 0xffffffff & ~std::uint64_t{O_PATH}, 0xffffffff},
      {"directory for writing", O_DIRECTORY | O_RDWR, O_PATH | O_DIRECTORY | O_CREAT | O_TRUNC},
      {"unnamed beside O_CLOEXEC", O_TMPFILE | O_WRONLY | O_CLOEXEC, O_PATH | O_TMPFILE | O_RDWR},
      {"O_PATH with high bits", O_RDWR, kHigh | O_PATH | O_RDWR},
  };
}

inline void AddOldForms(std::vector<AskedCall>& calls) {
#if defined(__x86_64__)
  for (const OpenFlags& f : Opens()) {
    calls.push_back({f.name, SYS_open, {0, f.asks}, SYS_open, {0, f.neighbour}});
  }
  const std::vector<AskedCall> x86 = {
      {"creat", SYS_creat, {}, SYS_access, {}},
      {"mkdir", SYS_mkdir, {}, SYS_chdir, {}},
      {"mknod fifo", SYS_mknod, {0, S_IFIFO | 0600}, SYS_mknod, {0, S_IFCHR | 0600}},
      {"mknod file", SYS_mknod, {0, 0600}, SYS_mknod, {0, S_IFBLK | 0600}},
      {"rename", SYS_rename, {}, SYS_unlink, {}},
      {"link", SYS_link, {}, SYS_readlink, {}},
      {"symlink", SYS_symlink, {}, SYS_lstat, {}},
      {"rmdir", SYS_rmdir, {}, SYS_unlink, {}},
  };
  calls.insert(calls.end(), x86.begin(), x86.end());
#else
  (void)calls;
#endif
}
}  // namespace asked

inline std::vector<AskedCall> AskedCalls() {
  using asked::kBad, asked::kHigh;
  std::vector<AskedCall> calls;
  for (const asked::OpenFlags& f : asked::Opens()) {
    calls.push_back({f.name, SYS_openat, {kBad, 0, f.asks}, SYS_openat, {kBad, 0, f.neighbour}});
  }
  const std::vector<AskedCall> others = {
      {"truncate", SYS_truncate, {0, 0}, SYS_ftruncate, {kBad, 0}},
      {"mkdirat", SYS_mkdirat, {kBad}, SYS_faccessat, {kBad}},
      {"mknodat fifo",
       SYS_mknodat,
       {kBad, 0, S_IFIFO | 0600},
       SYS_mknodat,
       {kBad, 0, S_IFCHR | 0600, 0}},
      {"mknodat socket, high bits",
       SYS_mknodat,
       {kBad, 0, kHigh | S_IFSOCK | 0600},
       SYS_mknodat,
       {kBad, 0, kHigh | S_IFBLK | 0600}},
      {"mknodat file", SYS_mknodat, {kBad, 0, 0600}, SYS_fchmodat, {kBad, 0, 0600}},
#if defined(SYS_renameat)
      {"renameat", SYS_renameat, {kBad, 0, kBad, 0}, SYS_readlinkat, {kBad}},
#endif
      {"renameat2", SYS_renameat2, {kBad, 0, kBad, 0, 0}, SYS_readlinkat, {kBad}},
      {"renameat2 exchange",
       SYS_renameat2,
       {kBad, 0, kBad, 0, 2},
       SYS_renameat2,
       {kBad, 0, kBad, 0, 4}},
      {"renameat2 noreplace, high bits",
       SYS_renameat2,
       {kBad, 0, kBad, 0, (4ull << 32) | 1},
       SYS_renameat2,
       {kBad, 0, kBad, 0, 4 | 1}},
      {"linkat", SYS_linkat, {kBad, 0, kBad, 0, 0}, SYS_statx, {kBad}},
      {"linkat empty path", SYS_linkat, {kBad, 0, kBad, 0, AT_EMPTY_PATH}, SYS_fstat, {kBad}},
      {"symlinkat", SYS_symlinkat, {0, kBad, 0}, SYS_readlinkat, {kBad}},
      {"unlinkat directory", SYS_unlinkat, {kBad, 0, AT_REMOVEDIR}, SYS_unlinkat, {kBad, 0, 0}},
      {"unlinkat directory, high bits",
       SYS_unlinkat,
       {kBad, 0, kHigh | AT_REMOVEDIR},
       SYS_unlinkat,
       {kBad, 0, std::uint64_t{AT_REMOVEDIR} << 32}},
      {"bind", SYS_bind, {kBad}, SYS_listen, {kBad}},
      {"connect", SYS_connect, {kBad}, SYS_accept4, {kBad}},
      {"umask", SYS_umask, {022}, SYS_getpid, {}},
      {"execve", SYS_execve, {}, SYS_getppid, {}},
      {"execveat", SYS_execveat, {kBad}, SYS_wait4, {0x7ffffffe, 0, 1}},
  };
  calls.insert(calls.end(), others.begin(), others.end());
  asked::AddOldForms(calls);
  return calls;
}

// What only a supervised filter refuses.
inline std::vector<RefusedCall> SupervisedRefusals() {
  using asked::kBad, asked::kHigh;
  std::vector<RefusedCall> calls = {
      {"openat2", SYS_openat2, ENOSYS, {kBad}, SYS_openat, {kBad}},
      {"second listener", SYS_seccomp, EBUSY, {1, 8, 0}, SYS_seccomp, {1, 0, 0}},
      {"second listener and more",
       SYS_seccomp,
       EBUSY,
       {kHigh | 1, kHigh | 8 | 32, 0},
       SYS_seccomp,
       {1, (8ull << 32) | 4, 0}},
      {"second listener, logged", SYS_seccomp, EBUSY, {1, 8 | 2, 0}, SYS_seccomp, {2, 8, 0}},
  };
  constexpr std::uint64_t kRequests[] = {0x50009401, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418,
                                         0x5000943f, 0x4020bc10, 0x4020bc11, 0x40186f04};
  for (const std::uint64_t request : kRequests) {
    calls.push_back({"naming ioctl",
                     SYS_ioctl,
                     EPERM,
                     {kBad, kHigh | request},
                     SYS_ioctl,
                     {kBad, request ^ 0x80}});
  }
  return calls;
}

}  // namespace cordon::jail
