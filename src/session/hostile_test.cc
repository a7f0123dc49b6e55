// Commands and hosts that work against their session.
#include <signal.h>
#include <sys/syscall.h>

#include "session/session.h"
#include "session/session_test_support.h"

namespace cordon::session {
namespace {

using std::chrono::milliseconds;

class HostileTest : public SessionTest {};

// A command owns the private /tmp, in which an update makes mount points. The update runs with the
// host's tree still writable, so a link there must lead nowhere.
TEST_F(HostileTest, AnUpdateFollowsNoLinkPlantedInThePrivateTmp) {
  auto session = Launch();
  ASSERT_EQ(Run(*session, Shell("ln -s " + directory_ + " /tmp/place")).exit_code, 0);
  policy::SandboxSpec next = Spec();
  next.bind_mounts.push_back({directory_ + "/a", "/tmp/place/planted", true, {"test"}});
  next.bind_mounts.push_back({directory_ + "/secret", "/tmp/place/deep/file", true, {"test"}});
  EXPECT_FALSE(session->Update(next).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/planted"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/deep"));
  // Nothing has changed, and without the link the same update succeeds.
  ASSERT_EQ(Run(*session, Shell("rm /tmp/place")).exit_code, 0);
  ASSERT_TRUE(session->Update(next).ok());
  EXPECT_EQ(Run(*session, Shell("cat /tmp/place/deep/file")).stdout_data, "s3cr3t\n");
}

// A command that runs on keeps the old view; a new one must not look through it.
TEST_F(HostileTest, ANarrowerPolicyHoldsBesideAnOldCommand) {
  auto session = Launch();
  ExecId old = Start(*session, Shell("exec sleep 1000"));
  std::string find = "for p in /proc/[0-9]*; do grep -q sleep $p/comm 2>/dev/null && cat $p/root" +
                     directory_ + "/secret; done 2>&1";
  policy::SandboxSpec next = Spec();
  next.filesystem.deny_read.push_back({directory_ + "/secret", true, {"test"}});
  ASSERT_TRUE(session->Update(next).ok());
  std::string seen = Run(*session, Shell(find)).stdout_data;
  EXPECT_EQ(seen.find("s3cr3t"), std::string::npos) << seen;
  EXPECT_NE(seen.find("Permission denied"), std::string::npos) << seen;
  EXPECT_TRUE(session->Signal(old, SIGKILL).ok());
}

// A fork of the host that never calls execve keeps copies of all its descriptors.
TEST_F(HostileTest, EndsWithTheHostAlthoughAForkOfItLives) {
  Pipe monitor, gate;
  pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    auto session = Launch();
    Start(*session, Shell("sleep 1000"));
    if (::fork() == 0) {
      gate.write.reset();
      Readable(gate.read.get(), -1);  // until the test lets go
      ::_exit(0);
    }
    int pid = session->monitor_pid();
    ::_exit(::write(monitor.write.get(), &pid, sizeof pid) == sizeof pid ? 0 : 1);
  }
  monitor.write.reset();
  int pid = -1;
  ASSERT_EQ(::read(monitor.read.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  UniqueFd watched(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ASSERT_EQ(::waitpid(host, nullptr, 0), host);
  EXPECT_TRUE(!watched.valid() || Readable(watched.get(), kPatienceMs)) << "the session lives on";
  gate.write.reset();
}

// The other half: the host lives, its fork has a copy, and the session is destroyed.
TEST_F(HostileTest, IsDestroyedAlthoughAForkHoldsTheSocket) {
  Pipe gate;
  auto session = Launch();
  pid_t fork = ::fork();
  ASSERT_GE(fork, 0);
  if (fork == 0) {
    gate.write.reset();
    Readable(gate.read.get(), -1);
    ::_exit(0);
  }
  // Stopped from outside, init does not read that it is to stop: only the hang-up is left.
  std::string children = "/proc/" + std::to_string(session->monitor_pid()) + "/task/" +
                         std::to_string(session->monitor_pid()) + "/children";
  pid_t init = 0;
  std::ifstream(children) >> init;
  ASSERT_GT(init, 0);
  ASSERT_EQ(::kill(init, SIGSTOP), 0);
  EXPECT_TRUE(session->Destroy().ok());
  gate.write.reset();
  EXPECT_EQ(::waitpid(fork, nullptr, 0), fork);
}

// init is a process of the same user, and what it lacks then lacks the time limit.
TEST_F(HostileTest, ACommandCannotStarveInit) {
  if (::access("/usr/bin/prlimit", X_OK) != 0) GTEST_SKIP() << "prlimit is not installed";
  auto session = Launch();
  ExecRequest request = Shell("prlimit --pid 1 --nofile=0:0; echo $?; trap '' TERM; sleep 1000");
  request.timeout = milliseconds(300);
  request.grace = milliseconds(100);
  ExecResult result = Run(*session, std::move(request));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_NE(result.stdout_data, "0\n");
  // Its own limits and niceness are its own affair.
  EXPECT_EQ(Run(*session, Shell("prlimit --pid $$ --nofile=20:20 && renice 5 $$")).exit_code, 0);
}

}  // namespace
}  // namespace cordon::session
