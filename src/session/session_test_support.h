// Fixture of the tests that drive real sessions: a working directory, and afterwards the check that
// no descriptor and no child process is left.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "session/session.h"

namespace cordon::session {

using Argv = std::vector<std::string>;

inline constexpr int kPatienceMs = 20000;  // only ends a test that hangs

inline std::size_t OpenDescriptors() {
  std::size_t count = 0;
  DIR* dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) ++count;
  ::closedir(dir);
  return count;
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  UniqueFd read, write;
};

inline bool Readable(int fd, int ms) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, ms) > 0;
}

// "" at the end of file, or when nothing comes.
inline std::string ReadLine(int fd) {
  std::string line;
  char c = 0;
  while (Readable(fd, kPatienceMs) && ::read(fd, &c, 1) == 1) {
    if (c == '\n') return line;
    line += c;
  }
  return "";
}

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Not below /tmp, which every session has for itself.
    const char* home = std::getenv("HOME");
    std::string parent =
        home != nullptr && home[0] == '/' && ::access(home, W_OK | X_OK) == 0 ? home : "/var/tmp";
    std::string pattern = parent + "/cordon-session-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = std::filesystem::canonical(pattern);
    for (const char* name : {"a", "b"})
      ASSERT_EQ(::mkdir((directory_ + "/" + name).c_str(), 0755), 0);
    std::ofstream(directory_ + "/secret") << "s3cr3t\n";
    auto probe = Session::Launch(Spec(), {});
    if (!probe.ok() && probe.error().code == ErrorCode::kUnsupported)
      GTEST_SKIP() << probe.error().ToString();
    descriptors_ = OpenDescriptors();
    if (probe.ok()) probe->reset();
    descriptors_ = OpenDescriptors();
  }

  void TearDown() override {
    if (directory_.empty()) return;
    std::filesystem::remove_all(directory_);
    if (IsSkipped()) return;
    EXPECT_EQ(OpenDescriptors(), descriptors_);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
  }

  policy::SandboxSpec Spec(const std::vector<std::string>& writable = {"a", "b"}) {
    static std::atomic<int> number{0};
    policy::SandboxSpec spec;
    spec.session_id = "test-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    spec.workspace_id = "local";
    spec.view = policy::View::kHost;
    spec.guest_workdir = directory_;
    for (const auto& name : writable)
      spec.filesystem.allow_write.push_back({directory_ + "/" + name, true, {"test"}});
    return spec;
  }

  std::unique_ptr<Session> Launch(LaunchOptions options = {}) {
    return Launch(Spec(), std::move(options));
  }
  std::unique_ptr<Session> Launch(const policy::SandboxSpec& spec, LaunchOptions options = {}) {
    auto session = Session::Launch(spec, std::move(options));
    if (!session.ok()) {
      ADD_FAILURE() << session.error().ToString();
      std::abort();
    }
    return *std::move(session);
  }

  static ExecRequest Capture(Argv argv) {
    ExecRequest request;
    request.argv = std::move(argv);
    request.output.kind = request.error.kind = Stdio::Kind::kCapture;
    return request;
  }
  static ExecRequest Shell(const std::string& line) { return Capture({"/bin/sh", "-c", line}); }

  static ExecId Start(Session& session, ExecRequest request) {
    auto id = session.Exec(std::move(request));
    EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().ToString());
    return id.ok() ? *id : 0;
  }
  static ExecResult Run(Session& session, ExecRequest request) {
    auto result = session.Wait(Start(session, std::move(request)));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
    return result.ok() ? *std::move(result) : ExecResult{};
  }

  std::string directory_;
  std::size_t descriptors_ = 0;
};

}  // namespace cordon::session
