// Execs: the request that goes to init, descriptors, signals.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <cerrno>

#include "session/session_impl.h"
#include "session/stage_text.h"

namespace cordon::session {
namespace {

using jail::wire::StdioKind;

// The caller's umask; umask(2) can only be read by setting it, which would race in a threaded host.
std::uint32_t CallerUmask() {
  UniqueFd fd(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  char text[4096];
  ssize_t n = fd.valid() ? ::read(fd.get(), text, sizeof text - 1) : -1;
  if (n <= 0) return 022;
  text[n] = '\0';
  std::string_view view(text, static_cast<std::size_t>(n));
  std::size_t at = view.find("\nUmask:\t");
  return at == std::string_view::npos
             ? 022
             : static_cast<std::uint32_t>(std::strtoul(text + at + 8, nullptr, 8));
}

struct PlacedStdio {
  std::vector<int> fds;           // to pass, in order of 0, 1, 2
  std::vector<UniqueFd> closing;  // the command's ends of our pipes
};

// A directory, or a mere place in the tree, belongs to the caller's mounts: from it a command would
// walk the whole machine.
Status CheckPassed(int number, int fd) {
  struct stat st{};
  int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fstat(fd, &st) != 0) return ErrnoError("descriptor " + std::to_string(number));
  int domain = 0, type = 0;
  socklen_t size = sizeof domain, type_size = sizeof type;
  const bool datagram = S_ISSOCK(st.st_mode) &&
                        ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
                        ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 &&
                        domain == AF_UNIX && type == SOCK_DGRAM;
  // It would reach any socket of the host by its path (12.17).
  if (datagram)
    return MakeError(ErrorCode::kInvalid,
                     "descriptor " + std::to_string(number) + " is a unix datagram socket",
                     "pass a stream socket or a pipe");
  if (!S_ISDIR(st.st_mode) && (flags & O_PATH) == 0) return Ok();
  return MakeError(ErrorCode::kInvalid,
                   "descriptor " + std::to_string(number) + " is " +
                       (S_ISDIR(st.st_mode) ? "a directory" : "no open file"),
                   "pass a file, a pipe, a socket or a terminal");
}

Status PlaceStdio(const ExecRequest& request, jail::ExecPlan& plan, ExecRecord& record,
                  PlacedStdio& placed) {
  const Stdio* all[3] = {&request.input, &request.output, &request.error};
  for (int i = 0; i < 3; ++i) {
    switch (all[i]->kind) {
      case Stdio::Kind::kNull: plan.stdio[i] = static_cast<std::uint32_t>(StdioKind::kNull); break;
      case Stdio::Kind::kTty:
        if (!request.new_terminal) return MakeError(ErrorCode::kInvalid, "kTty needs new_terminal");
        plan.stdio[i] = static_cast<std::uint32_t>(StdioKind::kTerminal);
        break;
      case Stdio::Kind::kInherit:
        CORDON_CHECK(CheckPassed(i, all[i]->fd));
        plan.stdio[i] = static_cast<std::uint32_t>(StdioKind::kPassed);
        placed.fds.push_back(all[i]->fd);
        break;
      case Stdio::Kind::kCapture: {
        if (i == 0) return MakeError(ErrorCode::kInvalid, "standard input cannot be captured");
        int pipe[2];
        if (::pipe2(pipe, O_CLOEXEC) != 0) return ErrnoError("pipe2");
        record.captures[i - 1].fd.reset(pipe[0]);
        ::fcntl(pipe[0], F_SETFL, O_NONBLOCK);
        placed.closing.emplace_back(pipe[1]);
        plan.stdio[i] = static_cast<std::uint32_t>(StdioKind::kPassed);
        placed.fds.push_back(pipe[1]);
        break;
      }
    }
  }
  return Ok();
}

}  // namespace

Result<ExecId> Session::Impl::StartExec(ExecRequest request) {
  if (state == State::kSuspended)
    return MakeError(ErrorCode::kInvalid, "the session is suspended", "resume it first");
  if (state != State::kWarm && state != State::kActive)
    return MakeError(ErrorCode::kInvalid, std::string("no exec in state ") + StateName(state));
  if (request.argv.empty() || request.argv[0].empty())
    return MakeError(ErrorCode::kInvalid, "no command to run");
  for (const auto& word : request.argv)
    if (word.find('\0') != std::string::npos)
      return MakeError(ErrorCode::kInvalid, "a NUL byte in an argument");

  ExecRecord record;
  record.id = next_exec;
  record.program = request.argv[0];
  record.workdir = request.cwd.value_or(prepared.workdir);
  record.capture_limit = request.capture_limit;
  record.grace = request.grace;
  jail::ExecPlan plan;
  plan.argv = std::move(request.argv);
  plan.workdir = record.workdir;
  std::map<std::string, std::string> environment = prepared.environment;
  for (auto& [name, value] : request.environment) environment[name] = std::move(value);
  environment["PWD"] = record.workdir;
  for (const auto& [name, value] : environment) plan.environment.push_back(name + "=" + value);
  plan.search_path =
      environment.count("PATH") != 0 ? environment["PATH"] : "/usr/local/bin:/usr/bin:/bin";
  plan.new_terminal = request.new_terminal;
  plan.rows = request.window.rows;
  plan.columns = request.window.columns;
  if (request.terminal_modes)
    plan.terminal_modes.assign(reinterpret_cast<const char*>(&*request.terminal_modes),
                               sizeof(termios));
  plan.umask = CallerUmask();
  plan.limits = prepared.limits;
  plan.fence = jail::WritablePlaces(prepared.plan);
  plan.isolated = !options.single_policy;
  plan.filter = prepared.filter;
  plan.supervised = prepared.supervised;
  violations.Began(record.id, plan.argv);

  PlacedStdio placed;
  CORDON_CHECK(PlaceStdio(request, plan, record, placed));
  CORDON_CHECK(channel.Send(jail::wire::Type::kExec, static_cast<std::uint32_t>(record.id),
                            Encode(plan), placed.fds));
  placed.closing.clear();
  ExecId exec = next_exec++;
  if (request.timeout) record.deadline = Clock::now() + *request.timeout;
  for (int i = 0; i < 2; ++i)
    if (record.captures[i].fd.valid())
      CORDON_CHECK(Watch(record.captures[i].fd.get(), exec * 2 + static_cast<std::uint64_t>(i)));
  execs.emplace(exec, std::move(record));
  ArmTimer();
  SetState(State::kActive);
  // A caller that asked for a terminal needs its descriptor now.
  while (request.new_terminal) {
    auto it = execs.find(exec);
    if (it->second.started || it->second.exited || gone) break;
    CORDON_CHECK(DispatchOnce(std::chrono::milliseconds(-1)));
  }
  return exec;
}

Status Session::Impl::SendSignal(const ExecRecord& exec, int signal, Scope scope) {
  if (exec.exited) return Ok();
  jail::wire::SignalRequest request;
  request.signal = signal;
  request.scope = scope == Scope::kTree    ? jail::wire::SignalScope::kTree
                  : scope == Scope::kGroup ? jail::wire::SignalScope::kGroup
                                           : jail::wire::SignalScope::kLeader;
  return channel.Send(jail::wire::Type::kSignal, static_cast<std::uint32_t>(exec.id),
                      {reinterpret_cast<const char*>(&request), sizeof request});
}

}  // namespace cordon::session
