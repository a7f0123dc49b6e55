#include "jail/plan_watches.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "glob/glob.h"
#include "jail/wire_report.h"
#include "policy/path.h"

namespace cordon::jail {
namespace {

using wire::PutNumber;
using wire::PutString;

using policy::EffectivePolicy;
using policy::Rule;
using policy::RuleKind;

constexpr std::size_t kLongestPath = 4095;  // of a path that the kernel takes

bool IsBelow(std::string_view path, std::string_view dir) {
  if (dir == "/") return path.size() > 1;
  return path.size() > dir.size() && path.starts_with(dir) && path[dir.size()] == '/';
}

bool InStore(const Operation& op) { return op.source == kStore || IsBelow(op.source, kStore); }

class Builder {
 public:
  Builder(const EffectivePolicy& policy, const Plan& plan) : policy_(policy) {
    for (const Operation& op : plan.operations) targets_[op.target] = &op;
  }
  Watches Build(const Plan& plan);

 private:
  struct Branch {
    std::map<std::string, std::unique_ptr<Branch>> children;
    Watches::Node node;
  };

  Branch* At(std::string_view path);
  bool Shown(std::string_view path) const;
  void AddOperation(const Operation& op);
  void AddRule(const Rule& rule);
  void AddMissing(const std::string& path, const Rule& rule);
  void AddPattern(const glob::Pattern& pattern, bool folded);
  void AddPatternText(std::string text, bool folded);
  void AddGlobDirectory(std::string_view path);
  Watches Flatten();

  const EffectivePolicy& policy_;
  std::map<std::string_view, const Operation*> targets_;
  std::vector<Watches::Pattern> patterns_;
  Branch root_;
};

Builder::Branch* Builder::At(std::string_view path) {
  Branch* at = &root_;
  for (std::size_t i = 1; i < path.size();) {
    const std::size_t end = std::min(path.find('/', i), path.size());
    auto& child = at->children[std::string(path.substr(i, end - i))];
    if (child == nullptr) child = std::make_unique<Branch>();
    at = child.get();
    i = end + 1;
  }
  return at;
}

// Whether what is made at `path` of the host would be seen in the view.
bool Builder::Shown(std::string_view path) const {
  if (path == "/proc" || IsBelow(path, "/proc")) return false;
  for (std::string_view above = path;; above = policy::ParentPath(above)) {
    if (auto it = targets_.find(above); it != targets_.end()) return !InStore(*it->second);
    if (above == "/") return true;
  }
}

void Builder::AddOperation(const Operation& op) {
  if (op.early || op.target.size() > kLongestPath || op.target == "/") return;
  for (std::string_view above = op.target; above != "/";) {
    above = policy::ParentPath(above);
    if (auto it = targets_.find(above);
        it != targets_.end() && !it->second->early && InStore(*it->second))
      At(above)->node.flags |= Watches::kOpenings;
  }
  Watches::Node& node = At(op.target)->node;
  if (InStore(op)) {
    const bool empty = op.source == std::string(kStore) + "/masks/empty";
    node.action = empty ? Watches::Action::kEmptyMask : Watches::Action::kMask;
  } else if (op.source == op.target && node.action == Watches::Action::kNone) {
    node.action = Watches::Action::kSelf;
    node.attributes = op.attributes;
  }
}

void Builder::AddMissing(const std::string& path, const Rule& rule) {
  if (path.size() > kLongestPath || path == "/" || !Shown(policy::ParentPath(path))) return;
  Watches::Node& node = At(path)->node;
  if (node.action == Watches::Action::kMask || node.action == Watches::Action::kEmptyMask) return;
  node.action = rule.empty_mask ? Watches::Action::kEmptyMask : Watches::Action::kMask;
  if (std::find(rule.links.begin(), rule.links.end(), path) != rule.links.end())
    node.flags |= Watches::kLinkAtStart;
}

void Builder::AddGlobDirectory(std::string_view path) {
  if (path.size() <= kLongestPath && Shown(path)) At(path)->node.flags |= Watches::kGlob;
}

void Builder::AddPatternText(std::string text, bool folded) {
  Watches::Pattern added{std::move(text), folded};
  if (std::find(patterns_.begin(), patterns_.end(), added) == patterns_.end())
    patterns_.push_back(std::move(added));
}

void Builder::AddPattern(const glob::Pattern& pattern, bool folded) {
  const std::string& prefix = pattern.fixed_prefix();
  if (prefix.empty()) return;
  AddPatternText(pattern.text(), folded);
  AddGlobDirectory(prefix);
  for (const policy::BindMount& mount : policy_.mounts) {
    const std::string guest = policy::NormalizePath(mount.guest_path);
    if (guest == mount.host_path ||
        (prefix != mount.host_path && !IsBelow(prefix, mount.host_path)))
      continue;
    const std::string there = guest + prefix.substr(mount.host_path.size());
    AddPatternText(glob::Escape(there) + pattern.magic_suffix(), folded);
    AddGlobDirectory(there);
  }
}

void Builder::AddRule(const Rule& rule) {
  for (std::size_t i = 0; i < rule.paths.size(); ++i) {
    const std::string& path = rule.paths[i];
    const policy::PathState state = policy_.Look(path);
    if (state.readable || state.session_own) continue;
    AddMissing(path, rule);
    for (const policy::BindMount& mount : policy_.mounts) {
      const std::string guest = policy::NormalizePath(mount.guest_path);
      if (guest != mount.host_path && IsBelow(path, mount.host_path))
        AddMissing(guest + path.substr(mount.host_path.size()), rule);
    }
    const bool folds = i < rule.fold_from.size() && rule.fold_from[i] != std::string::npos;
    if (!folds) continue;
    AddPatternText(glob::Escape(path), true);
    AddGlobDirectory(policy::ParentPath(path));
  }
  for (std::size_t i = 0; i < rule.patterns.size(); ++i) {
    const bool folded = i < rule.pattern_folds.size() && rule.pattern_folds[i];
    AddPattern(rule.patterns[i], folded);
  }
  if (rule.patterns.empty()) return;
  for (const auto& found : rule.existing) AddGlobDirectory(policy::ParentPath(found.path));
  for (const auto& link : rule.links) AddGlobDirectory(policy::ParentPath(link));
}

Watches Builder::Flatten() {
  Watches out;
  out.patterns = std::move(patterns_);
  if (root_.children.empty() && root_.node.flags == 0) return out;
  std::vector<const Branch*> order{&root_};
  out.nodes.push_back(root_.node);
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.nodes[i].first_child = static_cast<std::uint32_t>(order.size());
    out.nodes[i].child_count = static_cast<std::uint32_t>(order[i]->children.size());
    for (const auto& [name, child] : order[i]->children) {
      Watches::Node node = child->node;
      node.name = name;
      node.parent = static_cast<std::uint32_t>(i);
      out.nodes.push_back(std::move(node));
      order.push_back(child.get());
    }
  }
  return out;
}

Watches Builder::Build(const Plan& plan) {
  for (const Operation& op : plan.operations) AddOperation(op);
  for (const Rule& rule : policy_.rules)
    if (rule.kind == RuleKind::kDenyRead) AddRule(rule);
  return Flatten();
}

}  // namespace

Watches WatchesFor(const EffectivePolicy& policy, const Plan& plan) {
  return Builder(policy, plan).Build(plan);
}

std::string PathOf(const Watches& watches, std::uint32_t node) {
  if (node == 0) return "/";
  const std::string above = PathOf(watches, watches.nodes[node].parent);
  return (above == "/" ? above : above + "/") + watches.nodes[node].name;
}

std::string Encode(const Watches& watches) {
  std::string out;
  PutNumber(out, static_cast<std::uint32_t>(watches.nodes.size()));
  for (const Watches::Node& node : watches.nodes) {
    PutString(out, node.name);
    PutNumber(out, node.parent);
    PutNumber(out, node.first_child);
    PutNumber(out, node.child_count);
    PutNumber(out, static_cast<std::uint32_t>(node.action));
    PutNumber(out, node.flags);
    PutNumber(out, node.attributes);
  }
  PutNumber(out, static_cast<std::uint32_t>(watches.patterns.size()));
  for (const Watches::Pattern& pattern : watches.patterns) {
    PutString(out, pattern.text);
    PutNumber(out, pattern.folded ? 1 : 0);
  }
  return out;
}

}  // namespace cordon::jail
