#include "jail/plan.h"

#include <cstdio>

#include "jail/wire_report.h"

namespace cordon::jail {
namespace {

class Writer {
 public:
  void U32(std::uint32_t v) { Raw(&v, sizeof v); }
  void U64(std::uint64_t v) { Raw(&v, sizeof v); }
  void String(const std::string& s) {
    U32(static_cast<std::uint32_t>(s.size()));
    out_ += s;
    out_ += '\0';
  }
  void Strings(const std::vector<std::string>& list) {
    U32(static_cast<std::uint32_t>(list.size()));
    for (const auto& s : list) String(s);
  }
  std::string Take() { return std::move(out_); }

 private:
  void Raw(const void* p, std::size_t n) { out_.append(static_cast<const char*>(p), n); }
  std::string out_;
};

void WriteNodes(Writer& w, const std::vector<StoreNode>& nodes) {
  w.U32(static_cast<std::uint32_t>(nodes.size()));
  for (const auto& n : nodes) {
    w.U32(static_cast<std::uint32_t>(n.kind));
    w.U32(n.mode);
    w.String(n.path);
    w.String(n.target);
  }
}

void WriteOperation(Writer& w, const Operation& op) {
  w.String(op.source);
  w.String(op.target);
  w.U32(op.attributes);
  w.U32((op.early ? 1u : 0u) | (op.recursive ? 2u : 0u) | (op.keep_devices ? 4u : 0u) |
        (op.optional ? 8u : 0u) | (op.link ? 16u : 0u) | (op.reported ? 32u : 0u));
}

std::string DescribeOperation(const Operation& op) {
  std::string line = op.early ? "  early " : "  late  ";
  line += (op.attributes & Operation::kReadOnly) ? "ro" : "rw";
  if (op.attributes & Operation::kNoExec) line += ",noexec";
  if (op.recursive) line += ",rec";
  line += "  " + op.target;
  if (op.source != op.target) line += "  <- " + op.source;
  if (!op.mechanism.empty()) line += "  # " + op.mechanism;
  if (!op.why.empty()) line += (op.mechanism.empty() ? "  # " : ": ") + op.why;
  return line + "\n";
}

}  // namespace

std::string Plan::Describe() const {
  std::string out = "store:\n";
  for (const auto& n : nodes) {
    char mode[16];
    std::snprintf(mode, sizeof mode, "%04o", n.mode);
    out += "  " + std::string(mode) + " " + n.path;
    if (n.kind == StoreNode::Kind::kDirectory) out += "/";
    if (n.kind == StoreNode::Kind::kSymlink) out += " -> " + n.target;
    out += "\n";
  }
  out += read_only_tree ? "the whole tree: read-only, nosuid, nodev, private\n"
                        : "the whole tree: nosuid, nodev, private\n";
  for (const auto& op : operations) out += DescribeOperation(op);
  out += "fresh /proc\n";
  for (const auto& op : after_proc) out += DescribeOperation(op);
  if (new_root) out += "pivot to the new root\n";
  return out;
}

void StoreBase(std::uint32_t inner_uid, Boot& boot) {
  using enum StoreNode::Kind;
  auto add = [&](StoreNode::Kind kind, std::string path, std::uint32_t mode,
                 std::string target = {}) {
    boot.nodes.push_back({kind, std::move(path), mode, std::move(target)});
  };
  add(kDirectory, "tmp", 01777);
  add(kDirectory, "vartmp", 01777);
  add(kDirectory, "shm", 01777);
  add(kDirectory, "masks", 0755);
  add(kDirectory, "masks/dir", 0);
  add(kFile, "masks/file", 0);
  add(kFile, "masks/empty", 0444);
  add(kDirectory, "masks/fuse", 0700);
  add(kDirectory, "run", 0755);
  add(kDirectory, "run/lock", 01777);
  add(kDirectory, "run/user", 0755);
  add(kDirectory, "run/user/" + std::to_string(inner_uid), 0700);
  add(kDirectory, "sys", 0755);
  add(kDirectory, "dev", 0755);
  add(kDirectory, "dev/pts", 0755);
  add(kDirectory, "dev/shm", 0755);
  for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
    add(kFile, std::string("dev/") + name, 0666);
    boot.devices.push_back(std::string("/dev/") + name);
  }
  add(kSymlink, "dev/ptmx", 0777, "pts/ptmx");
  add(kSymlink, "dev/fd", 0777, "/proc/self/fd");
  add(kSymlink, "dev/stdin", 0777, "/proc/self/fd/0");
  add(kSymlink, "dev/stdout", 0777, "/proc/self/fd/1");
  add(kSymlink, "dev/stderr", 0777, "/proc/self/fd/2");
}

std::optional<std::vector<std::string>> WritablePlaces(const Plan& plan) {
  if (!plan.read_only_tree) return std::nullopt;
  std::vector<std::string> places = {"/dev", "/proc"};
  for (const auto& op : plan.operations) {
    if ((op.attributes & Operation::kReadOnly) == 0 && op.source != kNewRoot)
      places.push_back(op.target);
  }
  return places;
}

std::string Encode(const Boot& boot) {
  Writer w;
  w.U32(wire::kWireVersion);
  w.String(boot.uid_map);
  w.String(boot.gid_map);
  w.U32((boot.deny_setgroups ? 1u : 0u) | (boot.keep_base ? 2u : 0u));
  w.Strings(boot.bwrap);
  WriteNodes(w, boot.nodes);
  w.Strings(boot.devices);
  return w.Take();
}

std::string Encode(const Plan& plan) {
  Writer w;
  WriteNodes(w, plan.nodes);
  w.U32(static_cast<std::uint32_t>(plan.operations.size()));
  for (const auto& op : plan.operations) WriteOperation(w, op);
  w.U32(static_cast<std::uint32_t>(plan.after_proc.size()));
  for (const auto& op : plan.after_proc) WriteOperation(w, op);
  w.U32((plan.new_root ? 1u : 0u) | (plan.read_only_tree ? 2u : 0u));
  return w.Take();
}

std::string Encode(const ExecPlan& plan) {
  Writer w;
  w.Strings(plan.argv);
  w.Strings(plan.environment);
  w.String(plan.workdir);
  w.String(plan.search_path);
  for (std::uint32_t kind : plan.stdio) w.U32(kind);
  w.U32(plan.new_terminal ? 1 : 0);
  w.U32(plan.rows);
  w.U32(plan.columns);
  w.String(plan.terminal_modes);
  w.U32(plan.umask);
  w.U32(static_cast<std::uint32_t>(plan.limits.size()));
  for (const auto& l : plan.limits) {
    w.U32(l.resource);
    w.U64(l.soft);
    w.U64(l.hard);
  }
  w.U32(plan.fence ? 1 : 0);
  w.Strings(plan.fence.value_or(std::vector<std::string>{}));
  w.U32(plan.isolated ? 1 : 0);
  w.U32(plan.supervised ? 1 : 0);
  w.String(plan.filter);
  return w.Take();
}

// The number of a mask is that of its operation, as the launcher counts them.
std::string EncodeMasks(const Plan& plan, std::uint32_t inner_uid, std::uint32_t inner_gid) {
  using wire::MaskKind;
  Writer w;
  std::uint32_t number = 0, count = 0;
  const auto write = [&](const Operation& op) {
    if (op.reported) {
      ++count;
      w.U32(number);
      w.U32(static_cast<std::uint32_t>(op.source.ends_with("/dir")     ? MaskKind::kDirectory
                                       : op.source.ends_with("/empty") ? MaskKind::kEmptyFile
                                                                       : MaskKind::kFile));
      w.U32(op.rule);
      w.String(op.target);
    }
    ++number;
  };
  for (const auto& op : plan.operations) write(op);
  for (const auto& op : plan.after_proc) write(op);
  if (count == 0) return {};
  Writer head;
  head.U32(inner_uid);
  head.U32(inner_gid);
  head.U32(count);
  return head.Take() + w.Take();
}

}  // namespace cordon::jail
