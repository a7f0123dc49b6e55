#include "jail/plan_builder.h"

#include <algorithm>
#include <map>
#include <set>

#include "jail/plan_proc.h"
#include "policy/builtin.h"

namespace cordon::jail {
namespace {

using policy::EffectivePolicy;
using policy::FileKind;
using policy::FileSystem;
using policy::Rule;
using policy::RuleKind;
using policy::Verdict;

enum class Access { kHidden, kReadOnly, kWritable, kOwn };

struct State {
  Access access = Access::kReadOnly;
  bool executable = true;
  bool operator==(const State&) const = default;
};

// Orders paths so that a parent comes directly before its children: '/' sorts below every byte.
struct PathLess {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      auto key = [](char c) {
        return c == '/' ? 0 : static_cast<int>(static_cast<unsigned char>(c)) + 1;
      };
      return key(x) < key(y);
    });
  }
};

bool IsBelow(const std::string& path, const std::string& dir) {
  if (dir == "/") return path.size() > 1;
  return path.size() > dir.size() && path.compare(0, dir.size(), dir) == 0 &&
         path[dir.size()] == '/';
}

std::string Parent(const std::string& path) {
  std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string Join(const std::string& dir, const std::string& rest) {
  return dir.empty() ? rest : dir + "/" + rest;
}

std::string Why(const Rule& rule) {
  std::string out = std::string(policy::RuleKindName(rule.kind)) + " " + rule.text;
  std::string source = rule.source.ToString();
  if (!source.empty()) out += " (" + source + ")";
  return out;
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
    bool socket = false;
    bool system = false;  // shown read-only inside an own tree (/sys/devices/system)
  };
  struct Placed {  // what stands at a path of the view
    std::string path;
    State state;
    int operation = -1;  // index of the mask, if the path is masked
  };

  void Node(StoreNode::Kind kind, const std::string& path, std::uint32_t mode,
            const std::string& target = {});
  void Directories(const std::string& path, std::uint32_t mode);
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
  void Hide(const std::string& path, const Point& point, const Rule* rule,
            std::vector<Placed>& stack);
  std::string NodeBelowMask(Placed& mask, const std::string& path);
  Status GuestMount(const policy::BindMount& mount);
  void RulesBelowGuest(const std::string& host, const std::string& guest, State top);
  void ProtectLinks();
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

void Builder::Node(StoreNode::Kind kind, const std::string& path, std::uint32_t mode,
                   const std::string& target) {
  if (node_paths_.insert(path).second) plan_.nodes.push_back({kind, path, mode, target});
}

// `path` and its missing parents below the store.
void Builder::Directories(const std::string& path, std::uint32_t mode) {
  for (std::size_t i = path.find('/'); i != std::string::npos; i = path.find('/', i + 1))
    Node(StoreNode::Kind::kDirectory, path.substr(0, i), mode);
  Node(StoreNode::Kind::kDirectory, path, mode);
}

// What is in the store already is not made again.
void Builder::BaseNodes() {
  Boot base;
  StoreBase(input_.inner_uid, base);
  for (const StoreNode& node : base.nodes) node_paths_.insert(node.path);
}

const OwnTree* Builder::OwnTreeOf(const std::string& path) const {
  const OwnTree* best = nullptr;
  for (const auto& o : own_) {
    bool inside = path == o.path || IsBelow(path, o.path);
    if (inside && (best == nullptr || o.path.size() > best->path.size())) best = &o;
  }
  return best;
}

// Only a mount that names one of the own trees itself puts the host's in its place.
bool Builder::IsMounted(const std::string& path) const {
  return std::any_of(policy_.mounts.begin(), policy_.mounts.end(), [&](const policy::BindMount& m) {
    return m.host_path == path && policy::NormalizePath(m.guest_path) == path;
  });
}

// True for the rule of a mount that shows its hostPath at another place only.
bool Builder::ShowsElsewhere(const Rule* rule) const {
  if (rule == nullptr || rule->kind != RuleKind::kMount) return false;
  return std::any_of(policy_.mounts.begin(), policy_.mounts.end(), [&](const policy::BindMount& m) {
    return !IsMounted(m.host_path) &&
           std::find(rule->paths.begin(), rule->paths.end(), m.host_path) != rule->paths.end();
  });
}

// A path of the host that stays visible, read-only, inside an own tree.
void Builder::ShowSystemPath(const std::string& path) {
  FileKind kind = fs_.Kind(path);
  const OwnTree* tree = OwnTreeOf(path);
  if (kind == FileKind::kMissing || tree == nullptr || tree->path == path) return;
  if (kind == FileKind::kSymlink) {
    std::string relative =
        Join(tree->store, path.substr(tree->path == "/" ? 1 : tree->path.size() + 1));
    if (std::size_t slash = relative.rfind('/'); slash != std::string::npos)
      Directories(relative.substr(0, slash), 0755);
    Node(StoreNode::Kind::kSymlink, relative, 0777, fs_.ReadLink(path).value_or(""));
    return;
  }
  AddPoint(path, kind);
  points_[path].system = true;
}

bool Builder::IsExecutableOwn(const std::string& path) const {
  return std::none_of(policy_.rules.begin(), policy_.rules.end(), [&](const Rule& rule) {
    bool names = std::find(rule.paths.begin(), rule.paths.end(), path) != rule.paths.end();
    return rule.kind == RuleKind::kTemporary && !rule.executable && names;
  });
}

// The trees that every session has for itself, and what stays of the host's /sys and /run.
void Builder::OwnTrees() {
  if (new_root_) {
    own_.push_back({"/", "root"});
    // Where a rule hides / itself, what is not opened may be passed through but not listed.
    Node(StoreNode::Kind::kDirectory, "root", policy_.view == policy::View::kBound ? 0755 : 0111);
    Node(StoreNode::Kind::kDirectory, "root/proc", 0755);
    Operation op;
    op.source = kNewRoot;
    op.target = "/";
    op.early = true;
    op.recursive = false;
    op.mechanism = "new root";
    plan_.operations.push_back(op);
  }
  const OwnTree trees[] = {{"/tmp", "tmp"},     {"/var/tmp", "vartmp"}, {"/dev", "dev"},
                           {"/dev/shm", "shm"}, {"/run", "run"},        {"/sys", "sys"}};
  for (const auto& o : trees) {
    if (IsMounted(o.path)) continue;
    // Without file rules only what is no file stays the session's own.
    if (policy_.files_disabled && o.path != "/dev" && o.path != "/dev/shm" && o.path != "/sys")
      continue;
    // A host without the directory, or with a link there (/var/tmp -> /tmp), needs nothing of its
    // own.
    if (!new_root_ && o.path != "/dev/shm" && fs_.Kind(o.path) != FileKind::kDirectory) continue;
    if (new_root_) Directories("root" + o.path, 0755);
    own_.push_back(o);
    Operation op;
    op.source = std::string(kStore) + "/" + o.store;
    op.target = o.path;
    op.early = true;
    op.keep_devices = o.path == "/dev";
    op.recursive = o.path == "/dev";
    bool fixed = o.path == "/dev" || o.path == "/sys";
    if (fixed) op.attributes = Operation::kReadOnly;
    if (!IsExecutableOwn(o.path)) op.attributes |= Operation::kNoExec;
    op.mechanism = "the session's own";
    plan_.operations.push_back(op);
  }
  for (const char* path :
       {"/sys/devices/system", "/sys/kernel/mm/transparent_hugepage", "/sys/kernel/mm/hugepages",
        "/run/current-system", "/run/opengl-driver", "/run/systemd/resolve/resolv.conf",
        "/run/systemd/resolve/stub-resolv.conf", "/run/NetworkManager/resolv.conf"})
    ShowSystemPath(path);
}

// In the new root, system directories that are links on the host (/bin -> usr/bin) stay links.
void Builder::SystemLinks() {
  if (policy_.view != policy::View::kBound) return;
  for (const auto& dir : policy::SystemDirectories()) ShowSystemPath(std::string(dir.path));
}

void Builder::AddPoint(const std::string& path, FileKind kind) {
  bool in_proc = path == "/proc" || IsBelow(path, "/proc");  // PlanProc has those
  if (kind == FileKind::kMissing || kind == FileKind::kSymlink || in_proc) return;
  points_[path].kind = kind;
}

void Builder::CollectPoints() {
  for (const auto& rule : policy_.rules) {
    if (rule.kind == RuleKind::kTemporary || rule.kind == RuleKind::kSystem) continue;
    if (rule.kind == RuleKind::kDenyName && rule.existing.empty()) continue;
    for (const auto& e : rule.existing) AddPoint(e.path, e.kind);
  }
  for (const auto& rule : policy_.rules) CollectLinks(rule);
  for (const auto& grant : policy_.exec_grants) AddPoint(grant, fs_.Kind(grant));
  for (const auto& program : input_.denied_programs) {
    points_[program.path].kind = FileKind::kFile;
    points_[program.path].program = &program;
  }
  for (const auto& socket : input_.host_sockets) {
    points_[socket].kind = FileKind::kOther;
    points_[socket].socket = true;
  }
}

// A rule opens a path as it is written too, so the links on the way are shown where their directory
// is not: /lib64 below a hidden / is a link.
void Builder::CollectLinks(const Rule& rule) {
  bool opens = rule.kind == RuleKind::kAllowRead || rule.kind == RuleKind::kAllowWrite ||
               rule.kind == RuleKind::kMount || rule.kind == RuleKind::kRunnerState;
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
    relative = Join(own->store, path.substr(own->path == "/" ? 1 : own->path.size() + 1));
    Directories(relative.substr(0, relative.rfind('/')), 0755);
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
    std::string relative =
        Join(own->store, path.substr(own->path == "/" ? 1 : own->path.size() + 1));
    std::size_t slash = relative.rfind('/');
    Directories(relative.substr(0, slash), 0755);
    Node(directory ? StoreNode::Kind::kDirectory : StoreNode::Kind::kFile, relative,
         directory ? 0755 : 0644);
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
  if (rule != nullptr) op.why = Why(*rule);
  plan_.operations.push_back(op);
  stack.push_back({path, state, -1});
  return Ok();
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
  } else if (rule != nullptr) {
    op.why = Why(*rule);
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
  if (const auto look = policy_.Look(path); look.readable && ShowsElsewhere(look.read_rule))
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

// hostPath at another guestPath. What the rules hide or protect below hostPath is hidden and
// protected below guestPath as well, or a mount would be a way around them.
Status Builder::GuestMount(const policy::BindMount& mount) {
  std::string guest = policy::NormalizePath(mount.guest_path);
  FileKind kind = fs_.Kind(mount.host_path);
  bool directory = kind == FileKind::kDirectory;
  const OwnTree* own = OwnTreeOf(guest);
  if (own != nullptr && own->path != guest) {
    std::string relative =
        Join(own->store, guest.substr(own->path == "/" ? 1 : own->path.size() + 1));
    std::size_t slash = relative.rfind('/');
    Directories(relative.substr(0, slash), 0755);
    Node(directory ? StoreNode::Kind::kDirectory : StoreNode::Kind::kFile, relative,
         directory ? 0755 : 0644);
  } else if (fs_.Kind(guest) != kind) {
    return MakeError(
        ErrorCode::kUnsupported,
        "mount " + mount.host_path + " at " + guest + ": " +
            (fs_.Kind(guest) == FileKind::kMissing ? "there is no such path on this host"
                                                   : "what is there is of another kind") +
            ", and the host's tree is not changed",
        "use view \"bound\" (--view bound), or a guest path below /tmp");
  }
  const Rule* rule = nullptr;
  State state = StateOf(mount.host_path, rule);
  if (mount.read_only && state.access == Access::kWritable) state.access = Access::kReadOnly;
  Operation op;
  bool hidden = state.access != Access::kWritable && state.access != Access::kReadOnly;
  op.source =
      hidden ? std::string(kStore) + (directory ? "/masks/dir" : "/masks/file") : mount.host_path;
  op.target = guest;
  op.early = !hidden;
  op.recursive = directory && !hidden;
  op.attributes =
      (state.access == Access::kWritable ? 0u : static_cast<std::uint32_t>(Operation::kReadOnly)) |
      (state.executable ? 0u : static_cast<std::uint32_t>(Operation::kNoExec));
  op.mechanism = hidden                              ? "mask"
                 : state.access == Access::kWritable ? "writable bind mount"
                                                     : "read-only bind mount";
  op.why = hidden && rule != nullptr ? Why(*rule) : "mount " + mount.source.ToString();
  plan_.operations.push_back(op);
  if (!hidden) RulesBelowGuest(mount.host_path, guest, state);
  return Ok();
}

// What is hidden, read-only or not to be run below hostPath is so below guestPath; nothing gets
// wider.
void Builder::RulesBelowGuest(const std::string& host, const std::string& guest, State top) {
  std::vector<std::pair<std::string, State>> stack{{host, top}};
  for (auto it = points_.upper_bound(host); it != points_.end() && IsBelow(it->first, host); ++it) {
    const auto& [path, point] = *it;
    if (point.kind == FileKind::kSymlink) continue;
    while (stack.size() > 1 && !IsBelow(path, stack.back().first)) stack.pop_back();
    const State parent = stack.back().second;
    if (parent.access == Access::kHidden) continue;
    const Rule* rule = nullptr;
    State state = point.socket ? State{Access::kHidden, true} : StateOf(path, rule);
    bool hidden = state.access == Access::kHidden;
    bool stopped = point.program != nullptr && !hidden;
    if (!stopped &&
        (state == parent || state.access == Access::kWritable || state.access == Access::kOwn))
      continue;
    bool is_directory = point.kind == FileKind::kDirectory;
    Operation op;
    op.target = guest + path.substr(host.size());
    op.source =
        hidden ? std::string(kStore) + (is_directory ? "/masks/dir" : "/masks/file") : op.target;
    op.recursive = is_directory && !hidden;
    op.attributes =
        Operation::kReadOnly | (stopped ? static_cast<std::uint32_t>(Operation::kNoExec) : 0u);
    op.optional = point.socket;
    op.mechanism = hidden ? "mask" : stopped ? "noexec bind mount" : "read-only bind mount";
    if (stopped)
      op.why = "exec rule: " + point.program->reason;
    else if (point.socket)
      op.why = "unix socket of the host";
    else if (rule != nullptr)
      op.why = Why(*rule);
    plan_.operations.push_back(op);
    stack.push_back({path, state});
  }
}

// A protected symbolic link in a writable place is bound onto itself, so that it cannot be
// replaced.
void Builder::ProtectLinks() {
  for (const auto& rule : policy_.rules) {
    if (rule.kind != RuleKind::kProtected && rule.kind != RuleKind::kDenyWrite &&
        rule.kind != RuleKind::kDenyRead)
      continue;
    for (const auto& link : rule.links) {
      if (!policy_.Decide(policy::Operation::kWrite, Parent(link)).allowed) continue;
      ProtectLink(link, rule);
      for (const auto& mount : policy_.mounts) {
        std::string guest = policy::NormalizePath(mount.guest_path);
        if (guest != mount.host_path && IsBelow(link, mount.host_path))
          ProtectLink(guest + link.substr(mount.host_path.size()), rule);
      }
    }
  }
}

void Builder::ProtectLink(const std::string& link, const Rule& rule) {
  Operation op;
  op.source = op.target = link;
  op.attributes = Operation::kReadOnly;
  op.recursive = false;
  op.link = true;
  op.optional = true;
  op.mechanism = "link bound onto itself";
  op.why = Why(rule);
  plan_.operations.push_back(op);
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
  std::stable_sort(
      plan_.operations.begin(), plan_.operations.end(),
      [](const Operation& a, const Operation& b) { return PathLess()(a.target, b.target); });
  return std::move(plan_);
}

}  // namespace

Result<Plan> BuildPlan(const PlanInput& input, const FileSystem& fs) {
  Builder builder(input, fs);
  return builder.Build();
}

}  // namespace cordon::jail
