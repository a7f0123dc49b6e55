#include <gtest/gtest.h>
#include <linux/btrfs.h>

#include <set>

#include "jail/filter.h"
#include "jail/filter_supervised_cases.h"

namespace cordon::jail {
namespace {

constexpr std::uint32_t kAllowed = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kAsked = SECCOMP_RET_USER_NOTIF;

std::uint32_t Refused(int error) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error); }

seccomp_data Call(int nr, const CallArgs& args = {}) {
  seccomp_data call{};
  call.nr = nr;
  call.arch = AuditArch(kNativeArch);
  for (std::size_t i = 0; i < args.size(); ++i) call.args[i] = args[i];
  return call;
}

std::vector<sock_filter> Supervised(Supervision supervise) {
  FilterOptions options;
  options.supervise = supervise;
  return BaselineFilter(options);
}

TEST(FilterSupervisedTest, AsksAboutEachCallAndNotAboutItsNeighbour) {
  const std::vector<sock_filter> program = BaselineFilter(SupervisedOptions());
  for (const AskedCall& c : AskedCalls()) {
    EXPECT_EQ(ActionName(Emulate(program, Call(c.nr, c.args))), ActionName(kAsked)) << c.name;
    EXPECT_NE(Emulate(program, Call(c.neighbour_nr, c.neighbour_args)), kAsked)
        << "neighbour of " << c.name;
  }
}

TEST(FilterSupervisedTest, NeighboursAnswerAsWithoutASupervisor) {
  const std::vector<sock_filter> program = BaselineFilter(SupervisedOptions());
  const std::vector<sock_filter> plain = BaselineFilter({});
  for (const AskedCall& c : AskedCalls()) {
    const seccomp_data neighbour = Call(c.neighbour_nr, c.neighbour_args);
    EXPECT_EQ(Emulate(program, neighbour), Emulate(plain, neighbour)) << c.name;
    EXPECT_EQ(Emulate(plain, Call(c.nr, c.args)), kAllowed) << c.name;
  }
}

TEST(FilterSupervisedTest, RefusalsOfTheBaselineStand) {
  const std::vector<sock_filter> program = BaselineFilter(SupervisedOptions());
  for (const RefusedCall& c : RefusedCalls()) {
    EXPECT_EQ(ActionName(Emulate(program, Call(c.nr, c.args))), ActionName(Refused(c.error)))
        << c.name;
  }
}

TEST(FilterSupervisedTest, RefusesWhatTheSupervisorCouldNotJudge) {
  const std::vector<sock_filter> program = BaselineFilter(SupervisedOptions());
  for (const RefusedCall& c : SupervisedRefusals()) {
    EXPECT_EQ(ActionName(Emulate(program, Call(c.nr, c.args))), ActionName(Refused(c.error)))
        << c.name;
    EXPECT_EQ(Emulate(program, Call(c.neighbour_nr, c.neighbour_args)), kAllowed)
        << "neighbour of " << c.name;
  }
}

TEST(FilterSupervisedTest, EveryRowIsTried) {
  const FilterSpec spec = BaselineSpec(SupervisedOptions());
  std::vector<seccomp_data> calls;
  for (const AskedCall& c : AskedCalls()) calls.push_back(Call(c.nr, c.args));
  for (const RefusedCall& c : SupervisedRefusals()) calls.push_back(Call(c.nr, c.args));
  for (std::size_t row = BaselineSpec({}).rules.size(); row < spec.rules.size(); ++row) {
    FilterSpec without = spec;
    without.rules.erase(without.rules.begin() + static_cast<std::ptrdiff_t>(row));
    bool tried = false;
    for (const seccomp_data& call : calls) {
      tried = tried || Evaluate(without, call) != Evaluate(spec, call);
    }
    EXPECT_TRUE(tried) << spec.rules[row].call << ": no case depends on this row";
    EXPECT_FALSE(spec.rules[row].reason.empty()) << spec.rules[row].call;
  }
}

// Every combination of the flags that matter, with and without something above the 32 bits.
TEST(FilterSupervisedTest, OpensAskByTheirFlagsInEveryCombination) {
  constexpr std::uint64_t kFlags[] = {O_WRONLY,    O_RDWR,     O_CREAT,   O_EXCL,
                                      O_TRUNC,     O_APPEND,   O_PATH,    asked::kTmpfileBit,
                                      O_DIRECTORY, O_NOFOLLOW, O_CLOEXEC, asked::kHigh};
  constexpr std::uint64_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | asked::kTmpfileBit;
  const std::vector<sock_filter> names = Supervised({.names = true});
  const std::vector<sock_filter> reads = Supervised({.reads = true});
  for (unsigned chosen = 0; chosen < 1u << std::size(kFlags); ++chosen) {
    std::uint64_t flags = 0;
    for (std::size_t i = 0; i < std::size(kFlags); ++i) {
      if ((chosen >> i & 1) != 0) flags |= kFlags[i];
    }
    const seccomp_data call = Call(SYS_openat, {asked::kBad, 0, flags});
    const bool content = (flags & O_PATH) == 0;
    ASSERT_EQ(Emulate(names, call), content && (flags & kWriting) != 0 ? kAsked : kAllowed)
        << std::hex << flags;
    ASSERT_EQ(Emulate(reads, call), content ? kAsked : kAllowed) << std::hex << flags;
  }
}

TEST(FilterSupervisedTest, EachPartAsksAboutItsOwnCallsOnly) {
  const std::vector<sock_filter> sockets = Supervised({.sockets = true});
  EXPECT_EQ(Emulate(sockets, Call(SYS_connect)), kAsked);
  EXPECT_EQ(Emulate(sockets, Call(SYS_bind)), kAsked);
  EXPECT_EQ(Emulate(sockets, Call(SYS_openat, {0, 0, O_WRONLY})), kAllowed);
  EXPECT_EQ(Emulate(sockets, Call(SYS_openat2)), kAllowed);
  EXPECT_EQ(Emulate(sockets, Call(SYS_seccomp, {1, 8})), Refused(EBUSY));

  const std::vector<sock_filter> names = Supervised({.names = true});
  EXPECT_EQ(Emulate(names, Call(SYS_bind)), kAsked);
  EXPECT_EQ(Emulate(names, Call(SYS_connect)), kAllowed);
  EXPECT_EQ(Emulate(names, Call(SYS_execve)), kAllowed);
  EXPECT_EQ(Emulate(names, Call(SYS_umask)), kAllowed);
  EXPECT_EQ(Emulate(names, Call(SYS_openat, {0, 0, O_RDONLY})), kAllowed);

  const std::vector<sock_filter> reads = Supervised({.reads = true});
  EXPECT_EQ(Emulate(reads, Call(SYS_openat2)), Refused(ENOSYS));
  EXPECT_EQ(Emulate(reads, Call(SYS_mkdirat)), kAllowed);

  EXPECT_EQ(Emulate(Supervised({.umask = true}), Call(SYS_umask)), kAsked);
  const std::vector<sock_filter> reports = Supervised({.exec_reports = true});
  EXPECT_EQ(Emulate(reports, Call(SYS_execve)), kAsked);
  EXPECT_EQ(Emulate(reports, Call(SYS_execveat)), kAsked);
  EXPECT_EQ(Emulate(reports, Call(SYS_openat2)), kAllowed);
}

TEST(FilterSupervisedTest, NoSupervisionIsTheBaseline) {
  const FilterSpec plain = BaselineSpec({});
  for (const SyscallRule& rule : plain.rules) EXPECT_NE(rule.action, kAsked) << rule.call;
  EXPECT_EQ(Emulate(Compile(plain), Call(SYS_seccomp, {1, 8})), kAllowed);
}

TEST(FilterSupervisedTest, NestedSandboxesKeepTheSupervisor) {
  FilterOptions options = SupervisedOptions();
  options.allow_nested_sandbox = true;
  const std::vector<sock_filter> program = BaselineFilter(options);
  for (const AskedCall& c : AskedCalls()) {
    EXPECT_EQ(Emulate(program, Call(c.nr, c.args)), kAsked) << c.name;
  }
}

// The hot calls of builds stay free.
TEST(FilterSupervisedTest, PlainCallsStayInTheActionCache) {
  FilterOptions options = SupervisedOptions();
  options.supervise.reads = true;
  const FilterSpec spec = BaselineSpec(options);
  const std::vector<sock_filter> program = Compile(spec);
  std::set<int> ruled;
  for (const SyscallRule& rule : spec.rules) ruled.insert(rule.nr);
  for (const CallRange& range : spec.reviewed) {
    for (std::uint32_t nr = range.first; nr <= range.last; ++nr) {
      const int number = static_cast<int>(nr);
      EXPECT_EQ(IsCached(program, spec.arch, number), !ruled.contains(number)) << nr;
    }
  }
  for (int nr : {SYS_read,      SYS_write,       SYS_pread64, SYS_pwrite64,     SYS_readv,
                 SYS_writev,    SYS_close,       SYS_fstat,   SYS_newfstatat,   SYS_statx,
                 SYS_faccessat, SYS_readlinkat,  SYS_lseek,   SYS_mmap,         SYS_munmap,
                 SYS_mprotect,  SYS_brk,         SYS_futex,   SYS_wait4,        SYS_getdents64,
                 SYS_fcntl,     SYS_ftruncate,   SYS_sendto,  SYS_recvfrom,     SYS_sendmsg,
                 SYS_recvmsg,   SYS_epoll_pwait, SYS_ppoll,   SYS_rt_sigaction, SYS_exit_group,
                 SYS_fchmodat,  SYS_utimensat}) {
    EXPECT_TRUE(IsCached(program, spec.arch, nr)) << nr;
  }
#if defined(__x86_64__)
  for (int nr : {SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_unlink, SYS_chmod, SYS_poll,
                 SYS_select, SYS_fork, SYS_vfork}) {
    EXPECT_TRUE(IsCached(program, spec.arch, nr)) << nr;
  }
#endif
}

TEST(FilterSupervisedTest, NumbersOfBtrfsAreThoseOfItsHeader) {
  const std::vector<sock_filter> program = Supervised({.names = true});
  for (std::uint64_t request :
       {BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SUBVOL_CREATE, BTRFS_IOC_SNAP_DESTROY,
        BTRFS_IOC_SNAP_CREATE_V2, BTRFS_IOC_SUBVOL_CREATE_V2, BTRFS_IOC_SNAP_DESTROY_V2}) {
    EXPECT_EQ(Emulate(program, Call(SYS_ioctl, {3, request})), Refused(EPERM)) << request;
  }
  EXPECT_EQ(Emulate(program, Call(SYS_ioctl, {3, BTRFS_IOC_CLONE})), kAllowed);
}

}  // namespace
}  // namespace cordon::jail
