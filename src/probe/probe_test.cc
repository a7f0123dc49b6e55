// The trials on this very host; what cannot be had here is only checked for its reason.
#include "probe/probe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "probe/doctor.h"
#include "probe/host_facts.h"

namespace cordon::probe {
namespace {

std::multiset<std::string> Entries(const std::string& directory) {
  std::multiset<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    names.insert(entry.path().filename());
  }
  return names;
}

std::string Read(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ProbeTest, EveryRowSaysWhatWasFoundAndWhatWouldHelp) {
  const ProbeReport report = Probe();
  EXPECT_FALSE(report.capabilities.empty());
  EXPECT_EQ(report.available, report.hint.empty());
  for (const Capability& row : report.capabilities) {
    EXPECT_FALSE(row.detail.empty()) << row.name;
    if (row.support == Support::kYes && !row.fact) {
      EXPECT_EQ(row.remedy, "") << row.name;
    }
    if (row.support == Support::kNo && row.required) {
      EXPECT_TRUE(!row.remedy.empty() || row.detail.rfind("needs ", 0) == 0)
          << row.name << ": " << row.detail;
    }
  }
  EXPECT_EQ(report.Find("no_such_row"), nullptr);
}

TEST(ProbeTest, LeavesNothingBehind) {
  const CgroupPlace place = ReadHostFacts(HostFiles("/"), "6.1").cgroup;
  const std::string mounts = Read("/proc/self/mountinfo");
  const auto descriptors = Entries("/proc/self/fd");
  const auto cgroups = Entries(place.directory);
  Probe();
  EXPECT_EQ(Read("/proc/self/mountinfo"), mounts);
  EXPECT_EQ(Entries("/proc/self/fd"), descriptors);
  for (const std::string& name : Entries(place.directory)) {
    // Other sessions may come and go meanwhile; the probe's own must not be there.
    EXPECT_TRUE(cgroups.count(name) == 1 || name != "cordon-probe-" + std::to_string(getpid()))
        << name;
  }
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ProbeTest, IsQuick) {
  auto best = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Probe();
    best = std::min(best, std::chrono::steady_clock::now() - start);
  }
  EXPECT_LT(std::chrono::duration_cast<std::chrono::milliseconds>(best).count(), 500);
}

TEST(ProbeTest, WorksBesideThreadsThatAllocate) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) std::string(1000, 'x').append(std::to_string(rand()));
    });
  }
  const ProbeReport report = Probe();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const Capability& row : report.capabilities) {
    EXPECT_NE(row.support, Support::kUnknown) << row.name << ": " << row.detail;
  }
}

// In a user namespace that allows no further ones, as under user.max_user_namespaces = 0.
TEST(ProbeTest, RefusedUserNamespacesAreFoundByTrying) {
  const ProbeReport here = Probe();
  if (here.Find("id_maps")->support != Support::kYes) {
    GTEST_SKIP() << "no user namespace to try it in: " << here.Find("id_maps")->detail;
  }
  std::fflush(nullptr);
  const uid_t uid = geteuid();
  const pid_t child = fork();
  if (child == 0) {
    const auto put = [](const char* path, const std::string& text) {
      const int fd = open(path, O_WRONLY | O_CLOEXEC);
      return fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    };
    if (unshare(CLONE_NEWUSER) != 0) _exit(10);
    if (!put("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1")) _exit(11);
    if (!put("/proc/sys/user/max_user_namespaces", "0")) _exit(12);
    const ProbeReport report = Probe();
    if (report.available || report.backend != "none") _exit(13);
    if (report.Find("user_namespace")->detail != "ENOSPC from clone(CLONE_NEWUSER)") _exit(14);
    if (report.hint.find("user.max_user_namespaces=15000") == std::string::npos) _exit(15);
    const std::string remedy = UserNamespaceRemedy(ENOSPC);
    if (remedy.find("user.max_user_namespaces") == std::string::npos) _exit(16);
    if (remedy.find('\n') != std::string::npos) _exit(17);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(DoctorTest, ExitCodeSaysWhetherTheSandboxIsAvailable) {
  std::ostringstream json, text;
  const int expected = Probe().available ? 0 : 1;
  EXPECT_EQ(DoctorMain(true, false, json), expected);
  EXPECT_EQ(DoctorMain(false, false, text), expected);
  EXPECT_EQ(json.str().front(), '{');
  EXPECT_NE(text.str().find("The native sandbox is "), std::string::npos);
}

}  // namespace
}  // namespace cordon::probe
