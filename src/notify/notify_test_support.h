// What the tests of the broker's parts share: a directory, processes to look at, and notifications
// written by hand.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "notify/caller.h"
#include "notify/link.h"

namespace cordon::notify {

struct SocketPair {
  SocketPair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    near.reset(ends[0]);
    far.reset(ends[1]);
  }
  UniqueFd near, far;
};

// A process that does one step at a time. Its body calls the function that it is given where a
// step is done, which waits until the next may begin.
class Child {
 public:
  using Step = std::function<void()>;
  explicit Child(const std::function<void(const Step&)>& body) {
    pid_ = ::fork();
    if (pid_ == 0) {
      control_.near.reset();
      body([this] {
        char byte = 0;
        if (::write(control_.far.get(), "d", 1) != 1 || ::read(control_.far.get(), &byte, 1) != 1)
          ::_exit(1);
      });
      ::_exit(0);
    }
    control_.far.reset();
    AwaitStep();
  }
  ~Child() { End(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Returns when the next step is done.
  void Next() {
    EXPECT_EQ(::write(control_.near.get(), "n", 1), 1);
    AwaitStep();
  }
  // Afterwards its id is free.
  void End() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
    pid_ = -1;
  }

 private:
  void AwaitStep() {
    char byte = 0;
    EXPECT_EQ(::read(control_.near.get(), &byte, 1), 1) << "the child has ended";
  }
  SocketPair control_;
  pid_t pid_ = -1;
};

// A caller without a listener: what Valid() would say is not known.
struct MadeCaller {
  explicit MadeCaller(pid_t thread) {
    notification.pid = static_cast<std::uint32_t>(thread);
    caller.emplace(-1, notification);
  }
  const Caller& operator*() const { return *caller; }
  const Caller* operator->() const { return &*caller; }
  seccomp_notif notification{};
  std::optional<Caller> caller;
};

// A scratch directory, and /proc as the working directory, where the broker stands.
class NotifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/cordon-notify-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = std::filesystem::canonical(pattern);
    before_.reset(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(before_.valid());
    ASSERT_EQ(::chdir("/proc"), 0);
  }
  void TearDown() override {
    if (before_.valid()) {
      EXPECT_EQ(::fchdir(before_.get()), 0);
    }
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  void Write(const std::string& name, const std::string& text = "text") const {
    std::ofstream(Path(name)) << text;
  }
  void MakeDirectory(const std::string& name) const {
    std::filesystem::create_directories(Path(name));
  }
  void Link(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, Path(name));
  }

  std::string directory_;
  UniqueFd before_;
};

inline std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

}  // namespace cordon::notify
