#include "policy/exec_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "glob/glob.h"
#include "policy/path.h"
#include "policy/policy.h"

namespace cordon::policy {
namespace {

constexpr auto kDirectories = std::to_array<std::string_view>(
    {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/snap/bin"});

// Files that are many programs in one whatever else leads to them.
constexpr auto kMultiCall =
    std::to_array<std::string_view>({"busybox", "toybox", "coreutils", "snap"});

constexpr std::size_t kFewNames = 100;

constexpr std::string_view kUserReason = "denied by exec.deny";

class Finder {
 public:
  explicit Finder(const FileSystem& fs) : fs_(fs) {
    for (std::string_view directory : kDirectories) {
      const auto resolved = ResolveLinks(std::string(directory), fs_);
      if (!resolved.ok() || resolved->kind != FileKind::kDirectory) continue;
      const bool known = std::any_of(directories_.begin(), directories_.end(),
                                     [&](const auto& d) { return d.path == resolved->path; });
      if (!known) directories_.push_back(Open(resolved->path));
    }
  }

  Status Deny(std::string_view rule, std::string_view reason) {
    if (rule.starts_with('/')) {
      AddPath(NormalizePath(rule), rule, reason);
    } else if (glob::HasMagic(rule)) {
      return AddGlob(rule, reason);
    } else {
      for (const Directory& directory : directories_) {
        if (directory.names && directory.names->count(rule) == 0) continue;
        AddPath(JoinPath(directory.path, rule), rule, reason);
      }
    }
    return Ok();
  }

  // Which of the candidates can be masked is known only when all denied names are.
  ExecDenials Finish() {
    ExecDenials out;
    for (const auto& [target, candidate] : candidates_) {
      if (std::string why = WhyShared(target, candidate); !why.empty()) {
        for (const auto& [name, rule] : candidate.names) {
          out.not_held.push_back({target, rule, why});
        }
      } else {
        out.masked.push_back({target, candidate.names.begin()->second, candidate.reason});
      }
    }
    std::sort(out.not_held.begin(), out.not_held.end(),
              [](const auto& a, const auto& b) { return a.rule < b.rule; });
    return out;
  }

 private:
  struct Directory {
    std::string path;  // without links
    // What is in it, where that was cheap to find out.
    std::optional<std::set<std::string, std::less<>>> names;
  };
  struct Candidate {
    std::map<std::string, std::string> names;  // path as looked up -> rule
    std::string reason;
    FileKind kind = FileKind::kFile;
    bool linked = false;  // some name differs from the file's own
  };

  // The directories beside the distribution's are mostly empty: one listing is then cheaper than
  // a look for each name. A long one is given up.
  Directory Open(const std::string& path) const {
    Directory out{path, std::nullopt};
    if (path.starts_with("/usr/local/") || path.starts_with("/snap/")) {
      std::set<std::string, std::less<>> names;
      const bool read = fs_.List(path, [&names](std::string_view name, FileKind) {
        names.emplace(name);
        return names.size() <= kFewNames;
      });
      if (read && names.size() <= kFewNames) out.names = std::move(names);
    }
    return out;
  }

  void AddPath(const std::string& path, std::string_view rule, std::string_view reason) {
    FileKind kind = fs_.Kind(path);
    if (kind == FileKind::kMissing) return;
    std::string target = path;
    if (kind == FileKind::kSymlink || rule.starts_with('/')) {
      const auto resolved = ResolveLinks(path, fs_);
      if (!resolved.ok() || resolved->kind == FileKind::kMissing) return;
      target = resolved->path;
      kind = resolved->kind;
    }
    // A directory that merely has the name of a program is none.
    if (kind == FileKind::kDirectory && !rule.starts_with('/')) return;
    Candidate& candidate = candidates_[target];
    candidate.names.emplace(path, rule);
    candidate.kind = kind;
    if (candidate.reason.empty()) candidate.reason = std::string(reason);
    if (BaseName(target) != BaseName(path)) candidate.linked = true;
  }

  Status AddGlob(std::string_view rule, std::string_view reason) {
    const auto pattern = glob::Pattern::Parse("/" + std::string(rule));
    if (!pattern.ok()) return Annotate(pattern.error(), "program " + std::string(rule));
    for (const Directory& directory : directories_) {
      fs_.List(directory.path, [&](std::string_view name, FileKind kind) {
        if (kind != FileKind::kDirectory && pattern->Matches("/" + std::string(name))) {
          AddPath(JoinPath(directory.path, name), rule, reason);
        }
        return true;
      });
    }
    return Ok();
  }

  // Why a file must not be masked; empty when it may be.
  std::string WhyShared(const std::string& target, const Candidate& candidate) {
    if (candidate.kind == FileKind::kDirectory) return "it is a directory";
    // Denied by its own name too: whoever leads to it is denied with it (halt and systemctl).
    if (!candidate.linked || candidate.names.count(target) > 0) return {};
    const std::string_view base = BaseName(target);
    if (std::find(kMultiCall.begin(), kMultiCall.end(), base) != kMultiCall.end()) {
      return "it is " + std::string(base) + ", which is many programs in one";
    }
    for (const std::string& link : LinksNaming(base)) {
      if (candidate.names.count(link) > 0) continue;
      const auto resolved = ResolveLinks(link, fs_);
      if (resolved.ok() && resolved->path == target)
        return "other programs are the same file: " + link;
    }
    // Its own name is one more way to run it, and perhaps another program.
    if (!IsVariant(base, candidate)) return "other programs are the same file: " + target;
    return {};
  }

  // sudo-rs and sudo.ws are sudo under another name.
  static bool IsVariant(std::string_view base, const Candidate& candidate) {
    return std::any_of(candidate.names.begin(), candidate.names.end(), [base](const auto& entry) {
      return base.starts_with(BaseName(entry.first));
    });
  }

  // Links in the program directories whose text, or one alternatives link further, ends in `base`.
  std::vector<std::string> LinksNaming(std::string_view base) {
    if (!links_) links_ = ReadLinks();
    std::vector<std::string> out;
    const auto [first, last] = links_->equal_range(std::string(base));
    for (auto it = first; it != last; ++it) out.push_back(it->second);
    return out;
  }

  std::multimap<std::string, std::string> ReadLinks() const {
    std::multimap<std::string, std::string> out;  // last name of the target -> link
    for (const Directory& directory : directories_) {
      std::vector<std::string> names;
      fs_.List(directory.path, [&](std::string_view name, FileKind kind) {
        if (kind == FileKind::kSymlink) names.emplace_back(name);
        return true;
      });
      for (const std::string& name : names) {
        const std::string link = JoinPath(directory.path, name);
        std::optional<std::string> text = fs_.ReadLink(link);
        if (text && text->starts_with("/etc/alternatives/")) text = fs_.ReadLink(*text);
        if (text && !text->empty()) out.emplace(text->substr(text->rfind('/') + 1), link);
      }
    }
    return out;
  }

  const FileSystem& fs_;
  std::vector<Directory> directories_;  // each once
  std::map<std::string, Candidate> candidates_;
  std::optional<std::multimap<std::string, std::string>> links_;
};

}  // namespace

std::span<const std::string_view> ProgramDirectories() { return kDirectories; }

Result<ExecDenials> FindDeniedPrograms(const ExecRules& rules, const FileSystem& fs) {
  Finder finder(fs);
  for (const std::string& rule : rules.deny) CORDON_CHECK(finder.Deny(rule, kUserReason));
  if (rules.default_denies) {
    for (const DangerousProgram& program : DangerousPrograms()) {
      CORDON_CHECK(finder.Deny(program.name, program.reason));
    }
  }
  return finder.Finish();
}

}  // namespace cordon::policy
