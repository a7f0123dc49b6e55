#include "launcher/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "launcher/masks.h"
#include "launcher/mounts.h"
#include "launcher/raw.h"

namespace cordon::launcher {
namespace {

using jail::wire::Failure;
using jail::wire::Reader;
using jail::wire::Stage;

constexpr const char* kRootPath = "/proc/root";

Failure Fail(Stage stage, std::uint32_t operation = 0) { return Failure{stage, errno, operation}; }

struct Op {
  std::string_view source, target;
  std::uint32_t attributes = 0;
  bool early = false, recursive = false, keep_devices = false, optional = false, link = false;
  bool reported = false;
  bool from_store =
      false;  // a late mask: read-only, nosuid and nodev already, as the store is by then
  int clone = -1;
};

struct ParsedPlan {
  Op* ops = nullptr;
  std::uint32_t count = 0;
  Op* after_proc = nullptr;
  std::uint32_t after_count = 0;
  bool new_root = false;
  bool read_only_tree = true;
  bool served = false;  // masks come from kServedMasks
  char* served_names = nullptr;
  bool ok = false;
};

void SkipNodes(Reader& r) {
  for (std::uint32_t i = 0, n = r.U32(); i < n && r.ok(); ++i) {
    r.U32();
    r.U32();
    r.String();
    r.String();
  }
}

Op* ReadOps(Reader& r, std::uint32_t& count) {
  count = r.U32();
  // Each operation takes at least 18 bytes, so a wild count fails on reading, not on memory.
  if (!r.ok() || count > (1u << 24)) return nullptr;
  auto* ops = static_cast<Op*>(::calloc(count + 1u, sizeof(Op)));
  if (ops == nullptr) return nullptr;
  for (std::uint32_t i = 0; i < count && r.ok(); ++i) {
    Op& op = ops[i];
    op.source = r.String();
    op.target = r.String();
    op.attributes = r.U32();
    std::uint32_t bits = r.U32();
    op.early = bits & 1;
    op.recursive = bits & 2;
    op.keep_devices = bits & 4;
    op.optional = bits & 8;
    op.link = bits & 16;
    op.reported = bits & 32;
    op.clone = -1;
  }
  return ops;
}

ParsedPlan Parse(std::string_view plan) {
  Reader r(plan);
  ParsedPlan p;
  SkipNodes(r);
  p.ops = ReadOps(r, p.count);
  p.after_proc = ReadOps(r, p.after_count);
  std::uint32_t bits = r.U32();
  p.new_root = bits & 1;
  p.read_only_tree = bits & 2;
  for (std::uint32_t i = 0; p.ops != nullptr && i < p.count; ++i) {
    Op& op = p.ops[i];
    op.from_store = p.read_only_tree && !op.early && op.source != op.target && op.attributes == 1 &&
                    !op.recursive;
  }
  p.ok = r.ok() && p.ops != nullptr && p.after_proc != nullptr;
  return p;
}

// The node of a mask has the number of its operation (jail::EncodeMasks).
bool UseServedMasks(ParsedPlan& p) {
  constexpr std::size_t kRoom = 32;
  const std::uint32_t count = p.count + p.after_count;
  p.served = true;
  p.served_names = static_cast<char*>(::calloc(count + 1u, kRoom));
  for (std::uint32_t i = 0; p.served_names != nullptr && i < count; ++i) {
    Op& op = i < p.count ? p.ops[i] : p.after_proc[i - p.count];
    if (!op.reported) continue;
    char* name = p.served_names + i * kRoom;
    int length = std::snprintf(name, kRoom, "%s/%u", kServedMasks, i);
    op.source = std::string_view(name, static_cast<std::size_t>(length));
  }
  return p.served_names != nullptr;
}

void FreePlan(ParsedPlan& p) {
  for (std::uint32_t i = 0; p.ops != nullptr && i < p.count; ++i)
    if (p.ops[i].clone >= 0) ::close(p.ops[i].clone);
  for (std::uint32_t i = 0; p.after_proc != nullptr && i < p.after_count; ++i)
    if (p.after_proc[i].clone >= 0) ::close(p.after_proc[i].clone);
  ::free(p.ops);
  ::free(p.after_proc);
  ::free(p.served_names);
}

std::uint64_t MountAttributes(const Op& op) {
  std::uint64_t a = kAttrNoSuid;
  if (!op.keep_devices) a |= kAttrNoDev;
  if (op.attributes & 1) a |= kAttrReadOnly;
  if (op.attributes & 2) a |= kAttrNoExec;
  return a;
}

// Path in the tree that is being built. `out` has room for any path that the host accepts.
const char* InView(const ParsedPlan& p, std::string_view target, char* out, std::size_t size) {
  std::size_t prefix = p.new_root ? std::strlen(kRootPath) : 0;
  if (prefix + target.size() + 1 > size) return nullptr;
  std::memcpy(out, kRootPath, prefix);
  std::memcpy(out + prefix, target.data(), target.size());
  out[prefix + target.size()] = '\0';
  if (out[0] == '\0') std::strcpy(out, "/");
  return out;
}

// The directory that holds the last component of a path, opened without following any link and
// kept for the next path: operations come sorted, so neighbours share it. What is then done with
// the name in it cannot be led elsewhere by a link that appears meanwhile.
class ParentCache {
 public:
  ~ParentCache() { Reset(); }
  void Reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // Descriptor of the parent, or -1 with errno; `name` is the rest of `path`.
  int Open(const char* path, const char*& name) {
    const char* slash = std::strrchr(path, '/');
    name = slash + 1;
    auto length = static_cast<std::size_t>(slash - path);
    if (length >= sizeof path_) {
      errno = ENAMETOOLONG;
      return -1;
    }
    if (fd_ >= 0 && length == length_ && std::memcmp(path_, path, length) == 0) return fd_;
    Reset();
    std::memcpy(path_, path, length);
    path_[length] = '\0';
    length_ = length;
    fd_ = OpenCanonical(length == 0 ? "/" : path_, O_DIRECTORY);
    ++generation_;
    return fd_;
  }
  // Changes with the directory (descriptor numbers come back).
  unsigned generation() const { return generation_; }

 private:
  unsigned generation_ = 0;
  int fd_ = -1;
  std::size_t length_ = 0;
  char path_[8192];
};

// Sources and targets have one each; static because of their size.
ParentCache source_parents;
ParentCache target_parents;

// Which target parent is the working directory now; 0: none.
unsigned working_generation = 0;

void ForgetParents() {
  source_parents.Reset();
  target_parents.Reset();
  working_generation = 0;
}

int FailClosing(int fd, int error) {
  ::close(fd);
  errno = error;
  return -1;
}

// Clones the mount tree at `path`; `missing` tells a source that is simply not there.
int CloneAt(const char* path, const Op& op, bool& missing, Stage& stage) {
  missing = false;
  stage = Stage::kSource;
  const char* name;
  int parent = source_parents.Open(path, name);
  int fd = -1;
  if (parent >= 0) {
    stage = Stage::kCloneTree;
    unsigned empty = *name == '\0' ? static_cast<unsigned>(AT_EMPTY_PATH) : 0u;  // "/" itself
    fd = OpenTree(parent, name,
                  empty | AT_SYMLINK_NOFOLLOW | kOpenTreeClone | O_CLOEXEC |
                      (op.recursive ? kRecursive : 0u));
  }
  if (fd < 0) {
    missing = errno == ENOENT || errno == ENOTDIR;
    return -1;
  }
  struct stat st{};
  // A link where none was: it came after the plan was made.
  if (!op.link && (::fstat(fd, &st) != 0 || S_ISLNK(st.st_mode))) return FailClosing(fd, ELOOP);
  if (!HasMountSetattr()) return fd;
  stage = Stage::kAttributes;
  if (AddAttributes(fd, MountAttributes(op), op.recursive && !op.keep_devices) != 0)
    return FailClosing(fd, errno);
  return fd;
}

Failure CloneEarly(ParsedPlan& p) {
  for (std::uint32_t i = 0; i < p.count + p.after_count; ++i) {
    Op& op = i < p.count ? p.ops[i] : p.after_proc[i - p.count];
    if (!op.early) continue;
    bool missing = false;
    Stage stage{};
    op.clone = CloneAt(op.source.data(), op, missing, stage);
    if (op.clone < 0 && !(missing && op.optional)) return Fail(stage, i);
  }
  return {};
}

// Adds the attributes of what was just attached at `name` in the working directory.
int AddAttributesHere(const char* name, const char* path, const Op& op, int mountinfo_fd) {
  bool recursive = op.recursive && !op.keep_devices;
  if (!HasMountSetattr())
    return AddAttributesAt(path, MountAttributes(op), recursive, false, mountinfo_fd);
  return AddAttributesAt(name, MountAttributes(op), recursive, false, -1);
}

// A late operation: what is there by now (a mask in the store, or the target itself) is bound in
// one call, from the parent directory, so that no component before the last can be a link. Should
// the last one have become a link, a mask hides what it leads to, and a read-only bind fails, for
// attributes are never set through a link.
Failure AttachLate(Op& op, const char* path, std::uint32_t index, int mountinfo_fd) {
  const char* name;
  int parent = target_parents.Open(path, name);
  if (parent < 0) return op.optional && errno == ENOENT ? Failure{} : Fail(Stage::kTarget, index);
  if (target_parents.generation() != working_generation && ::fchdir(parent) != 0)
    return Fail(Stage::kTarget, index);
  working_generation = target_parents.generation();
  const char* source = op.source == op.target ? name : op.source.data();
  if (::mount(source, name, nullptr, MS_BIND | (op.recursive ? MS_REC : 0), nullptr) != 0)
    return op.optional && errno == ENOENT ? Failure{} : Fail(Stage::kAttach, index);
  if (!op.from_store && AddAttributesHere(name, path, op, mountinfo_fd) != 0)
    return Fail(Stage::kAttributes, index);
  return {};
}

// Puts one operation's mount in place.
Failure Attach(const ParsedPlan& p, Op& op, std::uint32_t index, int mountinfo_fd) {
  char path[8192];
  if (InView(p, op.target, path, sizeof path) == nullptr) {
    errno = ENAMETOOLONG;
    return Fail(Stage::kTarget, index);
  }
  if (!op.early && !op.link) return AttachLate(op, path, index, mountinfo_fd);
  if (!op.early) {
    bool missing = false;
    Stage stage{};
    op.clone = CloneAt(path, op, missing, stage);
    if (op.clone < 0) return missing && op.optional ? Failure{} : Fail(stage, index);
  }
  if (op.clone < 0) return {};  // early and optional
  const char* name;
  int parent = target_parents.Open(path, name);
  if (parent < 0) return op.optional && errno == ENOENT ? Failure{} : Fail(Stage::kTarget, index);
  int moved = MoveMount(op.clone, parent, name);
  int saved = errno;
  ::close(op.clone);
  op.clone = -1;
  if (moved != 0 && op.optional && saved == ENOENT) return {};
  errno = saved;
  if (moved != 0) return Fail(Stage::kAttach, index);
  if (*name == '\0') ForgetParents();  // the new root now covers the directory that was opened
  if (!HasMountSetattr() &&
      AddAttributesAt(path, MountAttributes(op), op.recursive && !op.keep_devices, false,
                      mountinfo_fd) != 0)
    return Fail(Stage::kAttributes, index);
  return {};
}

Failure AttachAll(const ParsedPlan& p, int mountinfo_fd) {
  for (std::uint32_t i = 0; i < p.count; ++i) {
    Failure f = Attach(p, p.ops[i], i, mountinfo_fd);
    if (f.stage != Stage::kNone) return f;
  }
  return {};
}

// The masks are needed again when one falls off (launcher/watch.h), and the fresh /proc covers the
// store. The old root takes the store along, so there a bind of them stays below the new /proc.
Failure KeepMasks(const ParsedPlan& p, int& masks) {
  char path[64];
  if (p.new_root && (InView(p, "/proc", path, sizeof path) == nullptr ||
                     ::mount("/proc/masks", path, nullptr, MS_BIND, nullptr) != 0))
    return Fail(Stage::kStore);
  masks = OpenCanonical(p.new_root ? path : "/proc/masks", O_DIRECTORY);
  return masks < 0 ? Fail(Stage::kStore) : Failure{};
}

Failure MountProc(const ParsedPlan& p, int mountinfo_fd) {
  char path[64];
  InView(p, "/proc", path, sizeof path);
  ForgetParents();
  if (::mount("proc", path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return Fail(Stage::kProc);
  for (std::uint32_t i = 0; i < p.after_count; ++i) {
    Failure f = Attach(p, p.after_proc[i], p.count + i, mountinfo_fd);
    if (f.stage != Stage::kNone) return f;
  }
  return {};
}

// The new root becomes /, the old one goes away. It is made read-only only now, so that mount
// points inside it could be used before.
Failure Pivot(int mountinfo_fd) {
  if (AddAttributesAt(kRootPath, kAttrReadOnly, false, false, mountinfo_fd) != 0)
    return Fail(Stage::kReadOnly);
  if (::chdir(kRootPath) != 0) return Fail(Stage::kPivot);
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return Fail(Stage::kPivot);
  if (::umount2(".", MNT_DETACH) != 0) return Fail(Stage::kPivot);
  if (::chdir("/") != 0) return Fail(Stage::kPivot);
  return {};
}

Failure Build(ParsedPlan& p, int mountinfo_fd, int& masks) {
  if (Failure f = CloneEarly(p); f.stage != Stage::kNone) return f;
  std::uint64_t everywhere = kAttrNoSuid | kAttrNoDev | (p.read_only_tree ? kAttrReadOnly : 0);
  if (AddAttributesAt("/", everywhere, true, false, mountinfo_fd) != 0)
    return Fail(Stage::kReadOnly);
  ForgetParents();  // what is attached may cover the directories that early clones came from
  if (p.served) LearnServedMasks();
  if (Failure f = AttachAll(p, mountinfo_fd); f.stage != Stage::kNone) return f;
  if (Failure f = KeepMasks(p, masks); f.stage != Stage::kNone) return f;
  if (Failure f = MountProc(p, mountinfo_fd); f.stage != Stage::kNone) return f;
  return p.new_root ? Pivot(mountinfo_fd) : Failure{};
}

}  // namespace

Failure MakePrivate() {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? Failure{}
                                                                           : Fail(Stage::kPrivate);
}

Failure BuildView(std::string_view plan, bool served, int& masks) {
  ParsedPlan p = Parse(plan);
  if (p.ok && served) p.ok = UseServedMasks(p);
  if (!p.ok) {
    FreePlan(p);
    return Failure{Stage::kProtocol, EBADMSG, 0};
  }
  // /proc of the host is hidden by the store here, so mountinfo (needed without mount_setattr) is
  // read through a proc mount of its own, in the store.
  int mountinfo = -1;
  if (!HasMountSetattr()) {
    ::mkdir("/proc/mountinfo", 0700);
    if (::mount("proc", "/proc/mountinfo", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) !=
        0) {
      FreePlan(p);
      return Fail(Stage::kProc);
    }
    mountinfo = ::open("/proc/mountinfo/self/mountinfo", O_RDONLY | O_CLOEXEC);
  }
  Failure f = Build(p, mountinfo, masks);
  ForgetParents();
  if (f.stage == Stage::kNone && ::chdir("/") != 0) f = Fail(Stage::kWorkdir);
  if (mountinfo >= 0) ::close(mountinfo);
  FreePlan(p);
  return f;
}

}  // namespace cordon::launcher
