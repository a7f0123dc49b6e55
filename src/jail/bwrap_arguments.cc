#include "jail/bwrap_arguments.h"

#include <algorithm>
#include <cstdio>

namespace cordon::jail {
namespace {

const std::string kStorePrefix = std::string(kStore) + "/";

std::string Octal(std::uint32_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", mode);
  return text;
}

class Translator {
 public:
  Translator(const Plan& plan, std::uint32_t uid, std::uint32_t gid)
      : plan_(plan), uid_(uid), gid_(gid) {
    Boot base;
    StoreBase(uid, base);
    nodes_ = std::move(base.nodes);
    nodes_.insert(nodes_.end(), plan.nodes.begin(), plan.nodes.end());
  }

  Result<BwrapPlan> Run() {
    Add({"--unshare-all", "--die-with-parent", "--as-pid-1", "--uid", std::to_string(uid_), "--gid",
         std::to_string(gid_)});
    if (plan_.new_root) {
      RootNodes();
    } else {
      Add({plan_.read_only_tree ? "--ro-bind" : "--bind", "/", "/"});
    }
    for (const auto& op : plan_.operations) CORDON_CHECK(Translate(op));
    Add({"--proc", "/proc"});
    for (const auto& op : plan_.after_proc) AfterProc(op);
    for (const auto& path : remount_) Add({"--remount-ro", path});
    if (plan_.new_root) Add({"--remount-ro", "/"});
    return std::move(out_);
  }

 private:
  void Add(std::initializer_list<std::string> words) {
    out_.arguments.insert(out_.arguments.end(), words);
  }

  // The skeleton of the new root; directories on the way to a mount point bwrap makes by itself.
  void RootNodes() {
    for (const auto& n : nodes_) {
      if (n.path.rfind("root/", 0) != 0) continue;
      std::string path = n.path.substr(4);
      if (n.kind == StoreNode::Kind::kSymlink) Add({"--symlink", n.target, path});
    }
  }

  // What the plan makes inside an own tree: directories with their modes, links.
  void OwnNodes(const std::string& store, const std::string& target) {
    for (const auto& n : nodes_) {
      if (n.path.rfind(store + "/", 0) != 0) continue;
      std::string path = target + n.path.substr(store.size());
      if (n.kind == StoreNode::Kind::kDirectory) Add({"--perms", Octal(n.mode), "--dir", path});
      if (n.kind == StoreNode::Kind::kSymlink) Add({"--symlink", n.target, path});
    }
  }

  void Own(const Operation& op) {
    std::string store = op.source.substr(kStorePrefix.size());
    if (store == "dev") {
      Add({"--dev", "/dev"});
      return;
    }
    bool shared = store == "tmp" || store == "vartmp" || store == "shm";
    Add({"--perms", shared ? "1777" : "0755", "--tmpfs", op.target});
    OwnNodes(store, op.target);
    if (op.attributes & Operation::kReadOnly) remount_.push_back(op.target);
  }

  void Mask(const Operation& op) {
    std::string store = op.source.substr(kStorePrefix.size());
    if (store == "masks/file" || store == "masks/empty") {
      // A device on a nodev mount: opening it is EACCES, whoever asks.
      Add({op.optional ? "--ro-bind-try" : "--ro-bind", "/dev/null", op.target});
      if (store == "masks/empty")
        out_.weaker.push_back(op.target + ": answers EACCES instead of reading as an empty file");
      return;
    }
    Add({"--perms", store == "masks/dir" ? "0000" : "0111", "--tmpfs", op.target});
    remount_.push_back(op.target);
  }

  // bwrap covers /proc/sys only when the directory itself is writable, which it never is, while the
  // files in it are root's. The source of a bind is the host's /proc, which says the same below
  // these names, but has another process 1.
  void AfterProc(const Operation& op) {
    if (op.source.rfind(kStorePrefix + "masks/", 0) == 0) {
      Mask(op);
    } else if (op.target == "/proc/1") {
      out_.weaker.push_back(op.target + ": stays writable where root owns it (" + op.why + ")");
    } else {
      Add({"--ro-bind-try", op.source, op.target});
    }
  }

  Status Translate(const Operation& op) {
    if (op.target == "/") return Ok();
    if (op.link) {
      out_.weaker.push_back(op.target + ": the link itself may be replaced (" + op.why + ")");
      return Ok();
    }
    if (op.source.rfind(kStorePrefix, 0) == 0) {
      if (op.source.rfind(kStorePrefix + "masks/", 0) == 0) {
        Mask(op);
      } else {
        Own(op);
      }
      return Ok();
    }
    bool read_only = op.attributes & Operation::kReadOnly;
    if (op.attributes & Operation::kNoExec) {
      if (!read_only)
        return MakeError(
            ErrorCode::kUnsupported,
            "exec.blockWritableDirs cannot be held through bubblewrap: it has no noexec mounts",
            "let Cordon's own launcher create user namespaces: run `cordon doctor`");
      Add({"--ro-bind", "/dev/null", op.target});
      return Ok();
    }
    Add({std::string(read_only ? "--ro-bind" : "--bind") + (op.optional ? "-try" : ""), op.source,
         op.target});
    return Ok();
  }

  const Plan& plan_;
  std::vector<StoreNode> nodes_;
  std::uint32_t uid_, gid_;
  BwrapPlan out_;
  std::vector<std::string> remount_;
};

}  // namespace

Result<BwrapPlan> BwrapArguments(const Plan& plan, std::uint32_t inner_uid,
                                 std::uint32_t inner_gid) {
  return Translator(plan, inner_uid, inner_gid).Run();
}

}  // namespace cordon::jail
