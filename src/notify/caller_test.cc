#include "notify/caller.h"

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <climits>
#include <optional>
#include <thread>

#include "notify/notify_test_support.h"

namespace cordon::notify {
namespace {

constexpr std::size_t kPage = 4096;

// Three pages, of which the last cannot be read; children see the same at the same address.
class CallerMemoryTest : public NotifyTest {
 protected:
  void SetUp() override {
    NotifyTest::SetUp();
    void* pages =
        ::mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    pages_ = static_cast<char*>(pages);
    ASSERT_EQ(::mprotect(pages_ + 2 * kPage, kPage, PROT_NONE), 0);
  }
  void TearDown() override {
    ::munmap(pages_, 3 * kPage);
    NotifyTest::TearDown();
  }
  // What a caller with `text` (and no NUL behind it) before the unreadable page is found to say.
  int ReadAtEnd(const std::string& text, std::string& out) {
    char* at = pages_ + 2 * kPage - text.size();
    text.copy(at, text.size());
    Child child([](const Child::Step& step) { step(); });
    return MadeCaller(child.pid())->ReadString(reinterpret_cast<std::uintptr_t>(at), out);
  }
  char* pages_ = nullptr;
};

TEST_F(CallerMemoryTest, StringsEndWithTheirPage) {
  using namespace std::string_literals;
  std::string out;
  for (std::size_t size : {0u, 1u, 255u, 256u, 257u, 4094u, 4095u}) {
    const std::string text(size, 'x');
    EXPECT_EQ(ReadAtEnd(text + "\0"s, out), 0) << size;
    EXPECT_EQ(out, text) << size;
  }
  EXPECT_EQ(ReadAtEnd("a\xff\n\0b\0"s, out), 0) << "no text encoding is asked for";
  EXPECT_EQ(out, "a\xff\n");
}

TEST_F(CallerMemoryTest, StringsWithoutAnEndAreRefused) {
  std::string out;
  EXPECT_EQ(ReadAtEnd(std::string(300, 'x'), out), EFAULT);
  EXPECT_EQ(ReadAtEnd(std::string(4095, 'x'), out), EFAULT);
  EXPECT_EQ(ReadAtEnd(std::string(4096, 'x'), out), ENAMETOOLONG);
  EXPECT_EQ(ReadAtEnd(std::string(5000, 'x'), out), ENAMETOOLONG);
}

TEST_F(CallerMemoryTest, WhatIsNotMappedIsEfault) {
  Child child([](const Child::Step& step) { step(); });
  const MadeCaller caller(child.pid());
  std::string out;
  char byte = 0;
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{0}, std::uint64_t{1} << 63,
        std::uint64_t{reinterpret_cast<std::uintptr_t>(pages_)} + 2 * kPage}) {
    EXPECT_EQ(caller->ReadString(address, out), EFAULT) << address;
    EXPECT_EQ(caller->ReadBytes(address, &byte, 1), EFAULT) << address;
    EXPECT_EQ(caller->ReadBytes(address, &byte, 0), 0) << address;
  }
  char both[2];
  const auto end = reinterpret_cast<std::uintptr_t>(pages_ + 2 * kPage);
  EXPECT_EQ(caller->ReadBytes(end - 1, both, 2), EFAULT) << "a part is not enough";
}

TEST_F(CallerMemoryTest, ItIsTheMemoryOfTheCaller) {
  pages_[0] = 'p';
  Child child([this](const Child::Step& step) {
    step();
    pages_[0] = 'c';
    step();
  });
  const MadeCaller caller(child.pid());
  std::string out;
  child.Next();
  EXPECT_EQ(caller->ReadString(reinterpret_cast<std::uintptr_t>(pages_), out), 0);
  EXPECT_EQ(out, "c");
  child.End();
  EXPECT_EQ(caller->ReadString(reinterpret_cast<std::uintptr_t>(pages_), out), ESRCH);
}

class CallerTest : public NotifyTest {};

TEST_F(CallerTest, DescriptorsAreCopied) {
  Write("file", "content");
  int number = -1;
  const UniqueFd spare(
      ::open("/dev/null", O_RDONLY | O_CLOEXEC));  // its number is free in no child
  number = spare.get();
  Child child([&](const Child::Step& step) {
    const UniqueFd file(::open(Path("file").c_str(), O_RDONLY | O_CLOEXEC));
    if (::dup3(file.get(), number, O_CLOEXEC) != number) ::_exit(1);
    step();
  });
  const MadeCaller caller(child.pid());
  const UniqueFd copy = caller->CopyDescriptor(number);
  ASSERT_TRUE(copy.valid());
  char text[8] = {};
  EXPECT_EQ(::read(copy.get(), text, sizeof text), 7);
  EXPECT_STREQ(text, "content");
  EXPECT_NE(::fcntl(copy.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_FALSE(caller->CopyDescriptor(1000).valid());
  EXPECT_EQ(errno, EBADF);
  EXPECT_FALSE(caller->CopyDescriptor(-1).valid());
  EXPECT_EQ(errno, EBADF);
  child.End();
  EXPECT_FALSE(caller->CopyDescriptor(number).valid());
}

// A process with a second thread, whose id and whose umask calls the test decides.
struct Shared {
  std::atomic<pid_t> thread{0};
};
Shared* MakeShared() {
  void* at =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : new (at) Shared;
}

TEST_F(CallerTest, AThreadHasTheIdsAndDescriptorsOfItsProcess) {
  Shared* shared = MakeShared();
  ASSERT_NE(shared, nullptr);
  Child child([&](const Child::Step& step) {
    std::thread([&] {
      shared->thread = ::gettid();
      step();
    }).join();
  });
  const MadeCaller caller(shared->thread.load());
  const CallerIds ids = caller->Ids();
  EXPECT_EQ(ids.process, child.pid());
  EXPECT_EQ(ids.inner_process, child.pid()) << "the same namespace";
  EXPECT_EQ(ids.inner_thread, shared->thread.load());
  EXPECT_FALSE(ids.name.empty());
  EXPECT_TRUE(caller->CopyDescriptor(0).valid() || errno == EBADF) << errno;
  char exe[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", exe, sizeof exe);
  EXPECT_EQ(caller->Program(), std::string(exe, static_cast<std::size_t>(n)));
  child.End();
  EXPECT_EQ(caller->Ids().process, 0);
  EXPECT_EQ(caller->Program(), "[]");
  ::munmap(shared, sizeof(Shared));
}

TEST_F(CallerTest, OnlySignalsThatAreNotBlockedWait) {
  Child child([](const Child::Step& step) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
    step();
  });
  EXPECT_FALSE(SignalPending(child.pid()));
  ASSERT_EQ(::kill(child.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, WUNTRACED), child.pid());
  ASSERT_EQ(::kill(child.pid(), SIGUSR1), 0);
  EXPECT_FALSE(SignalPending(child.pid()));
  ASSERT_EQ(::kill(child.pid(), SIGUSR2), 0);
  EXPECT_TRUE(SignalPending(child.pid()));
  const pid_t gone = child.pid();
  child.End();
  EXPECT_FALSE(SignalPending(gone));
}

class UmaskCacheTest : public NotifyTest {};

TEST_F(UmaskCacheTest, NobodyIsAskedBeforeTheFirstChange) {
  UmaskCache cache(027);
  const MadeCaller nobody(0x7ffffff0);
  EXPECT_EQ(cache.Of(*nobody), 027u);
  cache.Changing(*nobody, 027);
  EXPECT_EQ(cache.Of(*nobody), 027u) << "the value that everybody has";
  cache.Changing(*nobody, 01027);
  EXPECT_EQ(cache.Of(*nobody), 027u) << "only nine bits count";
  cache.Changing(*nobody, 026);
  EXPECT_EQ(cache.Of(*nobody), 077u) << "not known: nothing for others";
}

TEST_F(UmaskCacheTest, AChangeByAnotherThreadIsSeen) {
  Child child([](const Child::Step& step) {
    for (const mode_t mask : {022, 077, 027, 02}) {
      ::umask(mask);
      step();
    }
  });
  const MadeCaller first(child.pid());
  const MadeCaller other(0x7ffffff0);  // shares the first one's umask as far as the cache knows
  UmaskCache cache(022);
  EXPECT_EQ(cache.Of(*first), 022u);
  cache.Changing(*other, 077);
  child.Next();  // the kernel makes the call of `other` some time later
  EXPECT_EQ(cache.Of(*first), 077u);
  child.Next();
  EXPECT_EQ(cache.Of(*first), 027u) << "nothing was kept while the change was under way";
  cache.Seen(first->thread());
  cache.Seen(other->thread());
  EXPECT_EQ(cache.Of(*first), 027u);
  child.Next();
  EXPECT_EQ(cache.Of(*first), 027u) << "kept: umask(2) was not called, as far as the cache knows";
  cache.Changing(*first, 02);
  EXPECT_EQ(cache.Of(*first), 02u);
}

TEST_F(UmaskCacheTest, ThreadsThatEndedInTheMiddleDoNotCountForEver) {
  Child child([](const Child::Step& step) {
    ::umask(022);
    step();
    ::umask(077);
    step();
  });
  UmaskCache cache(0);
  for (pid_t gone = 0x7fffff00; gone < 0x7fffff00 + 200; ++gone) {
    cache.Changing(*MadeCaller(gone), 1);
    cache.Seen(child.pid());
  }
  for (int i = 0; i < 100; ++i) cache.Seen(child.pid());
  const MadeCaller caller(child.pid());
  EXPECT_EQ(cache.Of(*caller), 022u);
  child.Next();
  // Whether it is kept by now or not, a change of its own is always seen.
  cache.Changing(*caller, 077);
  EXPECT_EQ(cache.Of(*caller), 077u);
}

pid_t ForkAs(pid_t wanted) {
  struct {
    std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        set_tid_size, cgroup;
  } arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
  arguments.set_tid_size = 1;
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

TEST_F(UmaskCacheTest, AnIdThatIsUsedAgainIsAnotherProcess) {
  UmaskCache cache(022);
  Child child([](const Child::Step& step) {
    ::umask(077);
    step();
  });
  const pid_t id = child.pid();
  const MadeCaller caller(id);
  cache.Changing(*caller, 077);
  cache.Seen(id);
  EXPECT_EQ(cache.Of(*caller), 077u);
  child.End();
  SocketPair pair;
  const pid_t again = ForkAs(id);
  if (again < 0) {
    EXPECT_EQ(cache.Of(*caller), 077u) << "nobody there: nothing for others";
    GTEST_SKIP() << "an id cannot be chosen by this user";
  }
  if (again == 0) {
    ::umask(002);
    char byte = 0;
    if (::write(pair.far.get(), "r", 1) != 1) ::_exit(1);
    [[maybe_unused]] ssize_t ignored = ::read(pair.far.get(), &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  EXPECT_EQ(::read(pair.near.get(), &byte, 1), 1);
  EXPECT_EQ(again, id);
  EXPECT_EQ(cache.Of(*caller), 002u);
  pair.near.reset();
  ::kill(again, SIGKILL);
  EXPECT_EQ(::waitpid(again, nullptr, 0), again);
}

}  // namespace
}  // namespace cordon::notify
