// The host's end of the control socket (jail/wire.h): messages with descriptors, large payloads in
// sealed memory files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "jail/wire.h"

namespace cordon::session {

struct IncomingMessage {
  jail::wire::MessageHeader header;
  std::string payload;
  std::vector<UniqueFd> fds;
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }
  bool open() const { return fd_.valid(); }
  // For the other end it is over at once, even when a fork of this process still holds a copy.
  void Close();

  // Waits while the socket's buffer is full, some seconds at most (kTimeout). Error kNotFound
  // (EPIPE): the other end is gone.
  Status Send(jail::wire::Type type, std::uint32_t exec, std::string_view payload,
              const std::vector<int>& fds = {});

  enum class Outcome { kMessage, kNothing, kEndOfFile };
  // Never blocks.
  Outcome Receive(IncomingMessage& message);

 private:
  UniqueFd fd_;
};

}  // namespace cordon::session
