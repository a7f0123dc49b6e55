// Programs that are refused at exec: each reaches outside through a privileged helper, a service
// or a set-user-id bit. A mask on the program's file is no boundary (12.19: copies run); what the
// boundary holds is held without it. It gives a clear refusal instead of a confusing failure.
//
// No globs of base names here: a glob makes every start list the program directories.
#include <array>

#include "policy/builtin.h"

namespace cordon::policy {
namespace {

constexpr std::string_view kOtherUser = "runs a program as another user";
constexpr std::string_view kService = "asks a system service to run something outside";
constexpr std::string_view kLater = "has a daemon outside run a command later";
constexpr std::string_view kNamespace = "leaves or remakes the namespaces of the sandbox";
constexpr std::string_view kMount = "changes mounts through a privileged helper";
constexpr std::string_view kContainer = "asks a container engine outside to run something";
constexpr std::string_view kDisk = "changes disks, partitions or file systems";
constexpr std::string_view kHost = "starts a program on the host from a container";
constexpr std::string_view kPower = "stops or restarts the machine";

constexpr auto kPrograms = std::to_array<DangerousProgram>({
    {"sudo", kOtherUser},
    {"sudoedit", kOtherUser},
    {"su", kOtherUser},
    {"doas", kOtherUser},
    {"pkexec", kOtherUser},
    {"run0", kOtherUser},
    {"runuser", kOtherUser},
    {"sg", kOtherUser},
    {"newgrp", kOtherUser},

    {"systemd-run", kService},
    {"systemctl", kService},
    {"machinectl", kService},
    {"loginctl", kService},
    {"busctl", kService},
    {"homectl", kService},
    {"portablectl", kService},
    {"virsh", kService},

    {"at", kLater},
    {"batch", kLater},
    {"crontab", kLater},
    {"anacron", kLater},

    {"nsenter", kNamespace},
    {"unshare", kNamespace},
    {"chroot", kNamespace},

    {"mount", kMount},
    {"umount", kMount},
    {"fusermount", kMount},
    {"fusermount3", kMount},
    {"mount.nfs", kMount},
    {"mount.nfs4", kMount},
    {"mount.cifs", kMount},
    {"mount.fuse", kMount},
    {"mount.fuse3", kMount},
    {"mount.davfs", kMount},
    {"mount.ecryptfs_private", kMount},
    {"umount.nfs", kMount},
    {"umount.ecryptfs_private", kMount},
    {"udisksctl", kMount},
    {"pmount", kMount},
    {"pumount", kMount},

    {"docker", kContainer},
    {"docker-compose", kContainer},
    {"podman", kContainer},
    {"podman-remote", kContainer},
    {"buildah", kContainer},
    {"nerdctl", kContainer},
    {"ctr", kContainer},
    {"crictl", kContainer},
    {"runc", kContainer},
    {"crun", kContainer},
    {"lxc", kContainer},
    {"lxc-attach", kContainer},
    {"lxc-start", kContainer},
    {"incus", kContainer},
    {"flatpak-spawn", kHost},
    {"host-spawn", kHost},
    {"distrobox-host-exec", kHost},
    {"toolbox", kContainer},
    {"distrobox", kContainer},

    {"mkfs", kDisk},
    {"mkfs.bfs", kDisk},
    {"mkfs.btrfs", kDisk},
    {"mkfs.cramfs", kDisk},
    {"mkfs.erofs", kDisk},
    {"mkfs.exfat", kDisk},
    {"mkfs.ext2", kDisk},
    {"mkfs.ext3", kDisk},
    {"mkfs.ext4", kDisk},
    {"mkfs.f2fs", kDisk},
    {"mkfs.fat", kDisk},
    {"mkfs.jfs", kDisk},
    {"mkfs.minix", kDisk},
    {"mkfs.msdos", kDisk},
    {"mkfs.nilfs2", kDisk},
    {"mkfs.ntfs", kDisk},
    {"mkfs.reiserfs", kDisk},
    {"mkfs.udf", kDisk},
    {"mkfs.vfat", kDisk},
    {"mkfs.xfs", kDisk},
    {"mke2fs", kDisk},
    {"mkswap", kDisk},
    {"fdisk", kDisk},
    {"sfdisk", kDisk},
    {"cfdisk", kDisk},
    {"gdisk", kDisk},
    {"sgdisk", kDisk},
    {"parted", kDisk},

    {"shutdown", kPower},
    {"reboot", kPower},
    {"poweroff", kPower},
    {"halt", kPower},
});

}  // namespace

std::span<const DangerousProgram> DangerousPrograms() { return kPrograms; }

}  // namespace cordon::policy
