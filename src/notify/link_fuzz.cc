// Any bytes as a message on the broker's sockets, with and without the file of a large payload:
// what is taken is whole, and no descriptor is lost.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "notify/link.h"

namespace {

using namespace cordon::notify;

int Lowest() {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(fd);
  return fd;
}

// The first byte says how many descriptors travel along, of a file with the rest as its content.
void Send(int socket, std::string bytes) {
  const std::size_t count = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]) % 12;
  if (!bytes.empty()) bytes.erase(0, 1);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 12)] = {};
  iovec iov{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * count);
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(CMSG_DATA(c) + i * sizeof(int), &file, sizeof file);
  }
  [[maybe_unused]] ssize_t sent = ::sendmsg(socket, &message, MSG_DONTWAIT);
  ::close(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static int pair[2] = {-1, -1};
  if (pair[0] < 0 && ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    std::abort();
  const int before = Lowest();
  Send(pair[1], {reinterpret_cast<const char*>(data), size});
  {
    LinkMessage message;
    if (ReceiveLink(pair[0], message, false) == LinkResult::kMessage &&
        message.payload.size() != message.header.size)
      std::abort();
  }
  if (Lowest() != before) std::abort();
  return 0;
}
