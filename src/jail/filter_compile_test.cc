#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <random>

#include "base/unique_fd.h"
#include "jail/filter.h"

namespace cordon::jail {
namespace {

using Op = ArgCheck::Op;

constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;

std::uint32_t Errno(int number) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(number); }

seccomp_data Call(int nr, std::initializer_list<std::uint64_t> args = {},
                  std::uint32_t arch = kArch) {
  seccomp_data call{};
  call.nr = nr;
  call.arch = arch;
  std::size_t at = 0;
  for (std::uint64_t arg : args) call.args[at++] = arg;
  return call;
}

FilterSpec SpecOf(std::vector<SyscallRule> rules) {
  FilterSpec spec;
  spec.arch = kArch;
  spec.foreign_action = SECCOMP_RET_KILL_PROCESS;
  spec.default_action = SECCOMP_RET_ALLOW;
  spec.unknown_action = Errno(ENOSYS);
  spec.reviewed = {{0, 500}};
  spec.rules = std::move(rules);
  return spec;
}

std::uint32_t Answer(const FilterSpec& spec, const seccomp_data& call) {
  return Emulate(Compile(spec), call);
}

// The kernel's check of classic programs (jumps, opcodes, end), without putting it on this process.
bool KernelAccepts(std::vector<sock_filter> program) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return false;
  UniqueFd first(pair[0]), second(pair[1]);
  sock_fprog form{static_cast<unsigned short>(program.size()), program.data()};
  return ::setsockopt(first.get(), SOL_SOCKET, SO_ATTACH_FILTER, &form, sizeof form) == 0;
}

TEST(FilterCompileTest, DefaultConstructedSpecKills) {
  FilterSpec spec;
  EXPECT_EQ(Answer(spec, Call(0)), std::uint32_t{SECCOMP_RET_KILL_THREAD});
  EXPECT_EQ(Answer(spec, Call(0, {}, 0)), std::uint32_t{SECCOMP_RET_KILL_THREAD});
}

TEST(FilterCompileTest, ForeignMachineIsDecidedBeforeTheNumber) {
  FilterSpec spec = SpecOf({});
  EXPECT_EQ(Answer(spec, Call(1, {}, AUDIT_ARCH_I386)), std::uint32_t{SECCOMP_RET_KILL_PROCESS});
  EXPECT_EQ(Answer(spec, Call(1)), std::uint32_t{SECCOMP_RET_ALLOW});
}

TEST(FilterCompileTest, NumbersOutsideTheReviewedRangesAreUnknown) {
  FilterSpec spec = SpecOf({{10, {}, Errno(EPERM), ""}, {450, {}, Errno(EPERM), ""}});
  spec.reviewed = {{5, 20}, {424, 440}};
  struct {
    int nr;
    std::uint32_t action;
  } const cases[] = {{0, Errno(ENOSYS)},         {4, Errno(ENOSYS)},       {5, SECCOMP_RET_ALLOW},
                     {10, Errno(EPERM)},         {20, SECCOMP_RET_ALLOW},  {21, Errno(ENOSYS)},
                     {423, Errno(ENOSYS)},       {424, SECCOMP_RET_ALLOW}, {440, SECCOMP_RET_ALLOW},
                     {441, Errno(ENOSYS)},       {450, Errno(ENOSYS)},     {-1, Errno(ENOSYS)},
                     {0x40000005, Errno(ENOSYS)}};
  for (const auto& c : cases) EXPECT_EQ(Answer(spec, Call(c.nr)), c.action) << c.nr;
}

TEST(FilterCompileTest, FirstMatchingRuleDecides) {
  FilterSpec spec = SpecOf({{7, {{0, ~0ull, Op::kEqual, 1}}, Errno(1), ""},
                            {7, {{0, 1, Op::kEqual, 1}}, Errno(2), ""},
                            {7, {}, Errno(3), ""},
                            {7, {}, Errno(4), ""}});
  EXPECT_EQ(Answer(spec, Call(7, {1})), Errno(1));
  EXPECT_EQ(Answer(spec, Call(7, {3})), Errno(2));
  EXPECT_EQ(Answer(spec, Call(7, {2})), Errno(3));
}

TEST(FilterCompileTest, ComparesBothHalvesOfAnArgument) {
  FilterSpec equal = SpecOf({{1, {{2, ~0ull, Op::kEqual, 0x100000002}}, Errno(1), ""}});
  EXPECT_EQ(Answer(equal, Call(1, {0, 0, 0x100000002})), Errno(1));
  EXPECT_EQ(Answer(equal, Call(1, {0, 0, 2})), std::uint32_t{SECCOMP_RET_ALLOW});
  EXPECT_EQ(Answer(equal, Call(1, {0, 0, 0x100000003})), std::uint32_t{SECCOMP_RET_ALLOW});

  FilterSpec any = SpecOf({{1, {{5, 0x8000000000000001, Op::kMaskedAny, 0}}, Errno(1), ""}});
  EXPECT_EQ(Answer(any, Call(1, {0, 0, 0, 0, 0, 1})), Errno(1));
  EXPECT_EQ(Answer(any, Call(1, {0, 0, 0, 0, 0, 1ull << 63})), Errno(1));
  EXPECT_EQ(Answer(any, Call(1, {0, 0, 0, 0, 0, ~0x8000000000000001ull})),
            std::uint32_t{SECCOMP_RET_ALLOW});

  FilterSpec unequal = SpecOf({{1, {{0, ~0ull, Op::kNotEqual, 5}}, Errno(1), ""}});
  EXPECT_EQ(Answer(unequal, Call(1, {5})), std::uint32_t{SECCOMP_RET_ALLOW});
  EXPECT_EQ(Answer(unequal, Call(1, {0x100000005})), Errno(1));
}

TEST(FilterCompileTest, MaskOfTheLowHalfIgnoresTheHighHalf) {
  FilterSpec spec = SpecOf({{16, {{1, 0xffffffff, Op::kEqual, 0x5412}}, Errno(EPERM), ""}});
  EXPECT_EQ(Answer(spec, Call(16, {0, 0x5412})), Errno(EPERM));
  EXPECT_EQ(Answer(spec, Call(16, {0, 0xdeadbeef00005412})), Errno(EPERM));
  EXPECT_EQ(Answer(spec, Call(16, {0, 0x5413})), std::uint32_t{SECCOMP_RET_ALLOW});
}

TEST(FilterCompileTest, ImpossibleValueNeverMatches) {
  FilterSpec equal = SpecOf({{1, {{0, 0xf, Op::kEqual, 0x10}}, Errno(1), ""}});
  FilterSpec unequal = SpecOf({{1, {{0, 0xf, Op::kNotEqual, 0x10}}, Errno(1), ""}});
  for (std::uint64_t arg : {0ull, 0x10ull, 0x1full}) {
    EXPECT_EQ(Answer(equal, Call(1, {arg})), std::uint32_t{SECCOMP_RET_ALLOW});
    EXPECT_EQ(Answer(unequal, Call(1, {arg})), Errno(1));
  }
}

TEST(FilterCompileTest, RulesThatBeginAlikeAskOnce) {
  const ArgCheck common{0, ~0ull, Op::kEqual, 2};
  std::vector<SyscallRule> rules;
  for (unsigned i = 0; i < 4; ++i) {
    rules.push_back({1, {common, {1, ~0ull, Op::kEqual, i}}, Errno(static_cast<int>(i) + 1), ""});
  }
  rules.push_back({1, {common}, Errno(9), ""});
  const std::string listing = Disassemble(Compile(SpecOf(rules)));
  EXPECT_EQ(listing.find("arg0.low"), listing.rfind("arg0.low")) << listing;
  const FilterSpec spec = SpecOf(rules);
  EXPECT_EQ(Answer(spec, Call(1, {2, 3})), Errno(4));
  EXPECT_EQ(Answer(spec, Call(1, {2, 4})), Errno(9));
  EXPECT_EQ(Answer(spec, Call(1, {3, 3})), std::uint32_t{SECCOMP_RET_ALLOW});
}

TEST(FilterCompileTest, NumbersWithoutArgumentRulesStayInTheActionCache) {
  FilterSpec spec = SpecOf({{3, {}, Errno(EPERM), ""},
                            {7, {{0, ~0ull, Op::kEqual, 1}}, Errno(1), ""},
                            // Says what is said anyway: must not cost the cache.
                            {9, {{0, ~0ull, Op::kEqual, 1}}, SECCOMP_RET_ALLOW, ""}});
  std::vector<sock_filter> program = Compile(spec);
  for (int nr = 0; nr <= 500; ++nr) {
    EXPECT_EQ(IsCached(program, kArch, nr), nr != 3 && nr != 7) << nr;
  }
  EXPECT_FALSE(IsCached(program, kArch, 501));
  EXPECT_FALSE(IsCached(program, AUDIT_ARCH_I386, 0));
}

TEST(FilterEmulateTest, BrokenProgramsKill) {
  const std::uint32_t kill = SECCOMP_RET_KILL_PROCESS;
  EXPECT_EQ(Emulate({}, Call(0)), kill);
  EXPECT_EQ(Emulate({{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}}, Call(0)), kill);  // no end
  EXPECT_EQ(
      Emulate({{BPF_LD | BPF_W | BPF_ABS, 0, 0, 64}, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}},
              Call(0)),
      kill);
  EXPECT_EQ(
      Emulate({{BPF_LD | BPF_W | BPF_ABS, 0, 0, 2}, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}},
              Call(0)),
      kill);
  EXPECT_EQ(
      Emulate({{BPF_JMP | BPF_JA, 0, 0, ~0u}, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}, Call(0)),
      kill);
  EXPECT_EQ(
      Emulate({{BPF_ALU | BPF_XOR | BPF_K, 0, 0, 0}, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}},
              Call(0)),
      kill);
}

class RandomSpecs : public ::testing::TestWithParam<unsigned> {
 protected:
  std::mt19937_64 random_{GetParam() * 7919u + 1};

  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }

  // Values that meet often, in one half or both.
  std::uint64_t Word() {
    static constexpr std::uint64_t kWords[] = {0,      1,          2,          0xf,       0x10,
                                               0x5412, 0x7fffffff, 0x80000000, 0xffffffff};
    const std::uint64_t low = kWords[Below(std::size(kWords))];
    return Below(2) == 0 ? low : low | kWords[Below(std::size(kWords))] << 32;
  }
  ArgCheck Condition() {
    ArgCheck check;
    check.index = static_cast<unsigned>(Below(6));
    check.mask = Below(2) == 0 ? ~0ull : Word();
    check.op = static_cast<Op>(Below(3));
    check.value = Below(3) == 0 ? Word() : Word() & check.mask;
    return check;
  }
  std::uint32_t Action() {
    return Below(4) == 0 ? SECCOMP_RET_ALLOW : Errno(static_cast<int>(Below(40)));
  }
  FilterSpec Spec(std::size_t rules, std::uint64_t numbers) {
    FilterSpec spec = SpecOf({});
    spec.default_action = Action();
    spec.reviewed.clear();
    for (std::uint32_t at = static_cast<std::uint32_t>(Below(3)); at < numbers;) {
      const std::uint32_t last = at + static_cast<std::uint32_t>(Below(numbers));
      spec.reviewed.push_back({at, last});
      at = last + 1 + static_cast<std::uint32_t>(Below(4));
    }
    for (std::size_t i = 0; i < rules; ++i) {
      SyscallRule rule;
      rule.nr = static_cast<int>(Below(numbers + 5));
      if (i > 0 && Below(2) == 0) {  // begins as its predecessor does
        rule = spec.rules.back();
        rule.when.resize(Below(rule.when.size() + 1));
      }
      for (std::uint64_t n = Below(4); n > 0; --n) rule.when.push_back(Condition());
      rule.action = Action();
      spec.rules.push_back(rule);
    }
    return spec;
  }
  seccomp_data RandomCall(const FilterSpec& spec, std::uint64_t numbers) {
    seccomp_data call = Call(static_cast<int>(Below(numbers + 10)) - 2);
    for (auto& arg : call.args) arg = Word();
    if (!spec.rules.empty() && Below(2) == 0) {
      // Meet the conditions of one rule, as far as they can be met.
      const SyscallRule& rule = spec.rules[Below(spec.rules.size())];
      call.nr = rule.nr;
      for (const ArgCheck& c : rule.when) {
        call.args[c.index] = c.op == Op::kEqual ? (c.value & c.mask) | (Word() & ~c.mask) : Word();
      }
    }
    if (Below(20) == 0) call.nr = static_cast<int>(random_());
    if (Below(50) == 0) call.arch = AUDIT_ARCH_I386;
    return call;
  }
  void ExpectAgreement(const FilterSpec& spec, std::uint64_t numbers, int calls) {
    const std::vector<sock_filter> program = Compile(spec);
    ASSERT_LE(program.size(), std::size_t{BPF_MAXINSNS});
    for (int i = 0; i < calls; ++i) {
      const seccomp_data call = RandomCall(spec, numbers);
      ASSERT_EQ(Emulate(program, call), Evaluate(spec, call))
          << "nr " << call.nr << "\n"
          << Describe(spec) << Disassemble(program);
    }
    // Longer ones do not fit into a socket's option memory.
    if (program.size() <= 1200) {
      EXPECT_TRUE(KernelAccepts(program));
    }
  }
};

TEST_P(RandomSpecs, ProgramAnswersAsItsSpec) {
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t numbers = 1 + Below(30);
    ExpectAgreement(Spec(Below(25), numbers), numbers, 200);
  }
}

TEST_P(RandomSpecs, LongProgramsJumpFurtherThanOneByte) {
  ExpectAgreement(Spec(150, 200), 200, 2000);
  ExpectAgreement(Spec(150, 1), 1, 2000);  // all in one call number
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomSpecs, ::testing::Range(0u, 8u));

TEST(FilterCompileTest, FarTargetsAreReachedThroughBridges) {
  // Many actions far apart: every return instruction is out of reach of most tests.
  std::vector<SyscallRule> rules;
  rules.reserve(300);
  for (int nr = 0; nr < 300; ++nr) {
    rules.push_back(
        {nr, {{0, ~0ull, Op::kEqual, 0x100000000ull + static_cast<unsigned>(nr)}}, Errno(nr), ""});
  }
  FilterSpec spec = SpecOf(rules);
  std::vector<sock_filter> program = Compile(spec);
  ASSERT_GT(program.size(), 1000u);
  ASSERT_LE(program.size(), std::size_t{BPF_MAXINSNS});
  for (int nr = 0; nr < 300; ++nr) {
    const auto hit = 0x100000000ull + static_cast<unsigned>(nr);
    EXPECT_EQ(Emulate(program, Call(nr, {hit})), Errno(nr));
    EXPECT_EQ(Emulate(program, Call(nr, {hit + 1})), std::uint32_t{SECCOMP_RET_ALLOW});
  }
}

}  // namespace
}  // namespace cordon::jail
