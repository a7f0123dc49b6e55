// The inside of BuildPlan, shared by plan_builder.cc (which path has which state), plan_trees.cc
// (the session's own directories) and plan_guest.cc (mounts at another place, links).
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jail/plan_builder.h"
#include "policy/builtin.h"
#include "policy/path.h"
#include "policy/rule_match.h"

namespace cordon::jail {

using policy::EffectivePolicy;
using policy::FileKind;
using policy::FileSystem;
using policy::Rule;
using policy::RuleKind;
using policy::Verdict;

// kOwn: the session's own tree stands there.
enum class Access { kHidden, kReadOnly, kWritable, kOwn };

struct State {
  Access access = Access::kReadOnly;
  bool executable = true;
  bool operator==(const State&) const = default;
};

// Orders paths so that a parent comes directly before its children: '/' sorts below every byte.
struct PathLess {
  bool operator()(const std::string& a, const std::string& b) const {
    const std::size_t common = std::min(a.size(), b.size());
    std::size_t i = 0;
    // Neighbours share most of their path.
    while (i + 8 <= common && std::memcmp(a.data() + i, b.data() + i, 8) == 0) i += 8;
    while (i < common && a[i] == b[i]) ++i;
    if (i == common) return a.size() < b.size();
    auto key = [](char c) {
      return c == '/' ? 0 : static_cast<int>(static_cast<unsigned char>(c)) + 1;
    };
    return key(a[i]) < key(b[i]);
  }
};

inline bool IsBelow(const std::string& path, const std::string& dir) {
  if (dir == "/") return path.size() > 1;
  return path.size() > dir.size() && path.compare(0, dir.size(), dir) == 0 &&
         path[dir.size()] == '/';
}

inline std::string Join(const std::string& dir, const std::string& rest) {
  return dir.empty() ? rest : dir + "/" + rest;
}

// A directory of the session's own that stands where the host's would.
struct OwnTree {
  std::string path;   // in the view
  std::string store;  // relative to the store
};

class Builder {
 public:
  Builder(const PlanInput& input, const FileSystem& fs)
      : input_(input), policy_(*input.policy), fs_(fs) {}
  Result<Plan> Build();

 private:
  struct Point {
    FileKind kind = FileKind::kMissing;
    const PlanInput::DeniedProgram* program = nullptr;
    bool socket = false;          // of the host, found at start
    bool allowed_socket = false;  // allowUnixSockets names it: no mask because it is one
    bool system = false;          // shown read-only inside an own tree (/sys/devices/system)
  };
  struct Placed {  // what stands at a path of the view
    std::string path;
    State state;
    int operation = -1;  // index of the mask, if the path is masked
  };

  void Node(StoreNode::Kind kind, const std::string& path, std::uint32_t mode,
            const std::string& target = {});
  void Directories(const std::string& path, std::uint32_t mode);
  std::string NodeInOwnTree(const OwnTree& own, const std::string& path);
  void BaseNodes();
  void OwnTrees();
  void SystemLinks();
  void CollectPoints();
  void AddPoint(const std::string& path, FileKind kind);
  void CollectLinks(const Rule& rule);
  void ShowLink(const std::string& path, std::vector<Placed>& stack);
  void ShowSystemPath(const std::string& path);
  bool IsMounted(const std::string& path) const;
  bool ShowsElsewhere(const Rule* rule) const;
  bool IsExecutableOwn(const std::string& path) const;
  State StateOf(const std::string& path, const Rule*& rule) const;
  bool Executable(const std::string& path, const Rule* rule) const;
  bool IsCovered(const std::string& path) const;
  Status Walk();
  Status Visit(const std::string& path, const Point& point, std::vector<Placed>& stack);
  Status Expose(const std::string& path, const Point& point, State state, const Rule* rule,
                std::vector<Placed>& stack, const std::string& source);
  // What a mask of a denied read carries for people and for its reports.
  void ReportReads(const Rule* rule, Operation& op) const;
  void Hide(const std::string& path, const Point& point, const Rule* rule,
            std::vector<Placed>& stack);
  std::string NodeBelowMask(Placed& mask, const std::string& path);
  Status GuestMount(const policy::BindMount& mount);
  void RulesBelowGuest(const std::string& host, const std::string& guest, State top);
  void ProtectLinks();
  void SortOperations();
  void ProtectLink(const std::string& link, const Rule& rule);
  const OwnTree* OwnTreeOf(const std::string& path) const;

  const PlanInput& input_;
  const EffectivePolicy& policy_;
  const FileSystem& fs_;
  Plan plan_;
  std::set<std::string> node_paths_;
  std::vector<OwnTree> own_;
  std::map<std::string, Point, PathLess> points_;
  bool new_root_ = false;  // view: bound, or a rule hides / itself
  int skeletons_ = 0;
};

}  // namespace cordon::jail
