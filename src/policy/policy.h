// EffectivePolicy: one sandbox's rules, resolved against one file system, and the one function
// that answers whether a path may be read, written, created or removed, and by which rule.
//
//   CORDON_TRY(auto policy, Compile(spec, context, fs));
//   Verdict v = policy.Decide(Operation::kWrite, "/home/u/project/.git/hooks/pre-commit");
//   // v.allowed == false, v.rule->source == "built-in protected set", v.reason == "..."
//
// Enforcement (jail/plan_builder.h) is generated from the same value, so that the answer and the
// kernel agree; tests/property compares them on random trees.
//
// How a decision is made (spec 01):
//   match   a rule matches a path when it matches the path or one of its ancestors; the length of
//           the match is the length in bytes of that path or ancestor.
//   read    the longest matching kDenyRead / kAllowRead / kAllowWrite / kMount / ... rule decides;
//           at equal length deny wins, except that a rule written by the user beats a built-in
//           *default* deny (never the protected set). No match: readable iff inside the view.
//   write   some writable rule matches, no deny-write or protected rule matches at any length, and
//           the path is readable. A read-only mount refuses below itself, unless a longer writable
//           rule (or a runner state directory of the same length) matches.
//   create  as write.
//   remove  as write, and so is the parent directory, and the path is no ancestor of a denied
//           or protected one.
//   tmp     the answers are about the host's files. Where the session has a private directory in
//           their place (kTemporary), the answer is no, and Verdict::session_own says that the same
//           operation works inside, on the session's own file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "glob/glob.h"
#include "policy/file_system.h"
#include "policy/rule_index.h"
#include "policy/spec.h"

namespace cordon::policy {

enum class RuleKind {
  kAllowRead,
  kDenyRead,
  kAllowWrite,  // filesystem.allowWrite, --write
  kDenyWrite,
  kProtected,  // always-protected set, protectedPaths: no allow lifts it
  kDenyName,
  kMount,  // bindMounts; writable unless read_only or the mode says otherwise
  kWorkdir,
  kTemporary,    // the session's own /tmp, /var/tmp, /dev/shm
  kRunnerState,  // writable in every mode
  kAllowSocket,  // network.allowUnixSockets: visible, and may be connected to
  kSystem,       // visible in view: bound, read-only
};
const char* RuleKindName(RuleKind kind);

// An existing path that a rule names, after globs and links were resolved.
struct ExistingPath {
  std::string path;  // canonical: absolute, no links, no . or ..
  FileKind kind = FileKind::kMissing;
  bool operator==(const ExistingPath&) const = default;
};

struct Rule {
  RuleKind kind = RuleKind::kDenyRead;
  std::string text;  // as written
  Source source;
  std::string reason;             // why a built-in entry is there; empty for the user's own
  bool built_in_default = false;  // of the deny-read defaults, which a user's own rule may lift
  // A rule of a kind that can be writable (kMount, kWorkdir, kAllowWrite), but is not: because the
  // mount says so, because of the mode, or because the working directory is a system directory.
  bool read_only = false;
  bool executable = true;   // false: noexec (exec.blockWritableDirs)
  bool empty_mask = false;  // kDenyRead: reads as an empty file instead of EACCES (12.28)
  // Literal paths that this rule stands for: as written (normalised) and, where it differs, with
  // links resolved (the longest existing parent resolved for a missing one).
  std::vector<std::string> paths;
  // Glob readings, normalised and absolute; empty for a literal. See glob/glob.h for the grammar.
  std::vector<std::string> globs;
  // kDenyName: globs of what it does not speak of.
  std::vector<std::string> exceptions;
  // The same, ready to match; filled by Compile and used by Decide.
  std::vector<glob::Pattern> patterns, exception_patterns;
  // Parallel to `patterns`: names are compared case-folded. Elements that are absent count as no.
  std::vector<bool> pattern_folds;
  // Parallel to `paths`: from this offset on names are compared case-folded (npos: nowhere).
  // Elements that are absent count as npos.
  std::vector<std::size_t> fold_from;
  // What exists now. For a literal: at most one per element of `paths`. For a glob: every match,
  // each resolved; a link's own (unresolved) path is in `links`.
  std::vector<ExistingPath> existing;
  // Paths that are themselves symbolic links and are named by the rule.
  std::vector<std::string> links;
  // True when the rule also speaks of names that do not exist yet, or of a link that could be
  // replaced, and only the supervisor can hold that part.
  bool needs_supervisor = false;
  // The config of a git directory in a supervised session: the supervisor replaces it after it has
  // judged the new content (12.14), so no mount may stand on it.
  bool git_config = false;
};

enum class Operation { kRead, kWrite, kCreate, kRemove };
const char* OperationName(Operation op);

// A default-constructed verdict denies.
struct Verdict {
  bool allowed = false;
  const Rule* rule = nullptr;  // deciding rule, owned by the policy; null: the default decided
  std::string reason;          // one sentence
  // Not allowed on the host's file, but inside the path names the session's own one (a private
  // /tmp), on which the operation works.
  bool session_own = false;
};

// What Decide answers for reading and for writing one path, without the words.
struct PathState {
  bool readable = false;
  bool writable = false;
  bool session_own = false;  // as in Verdict
  const Rule* read_rule = nullptr;
  const Rule* write_rule = nullptr;  // the read rule where that one decides
};

// What the rules are resolved against.
struct Context {
  std::string home;     // absolute, may be "" when unknown: ~ rules are then an error
  std::string workdir;  // absolute and canonical
  std::map<std::string, std::string> environment;  // CLAUDE_CONFIG_DIR and the like
  // Directories of the running program, protected so that a session cannot replace its own jailer.
  std::vector<std::string> program_dirs;
  // The session runs as user 0 outside: the system's own secrets are denied as well.
  bool root = true;
  // `cordon run` and runs under settings: the working directory is writable, unless it is one of
  // the system's or the mode forbids it. Elsewhere a rule or a mount has to say so.
  bool workdir_writable = false;
  // The working directory was named without links a moment ago (getcwd, realpath). One that is on
  // its way now was put there since, perhaps by another session that may write above it.
  bool workdir_exact = false;
  // `cordon run`: ~/.ssh/known_hosts and the like stay readable (12.25,
  // DenyReadEntry::keep_readable).
  bool keep_readable = false;
  // A supervisor judges names that do not exist yet. Without one, denyNames and denyWrite globs
  // are refused (kUnsupported), because nothing would hold them.
  bool supervised = false;
};

class EffectivePolicy {
 public:
  View view = View::kHost;
  Mode mode = Mode::kChat;
  bool files_disabled = false;
  bool allow_git_config = false;  // filesystem.allowGitConfig
  std::string home;
  std::string workdir;
  std::vector<Rule> rules;
  std::vector<BindMount> mounts;  // hostPath resolved
  std::vector<std::string>
      exec_grants;  // execGrantRoots, resolved: Rule::executable does not bind below
  RuleIndex index;  // of `rules`, built by Compile; without it Decide looks at every rule
  std::vector<std::string> warnings;  // e.g. a rule that matches nothing, a part not held yet

  // `path`: absolute; it is normalised lexically, links in it are NOT resolved (the caller
  // resolves: ResolvePath). Never fails: what cannot be judged is denied.
  Verdict Decide(Operation op, std::string_view path) const;
  // Both answers at once, for a caller that asks about many paths. REQUIRES: `path` is absolute and
  // normalised.
  PathState Look(std::string_view path) const;
  // The host's name of a path in the session's view: another one where a mount shows it elsewhere.
  std::string HostPath(std::string_view path) const;
};

// Resolves, expands and orders the rules. Errors: kInvalid (a bad pattern, a relative mount path,
// ~ without a home, ...), kUnsupported (a rule that needs the supervisor where a warning would be
// too weak: denyNames, denyWrite globs), each naming the rule and its source.
Result<EffectivePolicy> Compile(const SandboxSpec& spec, const Context& context,
                                const FileSystem& fs);

// Lexical: collapses //, /./ and /../ of an absolute path. Never touches the file system.
std::string NormalizePath(std::string_view path);
// `text` with ~ and relative spellings made absolute and normalised (spec 01 "Prefixes"). As a
// pattern, globs are kept and what is put before them is escaped; a trailing "/" of a pattern with
// magic becomes "/**". Error kInvalid: empty, NUL inside, ~user, ~ without a home, ".." after
// magic.
enum class PathReading { kPattern, kLiteral };
Result<std::string> AbsolutePath(std::string_view text, const std::string& home,
                                 const std::string& base,
                                 PathReading reading = PathReading::kPattern);
// Resolves every symbolic link as the kernel does (".." after a link is the target's parent); the
// missing tail of a path is kept as written after its longest existing parent. Error kInvalid: more
// than 40 links.
Result<std::string> ResolvePath(const std::string& path, const FileSystem& fs);

}  // namespace cordon::policy
