#include "launcher/channel.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace cordon::launcher {

using jail::wire::kControlFd;
using jail::wire::kInlineBytes;
using jail::wire::kMaxDescriptors;
using jail::wire::MessageHeader;

namespace {

alignas(16) char buffer[sizeof(MessageHeader) + kInlineBytes];

bool MapPayload(Message& message) {
  if (message.fd_count == 0) return false;
  int fd = message.fds[--message.fd_count];
  struct stat st{};
  // The file must be at least as long as announced, or reading the mapping would be SIGBUS.
  bool ok = ::fstat(fd, &st) == 0 && st.st_size >= static_cast<off_t>(message.header.size) &&
            message.header.size > 0;
  if (ok) {
    message.mapping_size = message.header.size;
    message.mapping = ::mmap(nullptr, message.mapping_size, PROT_READ, MAP_PRIVATE, fd, 0);
    ok = message.mapping != MAP_FAILED;
    if (!ok) message.mapping = nullptr;
  }
  ::close(fd);
  if (ok) message.payload = {static_cast<const char*>(message.mapping), message.mapping_size};
  return ok;
}

}  // namespace

int Message::TakeFd(int index) {
  if (index >= fd_count) return -1;
  int fd = fds[index];
  fds[index] = -1;
  return fd;
}

void Message::Release() {
  for (int i = 0; i < fd_count; ++i)
    if (fds[i] >= 0) ::close(fds[i]);
  fd_count = 0;
  if (mapping != nullptr) ::munmap(mapping, mapping_size);
  mapping = nullptr;
  payload = {};
}

ReceiveResult Receive(Message& message, bool wait) {
  iovec iov{buffer, sizeof buffer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
  msghdr msg{};
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = ::recvmsg(kControlFd, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  } while (n < 0 && errno == EINTR);
  if (n == 0) return ReceiveResult::kEndOfFile;
  if (n < 0) return errno == EAGAIN ? ReceiveResult::kNothing : ReceiveResult::kEndOfFile;

  message = Message{};
  for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    int count = static_cast<int>((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int i = 0; i < count && message.fd_count < kMaxDescriptors; ++i)
      std::memcpy(&message.fds[message.fd_count++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
  }
  if (n < static_cast<ssize_t>(sizeof(MessageHeader)) || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
    return ReceiveResult::kBroken;
  std::memcpy(&message.header, buffer, sizeof(MessageHeader));
  message.payload = {buffer + sizeof(MessageHeader),
                     static_cast<std::size_t>(n) - sizeof(MessageHeader)};
  if (message.header.in_file != 0)
    return MapPayload(message) ? ReceiveResult::kMessage : ReceiveResult::kBroken;
  return message.payload.size() == message.header.size ? ReceiveResult::kMessage
                                                       : ReceiveResult::kBroken;
}

bool SendTo(int socket, jail::wire::Type type, std::uint32_t exec, const void* payload,
            std::uint32_t size, const int* fds, int fd_count) {
  MessageHeader header{type, exec, size, 0};
  iovec iov[2] = {{&header, sizeof header}, {const_cast<void*>(payload), size}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr msg{};
  msg.msg_iov = iov;
  msg.msg_iovlen = size != 0 ? 2 : 1;
  if (fd_count > 0) {
    const std::size_t bytes = sizeof(int) * static_cast<std::size_t>(fd_count);
    msg.msg_control = control;
    msg.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(c), fds, bytes);
  }
  ssize_t n;
  do {
    n = ::sendmsg(socket, &msg, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n >= 0;
}

void Send(jail::wire::Type type, std::uint32_t exec, const void* payload, std::uint32_t size,
          int fd) {
  SendTo(kControlFd, type, exec, payload, size, &fd, fd >= 0 ? 1 : 0);
}

void SendFailure(jail::wire::Type type, std::uint32_t exec, const jail::wire::Failure& failure) {
  Send(type, exec, &failure, sizeof failure);
}

}  // namespace cordon::launcher
