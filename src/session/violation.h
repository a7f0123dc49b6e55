// Refusals as people and agents meet them (spec 05 "Violations"), made from the broker's reports.
//
//   ViolationLog log(filter);
//   log.Began(1, {"npm", "install"});
//   if (const Violation* v = log.Add(report, policy)) {
//     EventParts parts = EventPartsOf(*v);
//     Emit(parts.type, v->exec, parts.text, parts.numbers);
//   }
//   for (const Violation& v : log.all()) ...
//
// A violation means that the boundary refused something. Two kinds of notes travel the same way and
// are none: a file that runs later outside was changed (kChanged), and reports were lost (kLost).
//
// Pure: no descriptors and no clock. Not thread-safe: a log belongs to one session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/wire_report.h"
#include "policy/policy.h"
#include "session/violation_action.h"
#include "session/violation_filter.h"

namespace cordon::session {

// Who refused. The other fields of a Violation say it in words; this is for code that says what
// would mend it.
enum class RefusedBy {
  kRule,      // a rule of the policy: Violation::kind
  kNoRule,    // nothing opens it: no rule makes it writable, or it is not in the view
  kMoment,    // the protected set at the moment of the call: hooks of a repository made inside, ...
  kBoundary,  // not a question of file rules: sockets, network, programs, system calls
};

struct Violation {
  Action action = Action::kFileWrite;
  std::string target;     // canonical path in the session's view, or an address
  std::string host_path;  // of the target; another one where a mount shows it elsewhere
  std::string raw;        // the path as the program gave it
  std::string program;    // path of the program, or its name in brackets
  std::string call;       // "openat", "rename", ...
  std::string reason;     // one sentence
  std::string rule;       // `protected .git/hooks`; "" when no rule decided
  std::string source;     // where that rule was written: "built-in protected set", "spec.json:4:7"
  std::uint64_t number = 0;  // from 1 in one session; the same one folded keeps its number
  std::uint64_t exec = 0;
  std::uint64_t count = 1;  // so far
  std::uint32_t pid = 0;    // of the first one, inside; 0 when unknown
  std::uint32_t host_pid = 0;
  int error = 0;          // errno that the caller got
  bool inferred = false;  // read off an error message of the command, not seen by the supervisor

  RefusedBy by = RefusedBy::kBoundary;
  policy::RuleKind kind = policy::RuleKind::kDenyRead;  // kRule only
  std::string rule_text;                                // kRule: as written
  bool built_in = false;                                // kRule: not written by a person
  bool built_in_default = false;   // kRule: of the deny-read defaults, which allowRead lifts
  bool rule_is_read_only = false;  // kRule: a mount or directory that could be writable, but is not
  bool rule_names_target = false;  // kRule: the rule speaks of the target itself, not of what is
                                   // above it
};

// `policy`: the one that the broker decided by.
Violation MakeViolation(const jail::wire::Report& report, const policy::EffectivePolicy& policy);

// One event of the session's stream. Types: "violation"; "changed" (target, program); "gap" (lost).
// `count` is the number so far, so that of two events with the same `number` the later one holds.
struct EventParts {
  std::string type;
  std::map<std::string, std::string> text;
  std::map<std::string, std::int64_t> numbers;
};
EventParts EventPartsOf(const Violation& violation);

// The same refusal (exec, action, target, rule, program) is kept once and counted. Memory is
// bounded whatever a command does: beyond kMaxDistinct, or kMaxBytes of text, refusals are only
// counted (not_kept).
class ViolationLog {
 public:
  static constexpr std::size_t kMaxDistinct = 4096;
  static constexpr std::size_t kMaxBytes = 4u << 20;

  explicit ViolationLog(ViolationFilter filter = {}) : filter_(std::move(filter)) {}
  // For what comes from now on; what is kept stays.
  void SetFilter(ViolationFilter filter) { filter_ = std::move(filter); }

  // What runs in an exec, for filter patterns.
  void Began(std::uint64_t exec, const std::vector<std::string>& argv);
  // The violation when an event is due: it is new, or its count has doubled since the last one.
  // Null otherwise, also for what is ignored, noise or not kept. The pointer holds until the next
  // call.
  const Violation* Add(const jail::wire::Report& report, const policy::EffectivePolicy& policy);
  const Violation* Add(Violation violation);
  // Those whose count has grown since their last event (of one exec that has ended, or of all).
  std::vector<Violation> TakeUnsaid(std::optional<std::uint64_t> exec = std::nullopt);

  // In the order in which they first came; refusals and notes.
  std::vector<Violation> Of(std::uint64_t exec) const;
  const std::vector<Violation>& all() const { return kept_; }
  // An exec's result was taken: what belongs to it makes room.
  void Forget(std::uint64_t exec);

  std::uint64_t ignored() const { return ignored_; }    // by ignoreViolations
  std::uint64_t noise() const { return noise_; }        // by the table in violation_noise.cc
  std::uint64_t not_kept() const { return not_kept_; }  // beyond the bounds

 private:
  ViolationFilter filter_;
  std::vector<Violation> kept_;
  std::vector<std::uint64_t> said_;  // parallel to kept_: the count of its last event
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::uint64_t, std::string> commands_;
  std::size_t bytes_ = 0;
  std::uint64_t last_number_ = 0;
  std::uint64_t ignored_ = 0, noise_ = 0, not_kept_ = 0;
};

}  // namespace cordon::session
