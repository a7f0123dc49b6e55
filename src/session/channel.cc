#include "session/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cordon::session {

using jail::wire::kInlineBytes;
using jail::wire::kMaxDescriptors;
using jail::wire::MessageHeader;

namespace {

// init takes its messages within microseconds; one that is full this long hears nothing any more.
constexpr int kSendLimitMs = 5000;

Result<UniqueFd> MemoryFile(std::string_view data) {
  UniqueFd fd(::memfd_create("cordon", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoError("memfd_create");
  std::string_view rest = data;
  while (!rest.empty()) {
    ssize_t n = ::write(fd.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError("write to a memory file");
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  // Sealed, so that the receiver's mapping cannot shrink under it.
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  return fd;
}

}  // namespace

void Channel::Close() {
  if (fd_.valid()) ::shutdown(fd_.get(), SHUT_RDWR);
  fd_.reset();
}

Status Channel::Send(jail::wire::Type type, std::uint32_t exec, std::string_view payload,
                     const std::vector<int>& fds) {
  MessageHeader header{type, exec, static_cast<std::uint32_t>(payload.size()), 0};
  std::vector<int> passed = fds;
  UniqueFd file;
  if (payload.size() > kInlineBytes) {
    CORDON_TRY(file, MemoryFile(payload));
    header.in_file = 1;
    passed.push_back(file.get());
    payload = {};
  }
  if (passed.size() > kMaxDescriptors)
    return MakeError(ErrorCode::kInternal, "too many descriptors in one message");
  iovec iov[2] = {{&header, sizeof header}, {const_cast<char*>(payload.data()), payload.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr msg{};
  msg.msg_iov = iov;
  msg.msg_iovlen = payload.empty() ? 1 : 2;
  if (!passed.empty()) {
    msg.msg_control = control;
    msg.msg_controllen = CMSG_SPACE(sizeof(int) * passed.size());
    cmsghdr* c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * passed.size());
    std::memcpy(CMSG_DATA(c), passed.data(), sizeof(int) * passed.size());
  }
  for (;;) {
    if (::sendmsg(fd_.get(), &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return Ok();
    // The other end closed with messages unread; it is reported once, then as EPIPE.
    if (errno == EINTR || errno == ECONNRESET) continue;
    if (errno == EAGAIN) {
      pollfd p{fd_.get(), POLLOUT, 0};
      int ready = ::poll(&p, 1, kSendLimitMs);
      if (ready == 0)
        return MakeError(ErrorCode::kTimeout, "the session does not take what it is told");
      continue;
    }
    return ErrnoError("send to the session");
  }
}

Channel::Outcome Channel::Receive(IncomingMessage& message) {
  alignas(16) char buffer[4096];
  iovec iov{buffer, sizeof buffer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
  msghdr msg{};
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = ::recvmsg(fd_.get(), &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    // ECONNRESET stands, once, before what the other end wrote and then left without reading its
    // own.
  } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
  if (n < 0) return errno == EAGAIN ? Outcome::kNothing : Outcome::kEndOfFile;
  if (n == 0) return Outcome::kEndOfFile;
  message.fds.clear();
  for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      message.fds.emplace_back(fd);
    }
  }
  if (n < static_cast<ssize_t>(sizeof(MessageHeader))) return Outcome::kEndOfFile;
  std::memcpy(&message.header, buffer, sizeof(MessageHeader));
  message.payload.assign(buffer + sizeof(MessageHeader),
                         static_cast<std::size_t>(n) - sizeof(MessageHeader));
  return Outcome::kMessage;
}

}  // namespace cordon::session
