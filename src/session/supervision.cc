#include "session/supervision.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/unique_fd.h"
#include "policy/policy_codec.h"

namespace cordon::session {
namespace {

constexpr unsigned kWaitKillable = 1u << 5;  // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19
constexpr unsigned kFlags =
    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW | kWaitKillable;

std::string ReadSmall(const char* path) {
  UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  char text[4096];
  ssize_t n = fd.valid() ? ::read(fd.get(), text, sizeof text) : -1;
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

// In a child: whether a filter above this process has a listener already.
bool SecondListenerWorks() {
  const pid_t child = ::fork();
  if (child == 0) {
    sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    sock_fprog program{1, &allow};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::_exit(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program) >= 0 ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && status == 0;
}

void PutNumber(std::string& out, std::uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void PutString(std::string& out, std::string_view value) {
  PutNumber(out, static_cast<std::uint32_t>(value.size()));
  out += value;
  out += '\0';
}

}  // namespace

Status SupervisorAvailable() {
  // A null program: EFAULT when the flags are known, EINVAL when they are not.
  const long rc = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, nullptr);
  if (rc < 0 && errno != EFAULT && errno != EACCES)
    return MakeError(ErrorCode::kUnsupported,
                     "this kernel cannot wait for a supervisor without being interrupted",
                     "use Linux 5.19 or later");
  if (std::atoi(ReadSmall("/proc/sys/kernel/yama/ptrace_scope").c_str()) == 3)
    return MakeError(ErrorCode::kUnsupported,
                     "this host forbids every process to read the memory of another "
                     "(kernel.yama.ptrace_scope is 3)",
                     "set kernel.yama.ptrace_scope to 2 or less");
  const std::string status = ReadSmall("/proc/self/status");
  const bool filtered = status.find("\nSeccomp:\t2") != std::string::npos;
  if (filtered && !SecondListenerWorks())
    return MakeError(ErrorCode::kUnsupported,
                     "Cordon runs inside a container or sandbox that holds the one place for a "
                     "supervisor",
                     "start it outside, or without a seccomp notifier there");
  return Ok();
}

jail::Supervision SupervisionFor(const policy::EffectivePolicy& policy, bool strict_reads,
                                 bool refused_programs) {
  jail::Supervision out;
  out.sockets = true;
  if (policy.files_disabled) return out;
  out.names = out.umask = true;
  out.reads = strict_reads;
  out.exec_reports = refused_programs;
  return out;
}

std::string EncodeForBroker(const policy::EffectivePolicy& policy,
                            const std::vector<jail::PlanInput::DeniedProgram>& programs) {
  std::string out;
  PutString(out, policy::EncodePolicy(policy));
  PutNumber(out, static_cast<std::uint32_t>(programs.size()));
  for (const auto& program : programs) {
    PutString(out, program.path);
    PutString(out, program.reason);
  }
  return out;
}

}  // namespace cordon::session
