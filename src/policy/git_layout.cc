#include "policy/git_layout.h"

#include <algorithm>

#include "policy/path.h"
#include "policy/policy.h"

namespace cordon::policy {
namespace {

std::string FirstLine(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

// The canonical path that the first line of `file` names, relative to `base`; "" when it does not.
std::string PathInFile(const std::string& file, std::string_view prefix, const std::string& base,
                       const FileSystem& fs) {
  const auto text = fs.ReadSmallFile(file);
  if (!text) return "";
  std::string line = FirstLine(*text);
  if (line.compare(0, prefix.size(), prefix) != 0) return "";
  line.erase(0, line.find_first_not_of(' ', prefix.size()));
  if (line.empty() || line.find('\0') != std::string::npos) return "";
  auto resolved = ResolvePath(line.front() == '/' ? line : base + "/" + line, fs);
  return resolved.ok() ? *resolved : "";
}

class Finder {
 public:
  Finder(const std::string& root, const FileSystem& fs) : root_(root), fs_(fs) {}

  GitLayout Run() {
    const std::string entry = JoinPath(root_, ".git");
    switch (fs_.Kind(entry)) {
      case FileKind::kDirectory: AddRepository(entry); break;
      case FileKind::kFile:
        out_.pointer = entry;
        FollowPointer(entry);
        break;
      case FileKind::kSymlink:
        out_.pointer = entry;
        FollowLink(entry);
        break;
      default: break;
    }
    if (LooksLikeGitDirectory(root_, fs_)) AddRepository(root_);
    return std::move(out_);
  }

 private:
  bool Add(const std::string& directory) {
    auto& all = out_.git_directories;
    if (std::find(all.begin(), all.end(), directory) != all.end()) return false;
    all.push_back(directory);
    return true;
  }

  // A whole git directory: itself, its submodules' and its worktrees'.
  void AddRepository(const std::string& directory) {
    if (!Add(directory)) return;
    ScanModules(JoinPath(directory, "modules"), 1);
    for (const std::string& tree : Directories(JoinPath(directory, "worktrees"))) Add(tree);
  }

  // Submodule names may hold slashes, so a directory without HEAD is looked into as well.
  void ScanModules(const std::string& directory, int depth) {
    if (depth > kMaxModuleDepth) return;
    for (const std::string& module : Directories(directory)) {
      if (fs_.Kind(JoinPath(module, "HEAD")) == FileKind::kMissing) {
        ScanModules(module, depth + 1);
      } else if (Add(module)) {
        ScanModules(JoinPath(module, "modules"), depth + 1);
      }
    }
  }

  std::vector<std::string> Directories(const std::string& parent) {
    std::vector<std::string> found;
    if (fs_.Kind(parent) != FileKind::kDirectory) return found;
    bool full = false;
    fs_.List(parent, [&](std::string_view name, FileKind kind) {
      if (kind != FileKind::kDirectory) return true;
      full = ++seen_ > kMaxGitDirectories;
      if (!full) found.push_back(JoinPath(parent, name));
      return !full;
    });
    if (full && !reported_) {
      reported_ = true;
      out_.warnings.push_back("more than " + std::to_string(kMaxGitDirectories) +
                              " git directories below " + root_ +
                              ": the hooks of the rest are not protected");
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  void FollowLink(const std::string& entry) {
    auto resolved = ResolveLinks(entry, fs_);
    if (resolved.ok() && resolved->kind == FileKind::kDirectory) AddRepository(resolved->path);
  }

  void FollowPointer(const std::string& entry) {
    const std::string own = PathInFile(entry, "gitdir:", root_, fs_);
    if (own.empty() || fs_.Kind(own) != FileKind::kDirectory) {
      Refuse(entry, "does not name a git directory");
      return;
    }
    Add(own);
    if (IsAtOrBelow(own, root_)) {  // writable already
      AddRepository(own);
      return;
    }
    const std::string common = PathInFile(JoinPath(own, "commondir"), "", own, fs_);
    const std::string back = PathInFile(JoinPath(own, "gitdir"), "", own, fs_);
    if (common.empty() || back.empty()) {
      Refuse(entry, "names " + own + ", which is no linked worktree");
    } else if (back != entry) {
      Refuse(entry, "names " + own + ", which belongs to another worktree");
    } else if (ParentPath(own) != JoinPath(common, "worktrees") ||
               !LooksLikeGitDirectory(common, fs_)) {
      Refuse(entry, "names " + own + ", which lies in no repository");
    } else {
      out_.common_directory = common;
      AddRepository(common);
    }
  }

  void Refuse(const std::string& entry, const std::string& what) {
    out_.warnings.push_back(entry + " " + what +
                            ": git cannot write there; allow its directory with --write " +
                            "if you trust it");
  }

  const std::string& root_;
  const FileSystem& fs_;
  GitLayout out_;
  std::size_t seen_ = 0;
  bool reported_ = false;
};

}  // namespace

bool LooksLikeGitDirectory(const std::string& directory, const FileSystem& fs) {
  const FileKind head = fs.Kind(JoinPath(directory, "HEAD"));
  return (head == FileKind::kFile || head == FileKind::kSymlink) &&
         fs.Kind(JoinPath(directory, "objects")) == FileKind::kDirectory &&
         fs.Kind(JoinPath(directory, "refs")) == FileKind::kDirectory;
}

GitLayout FindGitLayout(const std::string& root, const FileSystem& fs) {
  return Finder(root, fs).Run();
}

}  // namespace cordon::policy
