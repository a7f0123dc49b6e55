// calls NAME...: makes each named call in a child of its own and prints one line for it:
// "NAME ok", "NAME EPERM", or "NAME SIGSYS" when the call ended the child.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long Clone(unsigned long flags) {
  const long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, 0);
  return child;
}
static long Clone3(void) {
  struct clone_args args = {.exit_signal = SIGCHLD};
  const long child = syscall(SYS_clone3, &args, sizeof args);
  if (child == 0) _exit(0);
  return child;
}
static long Pair(int domain, int type) {
  int ends[2];
  return socketpair(domain, type, 0, ends);
}
static long Setns(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  return fd < 0 ? -1 : syscall(SYS_setns, fd, 0);
}
static long Bpf(void) {
  union bpf_attr attr = {
      .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
  return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr);
}
static long Perf(void) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                 .size = sizeof attr,
                                 .config = PERF_COUNT_SW_TASK_CLOCK,
                                 .exclude_kernel = 1};
  return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}
static long Ring(void) {
  struct io_uring_params params = {0};
  return syscall(SYS_io_uring_setup, 1, &params);
}
static long Handle(void) {
  union {
    struct file_handle handle;
    char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
  } u = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
  int mount_id;
  if (name_to_handle_at(AT_FDCWD, ".", &u.handle, &mount_id, 0) != 0) return -1;
  return open_by_handle_at(AT_FDCWD, &u.handle, O_RDONLY);
}
static long Node(mode_t mode, dev_t device) {
  const long made = mknod("probe-node", mode, device);
  if (made == 0) unlink("probe-node");
  return made;
}
static long Whiteout(void) {
  close(open("probe-a", O_CREAT | O_WRONLY, 0600));
  const long done = syscall(SYS_renameat2, AT_FDCWD, "probe-a", AT_FDCWD, "probe-b", 1 << 2);
  const int error = errno;
  unlink("probe-a");
  unlink("probe-b");
  errno = error;
  return done;
}
static long BadClock(void) {
  struct timespec wrong = {-1, -1};
  return syscall(SYS_clock_settime, CLOCK_REALTIME, &wrong);
}
static long ReadSelf(void) {
  char from = 'x', to = 0;
  struct iovec local = {&to, 1}, remote = {&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
}

#if defined(__x86_64__)
static long Interrupt(void) {
  long value = 20;  // getpid of i386
  __asm__ volatile("int $0x80" : "+a"(value) : : "memory", "r8", "r9", "r10", "r11");
  if (value == getpid()) return 0;
  errno = value < 0 && value > -4096 ? (int)-value : ENOSYS;
  return -1;
}
static long X32(void) { return syscall(0x40000000 + SYS_getpid); }
static long PortLevel(void) { return syscall(SYS_iopl, 3); }
static long Ports(void) { return syscall(SYS_ioperm, 0x80, 1, 1); }
static long Segments(void) {
  char table[64];
  return syscall(SYS_modify_ldt, 0, table, sizeof table);
}
#else
static long Missing(void) {
  errno = EXDEV;
  return -1;
}
#define Interrupt Missing
#define X32 Missing
#define PortLevel Missing
#define Ports Missing
#define Segments Missing
#endif

// A call that succeeds here must leave nothing behind but in its own process.
#define CALLS(X)                                                                         \
  X(clone_plain, Clone(0))                                                               \
  X(clone_user, Clone(CLONE_NEWUSER))                                                    \
  X(clone_user_mount, Clone(CLONE_NEWUSER | CLONE_NEWNS))                                \
  X(clone_pid, Clone(CLONE_NEWPID))                                                      \
  X(clone3, Clone3())                                                                    \
  X(unshare_files, syscall(SYS_unshare, CLONE_FILES))                                    \
  X(unshare_user, syscall(SYS_unshare, CLONE_NEWUSER))                                   \
  X(unshare_mount, syscall(SYS_unshare, CLONE_NEWNS))                                    \
  X(unshare_net, syscall(SYS_unshare, CLONE_NEWNET))                                     \
  X(unshare_ipc, syscall(SYS_unshare, CLONE_NEWIPC))                                     \
  X(unshare_uts, syscall(SYS_unshare, CLONE_NEWUTS))                                     \
  X(unshare_pid, syscall(SYS_unshare, CLONE_NEWPID))                                     \
  X(unshare_cgroup, syscall(SYS_unshare, CLONE_NEWCGROUP))                               \
  X(unshare_time, syscall(SYS_unshare, CLONE_NEWTIME))                                   \
  X(setns_uts, Setns("/proc/self/ns/uts"))                                               \
  X(setns_user, Setns("/proc/self/ns/user"))                                             \
  X(mount, syscall(SYS_mount, "none", ".", "tmpfs", 0, 0))                               \
  X(remount_root, syscall(SYS_mount, 0, "/", 0, MS_REMOUNT | MS_BIND, 0))                \
  X(umount2, syscall(SYS_umount2, "/proc", MNT_DETACH))                                  \
  X(pivot_root, syscall(SYS_pivot_root, ".", "."))                                       \
  X(chroot, chroot("."))                                                                 \
  X(open_tree, syscall(SYS_open_tree, AT_FDCWD, ".", 1))                                 \
  X(move_mount, syscall(SYS_move_mount, AT_FDCWD, ".", AT_FDCWD, ".", 0))                \
  X(fsopen, syscall(SYS_fsopen, "tmpfs", 0))                                             \
  X(fspick, syscall(SYS_fspick, AT_FDCWD, ".", 0))                                       \
  X(mount_setattr, syscall(442, AT_FDCWD, ".", 0, 0, 0))                                 \
  X(open_tree_attr, syscall(467, AT_FDCWD, ".", 1, 0, 0))                                \
  X(listmount, syscall(458, 0, 0, 0, 0))                                                 \
  X(bpf, Bpf())                                                                          \
  X(perf_event_open, Perf())                                                             \
  X(userfaultfd, syscall(SYS_userfaultfd, O_CLOEXEC | 1))                                \
  X(memfd_secret, syscall(447, 0))                                                       \
  X(memfd_create, memfd_create("probe", MFD_CLOEXEC))                                    \
  X(io_uring_setup, Ring())                                                              \
  X(keyctl, syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1))     \
  X(add_key, syscall(SYS_add_key, "user", "probe", "x", 1, KEY_SPEC_PROCESS_KEYRING))    \
  X(request_key, syscall(SYS_request_key, "user", "probe", 0, KEY_SPEC_PROCESS_KEYRING)) \
  X(kexec_load, syscall(SYS_kexec_load, 0, 17, 0, ~0ul))                                 \
  X(init_module, syscall(SYS_init_module, 0, 0, ""))                                     \
  X(finit_module, syscall(SYS_finit_module, -1, "", 0))                                  \
  X(delete_module, syscall(SYS_delete_module, "probe_no_such_module", O_NONBLOCK))       \
  X(open_by_handle_at, Handle())                                                         \
  X(fanotify_init, syscall(SYS_fanotify_init, 0, O_RDONLY))                              \
  X(syslog, syscall(SYS_syslog, 10, 0, 0))                                               \
  X(swapoff, syscall(SYS_swapoff, "/probe-no-such-file"))                                \
  X(acct, syscall(SYS_acct, "/probe-no-such-file"))                                      \
  X(quotactl, syscall(SYS_quotactl, 0, "/probe-no-such-file", 0, 0))                     \
  X(reboot, syscall(SYS_reboot, 0, 0, 0, 0))                                             \
  X(clock_settime, BadClock())                                                           \
  X(personality_query, syscall(SYS_personality, 0xffffffff))                             \
  X(personality_no_randomize, syscall(SYS_personality, ADDR_NO_RANDOMIZE))               \
  X(personality_exec_data, syscall(SYS_personality, READ_IMPLIES_EXEC))                  \
  X(personality_page_zero, syscall(SYS_personality, MMAP_PAGE_ZERO))                     \
  X(iopl, PortLevel())                                                                   \
  X(ioperm, Ports())                                                                     \
  X(modify_ldt, Segments())                                                              \
  X(int80, Interrupt())                                                                  \
  X(x32, X32())                                                                          \
  X(unreviewed, syscall(511, 0))                                                         \
  X(ptrace_traceme, ptrace(PTRACE_TRACEME, 0, 0, 0))                                     \
  X(process_vm_readv_self, ReadSelf())                                                   \
  X(mknod_fifo, Node(S_IFIFO | 0600, 0))                                                 \
  X(mknod_block, Node(S_IFBLK | 0600, 0x700))                                            \
  X(mknod_character, Node(S_IFCHR | 0600, 0x103))                                        \
  X(mknod_whiteout, Node(S_IFCHR, 0))                                                    \
  X(rename_whiteout, Whiteout())                                                         \
  X(unix_stream, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))                         \
  X(unix_seqpacket, socket(AF_UNIX, SOCK_SEQPACKET, 0))                                  \
  X(unix_datagram, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0))                        \
  X(unix_raw, socket(AF_UNIX, SOCK_RAW, 0))                                              \
  X(pair_stream, Pair(AF_UNIX, SOCK_STREAM))                                             \
  X(pair_datagram, Pair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK))                            \
  X(pair_raw, Pair(AF_UNIX, SOCK_RAW))                                                   \
  X(tcp, socket(AF_INET, SOCK_STREAM, 0))                                                \
  X(tcp6, socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP))                                    \
  X(udp, socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP))                                       \
  X(mptcp, socket(AF_INET, SOCK_STREAM, 262))                                            \
  X(sctp, socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP))                                    \
  X(sctp_packets, socket(AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP))                        \
  X(dccp, socket(AF_INET, SOCK_DCCP, IPPROTO_DCCP))                                      \
  X(udplite, socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE))                               \
  X(icmp_raw, socket(AF_INET, SOCK_RAW, IPPROTO_ICMP))                                   \
  X(icmp_ping, socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP))                                \
  X(icmp6_raw, socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6))                               \
  X(packet, socket(AF_PACKET, SOCK_RAW, 0))                                              \
  X(packet_old, socket(AF_INET, SOCK_PACKET, 0))                                         \
  X(vsock, socket(AF_VSOCK, SOCK_STREAM, 0))                                             \
  X(alg, socket(AF_ALG, SOCK_SEQPACKET, 0))                                              \
  X(bluetooth, socket(AF_BLUETOOTH, SOCK_RAW, 1))                                        \
  X(xdp, socket(AF_XDP, SOCK_RAW, 0))                                                    \
  X(netlink_route, socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0))                       \
  X(netlink_uevent, socket(AF_NETLINK, SOCK_RAW, 15))                                    \
  X(netlink_audit, socket(AF_NETLINK, SOCK_RAW, 9))                                      \
  X(netlink_netfilter, socket(AF_NETLINK, SOCK_RAW, 12))

#define FUNCTION(name, expression) \
  static long Do_##name(void) { return (long)(expression); }
CALLS(FUNCTION)
#define ROW(name, expression) {#name, Do_##name},
static const struct {
  const char* name;
  long (*call)(void);
} kCalls[] = {CALLS(ROW)};

static int Report(const char* name, long (*call)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    errno = 0;
    _exit(call() == -1 ? errno : 0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 1;
  if (WIFSIGNALED(status)) {
    printf("%s SIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) == 0) {
    printf("%s ok\n", name);
  } else {
    printf("%s %s\n", name, strerrorname_np(WEXITSTATUS(status)));
  }
  return 0;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    size_t at = 0;
    const size_t count = sizeof kCalls / sizeof kCalls[0];
    while (at < count && strcmp(kCalls[at].name, argv[i]) != 0) ++at;
    if (at == count || Report(argv[i], kCalls[at].call) != 0) {
      fprintf(stderr, "cannot try %s\n", argv[i]);
      return 2;
    }
  }
  return 0;
}
