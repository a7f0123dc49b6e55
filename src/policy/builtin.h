// The built-in sets as tables: one row an entry, each with the reason that it is there.
//
// Nothing here is looked up: policy/compile resolves the rows against a home, a working directory
// and a file system. All data is static; every function may be called from any thread.
#pragma once

#include <span>
#include <string_view>

namespace cordon::policy {

// Read-denied by default. `path` is relative to home, or absolute; may be a glob.
struct DenyReadEntry {
  std::string_view path;
  std::string_view reason;
  bool empty_mask = false;           // reads as an empty file (12.28: its own tool stops on EACCES)
  std::string_view keep_readable{};  // for `cordon run` only: colon-separated names below it that
                                     // stay readable (12.25)
  // Matters only when the session is user 0 outside: ordinary permissions keep it from everybody
  // else, so that a mask for an ordinary user would cost a mount and hide nothing.
  bool root_only = false;
};
std::span<const DenyReadEntry> DenyReadDefaults();

// Where a protected entry is looked for.
enum class ProtectedScope {
  kWritableRoot,  // at the top of every writable root
  kWorkdirAndUp,  // in the working directory and every directory above it
  kGitDirectory,  // inside each git directory of a writable root (path relative to it)
  kHome,          // relative to home
};
struct ProtectedEntry {
  ProtectedScope scope;
  std::string_view path;  // relative, no globs except a trailing "*" in the last segment
  std::string_view reason;
  // Writable after all where runnerStateDirs names this very directory (the wrapped agent's own
  // state); every other row stays protected even then.
  bool runner_state_lifts = false;
};
// Not rows, because they depend on what is already there: a `.git` entry that is a file, and what
// would complete HEAD, objects and refs at the top of the working directory.
std::span<const ProtectedEntry> ProtectedEntries();

// denyNames of the standard dispatch rules, and their exceptions.
struct DenyNameEntry {
  std::string_view pattern;  // a leading ! is an exception
  std::string_view reason;
};
std::span<const DenyNameEntry> DenyNameDefaults();

// Files that projects must be able to change, but that run later outside: a change is allowed and
// told (spec 01). One component, or two; a directory means everything below it.
struct NotableEntry {
  std::string_view path;
  std::string_view reason;
};
std::span<const NotableEntry> NotableEntries();

// Programs that reach outside the boundary through a privileged helper.
struct DangerousProgram {
  std::string_view name;  // base name, a glob of base names, or an absolute path
  std::string_view reason;
};
std::span<const DangerousProgram> DangerousPrograms();

// Directories visible in view: bound (read-only).
struct SystemDirectory {
  std::string_view path;
  std::string_view reason;
};
std::span<const SystemDirectory> SystemDirectories();

}  // namespace cordon::policy
