// A file system in memory for tests. Links in the middle of a path are followed as the kernel does.
//
//   MemoryFileSystem fs;
//   fs.AddFile("/w/a.txt").AddLink("/w/link", "a.txt").AddDirectory("/w/empty");
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "glob/fold.h"
#include "policy/path.h"
#include "policy/policy.h"

namespace cordon::policy {

class MemoryFileSystem : public FileSystem {
 public:
  MemoryFileSystem() { nodes_["/"] = {FileKind::kDirectory, ""}; }

  // Missing parents are made. The path must not lead through a link.
  MemoryFileSystem& AddDirectory(const std::string& path) {
    return Add(path, FileKind::kDirectory, "");
  }
  MemoryFileSystem& AddFile(const std::string& path, const std::string& contents = "") {
    return Add(path, FileKind::kFile, contents);
  }
  MemoryFileSystem& AddLink(const std::string& path, const std::string& target) {
    return Add(path, FileKind::kSymlink, target);
  }
  MemoryFileSystem& AddOther(const std::string& path) { return Add(path, FileKind::kOther, ""); }
  MemoryFileSystem& FoldCase(const std::string& directory) {
    folding_.insert(directory);
    return AddDirectory(directory);
  }

  // Nothing below may be looked at, as chmod 000 makes it.
  MemoryFileSystem& Close(const std::string& directory) {
    closed_.insert(directory);
    return *this;
  }
  bool TakeBlind() const override { return std::exchange(blind_, false); }

  // What stands at `to` goes; REQUIRES: no links on the way.
  MemoryFileSystem& Move(const std::string& from, const std::string& to) {
    Remove(to);
    std::map<std::string, Node> moved;
    for (const auto& [path, node] : nodes_) {
      if (IsAtOrBelow(path, from)) moved[to + path.substr(from.size())] = node;
    }
    Remove(from);
    AddDirectory(std::string(ParentPath(to)));
    nodes_.merge(moved);
    return *this;
  }
  // With everything below it.
  MemoryFileSystem& Remove(const std::string& path) {
    std::erase_if(nodes_, [&](const auto& entry) { return IsAtOrBelow(entry.first, path); });
    return *this;
  }

  FileKind Kind(const std::string& path) const override {
    ++asked;
    for (const std::string& directory : closed_) {
      if (path == directory || !IsAtOrBelow(path, directory)) continue;
      blind_ = true;
      return FileKind::kMissing;
    }
    const Node* node = Find(path);
    return node == nullptr ? FileKind::kMissing : node->kind;
  }
  std::optional<std::string> ReadLink(const std::string& path) const override {
    const Node* node = Find(path);
    if (node == nullptr || node->kind != FileKind::kSymlink) return std::nullopt;
    return node->text;
  }
  bool List(const std::string& path,
            const std::function<bool(std::string_view, FileKind)>& visit) const override {
    ++listed;
    auto where = Place(path);
    const auto resolved =
        where ? ResolveLinks(*where, Raw(*this)) : Result<ResolvedPath>(ResolvedPath{});
    if (!resolved.ok() || resolved->kind != FileKind::kDirectory) return false;
    const std::string prefix = resolved->path == "/" ? "/" : resolved->path + "/";
    for (auto it = nodes_.upper_bound(prefix); it != nodes_.end(); ++it) {
      if (it->first.compare(0, prefix.size(), prefix) != 0) break;
      const std::string name = it->first.substr(prefix.size());
      if (name.find('/') == std::string::npos && !visit(name, it->second.kind)) break;
    }
    return true;
  }
  std::optional<std::string> ReadSmallFile(const std::string& path) const override {
    const Node* node = Find(path);
    if (node == nullptr || node->kind != FileKind::kFile) return std::nullopt;
    return node->text;
  }
  bool CaseFolds(const std::string& directory) const override {
    return folding_.count(directory) > 0;
  }

  // How often Kind and List were asked, for tests of cost.
  mutable int asked = 0;
  mutable int listed = 0;

 private:
  struct Node {
    FileKind kind = FileKind::kMissing;
    std::string text;
  };
  // The stored nodes by exact path, for the resolver.
  class Raw : public FileSystem {
   public:
    explicit Raw(const MemoryFileSystem& fs) : fs_(fs) {}
    FileKind Kind(const std::string& path) const override {
      const auto it = fs_.nodes_.find(path);
      return it == fs_.nodes_.end() ? FileKind::kMissing : it->second.kind;
    }
    std::optional<std::string> ReadLink(const std::string& path) const override {
      return fs_.nodes_.at(path).text;
    }
    bool List(const std::string&,
              const std::function<bool(std::string_view, FileKind)>&) const override {
      return false;
    }
    std::optional<std::string> ReadSmallFile(const std::string&) const override {
      return std::nullopt;
    }
    bool CaseFolds(const std::string&) const override { return false; }

   private:
    const MemoryFileSystem& fs_;
  };

  MemoryFileSystem& Add(const std::string& path, FileKind kind, const std::string& text) {
    if (path == "/") return *this;
    AddDirectory(std::string(ParentPath(path)));
    Node& node = nodes_[path];
    if (node.kind != FileKind::kDirectory || kind != FileKind::kDirectory) node = {kind, text};
    return *this;
  }
  // `path` with the links of its parent resolved; nullopt where the kernel would say ELOOP.
  std::optional<std::string> Place(const std::string& path) const {
    if (path == "/") return path;
    auto parent = ResolveLinks(std::string(ParentPath(path)), Raw(*this));
    if (!parent.ok()) return std::nullopt;
    return JoinPath(parent->path, BaseName(path));
  }
  const Node* Find(const std::string& path) const {
    const auto place = Place(path);
    if (!place) return nullptr;
    const auto it = nodes_.find(*place);
    if (it != nodes_.end()) return &it->second;
    if (folding_.count(std::string(ParentPath(*place))) == 0) return nullptr;
    for (const auto& [other, node] : nodes_) {
      const bool same = ParentPath(other) == ParentPath(*place) &&
                        glob::EqualFolded(BaseName(other), BaseName(*place));
      if (same) return &node;
    }
    return nullptr;
  }

  std::map<std::string, Node> nodes_;
  std::set<std::string> folding_;
  std::set<std::string> closed_;
  mutable bool blind_ = false;
};

}  // namespace cordon::policy
