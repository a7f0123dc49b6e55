// Runs trials: each in a child of its own, all side by side, with one time limit for all.
//
// A child shares nothing with the caller but a copy of its memory: it may only make system calls
// (no allocation, no locks, no stdio), for the caller may have threads. It is made without an exit
// signal, so neither SIGCHLD nor waitpid(-1) of the caller notices it, and it is gone when
// RunTrials returns, whatever it did.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cordon::probe {

// What a child sends back, in one write.
struct TrialAnswer {
  bool ok = false;
  int err = 0;             // errno of the call that failed
  std::int64_t value = 0;  // what the trial measured, for instance a version
  char call[64] = {};      // the call that failed, or the last one made
  char text[160] = {};     // free words: a list of controllers, a message of bubblewrap
};

// Called in the child only. Fail() records errno; the trial then returns.
void Fail(TrialAnswer& answer, const char* call);
void Fail(TrialAnswer& answer, const char* call, int err);
// Appends to answer.text as far as there is room.
void AppendText(TrialAnswer& answer, const char* text, std::size_t size);

struct TrialContext {
  std::uint32_t uid = 0, gid = 0;
  const char* cgroup = "";  // directory that the cgroup trial makes and removes
  const char* bwrap = "";
};

struct Trial {
  const char* name;          // of the capability
  unsigned long namespaces;  // CLONE_NEW* flags of the child
  const char* clone_text;    // how these flags are written in a message
  bool map_ids;              // write setgroups, uid_map and gid_map before `run`
  void (*run)(const TrialContext& context, TrialAnswer& answer);
};

struct TrialResult {
  const Trial* trial = nullptr;
  enum class End { kAnswered, kTimedOut, kDied } end = End::kDied;
  int signal = 0;  // kDied: the signal that ended it, or 0
  TrialAnswer answer;
};

std::vector<TrialResult> RunTrials(std::span<const Trial> trials, const TrialContext& context,
                                   std::chrono::milliseconds limit);

// "EPERM from clone(CLONE_NEWUSER)", "no answer within the time limit", "killed by SIGSYS".
std::string DescribeFailure(const TrialResult& result);
// "EPERM"; the number for an errno without a name.
std::string ErrnoName(int err);

// Forks inside a trial; the child dies with its parent. As fork(2), but for the exit signal.
int ForkInTrial();
// Waits for a child of ForkInTrial(); true when it ended with status 0.
bool ChildSucceeded(int pid);

}  // namespace cordon::probe
