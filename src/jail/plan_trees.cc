#include "jail/plan_walk.h"

namespace cordon::jail {

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

// Where `path` of the view stands in the store, below the tree of the session's own that holds it,
// with its parents made. REQUIRES: `path` is below own.path.
std::string Builder::NodeInOwnTree(const OwnTree& own, const std::string& path) {
  std::string relative = Join(own.store, path.substr(own.path == "/" ? 1 : own.path.size() + 1));
  Directories(relative.substr(0, relative.rfind('/')), 0755);
  return relative;
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
    Node(StoreNode::Kind::kSymlink, NodeInOwnTree(*tree, path), 0777,
         fs_.ReadLink(path).value_or(""));
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

}  // namespace cordon::jail
