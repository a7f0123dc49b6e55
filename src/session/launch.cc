// Starting the launcher, and its end.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include <cerrno>
#include <climits>

#include "jail/bwrap_arguments.h"
#include "session/session_impl.h"
#include "session/stage_text.h"

namespace cordon::session {
namespace {

// A launch that takes longer hangs in a file system: say so instead of waiting for ever.
constexpr std::chrono::seconds kLaunchLimit{30};
constexpr std::size_t kLabelLimit = 255;

}  // namespace

std::string LauncherPath(const LaunchOptions& options) {
  if (!options.launcher_path.empty()) return options.launcher_path;
  char exe[PATH_MAX];
  ssize_t n = ::readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n <= 0) return "/usr/libexec/cordon/cordon-launch";
  std::string path(exe, static_cast<std::size_t>(n));
  path.erase(path.rfind('/'));
  path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  return path + "/libexec/cordon/cordon-launch";
}

Status Session::Impl::SpawnLauncher(const policy::SandboxSpec& spec, UniqueFd theirs) {
  std::string path = LauncherPath(options);
  // For people. `cordon kill` reads the list in one go, and must find its end.
  std::string command = options.label.substr(0, kLabelLimit);
  std::vector<std::string> words = {
      "cordon-session",
      id,
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count()),
      std::to_string(::getpid()),
      "native",
      spec.guest_workdir.value_or("/"),
      command};
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  char* environment[] = {nullptr};

  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  // dup2 of a descriptor onto itself keeps close-on-exec in some C libraries: move it away first.
  UniqueFd moved(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, jail::wire::kControlFd + 1));
  pid_t pid = -1;
  int rc = !moved.valid()
               ? errno
               : posix_spawn_file_actions_adddup2(&actions, moved.get(), jail::wire::kControlFd);
  if (rc == 0)
    rc = ::posix_spawn(&pid, path.c_str(), &actions, &attributes, argv.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (rc != 0) {
    Error e = ErrnoError("start the launcher " + path, rc);
    if (rc == ENOENT)
      e.remedy =
          "install Cordon as a whole: cordon-launch belongs in ../libexec/cordon beside the "
          "program";
    if (rc == EAGAIN)
      e.remedy = "the user's process limit is reached: end some, or raise it (ulimit -u)";
    if (rc == EMFILE || rc == EBADF) e.remedy = "raise the limit of open files (ulimit -n)";
    return e;
  }
  monitor = pid;
  return Ok();
}

Status Session::Impl::OpenChannel(UniqueFd& theirs) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return ErrnoError("socketpair");
  channel = Channel(UniqueFd(pair[0]));
  theirs.reset(pair[1]);
  epoll.reset(::epoll_create1(EPOLL_CLOEXEC));
  timer.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!epoll.valid() || !timer.valid()) return ErrnoError("epoll_create1");
  CORDON_CHECK(Watch(channel.fd(), kTagControl));
  return Watch(timer.get(), kTagTimer);
}

Result<UniqueFd> Session::Impl::OpenBroker(const Prepared& next) {
  if (!next.supervised) return UniqueFd();
  return OpenLink(next.for_broker);
}

Result<UniqueFd> Session::Impl::OpenMaskServer(const Prepared& next) {
  if (next.for_masks.empty()) return UniqueFd();
  return OpenLink(next.for_masks);
}

Result<UniqueFd> Session::Impl::OpenLink(const std::string& policy) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return ErrnoError("socketpair");
  UniqueFd theirs(pair[1]);
  BrokerLink link;
  link.channel = Channel(UniqueFd(pair[0]));
  CORDON_CHECK(link.channel.Send(jail::wire::Type::kPolicy, 0, policy));
  CORDON_CHECK(Watch(link.channel.fd(), kTagBrokers + brokers.size()));
  brokers.push_back(std::move(link));
  return theirs;
}

Status Session::Impl::StartNative(const policy::SandboxSpec& spec) {
  UniqueFd theirs;
  CORDON_CHECK(OpenChannel(theirs));
  // The namespaces are made while the policy is being compiled: both take about as long.
  Identity identity = IdentityFor(options);
  jail::Boot boot = BootFor(identity, !options.single_policy);
  jail::StoreBase(identity.inner_uid, boot);
  CORDON_CHECK(channel.Send(jail::wire::Type::kBoot, 0, Encode(boot)));
  CORDON_CHECK(SpawnLauncher(spec, std::move(theirs)));
  CORDON_TRY(prepared, Prepare(spec, options));
  violations.SetFilter(prepared.ignored);
  CORDON_TRY(UniqueFd brokers_end, OpenBroker(prepared));
  std::vector<int> fds;
  if (brokers_end.valid()) fds.push_back(brokers_end.get());
  CORDON_TRY(UniqueFd mask_servers_end, OpenMaskServer(prepared));
  if (mask_servers_end.valid()) fds.push_back(mask_servers_end.get());
  // The launcher may have given up by now; its reason is in the socket, so EPIPE is no error here.
  if (Status sent = channel.Send(jail::wire::Type::kView, 0, Encode(prepared.plan), fds);
      !sent.ok() && sent.error().sys_errno != EPIPE)
    return sent.error();
  CORDON_CHECK(SendWatches(prepared));
  return AwaitReady();
}

Status Session::Impl::StartBubblewrap(const policy::SandboxSpec& spec) {
  UniqueFd theirs;
  CORDON_CHECK(OpenChannel(theirs));
  CORDON_TRY(prepared, Prepare(spec, options, LaunchOptions::Launcher::kBubblewrap));
  violations.SetFilter(prepared.ignored);
  CORDON_TRY(jail::BwrapPlan bwrap, PlanForBubblewrap(prepared));
  prepared.details.push_back(std::string("launcher: ") + jail::kBwrapPath +
                             " (only it may create user namespaces here)");
  for (auto& line : bwrap.weaker) prepared.details.push_back("weaker: " + line);
  prepared.details.push_back(kMasksAreNotPutBack);
  jail::Boot boot;
  boot.bwrap.push_back(jail::kBwrapPath);
  boot.bwrap.insert(boot.bwrap.end(), bwrap.arguments.begin(), bwrap.arguments.end());
  CORDON_CHECK(channel.Send(jail::wire::Type::kBoot, 0, Encode(boot)));
  CORDON_CHECK(SpawnLauncher(spec, std::move(theirs)));
  options.single_policy = true;
  return AwaitReady();
}

// Undoes a failed start, so that another way can be tried.
void Session::Impl::Abandon() {
  channel.Close();
  ReapMonitor(false);
  brokers.clear();
  epoll.reset();
  timer.reset();
  gone = ready = false;
  launch_failure.reset();
  ended.reset();
}

// An AppArmor profile may refuse the namespaces themselves, or every capability in them, to any
// program but bubblewrap; both show as EPERM or EACCES before anything was built.
bool Session::Impl::OnlyBubblewrapMayHelp() const {
  if (options.launcher != LaunchOptions::Launcher::kAuto || !launch_failure) return false;
  using jail::wire::Stage;
  Stage stage = launch_failure->stage;
  bool early = stage == Stage::kClone || stage == Stage::kIdMap || stage == Stage::kPrivate ||
               stage == Stage::kStore;
  bool refused = launch_failure->error == EPERM || launch_failure->error == EACCES;
  return early && refused && ::access(jail::kBwrapPath, X_OK) == 0;
}

Status Session::Impl::Start(const policy::SandboxSpec& spec) {
  Emit("starting", std::nullopt, {{"backend", "native"}});
  bool bubblewrap = options.launcher == LaunchOptions::Launcher::kBubblewrap;
  Status started = bubblewrap ? StartBubblewrap(spec) : StartNative(spec);
  if (!started.ok() && OnlyBubblewrapMayHelp()) {
    Error first = started.error();
    Abandon();
    bubblewrap = true;
    started = StartBubblewrap(spec);
    // What mends the host is in the first refusal.
    if (!started.ok() && started.error().code != ErrorCode::kUnsupported) return first;
  }
  CORDON_CHECK(started);
  if (spec.limits.wall_time) session_deadline = Clock::now() + *spec.limits.wall_time;
  ArmTimer();
  SetState(State::kWarm);
  Emit("ready", std::nullopt,
       {{"backend", "native"}, {"launcher", bubblewrap ? "bubblewrap" : "cordon-launch"}},
       {{"monitorPid", monitor}});
  return Ok();
}

Status Session::Impl::AwaitReady() {
  auto limit = Clock::now() + kLaunchLimit;
  while (!ready) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now());
    if (left.count() <= 0)
      return MakeError(ErrorCode::kTimeout, "the session did not start within 30 s",
                       "a file system may hang (a network mount?): try --view bound");
    CORDON_CHECK(DispatchOnce(left));
    if (launch_failure) return LaunchError(*launch_failure, &prepared.plan);
    if (gone)
      return MakeError(ErrorCode::kSystem,
                       "the session's launcher ended before the session was ready",
                       "run `cordon doctor` for what this host allows");
  }
  return Ok();
}

// Waits for the monitor, which ends after init, which the kernel ends after every other process of
// the session. `force`: it gets SIGKILL at once.
void Session::Impl::ReapMonitor(bool force) {
  if (monitor < 0) return;
  if (force) ::kill(monitor, SIGKILL);
  int status = 0;
  while (::waitpid(monitor, &status, 0) < 0 && errno == EINTR) {
  }
  monitor = -1;
}

Session::Impl::~Impl() {
  channel.Close();
  // Without the channel, init and monitor end by themselves; SIGKILL of the monitor also kills
  // init.
  ReapMonitor(false);
}

}  // namespace cordon::session
