// Git's configuration files: what they say, and whether a change of one is harmless (spec 12.14).
//
//   GitConfigVerdict v = JudgeGitConfig(before, after, RepositoryOrigin::kMade);
//   // v.allowed == false, v.key == "core.hookspath", v.reason == "git config core.hookspath ..."
//
// The parser takes what git's own takes and nothing that git would read in another way: a file that
// is not understood wholly is refused. Keys that may not be changed must stay as they are, in their
// order; of the others every new value is looked at. Pure; safe on any bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::policy {

struct GitConfigEntry {
  std::string section;               // lower case
  std::string subsection;            // as written; lower case in the old form [section.sub]
  std::string key;                   // lower case
  std::optional<std::string> value;  // nullopt: a key without "=", which means true
  bool operator==(const GitConfigEntry&) const = default;
  // "section.subsection.key", for people.
  std::string Name() const;
};

// nullopt when any part is not understood.
std::optional<std::vector<GitConfigEntry>> ParseGitConfig(std::string_view text);

enum class RepositoryOrigin {
  kExisted,  // before the session: only branch.* that names remotes which are there
  kMade,     // by the session: also what git itself writes on init, clone and submodule
};

struct GitConfigVerdict {
  bool allowed = false;
  std::string key;     // the one that decided; "" when the text itself is at fault
  std::string reason;  // one sentence; empty when allowed
  // Allowed provided that this relative path, seen from the git directory, leads to a place where
  // the session may write: core.worktree, which was set or changed. "" otherwise.
  std::string worktree;
};

GitConfigVerdict JudgeGitConfig(std::string_view before, std::string_view after,
                                RepositoryOrigin origin);

// An address that git reaches without running a helper that the address names.
bool IsPlainGitUrl(std::string_view url);

}  // namespace cordon::policy
