// The session's own tmpfs: what view.h says about MountStore and AddToStore.
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>

#include "launcher/mounts.h"
#include "launcher/raw.h"
#include "launcher/view.h"

namespace cordon::launcher {
namespace {

using jail::wire::Failure;
using jail::wire::Reader;
using jail::wire::Stage;

constexpr const char* kStorePath = "/proc";  // jail::kStore

Failure Fail(Stage stage, std::uint32_t operation = 0) { return Failure{stage, errno, operation}; }

// The directory of the store that holds a node, kept for the next one: nodes come in runs. When the
// view is built anew, commands already own parts of the store (their /tmp), and the host's tree is
// writable here: no link may lead out.
class StoreParent {
 public:
  explicit StoreParent(int store) : store_(store) {}
  ~StoreParent() { Reset(); }
  // Descriptor of the directory, or -1 with errno; `name` is the last component.
  int Open(const char* path, const char*& name) {
    const char* slash = std::strrchr(path, '/');
    name = slash == nullptr ? path : slash + 1;
    if (slash == nullptr) return store_;
    auto length = static_cast<std::size_t>(slash - path);
    if (fd_ >= 0 && length == length_ && std::memcmp(path_, path, length) == 0) return fd_;
    Reset();
    if (length >= sizeof path_) {
      errno = ENAMETOOLONG;
      return -1;
    }
    std::memcpy(path_, path, length);
    path_[length] = '\0';
    length_ = length;
    fd_ = OpenBeneath(store_, path_);
    return fd_;
  }

 private:
  void Reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int store_;
  int fd_ = -1;
  std::size_t length_ = 0;
  char path_[4096];
};

Failure MakeNode(StoreParent& parents, std::uint32_t kind, std::uint32_t mode, const char* path,
                 const char* target, std::uint32_t index) {
  const char* name;
  int parent = parents.Open(path, name);
  if (parent < 0) return Fail(Stage::kStoreNode, index);
  int rc;
  if (kind == 0) {
    rc = ::mkdirat(parent, name, mode);
  } else if (kind == 1) {
    rc = ::mknodat(parent, name, S_IFREG | mode, 0);
  } else {
    rc = ::symlinkat(target, parent, name);
  }
  return rc == 0 || errno == EEXIST ? Failure{} : Fail(Stage::kStoreNode, index);
}

// The node is the host's: on a read-only mount nobody changes its mode, owner or times, root's
// commands least of all. What is behind it is written to all the same.
int MakeReadOnly(int clone, const char* path) {
  if (HasMountSetattr()) return AddAttributes(clone, kAttrReadOnly, false);
  struct statfs fs{};
  if (::statfs(path, &fs) != 0) return -1;
  // A remount must repeat what the kernel will not let go of (statfs(2), mount(2)).
  unsigned long flags = static_cast<unsigned long>(fs.f_flags) &
                        (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME);
  constexpr unsigned long kRelative = 0x1000;  // ST_RELATIME
  if ((static_cast<unsigned long>(fs.f_flags) & kRelative) != 0) flags |= MS_RELATIME;
  flags |= MS_REMOUNT | MS_BIND | MS_RDONLY;
  return ::mount(nullptr, path, nullptr, flags, nullptr);
}

Failure BindDevice(std::string_view device, std::uint32_t index) {
  char target[256];
  std::size_t slash = device.rfind('/');
  std::string_view name = device.substr(slash + 1);
  if (name.size() + 16 > sizeof target) return {};
  std::memcpy(target, "/proc/dev/", 10);
  std::memcpy(target + 10, name.data(), name.size());
  target[10 + name.size()] = '\0';
  int source = OpenCanonical(device.data());
  if (source < 0) return errno == ENOENT ? Failure{} : Fail(Stage::kDevice, index);
  int clone = OpenTree(source, "", AT_EMPTY_PATH | kOpenTreeClone | O_CLOEXEC);
  ::close(source);
  int at = OpenCanonical(target);
  bool ok =
      clone >= 0 && at >= 0 && MoveMount(clone, at, "") == 0 && MakeReadOnly(clone, target) == 0;
  Failure f = ok ? Failure{} : Fail(Stage::kDevice, index);
  if (clone >= 0) ::close(clone);
  if (at >= 0) ::close(at);
  return f;
}

Failure MakeNodes(Reader& r) {
  int store = ::open(kStorePath, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (store < 0) return Fail(Stage::kStore);
  StoreParent parents(store);
  Failure f{};
  std::uint32_t nodes = r.U32();
  for (std::uint32_t i = 0; i < nodes && r.ok() && f.stage == Stage::kNone; ++i) {
    std::uint32_t kind = r.U32();
    std::uint32_t mode = r.U32();
    std::string_view path = r.String();
    std::string_view target = r.String();
    f = MakeNode(parents, kind, mode, path.data(), target.data(), i);
  }
  ::close(store);
  if (f.stage == Stage::kNone && !r.ok()) f = Failure{Stage::kProtocol, EBADMSG, 0};
  return f;
}

}  // namespace

Failure MountStore(Reader& base) {
  if (::mount("tmpfs", kStorePath, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") != 0)
    return Fail(Stage::kStore);
  if (Failure f = MakeNodes(base); f.stage != Stage::kNone) return f;
  std::uint32_t devices = base.U32();
  for (std::uint32_t i = 0; i < devices && base.ok(); ++i) {
    Failure f = BindDevice(base.String(), i);
    if (f.stage != Stage::kNone) return f;
  }
  if (!base.ok()) return Failure{Stage::kProtocol, EBADMSG, 0};
  if (::mount("devpts", "/proc/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=0620") != 0)
    return Fail(Stage::kDevice, devices);
  return {};
}

Failure AddToStore(std::string_view plan) {
  Reader r(plan);
  return MakeNodes(r);
}

}  // namespace cordon::launcher
