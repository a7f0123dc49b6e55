// Who asked for something that is denied: process, exec and program, from a thread id of a request.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/unique_fd.h"

namespace cordon::maskfs {

struct Asker {
  std::uint32_t exec = 0;      // 0: it belongs to no exec that is known
  std::uint32_t pid = 0;       // process id inside
  std::uint32_t host_pid = 0;  // 0 where the kernel does not tell
  std::string program;         // path in the session's view, or its name in brackets
};

// The thread waits for its answer, so its id is its own as long as it is not answered.
class Askers {
 public:
  // Descriptors of the session's own /proc and of its pid namespace.
  void SetSession(UniqueFd proc, UniqueFd pid_namespace);
  // Kernels before 5.x translate the id into the reader's namespace; then the host's /proc is
  // asked.
  void UseHostIds();
  // The process that an exec starts with; its terminal session marks all that belong to it.
  void AddLeader(std::uint32_t pid, std::uint32_t exec);
  Asker Find(std::uint32_t thread) const;
  // Process 1 of the session ends or has ended, and with it every other one.
  bool SessionEnds() const;

 private:
  struct Facts {
    std::uint32_t pid = 0, inner_pid = 0, parent = 0, session = 0;
    std::string name;
  };
  Facts Read(std::uint32_t thread) const;
  std::uint32_t ExecOf(Facts facts) const;

  int Asked() const { return host_ids_ ? host_proc_.get() : proc_.get(); }

  UniqueFd proc_;
  UniqueFd host_proc_;
  UniqueFd pid_namespace_;
  bool host_ids_ = false;
  std::unordered_map<std::uint32_t, std::uint32_t> execs_;  // by the leader's process id inside
};

// One value of the text of /proc/PID/status; `index` counts the columns of a line. 0: not there.
std::uint32_t StatusNumber(std::string_view status, std::string_view key, unsigned index = 0);

}  // namespace cordon::maskfs
