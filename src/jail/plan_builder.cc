#include "jail/plan_builder.h"

#include <numeric>

#include "jail/plan_proc.h"
#include "jail/plan_walk.h"

namespace cordon::jail {

void Builder::AddPoint(const std::string& path, FileKind kind) {
  bool in_proc = path == "/proc" || IsBelow(path, "/proc");  // PlanProc has those
  if (kind == FileKind::kMissing || kind == FileKind::kSymlink || in_proc) return;
  points_[path].kind = kind;
}

void Builder::CollectPoints() {
  for (const auto& rule : policy_.rules) {
    if (rule.kind == RuleKind::kTemporary || rule.kind == RuleKind::kSystem) continue;
    if (rule.kind == RuleKind::kDenyName && rule.existing.empty()) continue;
    for (const auto& e : rule.existing) {
      AddPoint(e.path, e.kind);
      auto point = points_.find(e.path);
      if (rule.kind == RuleKind::kAllowSocket && point != points_.end())
        point->second.allowed_socket = true;
    }
  }
  for (const auto& rule : policy_.rules) CollectLinks(rule);
  for (const auto& grant : policy_.exec_grants) AddPoint(grant, fs_.Kind(grant));
  for (const auto& program : input_.denied_programs) {
    points_[program.path].kind = FileKind::kFile;
    points_[program.path].program = &program;
  }
  for (const auto& socket : input_.host_sockets) {
    Point& point = points_[socket];
    point.kind = FileKind::kOther;
    point.socket = !point.allowed_socket;
  }
}

// A rule opens a path as it is written too, so the links on the way are shown where their directory
// is not: /lib64 below a hidden / is a link.
void Builder::CollectLinks(const Rule& rule) {
  bool opens = rule.kind == RuleKind::kAllowRead || rule.kind == RuleKind::kAllowWrite ||
               rule.kind == RuleKind::kMount || rule.kind == RuleKind::kRunnerState ||
               rule.kind == RuleKind::kAllowSocket;
  if (!opens) return;
  bool visible =
      std::any_of(rule.existing.begin(), rule.existing.end(), [&](const policy::ExistingPath& e) {
        return policy_.Decide(policy::Operation::kRead, e.path).allowed;
      });
  if (!visible) return;
  for (const auto& link : rule.links) points_[link].kind = FileKind::kSymlink;
}

State Builder::StateOf(const std::string& path, const Rule*& rule) const {
  const policy::PathState look = policy_.Look(path);
  rule = look.write_rule != nullptr ? look.write_rule : look.read_rule;
  if (look.session_own) return {Access::kOwn, true};
  if (look.writable) return {Access::kWritable, Executable(path, look.write_rule)};
  // A read-only place inside a tree whose programs may not run keeps that.
  if (look.readable) return {Access::kReadOnly, true};
  rule = look.read_rule;
  return {Access::kHidden, true};
}

bool Builder::Executable(const std::string& path, const Rule* rule) const {
  if (rule == nullptr || rule->executable) return true;
  return std::any_of(
      policy_.exec_grants.begin(), policy_.exec_grants.end(),
      [&](const std::string& grant) { return path == grant || IsBelow(path, grant); });
}

// Where `path` stands in the mask that covers it, with its parents made: the mask becomes a
// skeleton of its own, searchable (0111) but not listable.
std::string Builder::NodeBelowMask(Placed& mask, const std::string& path) {
  Operation& op = plan_.operations[static_cast<std::size_t>(mask.operation)];
  std::string root = op.source.substr(std::string(kStore).size() + 1);
  if (root == "masks/dir") {
    root = "masks/skeleton" + std::to_string(++skeletons_);
    Node(StoreNode::Kind::kDirectory, root, 0111);
    op.source = std::string(kStore) + "/" + root;
    op.mechanism = "mask with openings";
    op.reported = false;
  }
  std::string relative = root + "/" + path.substr(mask.path == "/" ? 1 : mask.path.size() + 1);
  std::size_t slash = relative.rfind('/');
  for (std::size_t i = relative.find('/', root.size() + 1); i != std::string::npos && i <= slash;
       i = relative.find('/', i + 1))
    Node(StoreNode::Kind::kDirectory, relative.substr(0, i), 0111);
  return relative;
}

void Builder::ShowLink(const std::string& path, std::vector<Placed>& stack) {
  Placed& parent = stack.back();
  std::string relative;
  if (parent.state.access == Access::kHidden && parent.operation >= 0) {
    relative = NodeBelowMask(parent, path);
  } else if (parent.state.access == Access::kOwn || parent.state.access == Access::kHidden) {
    const OwnTree* own = OwnTreeOf(path);
    if (own == nullptr || own->path == path) return;
    relative = NodeInOwnTree(*own, path);
  } else {
    return;  // the directory is visible, and the link in it
  }
  Node(StoreNode::Kind::kSymlink, relative, 0777, fs_.ReadLink(path).value_or(""));
}

Status Builder::Expose(const std::string& path, const Point& point, State state, const Rule* rule,
                       std::vector<Placed>& stack, const std::string& source) {
  Placed& parent = stack.back();
  bool directory = point.kind == FileKind::kDirectory;
  if (parent.state.access == Access::kHidden && parent.operation >= 0) {
    std::string relative = NodeBelowMask(parent, path);
    Node(directory ? StoreNode::Kind::kDirectory : StoreNode::Kind::kFile, relative,
         directory ? 0111 : 0);
  } else if (parent.state.access == Access::kOwn || parent.state.access == Access::kHidden) {
    const OwnTree* own = OwnTreeOf(path);
    if (own == nullptr || own->path == path)
      return MakeError(ErrorCode::kInternal, "no place for the mount point of " + path);
    Node(directory ? StoreNode::Kind::kDirectory : StoreNode::Kind::kFile,
         NodeInOwnTree(*own, path), directory ? 0755 : 0644);
  }
  Operation op;
  op.source = source;
  op.target = path;
  op.recursive = directory;
  // A read-only bind inside a writable tree may be cloned late, from what is in place by then.
  op.early = !(state.access == Access::kReadOnly && parent.state.access == Access::kWritable) ||
             source != path;
  op.attributes = (state.access == Access::kReadOnly ? Operation::kReadOnly : 0u) |
                  (state.executable ? 0u : static_cast<std::uint32_t>(Operation::kNoExec));
  op.mechanism = state.access == Access::kReadOnly ? "read-only bind mount" : "writable bind mount";
  if (rule != nullptr) op.why = policy::LabelRule(*rule);
  plan_.operations.push_back(op);
  stack.push_back({path, state, -1});
  return Ok();
}

void Builder::ReportReads(const Rule* rule, Operation& op) const {
  op.reported = true;
  if (rule == nullptr) return;
  op.why = policy::LabelRule(*rule);
  op.rule = static_cast<std::uint32_t>(rule - policy_.rules.data());
}

void Builder::Hide(const std::string& path, const Point& point, const Rule* rule,
                   std::vector<Placed>& stack) {
  Operation op;
  bool directory = point.kind == FileKind::kDirectory;
  bool empty = rule != nullptr && rule->empty_mask && !directory && !point.socket;
  op.source = std::string(kStore) + (directory ? "/masks/dir"
                                     : empty   ? "/masks/empty"
                                               : "/masks/file");
  op.target = path;
  op.attributes = Operation::kReadOnly;
  op.recursive = false;
  op.mechanism = directory ? "mask" : empty ? "empty file mask" : "mask";
  if (point.socket) {
    op.why = "unix socket of the host";
    op.optional = true;
  } else {
    ReportReads(rule, op);
  }
  plan_.operations.push_back(op);
  stack.push_back({path, {Access::kHidden, true}, static_cast<int>(plan_.operations.size()) - 1});
}

Status Builder::Visit(const std::string& path, const Point& point, std::vector<Placed>& stack) {
  while (stack.size() > 1 && !IsBelow(path, stack.back().path)) stack.pop_back();
  if (point.kind == FileKind::kSymlink) {
    ShowLink(path, stack);
    return Ok();
  }
  const Rule* rule = nullptr;
  State state = StateOf(path, rule);
  // A mount at another guestPath does not open its hostPath where that stands.
  const State parent = stack.back().state;
  bool nothing_there = parent.access == Access::kOwn || parent.access == Access::kHidden;
  const auto look = policy_.Look(path);
  if (look.readable && ShowsElsewhere(look.read_rule))
    state = {nothing_there ? Access::kHidden : Access::kReadOnly, true};
  if (point.system && state.access != Access::kWritable) state = {Access::kReadOnly, true};
  if (state.access == Access::kOwn) return Ok();
  if (point.socket) state = {Access::kHidden, true};
  if (state.access == Access::kHidden) {
    if (!nothing_there) Hide(path, point, rule, stack);
    return Ok();
  }
  if (point.program != nullptr) {
    if (nothing_there) return Ok();
    Operation op;
    op.source = op.target = path;
    op.attributes = Operation::kReadOnly | Operation::kNoExec;
    op.recursive = false;
    op.mechanism = "noexec bind mount";
    op.why = "exec rule: " + point.program->reason;
    plan_.operations.push_back(op);
    return Ok();
  }
  if (state == parent) return Ok();
  return Expose(path, point, state, rule, stack, path);
}

// A mount that shows something else at `path`, or above it.
bool Builder::IsCovered(const std::string& path) const {
  return std::any_of(policy_.mounts.begin(), policy_.mounts.end(), [&](const policy::BindMount& m) {
    std::string guest = policy::NormalizePath(m.guest_path);
    return guest != m.host_path && (path == guest || IsBelow(path, guest));
  });
}

Status Builder::Walk() {
  std::vector<Placed> stack;
  const Rule* rule = nullptr;
  State root = new_root_ ? State{Access::kOwn, true} : StateOf("/", rule);
  // / cannot be mounted over, so a writable / is a tree that does not become read-only.
  plan_.read_only_tree = root.access != Access::kWritable;
  stack.push_back({"/", root, -1});
  for (const auto& o : own_)
    if (o.path != "/") points_[o.path].kind = FileKind::kDirectory;
  points_.erase("/");
  for (const auto& [path, point] : points_) {
    const OwnTree* own = OwnTreeOf(path);
    if (own != nullptr && own->path == path && path != "/") {
      while (stack.size() > 1 && !IsBelow(path, stack.back().path)) stack.pop_back();
      stack.push_back({path, {Access::kOwn, true}, -1});
      continue;
    }
    if (!IsCovered(path)) CORDON_CHECK(Visit(path, point, stack));
  }
  return Ok();
}

Result<Plan> Builder::Build() {
  new_root_ = policy_.view == policy::View::kBound ||
              !policy_.Decide(policy::Operation::kRead, "/").allowed;
  plan_.new_root = new_root_;
  CORDON_CHECK(CheckProc(policy_));
  BaseNodes();
  OwnTrees();
  SystemLinks();
  CollectPoints();
  CORDON_CHECK(Walk());
  for (const auto& mount : policy_.mounts)
    if (policy::NormalizePath(mount.guest_path) != mount.host_path) CORDON_CHECK(GuestMount(mount));
  ProtectLinks();
  PlanProc(policy_, input_.inner_uid, plan_);
  SortOperations();
  return std::move(plan_);
}

// Parents before children. Positions are sorted, not the operations: each of those is moved once.
void Builder::SortOperations() {
  std::vector<std::uint32_t> order(plan_.operations.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::string& x = plan_.operations[a].target;
    const std::string& y = plan_.operations[b].target;
    return x != y ? PathLess()(x, y) : a < b;
  });
  std::vector<Operation> sorted;
  sorted.reserve(order.size());
  for (std::uint32_t i : order) sorted.push_back(std::move(plan_.operations[i]));
  plan_.operations = std::move(sorted);
}

Result<Plan> BuildPlan(const PlanInput& input, const FileSystem& fs) {
  Builder builder(input, fs);
  return builder.Build();
}

}  // namespace cordon::jail
