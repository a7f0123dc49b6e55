// The trials trap umask(2): nothing else in a trial calls it, and its result is a plain integer.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "probe/kernel_abi.h"
#include "probe/trials.h"

namespace cordon::probe {
namespace {

constexpr int kAnswer = 42;

int InstallFilter(std::uint32_t action, unsigned flags) {
  const sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_umask, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof code / sizeof code[0], const_cast<sock_filter*>(code)};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(syscall(SYS_seccomp, abi::kSetModeFilter, flags, &program));
}

int NewListener(TrialAnswer& answer, unsigned more_flags, const char* call) {
  const int fd = InstallFilter(SECCOMP_RET_USER_NOTIF, abi::kFilterNewListener | more_flags);
  if (fd < 0) Fail(answer, call);
  return fd;
}

constexpr char kListenerCall[] = "seccomp(NEW_LISTENER)";

// A child that makes the trapped call and judges its result.
template <typename Judge>
int CallTrapped(Judge judge) {
  const int child = ForkInTrial();
  if (child != 0) return child;
  _exit(judge(syscall(SYS_umask, 022)) ? 0 : 1);
}

bool Receive(int listener, seccomp_notif& call, TrialAnswer& answer) {
  memset(&call, 0, sizeof call);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) return true;
  Fail(answer, "SECCOMP_IOCTL_NOTIF_RECV");
  return false;
}

}  // namespace

void TryFilter(const TrialContext&, TrialAnswer& answer) {
  if (InstallFilter(SECCOMP_RET_ERRNO | EXDEV, 0) != 0) {
    return Fail(answer, "seccomp(SECCOMP_SET_MODE_FILTER)");
  }
  if (syscall(SYS_umask, 022) != -1 || errno != EXDEV) {
    return Fail(answer, "seccomp: the filter had no effect", 0);
  }
  answer.ok = true;
}

void TryListener(const TrialContext&, TrialAnswer& answer) {
  const int listener = NewListener(answer, 0, kListenerCall);
  if (listener < 0) return;
  const int child = CallTrapped([](long result) { return result == kAnswer; });
  if (child < 0) return Fail(answer, "clone");
  seccomp_notif call;
  if (!Receive(listener, call, answer)) return;
  seccomp_notif_resp response = {};
  response.id = call.id;
  response.val = kAnswer;
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) != 0) {
    return Fail(answer, "SECCOMP_IOCTL_NOTIF_SEND");
  }
  if (!ChildSucceeded(child)) return Fail(answer, "SECCOMP_IOCTL_NOTIF_SEND: wrong result", 0);
  answer.ok = true;
}

void TryAddFdSend(const TrialContext&, TrialAnswer& answer) {
  const int listener = NewListener(answer, 0, kListenerCall);
  if (listener < 0) return;
  const int child = CallTrapped([](long result) {
    struct stat info{};
    return result >= 0 && fstat(static_cast<int>(result), &info) == 0 && S_ISDIR(info.st_mode);
  });
  if (child < 0) return Fail(answer, "clone");
  const int top = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (top < 0) return Fail(answer, "open /");
  seccomp_notif call;
  if (!Receive(listener, call, answer)) return;
  const abi::NotifAddFd add = {call.id, abi::kAddFdFlagSend, static_cast<std::uint32_t>(top), 0,
                               O_CLOEXEC};
  if (ioctl(listener, abi::kIoctlNotifAddFd, &add) < 0) {
    return Fail(answer, "SECCOMP_IOCTL_NOTIF_ADDFD(SEND)");
  }
  if (!ChildSucceeded(child)) return Fail(answer, "SECCOMP_IOCTL_NOTIF_ADDFD: wrong result", 0);
  answer.ok = true;
}

void TryWaitKillable(const TrialContext&, TrialAnswer& answer) {
  answer.ok = NewListener(answer, abi::kFilterWaitKillableRecv,
                          "seccomp(NEW_LISTENER|WAIT_KILLABLE_RECV)") >= 0;
}

void TrySyncWakeUp(const TrialContext&, TrialAnswer& answer) {
  const int listener = NewListener(answer, 0, kListenerCall);
  if (listener < 0) return;
  if (ioctl(listener, abi::kIoctlNotifSetFlags, abi::kNotifSyncWakeUp) != 0) {
    return Fail(answer, "SECCOMP_IOCTL_NOTIF_SET_FLAGS(SYNC_WAKE_UP)");
  }
  answer.ok = true;
}

void TryLandlock(const TrialContext&, TrialAnswer& answer) {
  answer.value = syscall(abi::kLandlockCreateRuleset, nullptr, 0, abi::kLandlockVersion);
  if (answer.value < 0) return Fail(answer, "landlock_create_ruleset");
  const std::uint64_t handled = abi::kLandlockFsExecute;
  const auto rules =
      static_cast<int>(syscall(abi::kLandlockCreateRuleset, &handled, sizeof handled, 0));
  if (rules < 0) return Fail(answer, "landlock_create_ruleset");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Fail(answer, "PR_SET_NO_NEW_PRIVS");
  if (syscall(abi::kLandlockRestrictSelf, rules, 0) != 0) {
    return Fail(answer, "landlock_restrict_self");
  }
  answer.ok = true;
}

}  // namespace cordon::probe
