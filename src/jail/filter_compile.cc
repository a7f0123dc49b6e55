#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "jail/filter.h"

namespace cordon::jail {
namespace {

// Arguments are 64 bits in memory order; both supported machines are little-endian.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

constexpr std::uint32_t kNrOffset = offsetof(seccomp_data, nr);
constexpr std::uint32_t kArchOffset = offsetof(seccomp_data, arch);
constexpr std::uint32_t kMaxShortJump = 255;

std::uint32_t LowOffset(unsigned index) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}
std::uint32_t HighOffset(unsigned index) { return LowOffset(index) + 4; }

// Instructions are made from the last to the first, so that the distance of every jump is known
// when it is made. A Label is an instruction's place counted from the end; code that falls
// through always falls to the label made just before it.
using Label = std::size_t;

class Assembler {
 public:
  Label Return(std::uint32_t action) {
    auto found = returns_.find(action);
    if (found != returns_.end() && Distance(found->second) <= kMaxShortJump) return found->second;
    Label label = Push({BPF_RET | BPF_K, 0, 0, action});
    returns_[action] = label;
    return label;
  }

  // Statement that goes on at `next`.
  Label Then(std::uint16_t code, std::uint32_t k, Label next) {
    FallTo(next);
    return Push({code, 0, 0, k});
  }

  Label Branch(std::uint16_t op, std::uint32_t k, Label yes, Label no) {
    if (yes == no) return yes;
    yes = Near(yes, 1);  // a bridge for `no` may come between
    no = Near(no, 0);
    return Push({static_cast<std::uint16_t>(BPF_JMP | op | BPF_K),
                 static_cast<std::uint8_t>(Distance(yes)), static_cast<std::uint8_t>(Distance(no)),
                 k});
  }

  std::vector<sock_filter> Finish(Label start) {
    FallTo(start);
    return {reversed_.rbegin(), reversed_.rend()};
  }

 private:
  Label Push(sock_filter instruction) {
    reversed_.push_back(instruction);
    return reversed_.size() - 1;
  }
  // Jump offset from the next instruction made to `label`.
  std::size_t Distance(Label label) const { return reversed_.size() - label - 1; }

  Label Jump(Label target) {
    const sock_filter& there = reversed_[target];
    if (there.code == (BPF_RET | BPF_K)) return Push(there);
    return Push({BPF_JMP | BPF_JA, 0, 0, static_cast<std::uint32_t>(Distance(target))});
  }
  void FallTo(Label next) {
    if (Distance(next) != 0) Jump(next);
  }
  // `label`, or a bridge to it when it is out of reach of a conditional jump `slack` further on.
  Label Near(Label label, std::size_t slack) {
    return Distance(label) + slack <= kMaxShortJump ? label : Jump(label);
  }

  std::vector<sock_filter> reversed_;
  std::map<std::uint32_t, Label> returns_;
};

struct Half {
  std::uint32_t offset, mask, value;
};

// Code that goes to `yes` when (word & mask) == value.
Label HalfEquals(Assembler& as, const Half& half, Label yes, Label no) {
  if ((half.value & ~half.mask) != 0) return no;
  if (half.mask == 0) return yes;
  Label test = as.Branch(BPF_JEQ, half.value, yes, no);
  if (half.mask != ~0u) test = as.Then(BPF_ALU | BPF_AND | BPF_K, half.mask, test);
  return as.Then(BPF_LD | BPF_W | BPF_ABS, half.offset, test);
}

Label HalfHasAny(Assembler& as, const Half& half, Label yes, Label no) {
  if (half.mask == 0) return no;
  Label test = as.Branch(BPF_JSET, half.mask, yes, no);
  return as.Then(BPF_LD | BPF_W | BPF_ABS, half.offset, test);
}

Label Check(Assembler& as, const ArgCheck& check, Label yes, Label no) {
  const Half low{LowOffset(check.index), static_cast<std::uint32_t>(check.mask),
                 static_cast<std::uint32_t>(check.value)};
  const Half high{HighOffset(check.index), static_cast<std::uint32_t>(check.mask >> 32),
                  static_cast<std::uint32_t>(check.value >> 32)};
  switch (check.op) {
    case ArgCheck::Op::kMaskedAny: return HalfHasAny(as, low, yes, HalfHasAny(as, high, yes, no));
    case ArgCheck::Op::kNotEqual: std::swap(yes, no); break;
    case ArgCheck::Op::kEqual: break;
  }
  return HalfEquals(as, low, HalfEquals(as, high, yes, no), no);
}

using RuleList = std::vector<const SyscallRule*>;

// What one stretch of call numbers gets: the rules that look at arguments, in order, and the
// action when none of them holds.
struct Decision {
  RuleList conditional;
  std::uint32_t otherwise = 0;
  bool Constant() const { return conditional.empty(); }
};
struct Stretch {
  std::uint32_t first = 0;
  Decision decision;
};

Decision Decide(const RuleList& rules, std::uint32_t default_action) {
  Decision decision;
  decision.otherwise = default_action;
  for (const SyscallRule* rule : rules) {
    if (rule->when.empty()) {
      decision.otherwise = rule->action;
      break;
    }
    decision.conditional.push_back(rule);
  }
  // Rules at the end that say what is said anyway would only cost the cache.
  while (!decision.Constant() && decision.conditional.back()->action == decision.otherwise) {
    decision.conditional.pop_back();
  }
  return decision;
}

void Append(std::vector<Stretch>& out, std::uint32_t first, Decision decision) {
  if (!out.empty() && out.back().decision.Constant() && decision.Constant() &&
      out.back().decision.otherwise == decision.otherwise) {
    return;
  }
  out.push_back({first, std::move(decision)});
}

// All numbers 0..2^32-1 as stretches in ascending order, neighbours different.
std::vector<Stretch> Stretches(const FilterSpec& spec) {
  std::map<std::uint32_t, RuleList> by_number;
  for (const SyscallRule& rule : spec.rules) {
    by_number[static_cast<std::uint32_t>(rule.nr)].push_back(&rule);
  }
  std::vector<Stretch> out;
  std::uint64_t next = 0;  // one past the last number done
  auto fill_to = [&](std::uint64_t end, std::uint32_t action) {
    if (end > next) Append(out, static_cast<std::uint32_t>(next), {{}, action});
    next = end;
  };
  for (const CallRange& range : spec.reviewed) {
    fill_to(range.first, spec.unknown_action);
    for (auto it = by_number.lower_bound(range.first);
         it != by_number.end() && it->first <= range.last; ++it) {
      fill_to(it->first, spec.default_action);
      Append(out, it->first, Decide(it->second, spec.default_action));
      ++next;
    }
    fill_to(std::uint64_t{range.last} + 1, spec.default_action);
  }
  fill_to(std::uint64_t{1} << 32, spec.unknown_action);
  return out;
}

// Code for `rules`, whose first `depth` conditions are known to hold; `next` when none matches. A
// run of rules that ask the same thing asks it once: the kernel reads the whole program at every
// exec, and half of it was such questions.
Label EmitRules(Assembler& as, std::span<const SyscallRule* const> rules, std::size_t depth,
                Label next) {
  std::size_t end = rules.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    if (rules[begin]->when.size() == depth) {
      next = as.Return(rules[begin]->action);
    } else {
      const ArgCheck& check = rules[begin]->when[depth];
      while (begin > 0 && rules[begin - 1]->when.size() > depth &&
             rules[begin - 1]->when[depth] == check) {
        --begin;
      }
      const Label inside = EmitRules(as, rules.subspan(begin, end - begin), depth + 1, next);
      next = Check(as, check, inside, next);
    }
    end = begin;
  }
  return next;
}

Label EmitDecision(Assembler& as, const Decision& decision) {
  return EmitRules(as, decision.conditional, 0, as.Return(decision.otherwise));
}

// REQUIRES: the accumulator holds the call number.
Label EmitSearch(Assembler& as, const std::vector<Stretch>& all, std::size_t begin,
                 std::size_t end) {
  if (end - begin == 1) return EmitDecision(as, all[begin].decision);
  std::size_t middle = begin + (end - begin) / 2;
  Label upper = EmitSearch(as, all, middle, end);
  Label lower = EmitSearch(as, all, begin, middle);
  return as.Branch(BPF_JGE, all[middle].first, upper, lower);
}

}  // namespace

std::vector<sock_filter> Compile(const FilterSpec& spec) {
  Assembler as;
  std::vector<Stretch> stretches = Stretches(spec);
  Label search = EmitSearch(as, stretches, 0, stretches.size());
  Label number = as.Then(BPF_LD | BPF_W | BPF_ABS, kNrOffset, search);
  Label foreign = as.Return(spec.foreign_action);
  Label arch = as.Branch(BPF_JEQ, spec.arch, number, foreign);
  return as.Finish(as.Then(BPF_LD | BPF_W | BPF_ABS, kArchOffset, arch));
}

}  // namespace cordon::jail
