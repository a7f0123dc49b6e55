// Messages of jail/wire.h on a SOCK_SEQPACKET socket, as the broker sends and receives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "jail/wire.h"

namespace cordon::notify {

struct LinkMessage {
  jail::wire::MessageHeader header;
  std::string payload;
  std::vector<UniqueFd> fds;
};

enum class LinkResult { kMessage, kNothing, kEndOfFile, kBroken };
// Never blocks when `wait` is false.
LinkResult ReceiveLink(int socket, LinkMessage& message, bool wait);
// Never blocks. False with errno EAGAIN: the socket is full; any other: nobody listens any more.
bool SendLink(int socket, jail::wire::Type type, std::uint32_t number, std::string_view payload,
              const std::vector<int>& fds = {});

}  // namespace cordon::notify
