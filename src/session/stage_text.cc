#include "session/stage_text.h"

#include <cerrno>

#include "probe/probe.h"

namespace cordon::session {
namespace {

using jail::Operation;
using jail::Plan;
using jail::wire::Failure;
using jail::wire::Stage;

const Operation* FindOperation(const Plan* plan, std::uint32_t index) {
  if (plan == nullptr) return nullptr;
  if (index < plan->operations.size()) return &plan->operations[index];
  index -= static_cast<std::uint32_t>(plan->operations.size());
  return index < plan->after_proc.size() ? &plan->after_proc[index] : nullptr;
}

Error WithErrno(std::string message, int error, std::string remedy = {}) {
  Error e = ErrnoError(std::move(message), error);
  // Whatever the step was, these two have a cause of their own.
  if (error == EMFILE)
    remedy =
        "each writable path takes a descriptor for a moment: raise the hard limit of open files "
        "(ulimit -n)";
  if (error == EAGAIN && remedy.empty())
    remedy = "the user's process limit is reached: end some, or raise it (ulimit -u)";
  e.remedy = std::move(remedy);
  return e;
}

std::string ForOperation(const char* what, const Plan* plan, std::uint32_t index, bool source) {
  const Operation* op = FindOperation(plan, index);
  if (op == nullptr) return what;
  std::string out = std::string(what) + " " + (source ? op->source : op->target);
  if (!op->why.empty()) out += " for " + op->why;
  return out;
}

constexpr const char* kDoctor = "run `cordon doctor` for what this host allows";
constexpr const char* kMoved = "the path changed while the session was starting: run it again";

}  // namespace

Error LaunchError(const Failure& f, const Plan* plan) {
  switch (f.stage) {
    case Stage::kClone: {
      if (f.error == EAGAIN || f.error == ENOMEM) return WithErrno("start the session", f.error);
      std::string message = "this host refuses to create the namespaces of a session";
      Error e = WithErrno(message, f.error, probe::UserNamespaceRemedy(f.error));
      e.code = ErrorCode::kUnsupported;
      return e;
    }
    case Stage::kIdMap: {
      Error e =
          WithErrno("this host refuses the user id map of the session's user namespace", f.error,
                    "a container may lack CAP_SETUID, CAP_SETGID or CAP_SETFCAP: run as an "
                    "ordinary user, or add them; " +
                        std::string(kDoctor));
      e.code = ErrorCode::kUnsupported;
      return e;
    }
    case Stage::kProc: {
      Error e = WithErrno("this host refuses a fresh /proc in the session", f.error,
                          "in a container some of /proc is covered: start it with --security-opt "
                          "systempaths=unconfined "
                          "(Docker, Podman) or procMount: Unmasked (Kubernetes)");
      e.code = ErrorCode::kUnsupported;
      return e;
    }
    case Stage::kPrivate: return WithErrno("make the mount tree private", f.error, kDoctor);
    case Stage::kStore: return WithErrno("mount the session's own tmpfs", f.error, kDoctor);
    case Stage::kStoreNode: {
      std::string name = plan != nullptr && f.operation < plan->nodes.size()
                             ? plan->nodes[f.operation].path
                             : "a node";
      return WithErrno("make " + name + " in the session's tmpfs", f.error);
    }
    case Stage::kDevice: return WithErrno("set up the session's /dev", f.error, kDoctor);
    case Stage::kUnshare: return WithErrno("copy the session's mount namespace", f.error);
    case Stage::kSource:
      return WithErrno(ForOperation("open", plan, f.operation, true), f.error,
                       f.error == ELOOP ? kMoved : "");
    case Stage::kCloneTree:
      return WithErrno(ForOperation("clone the mount tree of", plan, f.operation, true), f.error);
    case Stage::kReadOnly: return WithErrno("make the file system read-only", f.error, kDoctor);
    case Stage::kTarget:
      return WithErrno(ForOperation("open the mount point", plan, f.operation, false), f.error,
                       kMoved);
    case Stage::kAttributes:
      return WithErrno(ForOperation("set the mount attributes of", plan, f.operation, false),
                       f.error);
    case Stage::kAttach:
      return WithErrno(ForOperation("mount on", plan, f.operation, false), f.error, kMoved);
    case Stage::kPivot: return WithErrno("change to the session's root", f.error);
    case Stage::kBroker:
    case Stage::kMasks: return WithErrno("start the session's supervisor", f.error, kDoctor);
    case Stage::kBubblewrap: return WithErrno("start bubblewrap", f.error, kDoctor);
    case Stage::kLoopback:
      return WithErrno("bring up the session's loopback interface", f.error, kDoctor);
    case Stage::kKeyring: return WithErrno("join a session keyring of its own", f.error);
    case Stage::kProtocol:
      return MakeError(ErrorCode::kInternal, "the launcher did not understand the plan",
                       "cordon and cordon-launch must be of one build: install them again");
    default: return WithErrno("start the session", f.error);
  }
}

Error ExecError(const Failure& f, const std::string& program, const std::string& workdir) {
  switch (f.stage) {
    case Stage::kExecve:
      if (f.error == ENOENT && program.find('/') == std::string::npos)
        return MakeError(ErrorCode::kNotFound, program + ": command not found",
                         "check PATH inside: cordon run -- printenv PATH");
      return WithErrno(program, f.error,
                       f.error == EACCES ? "the file is not executable, or a rule refuses it: "
                                           "cordon run --dry-run shows the rules"
                                         : "");
    case Stage::kInterpreter:
      return WithErrno(program + ": the interpreter or loader that it names is not there", f.error);
    case Stage::kWorkdir:
      return WithErrno(
          "enter the working directory " + workdir, f.error,
          "it must exist and be readable under the session's rules (--allow-read, --workdir)");
    case Stage::kTerminal: return WithErrno("open a terminal in the session", f.error);
    case Stage::kFork:
      return WithErrno("start a process in the session", f.error,
                       f.error == EAGAIN ? "the process limit is reached (--pids)" : "");
    case Stage::kResourceLimit:
      return WithErrno("set a resource limit", f.error,
                       "it may not exceed the caller's own hard limit (ulimit -H)");
    case Stage::kFence: return WithErrno("set up the Landlock domain", f.error, kDoctor);
    case Stage::kListener:
      return WithErrno("install the system call filter with its notifications", f.error,
                       f.error == EBUSY
                           ? "Cordon runs inside a container or sandbox that holds the one place "
                             "for a supervisor: start it outside"
                           : kDoctor);
    case Stage::kBroker: return WithErrno("start the session's supervisor", f.error, kDoctor);
    case Stage::kFilter: return WithErrno("install the system call filter", f.error, kDoctor);
    case Stage::kCapabilities: return WithErrno("drop capabilities", f.error);
    case Stage::kNoNewPrivileges: return WithErrno("set no_new_privs", f.error);
    default: return WithErrno("start " + program, f.error);
  }
}

}  // namespace cordon::session
