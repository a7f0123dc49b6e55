#include "probe/remedy.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/made_host.h"

namespace cordon::probe {
namespace {

HostFacts Host(Family family) {
  HostFacts facts;
  facts.family = family;
  facts.kernel = "6.8.0";
  facts.kernel_major = 6;
  facts.kernel_minor = 8;
  return facts;
}

bool AnyHas(const Lines& lines, std::string_view part) {
  for (const std::string& line : lines) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(RemedyTest, InstallsWithThePackageManagerOfTheDistribution) {
  const struct {
    Family family;
    const char* command;
  } kCases[] = {
      {Family::kDebian, "sudo apt-get install bubblewrap"},
      {Family::kUbuntu, "sudo apt-get install bubblewrap"},
      {Family::kFedora, "sudo dnf install bubblewrap"},
      {Family::kRhel, "sudo dnf install bubblewrap"},
      {Family::kArch, "sudo pacman -S bubblewrap"},
      {Family::kOpenSuse, "sudo zypper install bubblewrap"},
      {Family::kAlpine, "doas apk add bubblewrap"},
      {Family::kNixOs,
       "environment.systemPackages = [ pkgs.bubblewrap ]; in "
       "/etc/nixos/configuration.nix, then sudo nixos-rebuild switch"},
      {Family::kOther, "install the package bubblewrap"},
  };
  for (const auto& c : kCases) EXPECT_EQ(BubblewrapRemedy(Host(c.family)), Lines{c.command});
}

TEST(RemedyTest, SysctlIsSetAndKept) {
  HostFacts facts = Host(Family::kDebian);
  facts.max_namespaces["user"] = 0;
  EXPECT_EQ(NamespaceRemedy(facts, "user", ENOSPC),
            (Lines{"sudo sysctl -w user.max_user_namespaces=15000",
                   "to keep it: echo 'user.max_user_namespaces=15000' | sudo tee "
                   "/etc/sysctl.d/90-cordon.conf"}));
  facts.family = Family::kAlpine;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", ENOSPC), "doas sysctl -w"));
  facts.family = Family::kNixOs;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", ENOSPC),
                     "boot.kernel.sysctl.\"user.max_user_namespaces\" = 15000;"));
  facts.root = true;
  EXPECT_EQ(NamespaceRemedy(facts, "user", ENOSPC)[0], "sysctl -w user.max_user_namespaces=15000");
  facts.container = Container::kDocker;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", ENOSPC), "on the container's host: sysctl"));
}

TEST(RemedyTest, NamesTheLimitOfTheNamespaceThatFailed) {
  HostFacts facts = Host(Family::kDebian);
  facts.max_namespaces = {{"user", 1000}, {"net", 0}};
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "net", ENOSPC), "sysctl -w user.max_net_namespaces="));
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EUSERS), "an outer namespace"));
}

TEST(RemedyTest, DebianSwitchConcernsTheUnprivilegedOnly) {
  HostFacts facts = Host(Family::kDebian);
  facts.unprivileged_userns_clone = 0;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EPERM),
                     "sudo sysctl -w kernel.unprivileged_userns_clone=1"));
  facts.admin = true;
  EXPECT_FALSE(AnyHas(NamespaceRemedy(facts, "user", EPERM), "unprivileged_userns_clone"));
}

TEST(RemedyTest, AppArmorProfileIsInstalledAndLoaded) {
  HostFacts facts = Host(Family::kUbuntu);
  facts.apparmor_restrict = 1;
  facts.profile_source = "/usr/share/cordon/apparmor/cordon-launch";
  facts.profile_name = "cordon-launch";
  EXPECT_EQ(NamespaceRemedy(facts, "user", EPERM),
            Lines{"sudo install -m 644 /usr/share/cordon/apparmor/cordon-launch "
                  "/etc/apparmor.d/cordon-launch && sudo apparmor_parser -r "
                  "/etc/apparmor.d/cordon-launch"});
  facts.profile_in_place = true;
  EXPECT_EQ(NamespaceRemedy(facts, "user", EACCES),
            Lines{"sudo apparmor_parser -r /etc/apparmor.d/cordon-launch"});
  facts.profile_in_place = false;
  facts.profile_source = "/a b/it's/clone";
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EPERM), "-m 644 '/a b/it'\\''s/clone' /etc"));
  facts.profile_source.clear();
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EPERM), "install the cordon package"));
  // A mount that the restriction refuses has the same cause.
  EXPECT_EQ(MountRemedy(facts, "proc", EACCES), NamespaceRemedy(facts, "mnt", EACCES));
}

TEST(RemedyTest, ContainersGetTheFlagsOfTheirRuntime) {
  const struct {
    Container container;
    const char* part;
  } kCases[] = {
      {Container::kDocker, "--security-opt systempaths=unconfined"},
      {Container::kDocker, "--security-opt seccomp=unconfined"},
      {Container::kDocker, "--device /dev/fuse"},
      {Container::kPodman, "--security-opt unmask=ALL"},
      {Container::kKubernetes, "procMount: Unmasked"},
      {Container::kKubernetes, "hostUsers: false"},
      {Container::kKubernetes, "seccompProfile: {type: Unconfined}"},
      {Container::kLxc, "security.nesting true"},
      {Container::kNspawn, "podman run"},
      {Container::kOther, "CLONE_NEWUSER"},
  };
  for (const auto& c : kCases) {
    HostFacts facts = Host(Family::kDebian);
    facts.container = c.container;
    EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EPERM), c.part)) << c.part;
    // The covered /proc of a container.
    EXPECT_TRUE(AnyHas(MountRemedy(facts, "proc", EPERM), c.part)) << c.part;
  }
  HostFacts ubuntu = Host(Family::kDebian);
  ubuntu.container = Container::kDocker;
  ubuntu.apparmor_restrict = 1;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(ubuntu, "user", EPERM),
                     "host: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"));
}

TEST(RemedyTest, OtherCausesOfARefusalAreNamed) {
  HostFacts facts = Host(Family::kDebian);
  facts.chrooted = true;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EPERM), "chroot"));
  facts.chrooted = false;
  facts.filtered = true;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EPERM), "RestrictNamespaces="));
  facts.filtered = false;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EINVAL), "CONFIG_USER_NS=y"));
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EPERM), "dmesg"));
  facts.selinux = true;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EACCES), "ausearch -m avc"));
  facts.wsl = 1;
  EXPECT_TRUE(AnyHas(NamespaceRemedy(facts, "user", EINVAL), "wsl.exe --set-version"));
}

TEST(RemedyTest, MissingCallIsAnOldKernelOrAFilter) {
  HostFacts facts = Host(Family::kDebian);
  facts.kernel = "5.10.0-28-amd64";
  facts.kernel_major = 5;
  facts.kernel_minor = 10;
  EXPECT_EQ(CallRemedy(facts, "mount_setattr", 5, 12, ENOSYS),
            Lines{"run Linux 5.12 or newer (this is 5.10.0-28-amd64)"});
  facts.kernel_minor = 15;
  facts.filtered = true;
  EXPECT_TRUE(AnyHas(CallRemedy(facts, "mount_setattr", 5, 12, ENOSYS), "SystemCallFilter="));
  facts.container = Container::kDocker;
  EXPECT_TRUE(AnyHas(CallRemedy(facts, "mount_setattr", 5, 12, EPERM), "docker run"));
}

TEST(RemedyTest, HeldListenerIsToldApartFromAMissingOne) {
  HostFacts facts = Host(Family::kDebian);
  EXPECT_TRUE(AnyHas(ListenerRemedy(facts, EBUSY), "already holds a seccomp listener"));
  facts.container = Container::kPodman;
  EXPECT_TRUE(AnyHas(ListenerRemedy(facts, EBUSY), "SCMP_ACT_NOTIFY"));
  EXPECT_FALSE(AnyHas(ListenerRemedy(facts, EPERM), "already holds"));
}

TEST(RemedyTest, LandlockIsSwitchedOnOnTheKernelCommandLine) {
  HostFacts facts = Host(Family::kFedora);
  facts.lsm = "lockdown,capability,yama";
  EXPECT_EQ(LandlockRemedy(facts, EOPNOTSUPP)[0],
            "sudo grubby --update-kernel=ALL --args=\"lsm=landlock,lockdown,capability,yama\"");
  facts.family = Family::kDebian;
  EXPECT_TRUE(AnyHas(LandlockRemedy(facts, EOPNOTSUPP), "sudo update-grub"));
  EXPECT_TRUE(AnyHas(LandlockRemedy(facts, ENOSYS), "CONFIG_SECURITY_LANDLOCK=y"));
}

TEST(RemedyTest, DevicesAndModules) {
  HostFacts facts = Host(Family::kDebian);
  EXPECT_EQ(FuseRemedy(facts, EACCES)[0], "sudo chmod 0666 /dev/fuse");
  EXPECT_EQ(FuseRemedy(facts, ENOENT)[0], "sudo modprobe -a fuse");
  EXPECT_EQ(NftablesRemedy(facts, EPROTONOSUPPORT),
            (Lines{"sudo modprobe -a nf_tables nft_chain_nat nft_redir",
                   "to keep it: printf 'nf_tables\\nnft_chain_nat\\nnft_redir\\n' | sudo tee "
                   "/etc/modules-load.d/cordon.conf"}));
  EXPECT_TRUE(AnyHas(KvmRemedy(facts, EACCES), "usermod -aG kvm"));
  EXPECT_TRUE(AnyHas(KvmRemedy(facts, ENOENT), "modprobe kvm_intel"));
  facts.container = Container::kPodman;
  EXPECT_EQ(KvmRemedy(facts, ENOENT), Lines{"podman run --device /dev/kvm ..."});
  EXPECT_TRUE(AnyHas(FuseRemedy(facts, ENOENT), "--device /dev/fuse"));
}

TEST(RemedyTest, CgroupIsDelegatedBySystemdOrMountedByTheKernel) {
  HostFacts facts = Host(Family::kDebian);
  facts.cgroup.present = true;
  facts.cgroup.directory = "/sys/fs/cgroup";
  facts.systemd = true;
  EXPECT_EQ(CgroupRemedy(facts),
            Lines{"systemd-run --user --scope -p Delegate=yes -- cordon run ..."});
  facts.cgroup.hybrid = true;
  EXPECT_TRUE(AnyHas(CgroupRemedy(facts), "systemd.unified_cgroup_hierarchy=1"));
  facts.cgroup.hybrid = false;
  facts.systemd = false;
  EXPECT_TRUE(AnyHas(CgroupRemedy(facts), "tee /sys/fs/cgroup/cgroup.subtree_control"));
}

}  // namespace
}  // namespace cordon::probe
