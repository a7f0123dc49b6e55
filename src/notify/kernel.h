// Calls and constants of the user-notification interface that headers may lack, as thin wrappers.
// Sources: seccomp_unotify(2), seccomp(2), openat2(2), pidfd_getfd(2), process_vm_readv(2).
#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "base/unique_fd.h"

namespace cordon::notify {

inline constexpr unsigned long kNotifSetFlags = _IOW('!', 4, std::uint64_t);  // Linux 6.6
inline constexpr std::uint64_t kSyncWakeUp = 1;
inline constexpr int kPidfdThread = O_EXCL;  // Linux 6.9
// The kernel's O_LARGEFILE, which the C library defines as 0 on 64-bit machines and open(2) adds.
#if defined(__x86_64__)
inline constexpr int kLargeFile = 0100000;
#else
inline constexpr int kLargeFile = 0400000;
#endif

// A notification may be larger on a later kernel: the buffer holds any (SECCOMP_GET_NOTIF_SIZES).
union NotificationBuffer {
  seccomp_notif notification;
  char bytes[512];
};

inline bool ReceiveNotification(int listener, NotificationBuffer& buffer) {
  std::memset(&buffer, 0, sizeof buffer);
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &buffer) == 0;
}
inline bool IsValid(int listener, std::uint64_t id) {
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}
// `error`: a positive errno, or 0.
inline bool Respond(int listener, std::uint64_t id, std::int64_t value, int error,
                    std::uint32_t flags) {
  union {
    seccomp_notif_resp response;
    char bytes[256];
  } buffer{};
  buffer.response = {id, error != 0 ? 0 : value, -error, flags};
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &buffer) == 0;
}
// The number in the caller, or -1 with errno. `answer`: the call returns it at once.
inline int AddDescriptor(int listener, std::uint64_t id, int fd, bool close_on_exec, bool answer) {
  constexpr std::uint32_t kSend = 1u << 1;  // SECCOMP_ADDFD_FLAG_SEND, Linux 5.14
  seccomp_notif_addfd add{};
  add.id = id;
  add.flags = answer ? kSend : 0;
  add.srcfd = static_cast<std::uint32_t>(fd);
  add.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
}

inline UniqueFd OpenAt2(int directory, const char* path, std::uint64_t flags, std::uint64_t mode,
                        std::uint64_t resolve) {
  open_how how{};
  how.flags = flags;
  how.mode = mode;
  how.resolve = resolve;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how)));
}

}  // namespace cordon::notify
