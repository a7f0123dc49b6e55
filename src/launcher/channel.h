// The launcher's end of the control socket (jail/wire.h).
#pragma once

#include <string_view>

#include "jail/wire.h"

namespace cordon::launcher {

// One received message. Owns its descriptors and its payload; Release() frees both.
struct Message {
  jail::wire::MessageHeader header;
  std::string_view payload;
  int fds[jail::wire::kMaxDescriptors];
  int fd_count = 0;
  void* mapping = nullptr;  // payload in a memory file
  std::size_t mapping_size = 0;

  int TakeFd(int index);
  void Release();
};

enum class ReceiveResult { kMessage, kEndOfFile, kNothing, kBroken };

// Non-blocking when `wait` is false. The payload lives in a static buffer until the next call.
ReceiveResult Receive(Message& message, bool wait);

// Sends one message with at most one descriptor. Errors are ignored: a gone host is noticed by the
// end of file.
void Send(jail::wire::Type type, std::uint32_t exec, const void* payload, std::uint32_t size,
          int fd = -1);
// On any socket, with up to kMaxDescriptors. False with errno when it could not be sent.
bool SendTo(int socket, jail::wire::Type type, std::uint32_t exec, const void* payload,
            std::uint32_t size, const int* fds, int fd_count);
void SendFailure(jail::wire::Type type, std::uint32_t exec, const jail::wire::Failure& failure);

}  // namespace cordon::launcher
