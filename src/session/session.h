// One sandbox: launch, then any number of execs one after another and side by side, then destroy.
//
//   CORDON_TRY(auto session, Session::Launch(spec, LaunchOptions{}));
//   ExecRequest request;
//   request.argv = {"make", "-j2"};
//   CORDON_TRY(ExecId id, session->Exec(std::move(request)));
//   CORDON_TRY(ExecResult result, session->Wait(id));
//   session->Destroy();
//
// States: created -> warm <-> active -> destroyed; warm/active <-> suspended; created -> error.
//
// Threads: a Session belongs to one thread at a time; different sessions are independent, and the
// host process may have any number of threads (the launcher is a program of its own).
// Life: when the host process dies in whatever way, the kernel ends every process of the session.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "policy/policy.h"
#include "policy/spec.h"
#include "session/event.h"
#include "session/violation.h"

namespace cordon::session {

enum class State { kCreated, kWarm, kActive, kSuspended, kDestroyed, kError };
const char* StateName(State state);

using ExecId = std::uint64_t;

struct LaunchOptions {
  // The launcher program; empty: ../libexec/cordon/cordon-launch beside the running program.
  std::string launcher_path;
  // Events go here as they happen (on the thread that calls into the session); may be empty.
  std::function<void(const Event&)> on_event;
  // No later Update(): the session keeps no second copy of its mount table, which starts faster.
  bool single_policy = false;
  // The working directory is writable although no rule says so, unless it is a system directory.
  bool workdir_writable = false;
  // The spec's guestWorkdir has no link on its way: one that is found there is refused.
  bool workdir_exact = false;
  // Names such as ~/.ssh/known_hosts stay readable below a denied default (12.25), as `cordon run`
  // has it; dispatch of agents hides them too.
  bool keep_readable = false;
  // Inner user id of the commands; absent: the caller's own.
  std::optional<std::uint32_t> uid;
  // Every open traps, also for reading, so that each read that a mask refuses is reported with the
  // path that the program asked for (without it a denied read is only an errno). It costs some 15
  // microseconds an open; what may be read does not change.
  bool strict_reads = false;
  // What `cordon ps` shows as the session's command.
  std::string label;
  // Environment that cleaning starts from; empty: the caller's own.
  std::map<std::string, std::string> environment;
  enum class Launcher { kAuto, kNative, kBubblewrap } launcher = Launcher::kAuto;
};

// Where one of the three standard descriptors goes.
struct Stdio {
  enum class Kind {
    kNull,     // /dev/null
    kInherit,  // the descriptor `fd` of the caller, passed as it is
    kCapture,  // (1 and 2) stdout/stderr events, at most `capture_limit` bytes kept in the result
    kTty,      // the exec's own terminal
  } kind = Kind::kNull;
  int fd = -1;
};

struct WindowSize {
  std::uint16_t rows = 24, columns = 80;
};

struct ExecRequest {
  std::vector<std::string> argv;   // argv[0] is looked up in PATH when it has no slash
  std::optional<std::string> cwd;  // default: the spec's guestWorkdir
  std::map<std::string, std::string> environment;  // set on top of the session's
  Stdio input, output, error;
  bool new_terminal = false;  // make a pty inside; Session::TerminalFd() is its other end
  WindowSize window;
  std::optional<termios> terminal_modes;  // what the pty starts with; default: the kernel's
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds grace{2000};  // between SIGTERM and SIGKILL on a timeout
  std::size_t capture_limit = 16u << 20;
};

struct ExecResult {
  // Exactly one of the two: exit_code 0..255, or the signal that ended it.
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool timed_out = false;
  std::string
      killed_reason;  // "time-limit", "manual", "memory", "parent-gone", "" when it ended by itself
  // The program could not be started: 127 (not found) or 126 (not executable), with the message.
  std::optional<Error> start_error;
  std::string stdout_data, stderr_data;  // kCapture only
  bool stdout_truncated = false, stderr_truncated = false;
  std::uint64_t max_rss_kib = 0;
  std::uint64_t user_us = 0, system_us = 0;
  // As a shell reports it: code, 128+signal, 126/127; 124 on a time limit.
  int ShellStatus() const;
};

// How each rule is held, for --dry-run.
struct EnforcementLine {
  std::string rule;  // kind, text, source
  std::string path;  // concrete path, or the glob
  std::string
      mechanism;  // "mask", "read-only bind mount", "writable bind mount", "not held yet: ..."
};

struct Preview {
  policy::EffectivePolicy policy;
  std::vector<EnforcementLine> enforcement;
  std::map<std::string, std::string> environment;
  std::vector<std::string> removed_variables;  // "NAME: reason"
  std::string plan_text;                       // every mount operation, in order
  std::string filter_text;                     // every filtered system call with its reason
};

class Session {
 public:
  // Blocks until the session is warm (a few milliseconds). Errors name the step, the reason and
  // the remedy; nothing is left behind on failure.
  static Result<std::unique_ptr<Session>> Launch(const policy::SandboxSpec& spec,
                                                 LaunchOptions options);
  // What Launch would do, without doing it.
  static Result<Preview> DryRun(const policy::SandboxSpec& spec, const LaunchOptions& options);

  ~Session();  // Destroy()
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& id() const;
  State state() const;
  const policy::EffectivePolicy& policy() const;
  // Host-side process id of the session's monitor (what `cordon ps` shows).
  int monitor_pid() const;
  const std::vector<std::string>& details() const;  // "limits.pids: RLIMIT_NPROC", ...

  Result<ExecId> Exec(ExecRequest request);
  // Whole process tree of the exec, or only its foreground process group / leader.
  enum class Scope { kTree, kGroup, kLeader };
  Status Signal(ExecId id, int signal, Scope scope = Scope::kGroup);
  // The host end of the exec's terminal (REQUIRES: request.new_terminal); owned by the session
  // until the exec's result is taken.
  int TerminalFd(ExecId id) const;
  Status Resize(ExecId id, WindowSize size);

  // Readable when Dispatch() has something to do; for the caller's own poll loop. One epoll
  // descriptor that also covers captured output and time limits.
  int PollFd() const;
  // Handles what has arrived, without blocking (timeout 0) or waiting up to `timeout`.
  Status Dispatch(std::chrono::milliseconds timeout);
  // Result of an exec that has ended; nullopt while it runs. Taking it forgets the exec.
  std::optional<ExecResult> TakeResult(ExecId id);
  // Dispatches until the exec has ended.
  Result<ExecResult> Wait(ExecId id);

  // What the boundary refused so far. Complete up to now after FlushReports().
  const ViolationLog& violations() const;
  // Waits until the supervisor has said what it counted (milliseconds).
  Status FlushReports();

  Status Suspend();
  Status Resume();
  // Holds from the next exec on. Running processes keep what they started with; only
  // ignoreViolations is at once that of the new spec for all.
  // Error kUnsupported when launched with single_policy, or before Linux 5.19.
  Status Update(const policy::SandboxSpec& spec);
  // Ends every process and waits until the kernel has taken them away. Idempotent.
  Status Destroy();

  struct Impl;

 private:
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cordon::session
