// The inside of Session, shared by launch.cc, exec.cc, dispatch.cc and session.cc.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "session/channel.h"
#include "session/prepare.h"
#include "session/session.h"
#include "session/violation.h"

namespace cordon::session {

using Clock = std::chrono::steady_clock;

// One running or ended exec.
struct ExecRecord {
  ExecId id = 0;
  std::string program;
  std::string workdir;
  int inner_pid = 0;
  bool started = false;
  bool exited = false;
  UniqueFd terminal;
  struct Capture {
    UniqueFd fd;  // our end of the pipe
    std::string data;
    bool truncated = false;
  } captures[2];  // stdout, stderr
  std::size_t capture_limit = 0;
  std::optional<Clock::time_point> deadline;
  std::chrono::milliseconds grace{0};
  bool terminated = false;  // SIGTERM of the time limit was sent
  ExecResult result;
  bool Finished() const { return exited && !captures[0].fd.valid() && !captures[1].fd.valid(); }
};

// The broker of one view: one for the launch, one more for each Update.
struct BrokerLink {
  Channel channel;
  // What it decides by, for its reports; null: Prepared::policy, the present one.
  std::shared_ptr<const policy::EffectivePolicy> policy;
  bool flushed = true;
};

struct Session::Impl {
  std::string id;
  State state = State::kCreated;
  LaunchOptions options;
  Prepared prepared;
  Channel channel;
  UniqueFd epoll;
  UniqueFd timer;
  int monitor = -1;  // pid of cordon-launch, our child
  ExecId next_exec = 1;
  std::uint64_t sequence = 0;
  std::map<ExecId, ExecRecord> execs;
  std::vector<BrokerLink> brokers;
  ViolationLog violations;
  std::optional<jail::wire::Failure> broker_failure;
  std::optional<Clock::time_point> session_deadline;
  // Answer to the last Suspend, Resume or Update request.
  std::uint32_t request_number = 0;
  bool answered = false;
  std::optional<jail::wire::Failure> answer_failure;
  bool ready = false;
  std::optional<jail::wire::Failure> launch_failure;
  bool gone = false;  // end of file on the control socket
  std::optional<jail::wire::Ended> ended;

  ~Impl();

  // launch.cc
  Status Start(const policy::SandboxSpec& spec);
  Status StartNative(const policy::SandboxSpec& spec);
  Status StartBubblewrap(const policy::SandboxSpec& spec);
  bool OnlyBubblewrapMayHelp() const;
  void Abandon();
  Status OpenChannel(UniqueFd& theirs);
  Status SpawnLauncher(const policy::SandboxSpec& spec, UniqueFd theirs);
  Status AwaitReady();
  // A broker's socket, with the policy in it; the other end goes to init with the view. Invalid
  // when nothing is supervised.
  Result<UniqueFd> OpenBroker(const Prepared& next);
  // The same for the server of masks.
  Result<UniqueFd> OpenMaskServer(const Prepared& next);
  Result<UniqueFd> OpenLink(const std::string& policy);
  Status FlushReports();
  // watching.cc
  Status SendWatches(Prepared& next);
  void NoteWatchFailure(std::string_view payload);
  // launch.cc
  void ReapMonitor(bool force);

  // exec.cc
  Result<ExecId> StartExec(ExecRequest request);
  Status SendSignal(const ExecRecord& exec, int signal, Scope scope);

  // dispatch.cc
  Status DispatchOnce(std::chrono::milliseconds timeout);
  void HandleMessage(IncomingMessage& message);
  void ReadBroker(std::size_t index);
  void TakeReport(const BrokerLink& broker, std::string_view payload);
  void HandleGone();
  void ReadCapture(ExecRecord& exec, int index);
  void CheckDeadlines();
  void ArmTimer();
  void FinishExec(ExecRecord& exec);
  Status Watch(int fd, std::uint64_t tag);

  void SetState(State next);
  void Emit(const std::string& type, std::optional<ExecId> exec,
            std::map<std::string, std::string> text = {},
            std::map<std::string, std::int64_t> numbers = {});
  // Sends a request to init and dispatches until it has answered.
  Status Ask(jail::wire::Type type, std::string_view payload, const std::vector<int>& fds = {});
};

// Tags of epoll entries: the control socket, the timer, or a capture (exec id * 2 + index).
inline constexpr std::uint64_t kTagControl = ~0ull;
inline constexpr std::uint64_t kTagTimer = ~0ull - 1;
inline constexpr std::uint64_t kMostBrokers = 1u << 20;
inline constexpr std::uint64_t kTagBrokers = kTagTimer - kMostBrokers;  // and the index

// A line of the session's details.
inline constexpr const char* kMasksAreNotPutBack =
    "weaker: a file that is hidden or read-only by a rule stops being so when a program outside "
    "replaces it";

std::string LauncherPath(const LaunchOptions& options);

}  // namespace cordon::session
