#include "probe/trial.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/unique_fd.h"

namespace cordon::probe {
namespace {

using Clock = std::chrono::steady_clock;

void CopyText(char* to, std::size_t size, const char* from) {
  const std::size_t length = std::min(strlen(from), size - 1);
  memcpy(to, from, length);
  to[length] = '\0';
}

bool WriteFile(const char* path, const char* text, std::size_t size) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = write(fd, text, size) == static_cast<ssize_t>(size);
  const int err = errno;
  close(fd);
  errno = err;
  return ok;
}

// "ID ID 1" without snprintf, which may lock or allocate.
std::size_t FormatMap(char* out, std::uint32_t id) {
  char digits[12];
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + id % 10);
    id /= 10;
  } while (id != 0);
  std::size_t at = 0;
  for (int copy = 0; copy < 2; ++copy) {
    for (std::size_t i = count; i > 0; --i) out[at++] = digits[i - 1];
    out[at++] = ' ';
  }
  out[at++] = '1';
  return at;
}

bool MapIds(const TrialContext& context, TrialAnswer& answer) {
  char map[32];
  if (!WriteFile("/proc/self/setgroups", "deny", 4) && errno != ENOENT) {
    Fail(answer, "write /proc/self/setgroups");
    return false;
  }
  if (!WriteFile("/proc/self/uid_map", map, FormatMap(map, context.uid))) {
    Fail(answer, "write /proc/self/uid_map");
    return false;
  }
  if (!WriteFile("/proc/self/gid_map", map, FormatMap(map, context.gid))) {
    Fail(answer, "write /proc/self/gid_map");
    return false;
  }
  return true;
}

int RawClone(unsigned long flags) {
  return static_cast<int>(syscall(SYS_clone, flags, 0, 0, 0, 0));
}

[[noreturn]] void RunInChild(const Trial& trial, const TrialContext& context, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  TrialAnswer answer;
  if (!trial.map_ids || MapIds(context, answer)) trial.run(context, answer);
  (void)!write(out, &answer, sizeof answer);
  _exit(0);
}

struct Running {
  int pid = -1;
  UniqueFd answer;
};

Running Start(const Trial& trial, const TrialContext& context, TrialResult& result) {
  Running running;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    Fail(result.answer, "pipe2");
    result.end = TrialResult::End::kAnswered;
    return running;
  }
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  // A handler of the caller must not run in the child: all signals stay blocked there.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  running.pid = RawClone(trial.namespaces);
  if (running.pid == 0) RunInChild(trial, context, write_end.get());
  const int err = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (running.pid < 0) {
    Fail(result.answer, trial.clone_text, err);
    result.end = TrialResult::End::kAnswered;
    return running;
  }
  running.answer = std::move(read_end);
  return running;
}

int WaitFor(int pid, int options) {
  int status = 0;
  while (waitpid(pid, &status, __WALL | options) < 0) {
    if (errno != EINTR) return 0;
  }
  return status;
}

void Collect(Running& running, TrialResult& result) {
  TrialAnswer answer;
  const ssize_t got = read(running.answer.get(), &answer, sizeof answer);
  running.answer.reset();
  const bool answered = got == static_cast<ssize_t>(sizeof answer);
  // What has not answered is either dead already or must not be waited for.
  if (!answered) kill(running.pid, SIGKILL);
  const int status = WaitFor(running.pid, 0);
  running.pid = -1;
  if (answered) {
    result.answer = answer;
    result.end = TrialResult::End::kAnswered;
  } else {
    result.end = TrialResult::End::kDied;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
}

}  // namespace

void Fail(TrialAnswer& answer, const char* call, int err) {
  answer.ok = false;
  answer.err = err;
  CopyText(answer.call, sizeof answer.call, call);
}

void Fail(TrialAnswer& answer, const char* call) { Fail(answer, call, errno); }

void AppendText(TrialAnswer& answer, const char* text, std::size_t size) {
  const std::size_t used = strlen(answer.text);
  const std::size_t room = sizeof answer.text - 1 - used;
  const std::size_t length = std::min(size, room);
  memcpy(answer.text + used, text, length);
  answer.text[used + length] = '\0';
}

int ForkInTrial() {
  const int pid = RawClone(0);
  if (pid == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return pid;
}

bool ChildSucceeded(int pid) {
  int status = 0;
  int ended;
  do {
    ended = waitpid(pid, &status, __WALL);
  } while (ended < 0 && errno == EINTR);
  if (ended != pid) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::vector<TrialResult> RunTrials(std::span<const Trial> trials, const TrialContext& context,
                                   std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  std::vector<TrialResult> results(trials.size());
  std::vector<Running> running(trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    results[i].trial = &trials[i];
    running[i] = Start(trials[i], context, results[i]);
  }
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < running.size(); ++i) {
      if (running[i].pid < 0) continue;
      waiting.push_back({running[i].answer.get(), POLLIN, 0});
      index.push_back(i);
    }
    if (waiting.empty()) return results;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready = left > 0 ? poll(waiting.data(), waiting.size(), static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    for (std::size_t k = 0; k < waiting.size(); ++k) {
      const std::size_t i = index[k];
      if (ready > 0 && waiting[k].revents == 0) continue;
      if (ready <= 0) {
        kill(running[i].pid, SIGKILL);
        WaitFor(running[i].pid, 0);
        running[i].pid = -1;
        results[i].end = TrialResult::End::kTimedOut;
        continue;
      }
      Collect(running[i], results[i]);
    }
  }
}

std::string ErrnoName(int err) {
  const char* name = strerrorname_np(err);
  return name != nullptr ? name : "errno " + std::to_string(err);
}

std::string DescribeFailure(const TrialResult& result) {
  switch (result.end) {
    case TrialResult::End::kTimedOut: return "no answer within the time limit";
    case TrialResult::End::kDied:
      if (result.signal == 0) return "the trial ended without an answer";
      return std::string("killed by SIG") + sigabbrev_np(result.signal);
    case TrialResult::End::kAnswered: break;
  }
  if (result.answer.err == 0) return result.answer.call;
  return ErrnoName(result.answer.err) + " from " + result.answer.call;
}

}  // namespace cordon::probe
