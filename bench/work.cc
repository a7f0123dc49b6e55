#include "bench/work.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <new>
#include <sstream>

#include "bench/measure.h"

namespace cordon::bench {
namespace {

using Words = std::vector<std::string>;

[[noreturn]] void DieOf(const std::string& what) { Die(what + ": " + std::strerror(errno)); }

void MakeFile(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
  if (fd < 0) DieOf("open " + path);
  ::close(fd);
}

// `storm`: processes that create files at once, each in a directory of its own.
class Storm {
 public:
  Storm(std::string directory, int processes, int files, std::size_t bytes)
      : directory_(std::move(directory)),
        processes_(processes),
        files_(files),
        content_(bytes, 'x') {
    const std::size_t size = sizeof(Shared) + sizeof(std::int64_t) * Count();
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) DieOf("mmap");
    shared_ = new (memory) Shared;
    waits_ = reinterpret_cast<std::int64_t*>(static_cast<char*>(memory) + sizeof(Shared));
    size_ = size;
  }
  ~Storm() { ::munmap(shared_, size_); }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;

  // Nanoseconds from the moment when all are let go until the last one has ended.
  std::int64_t Run() {
    int gate[2];
    if (::pipe2(gate, O_CLOEXEC) != 0) DieOf("pipe2");
    for (int i = 0; i < processes_; ++i) {
      if (::mkdir(Folder(i).c_str(), 0755) != 0) DieOf("mkdir " + Folder(i));
      const pid_t pid = ::fork();
      if (pid < 0) DieOf("fork");
      if (pid == 0) {
        ::close(gate[1]);
        char nothing;
        ++shared_->waiting;
        (void)!::read(gate[0], &nothing, 1);
        Create(i);
      }
    }
    // They are in read(2) or one instruction before it.
    while (shared_->waiting < processes_) ::sched_yield();
    ::close(gate[0]);
    const std::int64_t start = Now();
    ::close(gate[1]);
    for (int i = 0; i < processes_; ++i) {
      int status = 0;
      while (::waitpid(-1, &status, 0) < 0 && errno == EINTR) {
      }
      if (status != 0) Die("a process of the storm failed");
    }
    return Now() - start;
  }

  // Nanoseconds of a call: median, 99th and 99.9th percentile, the longest.
  std::vector<std::int64_t> Waits() {
    std::sort(waits_, waits_ + Count());
    const auto at = [&](double part) {
      return waits_[static_cast<std::size_t>(part * static_cast<double>(Count() - 1))];
    };
    return {at(0.5), at(0.99), at(0.999), at(1)};
  }

  void CleanUp() {
    for (int i = 0; i < processes_; ++i) {
      for (int file = 0; file < files_; ++file) ::unlink(Name(i, file).c_str());
      ::rmdir(Folder(i).c_str());
    }
  }

 private:
  struct Shared {
    std::atomic<int> waiting{0};
  };
  std::size_t Count() const {
    return static_cast<std::size_t>(processes_) * static_cast<std::size_t>(files_);
  }
  std::string Folder(int i) const { return directory_ + "/storm" + std::to_string(i); }
  std::string Name(int i, int file) const { return Folder(i) + "/file" + std::to_string(file); }

  [[noreturn]] void Create(int i) {
    std::int64_t* wait = waits_ + static_cast<std::ptrdiff_t>(i) * files_;
    for (int file = 0; file < files_; ++file) {
      const std::string name = Name(i, file);
      const std::int64_t start = Now();
      const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      *wait++ = Now() - start;
      if (fd < 0) ::_exit(1);
      if (!content_.empty() && ::write(fd, content_.data(), content_.size()) < 0) ::_exit(1);
      ::close(fd);
    }
    ::_exit(0);
  }

  std::string directory_;
  int processes_, files_;
  std::string content_;
  Shared* shared_ = nullptr;
  std::int64_t* waits_ = nullptr;
  std::size_t size_ = 0;
};

// `call KIND DIR COUNT`: one call, COUNT times; what it needs and leaves is not timed.
std::int64_t Calls(const std::string& kind, const std::string& directory, int count) {
  const std::string one = directory + "/one", two = directory + "/two";
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(directory + "/new" + std::to_string(i));
  MakeFile(one, O_CREAT);
  char program[] = "/bin/true";
  char* argv[] = {program, nullptr};
  const auto repeat = [&](auto&& call) {
    const std::int64_t start = Now();
    for (int i = 0; i < count; ++i) call(i);
    return Now() - start;
  };
  const auto checked = [&](int result) {
    if (result != 0) DieOf("call " + kind);
  };
  std::int64_t taken = 0;
  if (kind == "read") {
    taken = repeat([&](int) { ::close(::open(one.c_str(), O_RDONLY | O_CLOEXEC)); });
  } else if (kind == "write") {
    taken = repeat([&](int) { MakeFile(one, 0); });
  } else if (kind == "create") {
    taken = repeat([&](int i) { MakeFile(names[static_cast<std::size_t>(i)], O_CREAT | O_EXCL); });
    for (const std::string& name : names) ::unlink(name.c_str());
  } else if (kind == "mkdir") {
    taken =
        repeat([&](int i) { checked(::mkdir(names[static_cast<std::size_t>(i)].c_str(), 0755)); });
    for (const std::string& name : names) ::rmdir(name.c_str());
  } else if (kind == "rename") {
    taken = repeat([&](int i) {
      checked(i % 2 == 0 ? ::rename(one.c_str(), two.c_str()) : ::rename(two.c_str(), one.c_str()));
    });
    ::unlink(two.c_str());
  } else if (kind == "exec") {
    taken = repeat([&](int) {
      pid_t pid = -1;
      if (::posix_spawn(&pid, program, nullptr, nullptr, argv, environ) != 0) DieOf("spawn");
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    });
  } else {
    Die("no such call: " + kind);
  }
  ::unlink(one.c_str());
  return taken;
}

class Worker {
 public:
  int Serve() {
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream in(line);
      const Words words{std::istream_iterator<std::string>(in), {}};
      if (words.size() < 2) Die("no task: " + line);
      Prepare(words);
      more_.clear();
      const std::int64_t processor = ProcessorTime();
      const std::int64_t taken = Do(words);
      std::printf("%lld %lld", static_cast<long long>(taken),
                  static_cast<long long>(ProcessorTime() - processor));
      for (const std::int64_t number : more_) std::printf(" %lld", static_cast<long long>(number));
      CleanUp(words);
      std::printf("\n");
      std::fflush(stdout);
    }
    return 0;
  }

 private:
  void Prepare(const Words& words) {
    if (words[0] != "files" || !lists_[words[1]].empty()) return;
    std::ifstream in(words[1]);
    for (std::string path; std::getline(in, path);) lists_[words[1]].push_back(path);
    if (lists_[words[1]].empty()) Die("no files in " + words[1]);
  }

  std::int64_t Do(const Words& words) {
    const auto number = [&](std::size_t i) { return std::atoi(words.at(i).c_str()); };
    if (words[0] == "call") return Calls(words.at(1), words.at(2), number(3));
    if (words[0] == "storm") {
      Storm storm(words.at(1), number(2), number(3), static_cast<std::size_t>(number(4)));
      const std::int64_t taken = storm.Run();
      more_ = storm.Waits();
      storm.CleanUp();
      return taken;
    }
    const std::int64_t start = Now();
    if (words[0] == "files") {
      for (const std::string& path : lists_[words[1]]) ReadWhole(path);
    } else if (words[0] == "bulk") {
      ReadWhole(words[1]);
    } else if (words[0] == "run") {
      (void)TimeOnce({{words.begin() + 1, Behind(words)}, {}});
    } else {
      Die("no such task: " + words[0]);
    }
    return Now() - start;
  }

  void CleanUp(const Words& words) {
    const auto end = Behind(words);
    if (words[0] == "run" && end != words.end()) (void)TimeOnce({{end + 1, words.end()}, {}});
  }

  static Words::const_iterator Behind(const Words& words) {
    return std::find(words.begin(), words.end(), "--");
  }

  void ReadWhole(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) DieOf("open " + path);
    ssize_t n;
    do {
      n = ::read(fd, buffer_.data(), buffer_.size());
    } while (n > 0);
    if (n < 0) DieOf("read " + path);
    ::close(fd);
  }

  std::map<std::string, std::vector<std::string>> lists_;
  std::vector<char> buffer_ = std::vector<char>(128 * 1024);
  std::vector<std::int64_t> more_;
};

}  // namespace

int Work(const std::string& under) {
  if (under == "filtered") AllowEverything();
  if (under == "bare") TrapAndContinue();
  return Worker().Serve();
}

}  // namespace cordon::bench
