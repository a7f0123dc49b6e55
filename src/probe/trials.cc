#include "probe/trials.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "probe/kernel_abi.h"

namespace cordon::probe {
namespace {

constexpr unsigned long kUser = CLONE_NEWUSER;
constexpr unsigned long kUserMount = CLONE_NEWUSER | CLONE_NEWNS;

void Nothing(const TrialContext&, TrialAnswer& answer) { answer.ok = true; }

constexpr Trial kTrials[] = {
    {"user_namespace", kUser, "clone(CLONE_NEWUSER)", false, Nothing},
    {"id_maps", kUser, "clone(CLONE_NEWUSER)", true, Nothing},
    {"mount_namespace", kUserMount, "clone(CLONE_NEWUSER|CLONE_NEWNS)", true, TryPrivateMounts},
    {"pid_namespace", kUser | CLONE_NEWPID, "clone(CLONE_NEWUSER|CLONE_NEWPID)", true,
     TryPidNamespace},
    {"net_namespace", kUser | CLONE_NEWNET, "clone(CLONE_NEWUSER|CLONE_NEWNET)", true, Nothing},
    {"ipc_namespace", kUser | CLONE_NEWIPC, "clone(CLONE_NEWUSER|CLONE_NEWIPC)", true, Nothing},
    {"uts_namespace", kUser | CLONE_NEWUTS, "clone(CLONE_NEWUSER|CLONE_NEWUTS)", true, TryHostName},
    {"cgroup_namespace", kUser | CLONE_NEWCGROUP, "clone(CLONE_NEWUSER|CLONE_NEWCGROUP)", true,
     Nothing},
    {"mount_setattr", kUserMount, "clone(CLONE_NEWUSER|CLONE_NEWNS)", true, TryMountSetattr},
    {"open_tree", kUserMount, "clone(CLONE_NEWUSER|CLONE_NEWNS)", true, TryOpenTree},
    {"openat2", 0, "clone", false, TryOpenat2},
    {"fresh_proc", kUserMount | CLONE_NEWPID, "clone(CLONE_NEWUSER|CLONE_NEWNS|CLONE_NEWPID)", true,
     TryFreshProc},
    {"tmpfs", kUserMount, "clone(CLONE_NEWUSER|CLONE_NEWNS)", true, TryTmpfs},
    {"devpts", kUserMount, "clone(CLONE_NEWUSER|CLONE_NEWNS)", true, TryDevpts},
    {"seccomp_filter", 0, "clone", false, TryFilter},
    {"user_notification", 0, "clone", false, TryListener},
    {"addfd_send", 0, "clone", false, TryAddFdSend},
    {"wait_killable", 0, "clone", false, TryWaitKillable},
    {"sync_wake_up", 0, "clone", false, TrySyncWakeUp},
    {"landlock", 0, "clone", false, TryLandlock},
    {"fuse", kUserMount, "clone(CLONE_NEWUSER|CLONE_NEWNS)", true, TryFuse},
    {"overlay_in_user_namespace", kUserMount, "clone(CLONE_NEWUSER|CLONE_NEWNS)", true, TryOverlay},
    {"nftables_redirect", kUser | CLONE_NEWNET, "clone(CLONE_NEWUSER|CLONE_NEWNET)", true,
     TryRedirect},
    {"cgroup_v2", 0, "clone", false, TryCgroup},
    {"kvm", 0, "clone", false, TryKvm},
    {"yama_ptrace_scope", 0, "clone", false, TryReadMemory},
    {"bubblewrap", 0, "clone", false, TryBubblewrap},
};

int OpenIn(int directory, const char* name, int flags) {
  return openat(directory, name, flags | O_CLOEXEC);
}

bool WriteIn(int directory, const char* name, const char* text) {
  const int fd = OpenIn(directory, name, O_WRONLY);
  if (fd < 0) return false;
  const auto size = static_cast<ssize_t>(strlen(text));
  const bool ok = write(fd, text, static_cast<std::size_t>(size)) == size;
  close(fd);
  return ok;
}

bool HasWord(const char* list, const char* word) {
  const std::size_t length = strlen(word);
  for (const char* at = list; (at = strstr(at, word)) != nullptr; at += length) {
    const bool starts = at == list || at[-1] == ' ';
    if (starts && (at[length] == '\0' || at[length] == ' ' || at[length] == '\n')) return true;
  }
  return false;
}

void ReadControllers(int directory, TrialAnswer& answer) {
  char list[160] = {};
  const int fd = OpenIn(directory, "cgroup.controllers", O_RDONLY);
  const ssize_t got = fd < 0 ? -1 : read(fd, list, sizeof list - 1);
  if (got <= 0) return;
  if (list[got - 1] == '\n') list[got - 1] = '\0';
  AppendText(answer, list, strlen(list));
  if (HasWord(list, "memory")) answer.value |= kCgroupMemory;
  if (HasWord(list, "pids")) answer.value |= kCgroupPids;
  if (HasWord(list, "cpu")) answer.value |= kCgroupCpu;
}

// Ends in exec, or returns when that failed.
void ExecBubblewrap(const char* program, int output) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(output, 2) < 0) return;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const char* const arguments[] = {program,
                                   "--die-with-parent",
                                   "--unshare-all",
                                   "--unshare-user",
                                   "--ro-bind",
                                   "/",
                                   "/",
                                   "--proc",
                                   "/proc",
                                   "--dev",
                                   "/dev",
                                   "--",
                                   program,
                                   "--version",
                                   nullptr};
  const char* const environment[] = {"PATH=/usr/bin:/bin", nullptr};
  execve(program, const_cast<char* const*>(arguments), const_cast<char* const*>(environment));
}

void ReadFirstLine(int fd, TrialAnswer& answer) {
  char buffer[128];
  bool line_ended = false;
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got <= 0) return;
    const auto* end = static_cast<const char*>(memchr(buffer, '\n', static_cast<std::size_t>(got)));
    const std::size_t size =
        end ? static_cast<std::size_t>(end - buffer) : static_cast<std::size_t>(got);
    if (!line_ended) AppendText(answer, buffer, size);
    line_ended = line_ended || end != nullptr;
  }
}

// A program that anybody but the owner of the system could replace is not run.
bool IsTrusted(const char* program) {
  struct stat file{}, top{};
  if (stat(program, &file) != 0 || stat("/", &top) != 0) return false;
  const bool owner = file.st_uid == 0 || file.st_uid == top.st_uid;
  return owner && S_ISREG(file.st_mode) && (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::span<const Trial> AllTrials() { return kTrials; }

void TryPidNamespace(const TrialContext&, TrialAnswer& answer) {
  if (syscall(SYS_getpid) != 1) return Fail(answer, "getpid: not process 1", 0);
  answer.ok = true;
}

void TryHostName(const TrialContext&, TrialAnswer& answer) {
  if (sethostname("cordon", 6) != 0) return Fail(answer, "sethostname");
  answer.ok = true;
}

void TryOpenat2(const TrialContext&, TrialAnswer& answer) {
  const int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (top < 0) return Fail(answer, "open /");
  const abi::OpenHow how = {O_PATH | O_CLOEXEC, 0, abi::kResolveInRoot};
  // Not "..": a mount of another trial at the same moment would make that EAGAIN.
  if (syscall(abi::kOpenat2, top, "/", &how, sizeof how) < 0) return Fail(answer, "openat2");
  answer.ok = true;
}

void TryCgroup(const TrialContext& context, TrialAnswer& answer) {
  if (mkdir(context.cgroup, 0755) != 0) return Fail(answer, "mkdir of a cgroup");
  const int directory = open(context.cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ReadControllers(directory, answer);
    if (WriteIn(directory, "cgroup.freeze", "1") && WriteIn(directory, "cgroup.freeze", "0")) {
      answer.value |= kCgroupFreeze;
    }
    if (WriteIn(directory, "cgroup.kill", "1")) answer.value |= kCgroupKill;
  }
  if (rmdir(context.cgroup) != 0) return Fail(answer, "rmdir of a cgroup");
  answer.ok = true;
}

void TryKvm(const TrialContext&, TrialAnswer& answer) {
  const int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
  if (fd < 0) return Fail(answer, "open /dev/kvm");
  answer.value = ioctl(fd, abi::kKvmGetApiVersion, 0);
  if (answer.value < 0) return Fail(answer, "KVM_GET_API_VERSION");
  if (answer.value != abi::kKvmApiVersion) return Fail(answer, "KVM_GET_API_VERSION: not 12", 0);
  answer.ok = true;
}

void TryReadMemory(const TrialContext&, TrialAnswer& answer) {
  volatile int here = 4711;
  const int child = ForkInTrial();
  if (child < 0) return Fail(answer, "clone");
  if (child == 0) {
    for (;;) pause();
  }
  int copy = 0;
  const iovec to = {&copy, sizeof copy};
  const iovec from = {const_cast<int*>(&here), sizeof here};
  const bool read_it = process_vm_readv(child, &to, 1, &from, 1, 0) == sizeof copy;
  const int err = errno;
  kill(child, SIGKILL);
  (void)ChildSucceeded(child);
  if (!read_it) return Fail(answer, "process_vm_readv of a child", err);
  answer.ok = copy == 4711;
}

void TryBubblewrap(const TrialContext& context, TrialAnswer& answer) {
  if (context.bwrap[0] == '\0') return Fail(answer, "not installed", 0);
  if (!IsTrusted(context.bwrap)) return Fail(answer, "others may write it: not trusted", 0);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(answer, "pipe2");
  const int child = ForkInTrial();
  if (child < 0) return Fail(answer, "clone");
  if (child == 0) {
    ExecBubblewrap(context.bwrap, ends[1]);
    _exit(1);
  }
  close(ends[1]);
  ReadFirstLine(ends[0], answer);
  if (!ChildSucceeded(child)) return Fail(answer, "it cannot create namespaces here", 0);
  answer.ok = true;
}

}  // namespace cordon::probe
