// connect(2) and bind(2) on behalf of a command (12.17).
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "notify/handler.h"
#include "notify/helper.h"
#include "notify/parse.h"

namespace cordon::notify {

using jail::wire::Action;
using policy::FileKind;
using policy::NameVerdict;

namespace {

constexpr unsigned kPathOffset = offsetof(sockaddr_un, sun_path);

bool IsUnix(int socket) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

}  // namespace

Answer Handler::Connect() {
  char address[sizeof(sockaddr_storage)] = {};
  const auto length = static_cast<unsigned>(caller_.integer(2));
  if (length > sizeof address) return Answer::Error(EINVAL);
  UniqueFd socket = caller_.CopyDescriptor(caller_.integer(0));
  int error = socket.valid() ? 0 : errno;
  if (error == 0) error = caller_.ReadBytes(caller_.argument(1), address, length);
  if (!caller_.Valid()) return Answer::Gone();
  if (error != 0) return Answer::Error(error);
  const bool names_path = IsUnix(socket.get()) && length >= kPathOffset &&
                          reinterpret_cast<sockaddr*>(address)->sa_family == AF_UNIX &&
                          !UnixPath({address, length}).empty() && length <= sizeof(sockaddr_un);
  if (!names_path) return ConnectCopy(std::move(socket), address, length);
  std::string path(UnixPath({address, length}));
  return ConnectUnix(std::move(socket), path, path);
}

// The kernel gets our copy of the address, and the socket that was looked at, whatever the number
// means in the caller by now.
Answer Handler::ConnectCopy(UniqueFd socket, const char* address, unsigned length) {
  int type = 0;
  socklen_t size = sizeof type;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size);
  const bool blocks = type != SOCK_DGRAM && (::fcntl(socket.get(), F_GETFL) & O_NONBLOCK) == 0;
  char copy[sizeof(sockaddr_storage)];
  std::memcpy(copy, address, length);
  const int fd = socket.get();
  const auto connect = [this, fd, copy, length]() {
    Answer answer = Answer::Of(::connect(fd, reinterpret_cast<const sockaddr*>(copy), length));
    if (answer.error == ENETUNREACH) {
      raw_ = InternetAddress({copy, length});
      NameVerdict verdict{false, nullptr, "the session has no network", false, false};
      Report(verdict, Action::kNetworkOutbound, raw_, answer.error);
    }
    return answer;
  };
  if (blocks) return InHelper(connect);
  // Another thread of the caller's may make the socket a blocking one before the call is made: the
  // timer ends the waiting (SIGALRM has a handler that does nothing).
  constexpr suseconds_t kPatience = 10'000;
  const itimerval watch{{0, kPatience}, {0, kPatience}}, none{};
  ::setitimer(ITIMER_REAL, &watch, nullptr);
  Answer answer = connect();
  ::setitimer(ITIMER_REAL, &none, nullptr);
  return answer.error == EINTR ? InHelper(connect) : std::move(answer);
}

bool Handler::MayConnect(const Target& target, NameVerdict& verdict) const {
  FileIdentity identity;
  if (IdentityOf(target.object.get(), identity) && session_.own_sockets.Has(identity)) return true;
  const std::string host = session_.policy.HostPath(target.path);
  const policy::PathState state = session_.policy.Look(host);
  // In a directory of the session's own there are none but its own.
  if (state.session_own && !session_.policy.files_disabled) return true;
  const bool allowed = std::any_of(
      session_.policy.rules.begin(), session_.policy.rules.end(), [&](const policy::Rule& rule) {
        return rule.kind == policy::RuleKind::kAllowSocket &&
               std::find(rule.paths.begin(), rule.paths.end(), host) != rule.paths.end();
      });
  if (allowed && (state.readable || session_.policy.files_disabled)) return true;
  verdict = {false, nullptr, "no command of this session made this socket", false, false};
  return false;
}

Answer Handler::ConnectUnix(UniqueFd socket, std::string_view path, std::string raw) {
  raw_ = std::move(raw);
  Place place = session_.walker->Resolve(caller_, AT_FDCWD, path);
  if (!caller_.Valid()) return Answer::Gone();
  if (place.error != 0) return Answer::Error(place.error);
  Target target = session_.walker->Open(caller_, std::move(place));
  if (target.error != 0) return Answer::Error(target.error);
  // A mask stands on each socket of the host: a file without any permission.
  const bool masked = S_ISREG(target.st.st_mode) && (target.st.st_mode & 07777) == 0;
  NameVerdict verdict = session_.judge->Read(target.path);
  if (!verdict.allowed && verdict.rule != nullptr) {
    Report(verdict, Action::kUnixSocket, target.path, EACCES);
    return Answer::Error(EACCES);
  }
  // What is no socket the kernel refuses by itself.
  if ((S_ISSOCK(target.st.st_mode) || masked) && !MayConnect(target, verdict)) {
    Report(verdict, Action::kUnixSocket, target.path, EACCES);
    return Answer::Error(EACCES);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int n =
      std::snprintf(address.sun_path, sizeof address.sun_path, "self/fd/%d", target.object.get());
  const auto length = static_cast<unsigned>(kPathOffset + static_cast<unsigned>(n) + 1);
  return ConnectCopy(std::move(socket), reinterpret_cast<const char*>(&address), length);
}

Answer Handler::Bind() {
  char address[sizeof(sockaddr_storage) + 1] = {};
  const auto length = static_cast<unsigned>(caller_.integer(2));
  if (length > sizeof(sockaddr_storage)) return Answer::Error(EINVAL);
  UniqueFd socket = caller_.CopyDescriptor(caller_.integer(0));
  int error = socket.valid() ? 0 : errno;
  if (error == 0) error = caller_.ReadBytes(caller_.argument(1), address, length);
  if (!caller_.Valid()) return Answer::Gone();
  if (error != 0) return Answer::Error(error);
  const bool names_path = IsUnix(socket.get()) && length >= kPathOffset &&
                          reinterpret_cast<sockaddr*>(address)->sa_family == AF_UNIX &&
                          !UnixPath({address, length}).empty() && length <= sizeof(sockaddr_un);
  if (!names_path)
    return Answer::Of(::bind(socket.get(), reinterpret_cast<const sockaddr*>(address), length));
  return BindUnix(std::move(socket), {address, length}, UnixPath({address, length}));
}

namespace {

// True when the kernel, given the caller's words once more, comes to the same directory without a
// link of /proc on the way: those lead where a process is at that moment, and chdir(2) and dup2(2)
// do not ask. Everything else on the way changes only by calls that this thread makes.
bool SameWithoutMagic(const UniqueFd& cwd, std::string_view path, const UniqueFd& directory) {
  const std::size_t at = path.find_last_of('/');
  std::string parent(at == std::string_view::npos ? std::string_view(".") : path.substr(0, at + 1));
  UniqueFd again = OpenAt2(cwd.get(), parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                           RESOLVE_NO_MAGICLINKS);
  struct stat a{}, b{};
  return again.valid() && ::fstat(again.get(), &a) == 0 && ::fstat(directory.get(), &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

// With the words of the caller, from its own working directory, so that getsockname(2) tells the
// name that was given; else by the last component alone, in the directory that was judged.
Answer Handler::BindUnix(UniqueFd socket, std::string_view address, std::string_view path) {
  raw_ = std::string(path);
  Place place = session_.walker->Resolve(caller_, AT_FDCWD, path);
  UniqueFd cwd(::open(caller_.Proc("cwd").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!caller_.Valid()) return Answer::Gone();
  if (place.error != 0) return Answer::Error(place.error);
  if (!cwd.valid()) return Answer::Error(errno);
  if (!place.Special()) {
    const bool there = KindAt(place) != FileKind::kMissing;
    if (place.slash) return Answer::Error(there ? EADDRINUSE : ENOENT);
    NameVerdict verdict = session_.judge->Create(place.path, FileKind::kOther);
    if (!verdict.allowed) {
      return Refuse(verdict, Action::kFileCreate, place.path, there ? EADDRINUSE : 0);
    }
  }
  SetUmask();
  UniqueFd proc(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const bool as_given = SameWithoutMagic(cwd, path, place.directory);
  sockaddr_un bare{};
  bare.sun_family = AF_UNIX;
  place.name.copy(bare.sun_path, sizeof bare.sun_path - 1);
  const auto* words = as_given ? reinterpret_cast<const sockaddr*>(address.data())
                               : reinterpret_cast<const sockaddr*>(&bare);
  const std::size_t length = as_given ? address.size() : kPathOffset + place.name.size() + 1;
  if (!as_given && place.name.size() >= sizeof bare.sun_path) return Answer::Error(ENAMETOOLONG);
  if (!proc.valid() || ::fchdir(as_given ? cwd.get() : place.directory.get()) != 0)
    return Answer::Error(errno);
  Answer answer = Answer::Of(::bind(socket.get(), words, static_cast<socklen_t>(length)));
  // Without its working directory the broker can do nothing right any more.
  if (::fchdir(proc.get()) != 0) ::_exit(1);
  if (answer.error != 0) return answer;
  struct stat st{};
  UniqueFd made(
      ::openat(place.directory.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  FileIdentity identity;
  if (!made.valid() || ::fstat(made.get(), &st) != 0 || !S_ISSOCK(st.st_mode) ||
      !IdentityOf(made.get(), identity)) {
    ::shutdown(socket.get(), SHUT_RDWR);
    return Answer::Error(EACCES);
  }
  session_.own_sockets.Add(identity);
  session_.judge->Made(place.path, FileKind::kOther);
  return answer;
}

}  // namespace cordon::notify
