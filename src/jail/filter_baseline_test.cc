#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "jail/filter.h"
#include "jail/filter_cases.h"

namespace cordon::jail {
namespace {

seccomp_data Call(int nr, const CallArgs& args = {}) {
  seccomp_data call{};
  call.nr = nr;
  call.arch = AuditArch(kNativeArch);
  for (std::size_t i = 0; i < args.size(); ++i) call.args[i] = args[i];
  return call;
}

constexpr std::uint32_t kAllowed = SECCOMP_RET_ALLOW;

std::uint32_t Refused(int error) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error); }

TEST(FilterBaselineTest, RefusesEachCallAndLetsItsNeighbourThrough) {
  const std::vector<sock_filter> program = BaselineFilter({});
  for (const RefusedCall& c : RefusedCalls()) {
    EXPECT_EQ(ActionName(Emulate(program, Call(c.nr, c.args))), ActionName(Refused(c.error)))
        << c.name;
    EXPECT_EQ(Emulate(program, Call(c.neighbour_nr, c.neighbour_args)), kAllowed)
        << "neighbour of " << c.name;
  }
}

TEST(FilterBaselineTest, EveryRefusalIsTried) {
  const FilterSpec spec = BaselineSpec({});
  for (std::size_t row = 0; row < spec.rules.size(); ++row) {
    const SyscallRule& rule = spec.rules[row];
    if (rule.action == kAllowed) continue;
    FilterSpec without = spec;
    without.rules.erase(without.rules.begin() + static_cast<std::ptrdiff_t>(row));
    bool tried = false;
    for (const RefusedCall& c : RefusedCalls()) {
      tried = tried || Evaluate(without, Call(c.nr, c.args)) != Evaluate(spec, Call(c.nr, c.args));
    }
    EXPECT_TRUE(tried) << rule.call << " " << rule.condition << ": no case depends on this row";
  }
}

TEST(FilterBaselineTest, EveryRowHasAReason) {
  for (const SyscallRule& rule : BaselineSpec({}).rules) {
    EXPECT_FALSE(rule.reason.empty()) << rule.call;
    EXPECT_FALSE(rule.call.empty()) << rule.nr;
    EXPECT_EQ(rule.reason.find('\n'), std::string::npos);
  }
}

TEST(FilterBaselineTest, ForeignEntryPointsEndTheProcess) {
  seccomp_data call = Call(SYS_getpid);
  call.arch = AuditArch(kNativeArch == Arch::kX86_64 ? Arch::kAarch64 : Arch::kX86_64);
  EXPECT_EQ(Emulate(BaselineFilter({}), call), std::uint32_t{SECCOMP_RET_KILL_PROCESS});
  call.arch = 0x40000003;  // AUDIT_ARCH_I386: int 0x80
  EXPECT_EQ(Emulate(BaselineFilter({}), call), std::uint32_t{SECCOMP_RET_KILL_PROCESS});
}

TEST(FilterBaselineTest, PtraceFamilyStaysOpenWithinTheSession) {
  const std::vector<sock_filter> program = BaselineFilter({});
  for (int nr : {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_open,
                 SYS_pidfd_getfd, SYS_kcmp, SYS_kill, SYS_tgkill}) {
    EXPECT_EQ(Emulate(program, Call(nr)), kAllowed) << nr;
  }
}

TEST(FilterBaselineTest, PlainCallsStayInTheActionCache) {
  const FilterSpec spec = BaselineSpec({});
  const std::vector<sock_filter> program = Compile(spec);
  std::set<int> ruled;
  for (const SyscallRule& rule : spec.rules) ruled.insert(rule.nr);
  for (const CallRange& range : spec.reviewed) {
    for (std::uint32_t nr = range.first; nr <= range.last; ++nr) {
      const int number = static_cast<int>(nr);
      EXPECT_EQ(IsCached(program, spec.arch, number), !ruled.contains(number)) << nr;
    }
  }
  for (int nr : {SYS_read, SYS_write, SYS_openat, SYS_openat2, SYS_close, SYS_statx, SYS_mmap,
                 SYS_futex, SYS_execve, SYS_wait4, SYS_getdents64, SYS_unlinkat, SYS_connect}) {
    EXPECT_TRUE(IsCached(program, spec.arch, nr)) << nr;
  }
}

TEST(FilterBaselineTest, NestedSandboxOpensNamespacesAndMountsOnly) {
  FilterOptions options;
  options.allow_nested_sandbox = true;
  const std::vector<sock_filter> program = BaselineFilter(options);
  for (int nr : {SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_clone3,
                 SYS_open_tree, SYS_move_mount, SYS_mount_setattr}) {
    EXPECT_EQ(Emulate(program, Call(nr)), kAllowed) << nr;
  }
  EXPECT_EQ(Emulate(program, Call(SYS_unshare, {CLONE_NEWUSER})), kAllowed);
  EXPECT_EQ(Emulate(program, Call(SYS_clone, {CLONE_NEWUSER})), kAllowed);
  for (int nr : {SYS_bpf, SYS_userfaultfd, SYS_reboot, SYS_open_by_handle_at}) {
    EXPECT_EQ(Emulate(program, Call(nr)), Refused(EPERM)) << nr;
  }
  EXPECT_EQ(Emulate(program, Call(SYS_keyctl)), Refused(ENOSYS));
  EXPECT_EQ(Emulate(program, Call(SYS_mknodat, {0, 0, S_IFBLK})), Refused(EPERM));
}

TEST(FilterBaselineTest, UnixDatagramIsASwitchOfItsOwn) {
  FilterOptions options;
  options.allow_unix_datagram = true;
  const std::vector<sock_filter> program = BaselineFilter(options);
  EXPECT_EQ(Emulate(program, Call(SYS_socket, {AF_UNIX, SOCK_DGRAM})), kAllowed);
  EXPECT_EQ(Emulate(program, Call(SYS_socketpair, {AF_UNIX, SOCK_DGRAM})), kAllowed);
  EXPECT_EQ(Emulate(program, Call(SYS_socket, {AF_VSOCK, SOCK_DGRAM})), Refused(EAFNOSUPPORT));
}

TEST(FilterBaselineTest, Openat2IsRefusedOnRequestOnly) {
  EXPECT_EQ(Emulate(BaselineFilter({}), Call(SYS_openat2)), kAllowed);
  FilterOptions options;
  options.refuse_openat2 = true;
  EXPECT_EQ(Emulate(BaselineFilter(options), Call(SYS_openat2)), Refused(ENOSYS));
  EXPECT_EQ(Emulate(BaselineFilter(options), Call(SYS_openat)), kAllowed);
}

// "#define __NR_name 12" and "#define __NR3264_name 12" of a kernel header.
std::map<std::string, int> NumbersIn(const char* path) {
  std::map<std::string, int> numbers;
  std::ifstream in(path);
  std::string define, name;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    int number = 0;
    if (!(words >> define >> name >> number) || define != "#define") continue;
    for (const char* prefix : {"__NR3264_", "__NR_"}) {
      if (name.starts_with(prefix))
        numbers.emplace(name.substr(std::string(prefix).size()), number);
    }
  }
  return numbers;
}

void ExpectNumbersOf(Arch arch, const char* header) {
  const std::map<std::string, int> numbers = NumbersIn(header);
  if (numbers.empty()) GTEST_SKIP() << header << " is not installed";
  FilterOptions options;
  options.arch = arch;
  options.supervise = {
      .names = true, .reads = true, .sockets = true, .umask = true, .exec_reports = true};
  int found = 0;
  for (const SyscallRule& rule : BaselineSpec(options).rules) {
    auto it = numbers.find(rule.call);
    if (it == numbers.end()) continue;  // newer than the header
    EXPECT_EQ(rule.nr, it->second) << rule.call;
    ++found;
  }
  EXPECT_GT(found, 50);
}

TEST(FilterBaselineTest, NumbersOfX86AreThoseOfTheKernelHeader) {
  ExpectNumbersOf(Arch::kX86_64, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h");
}

TEST(FilterBaselineTest, NumbersOfArmAreThoseOfTheKernelHeader) {
  ExpectNumbersOf(Arch::kAarch64, "/usr/include/asm-generic/unistd.h");
}

// Compares with tests/golden/<name>; CORDON_UPDATE_GOLDEN=1 writes it instead.
void ExpectGolden(const std::string& name, const std::string& text) {
  const char* source = std::getenv("CORDON_SOURCE_DIR");
  const std::string path =
      std::string(source != nullptr ? source : CORDON_SOURCE_DIR) + "/tests/golden/" + name;
  if (std::getenv("CORDON_UPDATE_GOLDEN") != nullptr) {
    std::ofstream out(path);
    out << text;
    ASSERT_TRUE(out.flush()) << path;
    return;
  }
  std::ifstream in(path);
  ASSERT_TRUE(in) << "cannot read " << path;
  std::ostringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(text, golden.str()) << "if the change is meant: CORDON_UPDATE_GOLDEN=1";
}

// The rows that supervision adds, without the baseline's.
std::string DescribeSupervision(Arch arch, Supervision supervise) {
  FilterSpec spec = BaselineSpec({.supervise = supervise, .arch = arch});
  const auto baseline = static_cast<std::ptrdiff_t>(BaselineSpec({.arch = arch}).rules.size());
  spec.rules.erase(spec.rules.begin(), spec.rules.begin() + baseline);
  return Describe(spec);
}

TEST(FilterBaselineTest, DescriptionIsTheGoldenOne) {
  ExpectGolden("filter_x86_64.txt", Describe(BaselineSpec({.arch = Arch::kX86_64})));
  ExpectGolden("filter_aarch64.txt", Describe(BaselineSpec({.arch = Arch::kAarch64})));
}

TEST(FilterBaselineTest, ProgramIsTheGoldenOne) {
  ExpectGolden("filter_program_x86_64.txt", Disassemble(BaselineFilter({.arch = Arch::kX86_64})));
  ExpectGolden("filter_program_aarch64.txt", Disassemble(BaselineFilter({.arch = Arch::kAarch64})));
}

TEST(FilterBaselineTest, SupervisedDescriptionAndProgramAreTheGoldenOnes) {
  const Supervision standard{.names = true, .sockets = true, .umask = true, .exec_reports = true};
  Supervision strict = standard;
  strict.reads = true;
  for (const Arch arch : {Arch::kX86_64, Arch::kAarch64}) {
    const std::string end = arch == Arch::kX86_64 ? "x86_64.txt" : "aarch64.txt";
    ExpectGolden("filter_supervised_" + end, DescribeSupervision(arch, standard));
    ExpectGolden("filter_strict_reads_" + end, DescribeSupervision(arch, strict));
    ExpectGolden("filter_program_supervised_" + end,
                 Disassemble(BaselineFilter({.supervise = standard, .arch = arch})));
  }
}

}  // namespace
}  // namespace cordon::jail
