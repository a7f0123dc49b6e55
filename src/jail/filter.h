// The system call filter: a pure compiler from a description to classic BPF, an emulator for
// tests, and the baseline that every exec inside gets.
//
//   FilterOptions options;                       // closed by construction
//   std::vector<sock_filter> program = BaselineFilter(options);
//   seccomp_data call{};
//   call.nr = SYS_bpf;
//   call.arch = AuditArch(kNativeArch);
//   Emulate(program, call);                      // SECCOMP_RET_ERRNO | EPERM
//
// How a call is decided:
//   1. another machine's entry point (int 0x80 on x86_64)        -> foreign_action
//   2. a number outside `reviewed` (newer calls, x32, -1)        -> unknown_action
//   3. the first rule of that number whose conditions all hold   -> its action
//   4. none                                                      -> default_action
//
// SECCOMP_RET_USER_NOTIF asks the supervisor (FilterOptions::Supervision); only values in registers
// decide whether it is asked. A program with such rows is loaded with a listener, or these calls
// answer ENOSYS.
//
// Calls that need no look at their arguments are decided by number alone in a binary search, so
// that the kernel's own per-call cache (seccomp action cache, since 5.11) keeps plain reads free.
// Pure and thread-safe. Sources: seccomp(2), Documentation/userspace-api/seccomp_filter.rst.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cordon::jail {

// Machines that a filter can be made for; any of them can be compiled and emulated anywhere.
enum class Arch { kX86_64, kAarch64 };
#if defined(__x86_64__)
inline constexpr Arch kNativeArch = Arch::kX86_64;
#elif defined(__aarch64__)
inline constexpr Arch kNativeArch = Arch::kAarch64;
#else
#error "no system call table for this machine"
#endif
// AUDIT_ARCH_* of the machine.
std::uint32_t AuditArch(Arch arch);

// Which calls ask the supervisor. Everything else, read, write, stat and unlink among them, is as
// fast as without one.
struct Supervision {
  // Opens that write, create, empty or make an unnamed file, and every call that makes, moves or
  // removes a directory entry, except removals of files (a protected one is a mount point). Closes
  // the ioctls of btrfs, bcachefs and OCFS2 that make names.
  bool names = false;
  // Every open, except of O_PATH descriptors, which give no content.
  bool reads = false;
  // connect and bind; `names` alone has bind, which makes a name.
  bool sockets = false;
  bool umask = false;
  bool exec_reports = false;
  bool Any() const { return names || reads || sockets || umask || exec_reports; }
};

struct FilterOptions {
  // Lets namespaces and mounts be made inside (allowNestedSandbox).
  bool allow_nested_sandbox = false;
  // AF_UNIX SOCK_DGRAM reaches any path by sendto(2), unseen by a filter (12.17).
  bool allow_unix_datagram = false;
  // openat2(2) hides its flags behind a pointer; refused, programs use the older call. Supervision
  // of names or reads implies it.
  bool refuse_openat2 = false;
  Supervision supervise = {};
  Arch arch = kNativeArch;
};

// One condition on a call's argument.
struct ArgCheck {
  unsigned index = 0;          // 0..5
  std::uint64_t mask = ~0ull;  // compared: (arg & mask) op value
  enum class Op { kEqual, kNotEqual, kMaskedAny } op = Op::kEqual;  // kMaskedAny: (arg & mask) != 0
  std::uint64_t value = 0;
  bool operator==(const ArgCheck&) const = default;
};
struct SyscallRule {
  int nr = 0;
  std::vector<ArgCheck> when;  // all must hold; empty: always
  std::uint32_t action = 0;    // SECCOMP_RET_*
  std::string reason;
  std::string call = {};       // the call's name, for people; empty shows the number
  std::string condition = {};  // `when` in words, for people
};
// Call numbers first..last, both included.
struct CallRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};
struct FilterSpec {
  std::uint32_t arch = 0;            // AUDIT_ARCH_*; any other arch gets `foreign_action`
  std::uint32_t foreign_action = 0;  // 0 is SECCOMP_RET_KILL_THREAD
  std::uint32_t default_action = 0;
  std::vector<SyscallRule> rules;  // in order of precedence within one call number
  // Numbers that somebody has looked at; ascending, not overlapping. Every other number gets
  // `unknown_action`, whatever the rules say.
  std::vector<CallRange> reviewed = {};
  std::uint32_t unknown_action = 0;
};

// The answer of `spec` itself, without a program: what Compile must agree with.
std::uint32_t Evaluate(const FilterSpec& spec, const seccomp_data& call);

FilterSpec BaselineSpec(const FilterOptions& options);
// REQUIRES: argument indices below 6, `reviewed` in order. The result may be loaded when it has at
// most BPF_MAXINSNS (4096) instructions; the baseline has some 200, a supervised one some 300.
std::vector<sock_filter> Compile(const FilterSpec& spec);
inline std::vector<sock_filter> BaselineFilter(const FilterOptions& options) {
  return Compile(BaselineSpec(options));
}

// Runs `program` on one call as the kernel would; returns SECCOMP_RET_*. Knows the instructions
// that Compile makes; any other, a jump or load out of range, or a missing end gives
// SECCOMP_RET_KILL_PROCESS.
std::uint32_t Emulate(const std::vector<sock_filter>& program, const seccomp_data& call);
// True when the kernel's action cache answers `nr` without running the program (the rule of
// seccomp_is_const_allow in kernel/seccomp.c).
bool IsCached(const std::vector<sock_filter>& program, std::uint32_t arch, int nr);
// Readable listing, one instruction a line, for golden files.
std::string Disassemble(const std::vector<sock_filter>& program);
// "EPERM", "ENOSYS", "allow", "kill process", ...
std::string ActionName(std::uint32_t action);
// Table "call, condition, action, reason", for --dry-run and documents.
std::string Describe(const FilterSpec& spec);

}  // namespace cordon::jail
