// Reports to the host library (jail/wire_report.h): folded, bounded, never blocking.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "jail/wire_report.h"

namespace cordon::notify {

// What is known of a refusal before the caller is looked at.
struct Denial {
  jail::wire::Action action = jail::wire::Action::kFileWrite;
  std::uint32_t exec = 0;
  std::uint32_t rule = jail::wire::kNoRule;
  int error = 0;
  std::string call;
  std::string target;
  std::string raw;
  std::string program;
  std::string reason;
  std::uint32_t host_pid = 0;
  std::uint32_t pid = 0;
};

class Reporter {
 public:
  static constexpr std::size_t kMostKept = 4096;

  explicit Reporter(int socket) : socket_(socket) {}
  // True when this one would be sent now, so that finding out pid and reason is worth it; the call
  // counts it either way.
  bool Count(const Denial& denial);
  void Send(const Denial& denial);
  // Sends what has been counted and not been said.
  void Flush();
  // Something waits for room in the socket.
  bool waiting() const { return waiting_ || lost_ != 0; }

 private:
  struct Entry {
    Denial denial;
    std::uint64_t total = 0;
    std::uint64_t said = 0;
  };
  static std::string KeyOf(const Denial& denial);
  bool Say(Entry& entry);

  int socket_;
  bool waiting_ = false;
  std::uint64_t lost_ = 0;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace cordon::notify
