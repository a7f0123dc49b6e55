// enosys: runs a program on a kernel that seems to lack system calls.
//
//   enosys CALL[,CALL...] [--errno NAME|NUMBER] [--listener] -- PROGRAM [ARGUMENT...]
//
// CALL is a name of the table below, a number, or one of
//   userns     clone and unshare with CLONE_NEWUSER; clone3 answers ENOSYS, so that clone is used
//   listener   seccomp(2) with a listener flag
//   wait_killable  seccomp(2) with the flag of Linux 5.19 that supervision needs (with --errno EINVAL)
//   dnotify    fcntl(2) with F_NOTIFY
//   none       nothing (for --listener alone)
// The calls answer ENOSYS, or what --errno says. --listener also puts a filter with a listener on
// the program, as a container runtime may: a second listener is then refused with EBUSY.
// Build: cc -O2 -o enosys enosys.c
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_ARCH AUDIT_ARCH_RISCV64
#else
#error "add the AUDIT_ARCH of this processor"
#endif

// Calls since Linux 5.0 have one number on every architecture; old headers lack the macros.
static const struct {
  const char *name;
  int nr;
} kCalls[] = {
    {"open_tree", 428},
    {"move_mount", 429},
    {"fsopen", 430},
    {"fsconfig", 431},
    {"fsmount", 432},
    {"fspick", 433},
    {"pidfd_open", 434},
    {"clone3", 435},
    {"close_range", 436},
    {"openat2", 437},
    {"pidfd_getfd", 438},
    {"faccessat2", 439},
    {"epoll_pwait2", 441},
    {"mount_setattr", 442},
    {"landlock_create_ruleset", 444},
    {"landlock_add_rule", 445},
    {"landlock_restrict_self", 446},
    {"fchmodat2", 452},
    {"pidfd_send_signal", 424},
    {"io_uring_setup", 425},
    {"seccomp", SYS_seccomp},
    {"prctl", SYS_prctl},
    {"clone", SYS_clone},
    {"unshare", SYS_unshare},
    {"setns", SYS_setns},
    {"mount", SYS_mount},
    {"umount2", SYS_umount2},
    {"pivot_root", SYS_pivot_root},
    {"process_vm_readv", SYS_process_vm_readv},
    {"memfd_create", SYS_memfd_create},
    {"statx", SYS_statx},
    {"copy_file_range", SYS_copy_file_range},
    {"sethostname", SYS_sethostname},
    {"keyctl", SYS_keyctl},
    {"add_key", SYS_add_key},
    {"bpf", SYS_bpf},
    {"userfaultfd", SYS_userfaultfd},
};

static const struct {
  const char *name;
  int err;
} kErrors[] = {
    {"ENOSYS", ENOSYS}, {"EPERM", EPERM},   {"EINVAL", EINVAL}, {"EACCES", EACCES},
    {"ENOSPC", ENOSPC}, {"EUSERS", EUSERS}, {"EBUSY", EBUSY},   {"EOPNOTSUPP", EOPNOTSUPP},
    {"ENOENT", ENOENT}, {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}, {"ENODEV", ENODEV},
};

enum { kMaxCode = 512 };
static struct sock_filter code[kMaxCode];
static unsigned short length;

static void Die(const char *what, const char *value) {
  fprintf(stderr, "enosys: %s%s%s\n", what, value ? ": " : "", value ? value : "");
  exit(125);
}

static void Emit(struct sock_filter instruction) {
  if (length == kMaxCode) Die("too many calls", NULL);
  code[length++] = instruction;
}

static void LoadNumber(void) {
  Emit((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
}

static void Answer(int err) {
  Emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err));
}

static void Refuse(int nr, int err) {
  Emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1));
  Answer(err);
}

// Refuses `nr` when the lower half of its argument `index` passes the test.
static void RefuseArgument(int nr, int index, unsigned short test, unsigned value, int err) {
  unsigned offset = (unsigned)offsetof(struct seccomp_data, args) + 8 * (unsigned)index;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  offset += 4;
#endif
  Emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 4));
  Emit((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
  Emit((struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, 0, 1));
  Answer(err);
  LoadNumber();
}

// Refuses `nr` when its argument `index` has one of `bits` set.
static void RefuseBits(int nr, int index, unsigned bits, int err) {
  RefuseArgument(nr, index, BPF_JSET, bits, err);
}

static void RefuseCall(const char *name, int err) {
  if (strcmp(name, "none") == 0) return;
  if (strcmp(name, "userns") == 0) {
    RefuseBits(SYS_clone, 0, CLONE_NEWUSER, err);
    RefuseBits(SYS_unshare, 0, CLONE_NEWUSER, err);
    Refuse(435, ENOSYS);
    return;
  }
  if (strcmp(name, "listener") == 0) {
    RefuseBits(SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, err);
    return;
  }
  if (strcmp(name, "wait_killable") == 0) {
    RefuseBits(SYS_seccomp, 1, 1u << 5, err);
    return;
  }
  if (strcmp(name, "dnotify") == 0) {
    RefuseArgument(SYS_fcntl, 1, BPF_JEQ, F_NOTIFY, err);
    return;
  }
  for (size_t i = 0; i < sizeof kCalls / sizeof kCalls[0]; ++i) {
    if (strcmp(kCalls[i].name, name) == 0) {
      Refuse(kCalls[i].nr, err);
      return;
    }
  }
  char *end = NULL;
  long nr = strtol(name, &end, 10);
  if (end == name || *end != '\0' || nr < 0) Die("unknown call", name);
  Refuse((int)nr, err);
}

static int ParseErrno(const char *text) {
  for (size_t i = 0; i < sizeof kErrors / sizeof kErrors[0]; ++i) {
    if (strcmp(kErrors[i].name, text) == 0) return kErrors[i].err;
  }
  char *end = NULL;
  long err = strtol(text, &end, 10);
  if (end == text || *end != '\0' || err < 1 || err > 4095) Die("unknown errno", text);
  return (int)err;
}

static int Install(unsigned flags, struct sock_filter *filter, unsigned short size) {
  struct sock_fprog program = {size, filter};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

// The descriptor stays open in the program: a filter whose listener is closed counts no more.
static void HoldListener(void) {
  struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  int fd = Install(SECCOMP_FILTER_FLAG_NEW_LISTENER, allow, 1);
  if (fd < 0 || dup2(fd, 900) < 0) Die("cannot hold a listener", strerror(errno));
}

int main(int argc, char **argv) {
  int err = ENOSYS, listener = 0, at = 2;
  if (argc < 4) Die("usage: enosys CALL[,CALL...] [--errno E] [--listener] -- PROGRAM ...", NULL);
  for (; at < argc && strcmp(argv[at], "--") != 0; ++at) {
    if (strcmp(argv[at], "--listener") == 0) {
      listener = 1;
    } else if (strcmp(argv[at], "--errno") == 0 && at + 1 < argc) {
      err = ParseErrno(argv[++at]);
    } else {
      Die("unknown option", argv[at]);
    }
  }
  if (at + 1 >= argc) Die("no program", NULL);
  Emit((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
  Emit((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0));
  Emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  LoadNumber();
  for (char *name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
    RefuseCall(name, err);
  }
  Emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Die("no_new_privs", strerror(errno));
  if (listener) HoldListener();
  if (Install(0, code, length) != 0) Die("cannot install the filter", strerror(errno));
  execvp(argv[at + 1], argv + at + 1);
  fprintf(stderr, "enosys: %s: %s\n", argv[at + 1], strerror(errno));
  return errno == ENOENT ? 127 : 126;
}
