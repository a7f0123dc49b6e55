// Every trial mounts over /proc, which is there wherever id maps could be written, in a mount
// namespace that ends with the child.
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/kernel_abi.h"
#include "probe/trials.h"

namespace cordon::probe {
namespace {

constexpr char kPoint[] = "/proc";

bool MakePrivate(TrialAnswer& answer) {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) return true;
  Fail(answer, "mount of / as private");
  return false;
}

bool MountTmpfs(TrialAnswer& answer) {
  if (mount("tmpfs", kPoint, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") == 0) return true;
  Fail(answer, "mount of tmpfs");
  return false;
}

// Appends `number` to the NUL-terminated text in `out`.
void AppendNumber(char* out, std::uint32_t number) {
  char digits[12];
  std::size_t at = sizeof digits - 1;
  digits[at] = '\0';
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  strcat(out, digits + at);
}

}  // namespace

void TryPrivateMounts(const TrialContext&, TrialAnswer& answer) { answer.ok = MakePrivate(answer); }

void TryMountSetattr(const TrialContext&, TrialAnswer& answer) {
  if (!MakePrivate(answer)) return;
  const abi::MountAttr attr = {abi::kMountAttrReadOnly, 0, 0, 0};
  if (syscall(abi::kMountSetattr, AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) != 0) {
    return Fail(answer, "mount_setattr");
  }
  struct statvfs info{};
  if (statvfs("/", &info) != 0) return Fail(answer, "statvfs /");
  if ((info.f_flag & ST_RDONLY) == 0) return Fail(answer, "mount_setattr: / stayed writable", 0);
  answer.ok = true;
}

void TryOpenTree(const TrialContext&, TrialAnswer& answer) {
  if (!MakePrivate(answer)) return;
  const auto tree = static_cast<int>(syscall(
      abi::kOpenTree, AT_FDCWD, "/", abi::kOpenTreeClone | abi::kOpenTreeCloexec | AT_RECURSIVE));
  if (tree < 0) return Fail(answer, "open_tree");
  if (syscall(abi::kMoveMount, tree, "", AT_FDCWD, kPoint, abi::kMoveMountFromEmptyPath) != 0) {
    return Fail(answer, "move_mount");
  }
  answer.ok = true;
}

void TryFreshProc(const TrialContext&, TrialAnswer& answer) {
  if (!MakePrivate(answer)) return;
  if (mount("proc", kPoint, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return Fail(answer, "mount of proc");
  }
  char self[8] = {};
  if (readlink("/proc/self", self, sizeof self - 1) < 0) return Fail(answer, "readlink /proc/self");
  if (strcmp(self, "1") != 0) return Fail(answer, "/proc/self: not process 1", 0);
  answer.ok = true;
}

void TryTmpfs(const TrialContext&, TrialAnswer& answer) {
  if (!MakePrivate(answer) || !MountTmpfs(answer)) return;
  if (mkdir("/proc/made", 0755) != 0) return Fail(answer, "mkdir in a tmpfs");
  answer.ok = true;
}

void TryDevpts(const TrialContext&, TrialAnswer& answer) {
  if (!MakePrivate(answer)) return;
  if (mount("devpts", kPoint, "devpts", MS_NOSUID | MS_NOEXEC,
            "newinstance,ptmxmode=0666,mode=0620") != 0) {
    return Fail(answer, "mount of devpts");
  }
  if (open("/proc/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) < 0) return Fail(answer, "open ptmx");
  answer.ok = true;
}

void TryFuse(const TrialContext& context, TrialAnswer& answer) {
  if (!MakePrivate(answer)) return;
  // The kernel refuses a descriptor that was opened in another user namespace (12.5).
  const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return Fail(answer, "open /dev/fuse");
  char options[96] = "rootmode=40000,fd=";
  AppendNumber(options, static_cast<std::uint32_t>(device));
  strcat(options, ",user_id=");
  AppendNumber(options, context.uid);
  strcat(options, ",group_id=");
  AppendNumber(options, context.gid);
  if (mount("cordon", kPoint, "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
    return Fail(answer, "mount of fuse");
  }
  answer.ok = true;
}

void TryOverlay(const TrialContext&, TrialAnswer& answer) {
  if (!MakePrivate(answer) || !MountTmpfs(answer)) return;
  for (const char* name : {"/proc/lower", "/proc/upper", "/proc/work", "/proc/merged"}) {
    if (mkdir(name, 0755) != 0) return Fail(answer, "mkdir in a tmpfs");
  }
  if (mount("overlay", "/proc/merged", "overlay", 0,
            "lowerdir=/proc/lower,upperdir=/proc/upper,workdir=/proc/work,userxattr") != 0) {
    return Fail(answer, "mount of overlay");
  }
  if (mkdir("/proc/merged/made", 0755) != 0) return Fail(answer, "mkdir in an overlay");
  answer.ok = true;
}

}  // namespace cordon::probe
