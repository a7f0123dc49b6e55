// Numbers of the kernel interface that the C library of the oldest supported distribution (Debian
// 12: Linux 6.1 headers, glibc 2.36) lacks, or that its headers cannot give beside one another.
// Sources: include/uapi/linux/{mount,seccomp,landlock,openat2}.h of Linux 6.12.
#pragma once

#include <linux/ioctl.h>

#include <cstdint>

namespace cordon::probe::abi {

// System calls since 5.0 have one number on every architecture.
inline constexpr long kOpenTree = 428;
inline constexpr long kMoveMount = 429;
inline constexpr long kOpenat2 = 437;
inline constexpr long kMountSetattr = 442;
inline constexpr long kLandlockCreateRuleset = 444;
inline constexpr long kLandlockRestrictSelf = 446;

inline constexpr unsigned kOpenTreeClone = 1;
inline constexpr unsigned kOpenTreeCloexec = 02000000;
inline constexpr unsigned kMoveMountFromEmptyPath = 0x4;
inline constexpr std::uint64_t kMountAttrReadOnly = 0x1;
struct MountAttr {
  std::uint64_t set, clear, propagation, userns_fd;
};

inline constexpr std::uint64_t kResolveInRoot = 0x10;
struct OpenHow {
  std::uint64_t flags, mode, resolve;
};

inline constexpr unsigned kSetModeFilter = 1;
inline constexpr unsigned kFilterNewListener = 1u << 3;
inline constexpr unsigned kFilterWaitKillableRecv = 1u << 5;  // 5.19
inline constexpr std::uint32_t kAddFdFlagSend = 1u << 1;      // 5.14
struct NotifAddFd {
  std::uint64_t id;
  std::uint32_t flags, source, target, target_flags;
};
inline constexpr unsigned long kIoctlNotifAddFd = _IOW('!', 3, NotifAddFd);
inline constexpr unsigned long kIoctlNotifSetFlags = _IOW('!', 4, std::uint64_t);  // 6.6
inline constexpr std::uint64_t kNotifSyncWakeUp = 1;

inline constexpr unsigned kLandlockVersion = 1;
inline constexpr std::uint64_t kLandlockFsExecute = 1;

inline constexpr unsigned long kKvmGetApiVersion = 0xAE00;
inline constexpr int kKvmApiVersion = 12;

}  // namespace cordon::probe::abi
