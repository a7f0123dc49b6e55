// Sessions started through bubblewrap, as on hosts where only it may create user namespaces.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "jail/bwrap_arguments.h"
#include "session/session.h"

namespace cordon::session {
namespace {

class BubblewrapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access(jail::kBwrapPath, X_OK) != 0)
      GTEST_SKIP() << "missing capability: bubblewrap is not installed";
    char name[] = "/tmp/cordon-bwrap-XXXXXX";
    dir_ = ::mkdtemp(name);
    ::mkdir((dir_ + "/hidden").c_str(), 0755);
    std::ofstream(dir_ + "/hidden/secret") << "secret";
    std::ofstream(dir_ + "/fixed") << "fixed";
    spec_.session_id = "bwrap-test";
    spec_.view = policy::View::kHost;
    spec_.guest_workdir = dir_;
    spec_.filesystem.deny_read.push_back({dir_ + "/hidden", false, {"test", 0, 0}});
    spec_.filesystem.deny_write.push_back({dir_ + "/fixed", false, {"test", 0, 0}});
    options_.workdir_writable = true;
    options_.launcher = LaunchOptions::Launcher::kBubblewrap;
  }
  void TearDown() override {
    std::error_code ignored;
    if (!dir_.empty()) std::filesystem::remove_all(dir_, ignored);
  }
  ExecResult Shell(Session& session, const std::string& line) {
    ExecRequest request;
    request.argv = {"/bin/sh", "-c", line};
    request.output.kind = request.error.kind = Stdio::Kind::kCapture;
    auto id = session.Exec(std::move(request));
    EXPECT_TRUE(id.ok()) << id.error().ToString();
    auto result = session.Wait(*id);
    EXPECT_TRUE(result.ok());
    return *result;
  }

  std::string dir_;
  policy::SandboxSpec spec_;
  LaunchOptions options_;
};

TEST_F(BubblewrapTest, HoldsTheSameRules) {
  auto session = Session::Launch(spec_, options_);
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  EXPECT_EQ(Shell(**session, "echo hi").stdout_data, "hi\n");
  EXPECT_EQ(Shell(**session, "echo new > made && cat made").stdout_data, "new\n");
  EXPECT_NE(Shell(**session, "cat hidden/secret").exit_code, 0);
  EXPECT_NE(Shell(**session, "echo x > fixed").exit_code, 0);
  EXPECT_NE(Shell(**session, "echo x > /etc/cordon-test").exit_code, 0);
  EXPECT_EQ(Shell(**session, "ls /tmp").stdout_data, dir_.substr(5) + "\n");
  EXPECT_EQ(Shell(**session, "cat /proc/net/dev | grep -c :").stdout_data, "1\n");
  EXPECT_EQ(
      Shell(**session, "grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status").stdout_data,
      "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
  EXPECT_EQ(Shell(**session, "kill -KILL $$").signal, 9);
  ASSERT_TRUE((*session)->Destroy().ok());
  std::ifstream made(dir_ + "/made");
  std::string text;
  made >> text;
  EXPECT_EQ(text, "new");
}

// What bwrap itself covers of /proc is not enough: as root, core_pattern starts programs outside.
TEST_F(BubblewrapTest, HoldsTheRulesForProc) {
  spec_.filesystem.deny_read.push_back({"/proc/cpuinfo", false, {"test", 0, 0}});
  auto session = Session::Launch(spec_, options_);
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  EXPECT_NE(Shell(**session, "cat /proc/cpuinfo").exit_code, 0);
  EXPECT_NE(Shell(**session, "cat /proc/keys").exit_code, 0);
  // The same value again: where it could be written, nothing changes.
  EXPECT_NE(Shell(**session, "f=/proc/sys/kernel/core_pattern; v=$(cat $f) && echo \"$v\" > $f")
                .exit_code,
            0);
  EXPECT_EQ(Shell(**session, "cat /proc/self/comm").stdout_data, "cat\n");
}

TEST_F(BubblewrapTest, SaysWhatIsWeaker) {
  auto session = Session::Launch(spec_, options_);
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  const std::vector<std::string>& details = (*session)->details();
  const auto says = [&](const std::string& begin, const std::string& part) {
    return std::any_of(details.begin(), details.end(), [&](const std::string& line) {
      return line.starts_with(begin) && line.find(part) != std::string::npos;
    });
  };
  EXPECT_TRUE(says("launcher: ", "bwrap"));
  EXPECT_TRUE(says("weaker: no rules for names that do not exist yet", "supervisor"));
  auto updated = (*session)->Update(spec_);
  ASSERT_FALSE(updated.ok());
  EXPECT_EQ(updated.error().code, ErrorCode::kUnsupported);
}

TEST_F(BubblewrapTest, RefusesWhatItCannotHold) {
  spec_.exec.block_writable_dirs = true;
  auto session = Session::Launch(spec_, options_);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(session.error().message.find("exec.blockWritableDirs"), std::string::npos);
}

}  // namespace
}  // namespace cordon::session
