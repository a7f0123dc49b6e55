// What the rows of the filter are made of; shared by filter_baseline.cc and filter_supervised.cc.
#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "jail/filter.h"

namespace cordon::jail {

using Checks = std::vector<ArgCheck>;

inline constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t Refuse(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

// Call numbers of each machine; -1: it has no such call.
struct Call {
  const char* name;
  int x86_64;
  int aarch64;
  int On(Arch arch) const { return arch == Arch::kX86_64 ? x86_64 : aarch64; }
};

// The kernel takes these arguments as 32-bit values and drops what stands above them, so that a
// comparison of all 64 bits would be passed by setting one more.
inline constexpr std::uint64_t kInt = 0xffffffff;

inline ArgCheck Is(unsigned index, std::uint64_t value, std::uint64_t mask = kInt) {
  return {.index = index, .mask = mask, .op = ArgCheck::Op::kEqual, .value = value};
}
inline ArgCheck HasAny(unsigned index, std::uint64_t mask) {
  return {.index = index, .mask = mask, .op = ArgCheck::Op::kMaskedAny, .value = 0};
}

// Collects rows in order of precedence. A call that the machine does not have gets none.
class FilterBuilder {
 public:
  FilterBuilder(Arch arch, FilterSpec empty) : arch_(arch), spec_(std::move(empty)) {}

  void Add(const Call& call, Checks when, std::uint32_t action, const char* condition,
           const char* reason) {
    const int nr = call.On(arch_);
    if (nr < 0) return;
    spec_.rules.push_back({nr, std::move(when), action, reason, call.name, condition});
  }
  FilterSpec Take() { return std::move(spec_); }

 private:
  Arch arch_;
  FilterSpec spec_;
};

// The supervisor's rows; after the baseline's, whose refusals come first.
void AddSupervision(FilterBuilder& b, const Supervision& supervise);

}  // namespace cordon::jail
