// The broker and the handlers of the calls, asked by a process in namespaces of its own.
#include "notify/broker.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/un.h>

#include <climits>
#include <thread>

#include "notify/broker_test_support.h"

namespace cordon::notify {
namespace {

using jail::wire::Action;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

// Past the C library, which may look at a path that is not to be looked at.
int Open(const char* path, int flags = O_CREAT | O_WRONLY, mode_t mode = 0666) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}

mode_t ModeOf(const std::string& path) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 ? st.st_mode & 07777 : 0;
}

TEST_F(BrokerTest, WhatIsAllowedIsMadeAsTheCallerWouldMakeIt) {
  const std::string said = Run([] {
    const int fd = Open("file", O_CREAT | O_RDWR);
    const bool closes = (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
    const int other = ::open("kept-open", O_CREAT | O_WRONLY, 0640);
    std::string out = closes && (::fcntl(other, F_GETFD) & FD_CLOEXEC) == 0 ? "" : "flags ";
    out += ::write(fd, "text", 4) == 4 ? "" : "write ";
    for (const long result :
         {::mkdir("dir", 0777), ::rename("dir", "moved"), ::symlink("nowhere", "link"),
          ::link("file", "moved/second"), ::mkfifo("fifo", 0600), ::truncate("file", 2)})
      out += ErrnoName(result);
    return out;
  });
  EXPECT_EQ(said, "000000");
  EXPECT_TRUE(said_.empty());
  EXPECT_EQ(Read(WorkPath("moved/second")), "te");
  EXPECT_EQ(ModeOf(WorkPath("file")), 0644u);
  EXPECT_EQ(ModeOf(WorkPath("kept-open")), 0640u);
  EXPECT_EQ(ModeOf(WorkPath("moved")), 0755u);
  EXPECT_EQ(std::filesystem::read_symlink(WorkPath("link")), "nowhere");
}

TEST_F(BrokerTest, ARefusalSaysWhoAndWhatAndWhy) {
  spec_.filesystem.deny_names.push_back({"*.key", false, {"test", 3, 4}});
  const std::string said = Run([] {
    for (int i = 0; i < 5; ++i) {
      if (Open("./a.key") >= 0) return std::string("made");
    }
    return std::string(ErrnoName(-1));
  });
  EXPECT_EQ(said, "EROFS");
  EXPECT_FALSE(std::filesystem::exists(WorkPath("a.key")));
  std::uint64_t count = 0;
  for (const Said& s : said_) count += s.report.count;
  EXPECT_EQ(count, 5u);
  ASSERT_EQ(said_.size(), 4u) << "the first, two, four and the rest";
  const jail::wire::Report& report = said_.front().report;
  EXPECT_EQ(report.action, Action::kFileCreate);
  EXPECT_EQ(report.call, "openat");
  EXPECT_EQ(report.target, WorkPath("a.key"));
  EXPECT_EQ(report.raw, "./a.key");
  EXPECT_EQ(report.error, EROFS);
  EXPECT_EQ(report.exec, 7u);
  EXPECT_EQ(report.pid, 2u) << "init is 1";
  EXPECT_GT(report.host_pid, 2u);
  EXPECT_NE(report.rule, jail::wire::kNoRule);
  EXPECT_FALSE(report.reason.empty());
  EXPECT_EQ(report.program, std::filesystem::read_symlink("/proc/self/exe").string());
}

TEST_F(BrokerTest, BothEndsAndTheContentsOfAMoveAreJudged) {
  spec_.filesystem.deny_names.push_back({"*.key", false, {"test"}});
  spec_.filesystem.deny_names.push_back({"dir/inner", false, {"test"}});
  MakeDirectory("work/other");
  Write("work/other/inner");
  Write("work/old.key");
  Write("work/file");
  const std::string said = Run([] {
    int made = 0;
    for (const long result :
         {::rename("file", "1.key"), ::link("file", "2.key"), ::symlink("x", "3.key"),
          ::mkdir("4.key", 0700), ::mkfifo("5.key", 0600), ::rename("other", "dir"),
          ::rename("file", "old.key"), ::mkdir("old.key", 0700)})
      made += result == 0;
    return std::to_string(made) + " made";
  });
  EXPECT_EQ(said, "0 made");
  EXPECT_EQ(Targets(), (std::vector<std::string>{"1.key", "2.key", "3.key", "4.key", "5.key", "dir",
                                                 "old.key"}))
      << "what exists already is no refusal of ours";
  EXPECT_TRUE(std::filesystem::exists(WorkPath("other/inner")));
}

TEST_F(BrokerTest, SelfMeansTheCaller) {
  const std::string said = Run([]() -> std::string {
    const auto put = [](const char* path, const char* text) {
      const UniqueFd fd(Open(path, O_WRONLY));
      return ::write(fd.get(), text, std::strlen(text)) > 0;
    };
    std::string out;
    if (!put("/proc/self/comm", "mine")) return "self/comm";
    if (Read("/proc/self/comm") != "mine") return "another process was named";
    std::thread([&] {
      const std::string own = "/proc/self/task/" + std::to_string(::gettid()) + "/comm";
      if (!put("/proc/thread-self/comm", "thread")) out = "thread-self/comm";
      if (Read(own) != "thread" || Read("/proc/self/comm") != "mine") out = "another thread";
    }).join();
    if (!out.empty()) return out;
    if (!put("/proc/./self/../self/task/../comm", "again") || Read("/proc/self/comm") != "again")
      return "dots";
    const std::string root = "/proc/self/root" + std::filesystem::current_path().string() + "/root";
    if (Open("/proc/self/cwd/cwd") < 0 || Open("/proc/thread-self/cwd/thread") < 0) return "cwd";
    return Open(root.c_str()) < 0 ? "root" : "all";
  });
  EXPECT_EQ(said, "all");
  for (const char* name : {"cwd", "thread", "root"})
    EXPECT_TRUE(std::filesystem::exists(WorkPath(name))) << name;
}

TEST_F(BrokerTest, DescriptorsInProcGiveNothingNew) {
  Write("work/protected");
  Write("work/plain");
  Write("work/unlinked");
  spec_.filesystem.deny_write.push_back({WorkPath("protected"), false, {"test"}});
  const std::string said = Run([] {
    std::string out;
    const auto again = [&out](const std::string& path, int flags) {
      out += std::string(ErrnoName(Open(path.c_str(), flags))) + " ";
    };
    const auto name = [](int fd) { return "/proc/self/fd/" + std::to_string(fd); };
    const int closed = Open("protected", O_RDONLY), plain = Open("plain", O_RDONLY);
    again(name(closed), O_WRONLY);
    again("/dev/fd/" + std::to_string(closed), O_RDWR);
    again("/proc/thread-self/fd/" + std::to_string(closed), O_RDONLY | O_TRUNC);
    again(name(plain), O_WRONLY);
    const int writable = Open("unlinked", O_RDWR);
    if (::unlink("unlinked") != 0) return std::string("unlink");
    again(name(writable), O_WRONLY | O_TRUNC);
    again(name(1000), O_WRONLY);
    int ends[2];
    if (::pipe(ends) != 0) return std::string("pipe");
    again(name(ends[0]), O_WRONLY);
    again("/proc/self/mem", O_RDWR);
    again("/proc/self/uid_map", O_WRONLY);
    again("/proc/self/cwd", O_WRONLY);
    again("/dev/null", O_WRONLY);
    // Which of several reasons speaks first depends on whose file it is.
    return out + (Open("/proc/self/exe", O_WRONLY) < 0 ? "refused" : "made");
  });
  EXPECT_EQ(said, "EROFS EROFS EROFS 0 0 ENOENT 0 EROFS EROFS EISDIR 0 refused");
  EXPECT_EQ(Read(WorkPath("protected")), "text");
}

TEST_F(BrokerTest, LongNamesAndPathsAreAnsweredAsByTheKernel) {
  MakeDirectory("work/a");
  const std::string said = Run([] {
    std::string out;
    const auto try_open = [&out](const std::string& path) {
      out += std::string(ErrnoName(Open(path.c_str()))) + " ";
    };
    try_open(std::string(NAME_MAX, 'n'));
    try_open(std::string(NAME_MAX + 1, 'n'));
    try_open("a/" + std::string(PATH_MAX - 1 - 7, '/') + "file1");
    try_open("a/" + std::string(PATH_MAX - 7, '/') + "file2");
    try_open(std::string(2 * PATH_MAX, 'p'));
    try_open("");
    return out;
  });
  EXPECT_EQ(said, "0 ENAMETOOLONG 0 ENAMETOOLONG ENAMETOOLONG ENOENT ");
  EXPECT_TRUE(std::filesystem::exists(WorkPath(std::string(NAME_MAX, 'n'))));
  EXPECT_TRUE(std::filesystem::exists(WorkPath("a/file1")));
  EXPECT_FALSE(std::filesystem::exists(WorkPath("a/file2")));
}

TEST_F(BrokerTest, PathsAreReadToTheEndOfTheirPageAndNoFurther) {
  const std::string said = Run([] {
    constexpr std::size_t kPage = 4096;
    void* pages =
        ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return std::string("mmap");
    char* end = static_cast<char*>(pages) + kPage;
    ::mprotect(end, kPage, PROT_NONE);
    std::memcpy(end - 5, "made", 5);
    std::string out = std::string(ErrnoName(Open(end - 5))) + " ";
    std::memcpy(end - 5, "cross", 5);
    for (const char* path : {static_cast<const char*>(end) - 5, static_cast<const char*>(end),
                             static_cast<const char*>(nullptr), reinterpret_cast<const char*>(-1L)})
      out += std::string(ErrnoName(Open(path))) + " ";
    out += std::string(ErrnoName(::rename("made", end - 5))) + " ";
    return out + ErrnoName(::rename(end - 5, "made"));
  });
  EXPECT_EQ(said, "0 EFAULT EFAULT EFAULT EFAULT EFAULT EFAULT");
  EXPECT_TRUE(std::filesystem::exists(WorkPath("made")));
}

TEST_F(BrokerTest, AnotherThreadMayChangeTheUmask) {
  const std::string said = Run([] {
    Open("first");
    std::thread([] { ::umask(0); }).join();
    Open("second");
    ::mkdir("third", 0777);
    ::umask(077);
    std::thread([] { Open("fourth"); }).join();
    return std::string("done");
  });
  EXPECT_EQ(said, "done");
  EXPECT_EQ(ModeOf(WorkPath("first")), 0644u);
  EXPECT_EQ(ModeOf(WorkPath("second")), 0666u);
  EXPECT_EQ(ModeOf(WorkPath("third")), 0777u);
  EXPECT_EQ(ModeOf(WorkPath("fourth")), 0600u);
}

// A process whose descriptors are all used gets EMFILE, and no file that it does not hold.
TEST_F(BrokerTest, AFileThatCannotBeHandedOverIsTakenAwayAgain) {
  Write("work/old");
  const std::string said = Run([] {
    const int next = ::dup(0);
    ::close(next);
    const rlimit limit{static_cast<rlim_t>(next), static_cast<rlim_t>(next)};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return std::string("setrlimit");
    const std::string made = ErrnoName(Open("new"));
    return made + " " + ErrnoName(Open("old"));
  });
  EXPECT_EQ(said, "EMFILE EMFILE");
  EXPECT_FALSE(std::filesystem::exists(WorkPath("new")));
  EXPECT_EQ(Read(WorkPath("old")), "text") << "what was there stays";
}

int signals = 0;
void CountSignal(int) { ++signals; }
void OpenOtherEnd(int) {
  if (++signals == 3) ::open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

// Signals every 20 milliseconds from now on.
void StartSignals(void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval every{{0, 20'000}, {0, 20'000}};
  ::setitimer(ITIMER_REAL, &every, nullptr);
}

TEST_F(BrokerTest, ASignalInterruptsACallThatWaits) {
  ASSERT_EQ(::mkfifo(WorkPath("fifo").c_str(), 0600), 0);
  const std::string said = Run([] {
    StartSignals(CountSignal, 0);
    const std::string out = ErrnoName(::open("fifo", O_WRONLY | O_CLOEXEC));
    return out + (signals > 0 ? " by a signal" : "");
  });
  EXPECT_EQ(said, "EINTR by a signal");
}

TEST_F(BrokerTest, ACallThatASignalInterruptedIsMadeOnceMoreWhereTheHandlerSaysSo) {
  ASSERT_EQ(::mkfifo(WorkPath("fifo").c_str(), 0600), 0);
  const std::string said = Run([] {
    StartSignals(OpenOtherEnd, SA_RESTART);
    const std::string out = ErrnoName(::open("fifo", O_WRONLY | O_CLOEXEC));
    return out + (signals >= 3 ? " after signals" : "");
  });
  EXPECT_EQ(said, "0 after signals");
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}
using Call = int (*)(int, const sockaddr*, socklen_t);
const char* Try(Call call, const std::string& path, socklen_t length = sizeof(sockaddr_un)) {
  static std::vector<UniqueFd> sockets;
  sockets.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(path);
  const int result =
      call(sockets.back().get(), reinterpret_cast<const sockaddr*>(&address), length);
  if (result == 0 && call == &::bind) ::listen(sockets.back().get(), 5);
  return ErrnoName(result);
}

TEST_F(BrokerTest, SocketsOfTheHostAreOutOfReach) {
  UniqueFd host(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(WorkPath("host.sock"));
  ASSERT_EQ(::bind(host.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(host.get(), 5), 0);
  Link("host.sock", "work/link");
  Write("work/file");
  spec_.filesystem.deny_names.push_back({"*.key", false, {"test"}});
  const std::string said = Run([] {
    std::string out;
    for (const char* name : {"host.sock", "link", "./host.sock", "file", "missing"})
      out += std::string(Try(&::connect, name)) + " ";
    for (const auto& [call, name] :
         std::initializer_list<std::pair<Call, const char*>>{{&::bind, "own.sock"},
                                                             {&::connect, "own.sock"},
                                                             {&::bind, "own.sock"},
                                                             {&::bind, "a.key"}})
      out += std::string(Try(call, name)) + " ";
    out += std::string(Try(&::connect, "", 2)) + " ";
    return out += Try(&::connect, "own.sock", 4000);
  });
  EXPECT_EQ(said, "EACCES EACCES EACCES ECONNREFUSED ENOENT 0 0 EADDRINUSE EROFS EINVAL EINVAL");
  ASSERT_GE(said_.size(), 2u);
  EXPECT_EQ(said_[0].report.action, Action::kUnixSocket);
  EXPECT_EQ(said_[0].report.target, WorkPath("host.sock"));
  EXPECT_FALSE(std::filesystem::exists(WorkPath("a.key")));
}

TEST_F(BrokerTest, ManyProcessesAreAnsweredAtOnce) {
  const std::string said = Run([] {
    constexpr int kProcesses = 16, kFiles = 50;
    for (int p = 0; p < kProcesses; ++p) {
      if (::fork() != 0) continue;
      for (int i = 0; i < kFiles; ++i) {
        const std::string name = "f" + std::to_string(p) + "-" + std::to_string(i);
        const UniqueFd fd(Open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY));
        if (!fd.valid()) ::_exit(1);
      }
      ::_exit(0);
    }
    int failed = 0, status = 0;
    while (::wait(&status) > 0) failed += status != 0;
    return std::to_string(failed);
  });
  EXPECT_EQ(said, "0");
  const auto files = std::filesystem::directory_iterator(work_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 16 * 50);
}

// What it cannot understand it does not run with.
TEST_F(NotifyTest, ABrokerWithoutAPolicyDoesNotStart) {
  const auto status_with = [](jail::wire::Type type, const std::string& payload,
                              LinkMessage& answer) {
    SocketPair host;
    const pid_t monitor = ::getpid();
    const pid_t broker = ::fork();
    if (broker == 0) {
      host.near.reset();
      RunBroker({host.far.get(), -1, -1, -1, monitor});
    }
    host.far.reset();
    EXPECT_TRUE(SendLink(host.near.get(), type, 0, payload));
    if (ReceiveLink(host.near.get(), answer, true) != LinkResult::kMessage) answer = LinkMessage{};
    int status = -1;
    EXPECT_EQ(::waitpid(broker, &status, 0), broker);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  LinkMessage answer;
  EXPECT_EQ(status_with(jail::wire::Type::kPolicy, "no policy", answer), 1);
  EXPECT_EQ(answer.header.type, jail::wire::Type::kBrokerFailed);
  EXPECT_EQ(status_with(jail::wire::Type::kFlush, "", answer), 1);
}

}  // namespace
}  // namespace cordon::notify
