#include "jail/plan_walk.h"

namespace cordon::jail {

// hostPath at another guestPath. What the rules hide or protect below hostPath is hidden and
// protected below guestPath as well, or a mount would be a way around them.
Status Builder::GuestMount(const policy::BindMount& mount) {
  std::string guest = policy::NormalizePath(mount.guest_path);
  FileKind kind = fs_.Kind(mount.host_path);
  bool directory = kind == FileKind::kDirectory;
  const OwnTree* own = OwnTreeOf(guest);
  if (own != nullptr && own->path != guest) {
    Node(directory ? StoreNode::Kind::kDirectory : StoreNode::Kind::kFile,
         NodeInOwnTree(*own, guest), directory ? 0755 : 0644);
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
  op.why = "mount " + mount.source.ToString();
  if (hidden) ReportReads(rule, op);
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
    else if (hidden)
      ReportReads(rule, op);
    else if (rule != nullptr)
      op.why = policy::LabelRule(*rule);
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
      if (!policy_.Decide(policy::Operation::kWrite, policy::ParentPath(link)).allowed) continue;
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
  op.why = policy::LabelRule(rule);
  plan_.operations.push_back(op);
}

}  // namespace cordon::jail
