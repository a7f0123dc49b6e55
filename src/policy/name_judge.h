// The supervisor's question: may this call make, change, move or remove this name?
//
//   NameJudge judge(policy, view);
//   NameVerdict v = judge.Create("/home/u/project/.env", FileKind::kFile);
//   // v.allowed == false, v.rule->text == ".env", v.reason == "..."
//
// Paths are canonical paths in the session's view, as the kernel names them: the directory without
// links, and the last component, which itself is never followed. What EffectivePolicy::Decide
// knows about the host's paths is asked with the path translated (bind mounts), and on top of it
// stand the rules that depend on the moment of the call:
//   - a `.git` directory anywhere: hooks, config, config.worktree, info/attributes, commondir
//   - work tree names (.vscode, .gitmodules, ...) in every repository that the session did not make
//   - what would complete a bare repository (12.15)
//   - ancestors of protected paths: not renamed, not removed, not made as a link (12.4, 12.24)
//   - the contents of a directory that is moved (12.12)
// Places that are the session's own (private /tmp, /dev/shm, /dev, /proc, /sys, /run) are allowed:
// the kernel decides there.
//
// Where the view may not be asked (somebody closed a directory on the way) nothing is allowed that
// depends on its answer.
//
// Not thread-safe: one judge belongs to one broker. Speed matters: an ordinary name costs three
// hash look-ups and a few comparisons, asks the view nothing and allocates nothing. The view is
// asked where the name, or one above it, is the first of a rule that depends on the moment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/file_system.h"
#include "policy/policy.h"

namespace cordon::policy {

struct NameVerdict {
  bool allowed = false;
  const Rule* rule = nullptr;  // deciding rule, owned by the policy or the judge; may be null
  std::string reason;          // one sentence; when allowed only with `notable`: why it is that
  // Allowed only as a replacement by a copy whose content the judge has seen (12.14): the broker
  // reads the source (at most kMaxGitConfig bytes) and asks GitConfig().
  bool git_config = false;
  // Not refused, but a person wants to know that it changed (spec 01: .husky, Makefile, ...).
  bool notable = false;
};

class NameJudge {
 public:
  static constexpr std::size_t kMaxGitConfig = 256 * 1024;
  // How the names of the broker's own copies of a git config begin: they may be taken away, and
  // nothing else, or another broker's command would write into one before it stands in its place.
  static constexpr std::string_view kConfigCopy = ".cordon-config-";

  // `view` answers about the session's view (canonical paths); both must outlive the judge.
  NameJudge(const EffectivePolicy& policy, const FileSystem& view);
  ~NameJudge();

  // The content of an existing file, socket or node changes: open for writing, truncate.
  NameVerdict Write(std::string_view path);
  // A name that is not there: a file, directory, symbolic link, or node (kOther).
  NameVerdict Create(std::string_view path, FileKind kind);
  // unlink or rmdir.
  NameVerdict Remove(std::string_view path, FileKind kind);
  // `replaced`: what stands at `to` now (kMissing: nothing). An exchange is two renames.
  NameVerdict Rename(std::string_view from, FileKind kind, std::string_view to, FileKind replaced);
  // A hard link of an existing file (never a directory).
  NameVerdict Link(std::string_view from, std::string_view to);
  // Reading, for strict reads.
  NameVerdict Read(std::string_view path);

  // After Rename said git_config: `content` would become the file at `path` (a git directory's
  // config), whose content now is `before` ("" when there is none).
  NameVerdict GitConfig(std::string_view path, std::string_view before, std::string_view content);

  // The call was made: the judge remembers what the session made itself (repositories).
  void Made(std::string_view path, FileKind kind);
  void Moved(std::string_view from, std::string_view to, FileKind kind);
  void Exchanged(std::string_view one, std::string_view other);
  void Removed(std::string_view directory);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cordon::policy
