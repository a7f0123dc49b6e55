// Calls that block are made by a child of the broker, which answers and ends.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "notify/handler.h"

namespace cordon::notify {

template <typename Work>
Answer Handler::InHelper(Work work) {
  constexpr std::size_t kMostHelpers = 256;
  if (session_.helpers.size() >= kMostHelpers) return Answer::Error(EAGAIN);
  const pid_t broker = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return Answer::Error(errno);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != broker) ::_exit(1);
    Answer answer = work();
    SendAnswer(caller_, answer);
    ::_exit(0);
  }
  session_.helpers.push_back({child, caller_.listener(), caller_.id(), caller_.thread()});
  return Answer::Deferred();
}

}  // namespace cordon::notify
