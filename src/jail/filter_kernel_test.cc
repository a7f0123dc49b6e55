// The real program in the real kernel, in a forked child, as whichever user runs the test.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "base/unique_fd.h"
#include "jail/filter.h"
#include "jail/filter_cases.h"
#include "jail/filter_supervised_cases.h"

namespace cordon::jail {
namespace {

bool Load(std::vector<sock_filter> program) {
  sock_fprog form{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &form) ==
             0;
}

// Runs `body` in a child under `program`; its value is the exit status. The result is that of
// waitpid(2); exit status 99 means that the kernel did not take the program.
template <typename Body>
int StatusUnder(const std::vector<sock_filter>& program, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!program.empty() && !Load(program)) ::_exit(99);
    ::_exit(body());
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// 0, or the errno of the call.
int Try(int nr, const CallArgs& a) {
  errno = 0;
  const long value = ::syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (nr == SYS_clone && value == 0) ::_exit(0);
  return value == -1 ? errno : 0;
}

struct Outcome {
  int refused = -1;    // errno of the refused call
  int neighbour = -1;  // errno of its neighbour
};

std::vector<Outcome> TryAll(const std::vector<sock_filter>& program,
                            const std::vector<RefusedCall>& calls) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  const int status = StatusUnder(program, [&] {
    ::signal(SIGCHLD, SIG_IGN);
    for (const RefusedCall& c : calls) {
      const Outcome outcome{Try(c.nr, c.args), Try(c.neighbour_nr, c.neighbour_args)};
      if (::write(writer.get(), &outcome, sizeof outcome) != sizeof outcome) return 1;
    }
    return 0;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  writer.reset();
  std::vector<Outcome> outcomes(calls.size());
  for (Outcome& outcome : outcomes) {
    EXPECT_EQ(::read(reader.get(), &outcome, sizeof outcome), ssize_t{sizeof outcome});
  }
  return outcomes;
}

bool EmulatorRefusesAll(const FilterSpec& spec, const std::vector<RefusedCall>& calls) {
  const std::vector<sock_filter> program = Compile(spec);
  for (const RefusedCall& c : calls) {
    seccomp_data call{};
    call.nr = c.nr;
    call.arch = spec.arch;
    for (std::size_t i = 0; i < c.args.size(); ++i) call.args[i] = c.args[i];
    if (Emulate(program, call) == SECCOMP_RET_ALLOW) return false;
  }
  return true;
}

TEST(FilterKernelTest, RefusedCallsFailWithTheirErrno) {
  const FilterSpec spec = BaselineSpec({});
  const std::vector<RefusedCall> calls = RefusedCalls();
  ASSERT_TRUE(EmulatorRefusesAll(spec, calls));
  const std::vector<Outcome> outcomes = TryAll(Compile(spec), calls);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(outcomes[i].refused, calls[i].error) << calls[i].name;
  }
}

// An ordinary user gets EPERM for many of these calls anyway. With numbers that no call returns
// of itself, it is certain that the filter spoke, and that it did not speak to the neighbours.
TEST(FilterKernelTest, TheFilterRefusesAndNotTheKernel) {
  constexpr std::uint32_t kMark = 2000;
  FilterSpec marked = BaselineSpec({});
  for (std::size_t row = 0; row < marked.rules.size(); ++row) {
    if (marked.rules[row].action == SECCOMP_RET_ALLOW) continue;
    marked.rules[row].action = SECCOMP_RET_ERRNO | (kMark + static_cast<std::uint32_t>(row));
  }
  marked.unknown_action = SECCOMP_RET_ERRNO | (kMark + 1000);
  const std::vector<RefusedCall> calls = RefusedCalls();
  ASSERT_TRUE(EmulatorRefusesAll(marked, calls));
  const std::vector<Outcome> outcomes = TryAll(Compile(marked), calls);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_GE(outcomes[i].refused, int{kMark}) << calls[i].name;
    EXPECT_LT(outcomes[i].neighbour, int{kMark}) << "neighbour of " << calls[i].name;
  }
}

// The listener of `program`, or -1.
int LoadWithListener(std::vector<sock_filter> program) {
  sock_fprog form{static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &form));
}

// No call returns it of itself.
constexpr int kAnswer = 3000;

// Answers every notification with `kAnswer` until no process has the filter any more.
void AnswerAll(int listener) {
  pollfd wait{listener, POLLIN, 0};
  while (::poll(&wait, 1, -1) == 1 && (wait.revents & POLLIN) != 0) {
    seccomp_notif asked{};
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) continue;
    seccomp_notif_resp answer{};
    answer.id = asked.id;
    answer.error = -kAnswer;
    ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

// Runs `body` in a child under `program`, with this process as its supervisor. Exit status 98: the
// kernel gives no listener (this test itself runs under one, or its filter is refused).
template <typename Body>
int StatusSupervised(const std::vector<sock_filter>& program, Body body) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  // The descriptors are shared, so that the child's listener is this process's too.
  const auto child =
      static_cast<pid_t>(::syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, nullptr, nullptr, 0));
  if (child == 0) {
    const int listener = LoadWithListener(program);
    if (::write(writer.get(), &listener, sizeof listener) != sizeof listener || listener < 0) {
      ::_exit(98);
    }
    ::_exit(body());
  }
  int listener = -1;
  EXPECT_EQ(::read(reader.get(), &listener, sizeof listener), ssize_t{sizeof listener});
  if (UniqueFd held(listener); held.valid()) AnswerAll(held.get());
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

bool NoListener(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 98; }

TEST(FilterKernelTest, TheSupervisorIsAskedAboutEachCallAndNotAboutItsNeighbour) {
  const std::vector<AskedCall> calls = AskedCalls();
  const std::vector<sock_filter> program = BaselineFilter(SupervisedOptions());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  const int status = StatusSupervised(program, [&] {
    for (const AskedCall& c : calls) {
      const Outcome outcome{Try(c.nr, c.args), Try(c.neighbour_nr, c.neighbour_args)};
      if (::write(writer.get(), &outcome, sizeof outcome) != sizeof outcome) return 1;
    }
    return 0;
  });
  if (NoListener(status)) GTEST_SKIP() << "no listener for user notifications";
  ASSERT_EQ(status, 0);
  for (const AskedCall& c : calls) {
    Outcome outcome;
    ASSERT_EQ(::read(reader.get(), &outcome, sizeof outcome), ssize_t{sizeof outcome});
    EXPECT_EQ(outcome.refused, kAnswer) << c.name;
    EXPECT_NE(outcome.neighbour, kAnswer) << "neighbour of " << c.name;
  }
}

TEST(FilterKernelTest, SupervisedRefusalsAreMadeByTheFilter) {
  const std::vector<RefusedCall> calls = SupervisedRefusals();
  const std::vector<Outcome> outcomes = TryAll(BaselineFilter(SupervisedOptions()), calls);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(outcomes[i].refused, calls[i].error) << calls[i].name;
    EXPECT_NE(outcomes[i].neighbour, calls[i].error) << "neighbour of " << calls[i].name;
  }
}

// Chromium, man and Node's addons put filters of their own on top.
TEST(FilterKernelTest, SupervisedProgramsMayStillConfineThemselves) {
  const int status = StatusSupervised(BaselineFilter(SupervisedOptions()), [] {
    FilterSpec own;
    own.arch = AuditArch(kNativeArch);
    own.foreign_action = SECCOMP_RET_KILL_PROCESS;
    own.unknown_action = SECCOMP_RET_ALLOW;
    own.default_action = SECCOMP_RET_ALLOW;
    own.reviewed = {{0, 511}};
    auto add = [&](int nr, std::uint32_t action) { own.rules.push_back({nr, {}, action, ""}); };
    add(SYS_getppid, SECCOMP_RET_ERRNO | EDOM);
    add(SYS_mkdirat, SECCOMP_RET_ERRNO | EDOM);
    add(SYS_linkat, SECCOMP_RET_TRACE);
    add(SYS_umask, SECCOMP_RET_USER_NOTIF);
    if (!Load(Compile(own))) return 1;
    if (Try(SYS_getppid, {}) != EDOM) return 2;
    // The stricter answer stands, and nothing that the program says opens what asks.
    if (Try(SYS_mkdirat, {asked::kBad}) != EDOM) return 3;
    if (Try(SYS_openat, {asked::kBad, 0, O_CREAT}) != kAnswer) return 4;
    if (Try(SYS_linkat, {asked::kBad}) != kAnswer) return 5;
    // A question without a listener, asked by the newer filter.
    if (Try(SYS_umask, {022}) != ENOSYS) return 6;
    const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    char byte = 0;
    return fd >= 0 && ::read(fd, &byte, 1) == 1 ? 0 : 7;
  });
  if (NoListener(status)) GTEST_SKIP() << "no listener for user notifications";
  EXPECT_EQ(status, 0) << (WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

TEST(FilterKernelTest, SecondListenerIsRefusedWithTheWordOfTheKernel) {
  FilterSpec without = BaselineSpec(SupervisedOptions());
  std::erase_if(without.rules, [](const SyscallRule& rule) { return rule.nr == SYS_seccomp; });
  auto again = [] { return LoadWithListener(BaselineFilter({})) < 0 ? errno : 0; };
  const int kernel = StatusSupervised(Compile(without), again);
  if (NoListener(kernel)) GTEST_SKIP() << "no listener for user notifications";
  const int filter = StatusSupervised(BaselineFilter(SupervisedOptions()), again);
  EXPECT_EQ(WEXITSTATUS(kernel), EBUSY);
  EXPECT_EQ(filter, kernel);
}

TEST(FilterKernelTest, ThreadsChildrenAndPlainWorkGoOn) {
  const int status = StatusUnder(BaselineFilter({}), [] {
    int value = 0;
    std::thread([&] { value = 1; }).join();
    if (value != 1) return 1;
    char name[] = "true";
    char* argv[] = {name, nullptr};
    pid_t child = -1;
    int ended = -1;
    if (::posix_spawnp(&child, name, nullptr, nullptr, argv, nullptr) != 0) return 2;
    if (::waitpid(child, &ended, 0) != child || ended != 0) return 3;
    const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    char byte = 0;
    if (fd < 0 || ::read(fd, &byte, 1) != 1) return 4;
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return 5;
    if (::socket(AF_INET, SOCK_DGRAM, 0) < 0) return 6;
    return 0;
  });
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(FilterKernelTest, ProgramsMayStillConfineThemselves) {
  const int status = StatusUnder(BaselineFilter({}), [] {
    FilterSpec own = BaselineSpec({});
    own.rules.push_back({SYS_getppid, {}, SECCOMP_RET_ERRNO | EDOM, "", "", ""});
    if (!Load(Compile(own))) return 1;
    return Try(SYS_getppid, {}) == EDOM ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
}

#if defined(__x86_64__)
int PidThroughInterrupt() {
  long value = 20;  // getpid of i386
  asm volatile("int $0x80" : "+a"(value) : : "memory", "r8", "r9", "r10", "r11");
  return value == ::getpid() ? 0 : 1;
}

TEST(FilterKernelTest, Interrupt0x80EndsTheProcess) {
  if (StatusUnder({}, PidThroughInterrupt) != 0) {
    GTEST_SKIP() << "this kernel has no 32-bit entry point";
  }
  const int status = StatusUnder(BaselineFilter({}), PidThroughInterrupt);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}
#endif

}  // namespace
}  // namespace cordon::jail
