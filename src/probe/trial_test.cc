#include "probe/trial.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace cordon::probe {
namespace {

using std::chrono::milliseconds;

void Succeed(const TrialContext&, TrialAnswer& answer) {
  answer.ok = true;
  answer.value = syscall(SYS_getpid);
}
void FailWithEperm(const TrialContext&, TrialAnswer& answer) { Fail(answer, "mount of x", EPERM); }
void Hang(const TrialContext&, TrialAnswer&) {
  for (;;) pause();
}
// A grandchild that outlives the trial unless the kernel ends it.
void HangWithGrandchild(const TrialContext&, TrialAnswer&) {
  if (ForkInTrial() >= 0) {
    for (;;) pause();
  }
}
void Die(const TrialContext&, TrialAnswer&) {
  signal(SIGSYS, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  kill(static_cast<int>(syscall(SYS_getpid)), SIGSYS);
}
void Leave(const TrialContext&, TrialAnswer&) { _exit(0); }
void FillText(const TrialContext&, TrialAnswer& answer) {
  for (int i = 0; i < 100; ++i) AppendText(answer, "0123456789", 10);
  answer.ok = true;
}

Trial Plain(void (*run)(const TrialContext&, TrialAnswer&)) {
  return {"x", 0, "clone", false, run};
}

TEST(TrialTest, AnswersComeBackFromChildrenOfTheirOwn) {
  const Trial trials[] = {Plain(Succeed), Plain(FailWithEperm), Plain(Succeed)};
  const auto results = RunTrials(trials, {}, milliseconds(5000));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].answer.ok);
  EXPECT_NE(results[0].answer.value, getpid());
  EXPECT_NE(results[0].answer.value, results[2].answer.value);
  EXPECT_FALSE(results[1].answer.ok);
  EXPECT_EQ(DescribeFailure(results[1]), "EPERM from mount of x");
}

TEST(TrialTest, TimeLimitEndsWhatHangsAndKeepsTheRest) {
  const Trial trials[] = {Plain(Hang), Plain(Succeed), Plain(HangWithGrandchild)};
  const auto start = std::chrono::steady_clock::now();
  const auto results = RunTrials(trials, {}, milliseconds(400));
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000));
  EXPECT_EQ(results[0].end, TrialResult::End::kTimedOut);
  EXPECT_EQ(DescribeFailure(results[0]), "no answer within the time limit");
  EXPECT_TRUE(results[1].answer.ok);
  EXPECT_EQ(results[2].end, TrialResult::End::kTimedOut);
}

TEST(TrialTest, DeathIsReportedWithItsSignal) {
  const Trial trials[] = {Plain(Die), Plain(Leave)};
  const auto results = RunTrials(trials, {}, milliseconds(5000));
  EXPECT_EQ(DescribeFailure(results[0]), "killed by SIGSYS");
  EXPECT_EQ(DescribeFailure(results[1]), "the trial ended without an answer");
}

TEST(TrialTest, RefusedCloneNamesTheCall) {
  // CLONE_THREAD without CLONE_SIGHAND is EINVAL for everybody.
  const Trial trials[] = {{"x", CLONE_THREAD, "clone(CLONE_THREAD)", false, Succeed}};
  const auto results = RunTrials(trials, {}, milliseconds(5000));
  EXPECT_EQ(DescribeFailure(results[0]), "EINVAL from clone(CLONE_THREAD)");
}

TEST(TrialTest, TextIsCutAtItsRoom) {
  const Trial trials[] = {Plain(FillText)};
  const auto results = RunTrials(trials, {}, milliseconds(5000));
  EXPECT_EQ(strlen(results[0].answer.text), sizeof(TrialAnswer::text) - 1);
}

TEST(TrialTest, CallerSeesNeitherSignalsNorChildren) {
  static volatile sig_atomic_t signals = 0;
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) { signals = signals + 1; };
  sigaction(SIGCHLD, &action, &before);
  const Trial trials[] = {Plain(Succeed), Plain(Hang)};
  RunTrials(trials, {}, milliseconds(20));
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(signals, 0);
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_FALSE(sigismember(&blocked, SIGTERM));
}

TEST(TrialTest, ErrnoNames) {
  EXPECT_EQ(ErrnoName(ENOSPC), "ENOSPC");
  EXPECT_EQ(ErrnoName(100000), "errno 100000");
}

}  // namespace
}  // namespace cordon::probe
