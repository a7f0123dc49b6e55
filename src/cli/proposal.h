// What `cordon trace` proposes: the smallest additions to a policy that its refusals justify.
//
// Proposed is what no rule speaks of: a path that nothing makes writable, one that is not in the
// view, a socket of the host. Four or more files of one directory become the directory, where that
// is not too wide. Never proposed, but listed with the reason: the protected set, a person's own
// rules, secrets, sockets with power over the machine, / and home and the system's own directories.
//
// Pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "session/violation.h"

namespace cordon::cli {

struct Proposal {
  struct Entry {
    std::string field;   // "filesystem.allowWrite"
    std::string option;  // "--write"
    std::string path;    // as it is: neither quoted nor escaped
    std::uint64_t calls = 0;
    std::vector<std::string> examples;  // "create /x/y (cp)", at most kExamples; printable
    std::size_t targets = 0;            // different ones
  };
  struct Left {
    std::string what;  // "write /x/.git/hooks/a"; printable
    std::string why;   // rule, source and what would lift it; printable
    std::uint64_t calls = 0;
  };
  std::vector<Entry> entries;  // by field and path
  std::vector<Left> left;
};

inline constexpr std::size_t kGroup = 4;  // from so many of one directory on, the directory
inline constexpr std::size_t kExamples = 2;

Proposal Propose(std::span<const session::Violation> violations,
                 const policy::EffectivePolicy& policy);

// `{"filesystem": {...}, "network": {...}}` of a sandbox description; "{}\n" for none.
std::string ProposalJson(const Proposal& proposal);
// "--write /x --allow-read /y": what goes before the command; "" for none.
std::string ProposalOptions(const Proposal& proposal);
// Everything for a person, the JSON block included.
std::string ProposalText(const Proposal& proposal);

}  // namespace cordon::cli
