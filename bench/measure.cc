#include "bench/measure.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

namespace cordon::bench {
namespace {

// Where children write what they complain about: emptied before each one, outside the timed part.
int ErrorFile() {
  static const int fd = ::memfd_create("stderr", MFD_CLOEXEC);
  return fd;
}

std::string Complaint() {
  char text[2000];
  const ssize_t n = ::pread(ErrorFile(), text, sizeof text, 0);
  return n > 0 ? ":\n" + std::string(text, static_cast<std::size_t>(n)) : std::string();
}

std::string Shown(const Command& command) {
  std::string out;
  for (const std::string& word : command.argv) {
    if (out.size() > 200) return out + " ...";
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

std::int64_t Nanoseconds(const timeval& t) {
  return t.tv_sec * std::int64_t{1000000000} + t.tv_usec * std::int64_t{1000};
}

}  // namespace

std::int64_t Now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1000000000} + t.tv_nsec;
}

std::int64_t ProcessorTime() {
  std::int64_t sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    sum += Nanoseconds(usage.ru_utime) + Nanoseconds(usage.ru_stime);
  }
  return sum;
}

void Die(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "bench: %s\n", message.c_str());
  std::exit(1);
}

std::int64_t TimeOnce(const Command& command) {
  if (::ftruncate(ErrorFile(), 0) != 0) Die("memory file for standard error");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ErrorFile(), 2);
  if (!command.directory.empty())
    posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  std::vector<char*> argv;
  for (const std::string& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  pid_t pid = -1;
  int status = 0;
  const std::int64_t start = Now();
  const int failed = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  if (failed == 0) {
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  const std::int64_t taken = Now() - start;
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) Die(Shown(command) + ": " + std::strerror(failed));
  if (status != 0) Die(Shown(command) + ": wait status " + std::to_string(status) + Complaint());
  return taken;
}

std::vector<std::size_t> NextOrder(std::size_t n) {
  static std::minstd_rand random(20);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

void PrintSamples(const std::string& name, const std::vector<std::int64_t>& samples) {
  std::printf("%s", name.c_str());
  for (const std::int64_t sample : samples) std::printf(" %lld", static_cast<long long>(sample));
  std::printf("\n");
}

}  // namespace cordon::bench
