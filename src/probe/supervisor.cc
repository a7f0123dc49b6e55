#include "probe/supervisor.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "probe/kernel_abi.h"
#include "probe/trial.h"

namespace cordon::probe {
namespace {

constexpr unsigned kFlags =
    abi::kFilterNewListener | SECCOMP_FILTER_FLAG_SPEC_ALLOW | abi::kFilterWaitKillableRecv;
constexpr long kNoMemoryOfOthers = 3;

int TryListener() {
  const int child = ForkInTrial();
  if (child < 0) return errno;
  if (child == 0) {
    sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    sock_fprog program{1, &allow};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::_exit(::syscall(SYS_seccomp, abi::kSetModeFilter, kFlags, &program) >= 0 ? 0 : 1);
  }
  return ChildSucceeded(child) ? 0 : EBUSY;
}

}  // namespace

SupervisorFinding FindSupervisor(const HostFiles& files) {
  // A null program: EFAULT when the flags are known, EINVAL when they are not.
  const long rc = ::syscall(SYS_seccomp, abi::kSetModeFilter, kFlags, nullptr);
  if (rc < 0 && errno != EFAULT && errno != EACCES) return {SupervisorLack::kKernel, errno};
  if (files.ReadNumber("/proc/sys/kernel/yama/ptrace_scope").value_or(0) >= kNoMemoryOfOthers)
    return {SupervisorLack::kMemory, EPERM};
  const std::string status = files.Read("/proc/self/status").value_or("");
  if (status.find("\nSeccomp:\t2") != std::string::npos) {
    if (const int err = TryListener(); err != 0) return {SupervisorLack::kListener, err};
  }
  return {SupervisorLack::kNone, 0};
}

Status DescribeSupervisor(SupervisorLack lack) {
  switch (lack) {
    case SupervisorLack::kNone: return Ok();
    case SupervisorLack::kKernel: break;
    case SupervisorLack::kMemory:
      return MakeError(ErrorCode::kUnsupported,
                       "this host forbids every process to read the memory of another "
                       "(kernel.yama.ptrace_scope is 3)",
                       "set kernel.yama.ptrace_scope to 2 or less; 3 stays until a restart");
    case SupervisorLack::kListener:
      return MakeError(ErrorCode::kUnsupported,
                       "Cordon runs inside a container or sandbox that holds the one place for a "
                       "supervisor",
                       "start it outside, or without a seccomp notifier there");
  }
  return MakeError(ErrorCode::kUnsupported,
                   "this kernel cannot wait for a supervisor without being interrupted",
                   "use Linux 5.19 or later");
}

Status SupervisorAvailable() { return DescribeSupervisor(FindSupervisor(HostFiles("/")).lack); }

}  // namespace cordon::probe
