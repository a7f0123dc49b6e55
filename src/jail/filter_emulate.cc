#include <linux/audit.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include "jail/filter.h"

namespace cordon::jail {
namespace {

constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kAnd = BPF_ALU | BPF_AND | BPF_K;
constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
constexpr std::uint16_t kJump = BPF_JMP | BPF_JA;
constexpr std::uint16_t kJumpEqual = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t kJumpAtLeast = BPF_JMP | BPF_JGE | BPF_K;
constexpr std::uint16_t kJumpAbove = BPF_JMP | BPF_JGT | BPF_K;
constexpr std::uint16_t kJumpAny = BPF_JMP | BPF_JSET | BPF_K;

bool IsBranch(std::uint16_t code) {
  return code == kJumpEqual || code == kJumpAtLeast || code == kJumpAbove || code == kJumpAny;
}

bool Taken(const sock_filter& instruction, std::uint32_t accumulator) {
  switch (instruction.code) {
    case kJumpEqual: return accumulator == instruction.k;
    case kJumpAtLeast: return accumulator >= instruction.k;
    case kJumpAbove: return accumulator > instruction.k;
    default: return (accumulator & instruction.k) != 0;
  }
}

// Runs the program. With `constant` set, loads of anything but number and architecture end it,
// and *constant tells whether that happened: the kernel's test for its action cache.
std::uint32_t Run(const std::vector<sock_filter>& program, const seccomp_data& call,
                  bool* constant) {
  std::uint32_t accumulator = 0;
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    const sock_filter& instruction = program[pc];
    if (instruction.code == kReturn) return instruction.k;
    if (instruction.code == kLoad) {
      if (instruction.k % 4 != 0 || instruction.k >= sizeof call) break;
      if (constant != nullptr && instruction.k != offsetof(seccomp_data, nr) &&
          instruction.k != offsetof(seccomp_data, arch)) {
        *constant = false;
        break;
      }
      std::memcpy(&accumulator, reinterpret_cast<const char*>(&call) + instruction.k,
                  sizeof accumulator);
    } else if (instruction.code == kAnd) {
      accumulator &= instruction.k;
    } else if (instruction.code == kJump) {
      pc += instruction.k;
    } else if (IsBranch(instruction.code)) {
      pc += Taken(instruction, accumulator) ? instruction.jt : instruction.jf;
    } else {
      break;
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

bool Holds(const ArgCheck& check, const seccomp_data& call) {
  const std::uint64_t masked = call.args[check.index] & check.mask;
  switch (check.op) {
    case ArgCheck::Op::kEqual: return masked == check.value;
    case ArgCheck::Op::kNotEqual: return masked != check.value;
    case ArgCheck::Op::kMaskedAny: return masked != 0;
  }
  return false;
}

// "nr", "arg1.low", ...: what a load at `offset` reads.
std::string FieldName(std::uint32_t offset) {
  if (offset == offsetof(seccomp_data, nr)) return "nr";
  if (offset == offsetof(seccomp_data, arch)) return "arch";
  if (offset < offsetof(seccomp_data, args)) return "ip+" + std::to_string(offset - 8);
  const std::uint32_t at = offset - static_cast<std::uint32_t>(offsetof(seccomp_data, args));
  return "arg" + std::to_string(at / 8) + (at % 8 == 0 ? ".low" : ".high");
}

std::string Hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string ListingLine(const std::vector<sock_filter>& program, std::size_t at) {
  const sock_filter& i = program[at];
  auto target = [&](std::size_t skip) { return std::to_string(at + 1 + skip); };
  auto branch = [&](const char* test) {
    return std::string("if ") + test + " " + Hex(i.k) + " goto " + target(i.jt) + " else " +
           target(i.jf);
  };
  switch (i.code) {
    case kReturn: return "return " + ActionName(i.k);
    case kLoad: return "load " + FieldName(i.k);
    case kAnd: return "and " + Hex(i.k);
    case kJump: return "goto " + target(i.k);
    case kJumpEqual: return branch("==");
    case kJumpAtLeast: return branch(">=");
    case kJumpAbove: return branch(">");
    case kJumpAny: return branch("&");
    default: return "unknown code " + Hex(i.code) + " " + Hex(i.k);
  }
}

std::string CheckText(const ArgCheck& check) {
  std::string argument = "arg" + std::to_string(check.index);
  if (check.op == ArgCheck::Op::kMaskedAny) return argument + " & " + Hex(check.mask);
  if (check.mask != ~0ull) argument = "(" + argument + " & " + Hex(check.mask) + ")";
  return argument + (check.op == ArgCheck::Op::kEqual ? " == " : " != ") + Hex(check.value);
}

std::string ConditionText(const SyscallRule& rule) {
  std::string data;
  for (const ArgCheck& check : rule.when) data += (data.empty() ? "" : ", ") + CheckText(check);
  if (rule.when.empty()) return rule.condition.empty() ? "always" : rule.condition;
  return rule.condition.empty() ? data : rule.condition + " [" + data + "]";
}

struct Row {
  std::string call, condition, action, reason;
};

std::string Render(const std::vector<Row>& rows) {
  std::size_t call = 0, condition = 0, action = 0;
  for (const Row& row : rows) {
    call = std::max(call, row.call.size());
    condition = std::max(condition, row.condition.size());
    action = std::max(action, row.action.size());
  }
  std::string out;
  auto column = [&](const std::string& text, std::size_t width) {
    out += text;
    out.append(width - text.size() + 2, ' ');
  };
  for (const Row& row : rows) {
    column(row.call, call);
    column(row.condition, condition);
    column(row.action, action);
    out += row.reason + "\n";
  }
  return out;
}

}  // namespace

std::uint32_t AuditArch(Arch arch) {
  return arch == Arch::kX86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64;
}

std::uint32_t Evaluate(const FilterSpec& spec, const seccomp_data& call) {
  if (call.arch != spec.arch) return spec.foreign_action;
  const auto nr = static_cast<std::uint32_t>(call.nr);
  const bool reviewed =
      std::any_of(spec.reviewed.begin(), spec.reviewed.end(),
                  [&](const CallRange& r) { return r.first <= nr && nr <= r.last; });
  if (!reviewed) return spec.unknown_action;
  for (const SyscallRule& rule : spec.rules) {
    if (rule.nr == call.nr &&
        std::all_of(rule.when.begin(), rule.when.end(),
                    [&](const ArgCheck& check) { return Holds(check, call); })) {
      return rule.action;
    }
  }
  return spec.default_action;
}

std::uint32_t Emulate(const std::vector<sock_filter>& program, const seccomp_data& call) {
  return Run(program, call, nullptr);
}

bool IsCached(const std::vector<sock_filter>& program, std::uint32_t arch, int nr) {
  seccomp_data call{};
  call.nr = nr;
  call.arch = arch;
  bool constant = true;
  return Run(program, call, &constant) == SECCOMP_RET_ALLOW && constant;
}

std::string ActionName(std::uint32_t action) {
  const std::uint32_t data = action & SECCOMP_RET_DATA;
  switch (action & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW: return "allow";
    case SECCOMP_RET_KILL_PROCESS: return "kill process";
    case SECCOMP_RET_KILL_THREAD: return "kill thread";
    case SECCOMP_RET_TRAP: return "trap";
    case SECCOMP_RET_LOG: return "log";
    case SECCOMP_RET_TRACE: return "trace " + std::to_string(data);
    case SECCOMP_RET_USER_NOTIF: return "ask supervisor";
    case SECCOMP_RET_ERRNO:
      if (const char* name = strerrorname_np(static_cast<int>(data)); name != nullptr) return name;
      return "errno " + std::to_string(data);
    default: return Hex(action);
  }
}

std::string Disassemble(const std::vector<sock_filter>& program) {
  std::string out;
  for (std::size_t at = 0; at < program.size(); ++at) {
    char number[32];
    std::snprintf(number, sizeof number, "%4zu  ", at);
    out += number + ListingLine(program, at) + "\n";
  }
  return out;
}

std::string Describe(const FilterSpec& spec) {
  std::vector<Row> rows;
  rows.reserve(spec.rules.size() + 3);
  for (const SyscallRule& rule : spec.rules) {
    rows.push_back({rule.call.empty() ? "#" + std::to_string(rule.nr) : rule.call,
                    ConditionText(rule), ActionName(rule.action), rule.reason});
  }
  std::string ranges;
  for (const CallRange& range : spec.reviewed) {
    ranges += (ranges.empty() ? "not " : ", ") + std::to_string(range.first) + ".." +
              std::to_string(range.last);
  }
  rows.push_back({"(unknown)", ranges.empty() ? "always" : ranges, ActionName(spec.unknown_action),
                  "numbers that nobody has reviewed: newer calls, x32"});
  rows.push_back({"(foreign)", "another machine's entry point", ActionName(spec.foreign_action),
                  "its call numbers and arguments mean something else"});
  rows.push_back({"(others)", "always", ActionName(spec.default_action), ""});
  return Render(rows);
}

}  // namespace cordon::jail
