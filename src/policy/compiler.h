// The work of Compile in one object, internal to policy/. Steps, in the order of Run():
//   mounts and working directory -> the user's entries -> built-in sets -> what is writable decides
//   where the protected set stands -> globs are expanded in one walk for each start directory ->
//   what nothing holds yet is reported.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "policy/builtin.h"
#include "policy/path.h"
#include "policy/policy.h"

namespace cordon::policy {

// Remembers what was asked: most rules share their first components. A directory that is asked
// about again and again is listed once, up to a fixed number of entries, so that the cost of the
// built-in sets does not depend on how many rows they have, nor on the size of the directory.
class CachedFileSystem : public FileSystem {
 public:
  explicit CachedFileSystem(const FileSystem& fs) : fs_(fs) {}
  FileKind Kind(const std::string& path) const override;
  std::optional<std::string> ReadLink(const std::string& path) const override {
    return fs_.ReadLink(path);
  }
  bool List(const std::string& path,
            const std::function<bool(std::string_view, FileKind)>& visit) const override {
    return fs_.List(path, visit);
  }
  std::optional<std::string> ReadSmallFile(const std::string& path) const override {
    return fs_.ReadSmallFile(path);
  }
  bool CaseFolds(const std::string& directory) const override;

 private:
  struct Directory {
    int asked = 0;
    bool complete = false;  // kinds_ holds every entry: what is not there is missing
  };
  void ListOnce(const std::string& directory, Directory* known) const;

  const FileSystem& fs_;
  mutable std::unordered_map<std::string, FileKind> kinds_;
  mutable std::unordered_map<std::string, Directory> directories_;
  mutable std::unordered_map<std::string, bool> folds_;
};

class Compiler {
 public:
  Compiler(const SandboxSpec& spec, const Context& context, const FileSystem& fs)
      : spec_(spec), context_(context), fs_(fs) {}
  Result<EffectivePolicy> Run();

 private:
  // compile.cc
  Status ResolveHome();
  Status AddMounts();
  Status AddWorkdir();
  Status AddUserEntries();
  Status AddTemporary();
  Status AddSystemDirectories();
  Status AddProgramDirectories();
  Status AddDefaultDenies();
  Status AddExecGrants();
  Status CheckOpeningLinks();
  Status CheckWorkdir();
  void SettlePrivateDirectories();
  void ReportUnheld();
  // compile_sockets.cc
  // Also where there are no file rules: sockets are no files.
  Status AddSockets();
  Status CheckSocketLinks();
  void Warn(std::string text) { policy_.warnings.push_back(std::move(text)); }

  // compile_rules.cc
  Status AddEntries(RuleKind kind, const std::vector<PathEntry>& entries, std::string_view field);
  Status AddDenyNames();
  Status AddDenyName(const PathEntry& entry, std::string_view reason,
                     const std::vector<std::string>& roots,
                     const std::vector<PathEntry>& exceptions);
  Result<Rule> FromEntry(RuleKind kind, const PathEntry& entry, std::string_view field);
  Result<Rule> FromPath(RuleKind kind, const std::string& path, std::string_view origin,
                        std::string_view reason);
  Status AddLiteral(Rule* rule, const std::string& path);
  // ResolveLinks, with the directories above remembered.
  Result<ResolvedPath> Resolve(const std::string& path);
  Status AddGlob(Rule* rule, const std::string& text);
  Status AddGlobText(Rule* rule, const std::string& text);
  // Offset in `path` from which names are compared folded, npos when nowhere.
  std::size_t FoldFrom(const std::string& path);

  // compile_expand.cc
  // Finds what the globs of the rules from `first_rule` on name now.
  Status ExpandGlobs(std::size_t first_rule);
  void RecordMatch(Rule* rule, const std::string& path, FileKind kind);

  // protected.cc
  Status AddProtectedSet();
  std::vector<std::string> WritableRoots() const;
  Status AddProtectedBelow(const std::string& base, ProtectedScope scope);
  Status AddProtected(const std::string& base, const ProtectedEntry& entry);
  Status AddProtectedPath(const std::string& path, std::string_view reason);
  Status AddGit(const std::string& root);
  Status AddIncluded(const std::string& file, int depth);
  Status AddHomeSet();
  Status ProtectAgainstAllowWrite();
  bool TouchesWritable(std::string_view path) const;
  bool IsWritable(std::string_view path) const;
  // The rules that open something, as far as they are compiled.
  const std::vector<std::size_t>& Opening() const;

  const SandboxSpec& spec_;
  const Context& context_;
  CachedFileSystem fs_;
  EffectivePolicy policy_;
  std::string home_;                                         // resolved; "" when unknown
  std::unordered_map<std::string, std::size_t> fold_cache_;  // by parent directory
  std::unordered_map<std::string, ResolvedPath> resolved_;   // directories
  mutable std::vector<std::size_t> opening_;
  mutable std::size_t opening_seen_ = 0;
  std::unordered_set<std::string> protected_;  // paths of the built-in set
};

}  // namespace cordon::policy
