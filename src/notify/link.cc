#include "notify/link.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace cordon::notify {
namespace {

using jail::wire::kInlineBytes;
using jail::wire::kMaxDescriptors;
using jail::wire::MessageHeader;

bool ReadFile(LinkMessage& message) {
  if (message.fds.empty()) return false;
  UniqueFd fd = std::move(message.fds.back());
  message.fds.pop_back();
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < message.header.size)
    return false;
  message.payload.resize(message.header.size);
  std::size_t done = 0;
  while (done < message.payload.size()) {
    ssize_t n = ::pread(fd.get(), message.payload.data() + done, message.payload.size() - done,
                        static_cast<off_t>(done));
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

LinkResult ReceiveLink(int socket, LinkMessage& message, bool wait) {
  alignas(16) static char buffer[sizeof(MessageHeader) + kInlineBytes];
  iovec iov{buffer, sizeof buffer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
  msghdr msg{};
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = ::recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno == EAGAIN ? LinkResult::kNothing : LinkResult::kEndOfFile;
  message = LinkMessage{};
  for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      message.fds.emplace_back(fd);
    }
  }
  if (n == 0) return LinkResult::kEndOfFile;
  if (n < static_cast<ssize_t>(sizeof(MessageHeader)) || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
    return LinkResult::kBroken;
  std::memcpy(&message.header, buffer, sizeof(MessageHeader));
  if (message.header.in_file != 0)
    return ReadFile(message) ? LinkResult::kMessage : LinkResult::kBroken;
  message.payload.assign(buffer + sizeof(MessageHeader),
                         static_cast<std::size_t>(n) - sizeof(MessageHeader));
  return message.payload.size() == message.header.size ? LinkResult::kMessage : LinkResult::kBroken;
}

bool SendLink(int socket, jail::wire::Type type, std::uint32_t number, std::string_view payload,
              const std::vector<int>& fds) {
  MessageHeader header{type, number, static_cast<std::uint32_t>(payload.size()), 0};
  iovec iov[2] = {{&header, sizeof header}, {const_cast<char*>(payload.data()), payload.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr msg{};
  msg.msg_iov = iov;
  msg.msg_iovlen = payload.empty() ? 1 : 2;
  if (!fds.empty()) {
    msg.msg_control = control;
    msg.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t n;
  do {
    n = ::sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return n >= 0;
}

}  // namespace cordon::notify
