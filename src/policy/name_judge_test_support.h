// What the tests of NameJudge share: a session in memory whose allowed calls are made.
#pragma once

#include <memory>

#include "policy/name_judge.h"
#include "policy/policy_test_support.h"

namespace cordon::policy {

// A project with one repository that was there before, one directory that is none, and the
// session's own places. Calls that are allowed are made in the tree, as the broker would.
class NameJudgeTest : public testing::Test {
 protected:
  NameJudgeTest() {
    world_.context.supervised = true;
    world_.fs.AddDirectory("/home/u/w/.git/objects")
        .AddDirectory("/home/u/w/.git/refs")
        .AddFile("/home/u/w/.git/HEAD")
        .AddFile("/home/u/w/.git/config")
        .AddDirectory("/home/u/w/src/hooks");
    for (const char* name : {"HEAD", "config", "hooks/pre-push", "objects/x", "refs/x"})
      world_.fs.AddFile("/home/u/w/old/.git/" + std::string(name));
    world_.fs.AddFile("/home/u/w/old/.vscode/tasks.json").AddDirectory("/home/u/w/plain");
  }

  void Start() {
    policy_ = world_.Compile();
    judge_ = std::make_unique<NameJudge>(policy_, world_.fs);
  }
  NameJudge& judge() {
    if (!judge_) Start();
    return *judge_;
  }
  static std::string Full(const std::string& path) {
    return path.front() == '/' ? path : "/home/u/w/" + path;
  }

  bool Create(const std::string& path, FileKind kind = FileKind::kFile) {
    const bool allowed = judge().Create(Full(path), kind).allowed;
    if (allowed) {
      if (kind == FileKind::kDirectory)
        world_.fs.AddDirectory(Full(path));
      else if (kind == FileKind::kSymlink)
        world_.fs.AddLink(Full(path), "x");
      else
        world_.fs.AddFile(Full(path));
      judge().Made(Full(path), kind);
    }
    return allowed;
  }
  bool Mkdir(const std::string& path) { return Create(path, FileKind::kDirectory); }
  bool Symlink(const std::string& path) { return Create(path, FileKind::kSymlink); }
  bool Write(const std::string& path) { return judge().Write(Full(path)).allowed; }
  bool Rmdir(const std::string& path) {
    return judge().Remove(Full(path), FileKind::kDirectory).allowed;
  }
  bool Link(const std::string& from, const std::string& to) {
    return judge().Link(Full(from), Full(to)).allowed;
  }
  NameVerdict RenameVerdict(const std::string& from, const std::string& to) {
    return judge().Rename(Full(from), world_.fs.Kind(Full(from)), Full(to),
                          world_.fs.Kind(Full(to)));
  }
  bool Rename(const std::string& from, const std::string& to) {
    const FileKind kind = world_.fs.Kind(Full(from));
    const NameVerdict v = RenameVerdict(from, to);
    if (!v.allowed || v.git_config) return false;
    world_.fs.Move(Full(from), Full(to));
    judge().Moved(Full(from), Full(to), kind);
    return true;
  }
  // Renames config.lock to config with this content.
  NameVerdict SetConfig(const std::string& directory, const std::string& content) {
    const std::string path = Full(directory) + "/config";
    world_.fs.AddFile(path + ".lock", content);
    NameVerdict v = RenameVerdict(path + ".lock", path);
    if (!v.allowed || !v.git_config) return v;
    const std::string before = world_.fs.ReadSmallFile(path).value_or("");
    v = judge().GitConfig(path, before, content);
    if (v.allowed) {
      world_.fs.Move(path + ".lock", path);
      judge().Moved(path + ".lock", path, FileKind::kFile);
    }
    return v;
  }
  void DenyNames(const std::vector<std::string>& names) {
    world_.spec.filesystem.deny_names = PolicyWorld::Entries(names, "test:denyNames");
  }

  PolicyWorld world_;
  EffectivePolicy policy_;
  std::unique_ptr<NameJudge> judge_;
};

}  // namespace cordon::policy
