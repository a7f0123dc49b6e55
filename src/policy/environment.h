// Environment cleaning (spec 01): what must not reach a process inside.
//
//   const auto inherited = EnvironmentFrom(environ);
//   const auto facts = FactsFor(policy, fs, inherited.at("PATH"));
//   auto cleaned = CleanEnvironment(inherited, spec.environment, facts);
//   for (auto& r : cleaned.removed) debug(r.name + ": " + r.reason);
//
// The result is the whole environment to start from: what was removed is in no other place of it.
// Values that Cordon itself gives (TMPDIR, XDG_RUNTIME_DIR, GIT_TEMPLATE_DIR, ...) are set by the
// caller afterwards. Credentials by name (AWS_SECRET_ACCESS_KEY, ...) are not this table's work:
// environment.drop takes them away.
//
// Pure and thread-safe.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "policy/spec.h"

namespace cordon::policy {

struct EnvRule {
  std::string_view name;  // exact, or with one trailing '*'
  std::string_view reason;
  enum class When {
    kAlways,
    // Kept when every path in it (colon-separated) is readable inside (PYTHONPATH).
    kUnlessReadable,
    // Kept when every path in it is readable and not writable inside: a file of settings that names
    // code, a directory of plugins.
    kUnlessFixed,
    // Removed only when it names a program or file that the sandbox may write (EDITOR, PAGER):
    // its first word, and every later word that holds a slash, are asked for. Values with a
    // command substitution cannot be judged and are removed.
    kIfWritablePath,
  } when = When::kAlways;
};
// The first row that matches a name decides; exact names stand before prefixes that cover them.
std::span<const EnvRule> EnvRules();

struct RemovedVariable {
  std::string name;
  std::string reason;
};

struct CleanedEnvironment {
  std::map<std::string, std::string> variables;
  std::vector<RemovedVariable> removed;  // sorted by name
};

// What the value-dependent rules ask about a path, as written: a path with a slash that does not
// start with one is relative to the working directory; a word without any slash is a program, to be
// looked up in PATH. An empty call-back counts as "not readable" and "writable".
struct EnvironmentFacts {
  std::function<bool(std::string_view path)> readable;
  std::function<bool(std::string_view path)> writable;
};

// The facts under a policy. A program is the first file of its name in `path_variable`; one that is
// not there is not writable. What cannot be resolved is not readable, and writable. The result
// refers to both arguments and must not outlive them.
EnvironmentFacts FactsFor(const EffectivePolicy& policy, const FileSystem& fs,
                          std::string path_variable);

// Cleaning first, then `rules.drop`, then `rules.set`. `rules.keep` exempts names from cleaning.
// Variables whose name is empty or holds '=' or NUL are dropped, exported bash functions
// (BASH_FUNC_*%%) too; `rules.keep` does not lift that.
CleanedEnvironment CleanEnvironment(const std::map<std::string, std::string>& inherited,
                                    const Environment& rules, const EnvironmentFacts& facts);

// From a NULL-terminated environ block; the first of a repeated name wins, as getenv(3) has it.
// Entries without '=' are left out. REQUIRES: environ_block is not null.
std::map<std::string, std::string> EnvironmentFrom(const char* const* environ_block);

}  // namespace cordon::policy
