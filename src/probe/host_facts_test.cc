#include "probe/host_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "probe/made_host.h"

namespace cordon::probe {
namespace {

using namespace std::string_literals;

constexpr char kRootMount[] = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n";

TEST(HostFactsTest, KnowsDistributionsById) {
  const struct {
    const char* text;
    const char* name;
    Family family;
  } kCases[] = {
      {"ID=debian\nVERSION_ID=\"12\"\n", "debian 12", Family::kDebian},
      {"NAME=x\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n", "ubuntu 24.04",
       Family::kUbuntu},
      {"ID=fedora\nVERSION_ID=41\n", "fedora 41", Family::kFedora},
      {"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.4\"\n", "rocky 9.4",
       Family::kRhel},
      {"ID=arch\n", "arch", Family::kArch},
      {"ID=\"opensuse-leap\"\nVERSION_ID=15.6\n", "opensuse-leap 15.6", Family::kOpenSuse},
      {"ID=alpine\nVERSION_ID=3.20.1\n", "alpine 3.20.1", Family::kAlpine},
      {"ID=nixos\nVERSION_ID='24.05'\n", "nixos 24.05", Family::kNixOs},
      {"ID=foo\nID_LIKE=\"bar ubuntu debian\"\n", "foo", Family::kUbuntu},
      {"ID=foo\n", "foo", Family::kOther},
  };
  for (const auto& c : kCases) {
    MadeHost host;
    host.File("/etc/os-release", c.text);
    EXPECT_EQ(host.Facts().distribution, c.name);
    EXPECT_EQ(host.Facts().family, c.family) << c.name;
  }
  EXPECT_EQ(MadeHost().Facts().distribution, "unknown");
  MadeHost vendor_only;
  vendor_only.File("/usr/lib/os-release", "ID=fedora\n");
  EXPECT_EQ(vendor_only.Facts().family, Family::kFedora);
}

TEST(HostFactsTest, KnowsContainersByTheirMarks) {
  const struct {
    const char* file;
    std::string text;
    Container container;
  } kCases[] = {
      {"/run/.containerenv", "engine=\"podman-5.0\"\n", Container::kPodman},
      {"/.dockerenv", "", Container::kDocker},
      {"/run/secrets/kubernetes.io/token", "", Container::kKubernetes},
      {"/proc/self/environ", "A=b\0KUBERNETES_SERVICE_HOST=10.0.0.1\0"s, Container::kKubernetes},
      {"/proc/self/environ", "XKUBERNETES_SERVICE_HOST=10.0.0.1\0"s, Container::kNone},
      {"/run/systemd/container", "systemd-nspawn\n", Container::kNspawn},
      {"/run/systemd/container", "wsl\n", Container::kNone},
      {"/run/host/container-manager", "podman\n", Container::kPodman},
      {"/proc/1/environ", "container=lxc\0TERM=linux\0"s, Container::kLxc},
      {"/proc/1/environ", "container=oci\0"s, Container::kOther},
      {"/proc/self/cgroup", "0::/system.slice/docker-0a1b.scope\n", Container::kDocker},
      {"/proc/1/cgroup", "9:pids:/kubepods/burstable/pod1/x\n", Container::kKubernetes},
      {"/proc/1/cgroup", "0::/lxc.payload.web\n", Container::kLxc},
      {"/proc/1/cgroup", "0::/init.scope\n", Container::kNone},
  };
  for (const auto& c : kCases) {
    MadeHost host;
    host.File(c.file, c.text);
    EXPECT_EQ(host.Facts().container, c.container) << c.file << " " << c.text;
  }
}

TEST(HostFactsTest, KubernetesIsNamedBeforeItsRuntime) {
  MadeHost host;
  host.File("/.dockerenv", "").File("/var/run/secrets/kubernetes.io/token", "");
  EXPECT_EQ(host.Facts().container, Container::kKubernetes);
  EXPECT_EQ(host.Facts().container_detail, "kubernetes (/run/secrets/kubernetes.io)");
}

TEST(HostFactsTest, MachineMadeFromADockerImageIsNoContainer) {
  MadeHost machine;
  machine.File("/.dockerenv", "").File("/proc/self/mountinfo", kRootMount);
  EXPECT_EQ(machine.Facts().container, Container::kNone);
  MadeHost container;
  container.File("/.dockerenv", "")
      .File("/proc/self/mountinfo",
            "500 400 0:50 / / rw - overlay overlay rw\n"
            "501 500 8:1 /var/lib/docker/containers/1/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n");
  EXPECT_EQ(container.Facts().container, Container::kDocker);
}

TEST(HostFactsTest, ReadsKernelVersionAndWsl) {
  MadeHost host;
  EXPECT_TRUE(host.Facts("5.10.0-28-amd64").KernelAtLeast(5, 10));
  EXPECT_FALSE(host.Facts("5.10.0-28-amd64").KernelAtLeast(5, 11));
  EXPECT_TRUE(host.Facts("6.1.2").KernelAtLeast(5, 19));
  EXPECT_FALSE(host.Facts("garbage").KernelAtLeast(2, 6));
  EXPECT_EQ(host.Facts("4.4.0-19041-Microsoft").wsl, 1);
  EXPECT_EQ(host.Facts("5.15.90.1-microsoft-standard-WSL2").wsl, 2);
  EXPECT_EQ(host.Facts("6.6.1-custom-WSL2+").wsl, 2);
  EXPECT_EQ(host.Facts("6.1.0").wsl, 0);
}

TEST(HostFactsTest, ReadsSysctlsOrLeavesThemUnknown) {
  MadeHost host;
  EXPECT_FALSE(host.Facts().apparmor_restrict.has_value());
  EXPECT_TRUE(host.Facts().max_namespaces.empty());
  host.File("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n")
      .File("/proc/sys/kernel/unprivileged_userns_clone", "0\n")
      .File("/proc/sys/kernel/yama/ptrace_scope", "3\n")
      .File("/proc/sys/user/max_user_namespaces", "0\n")
      .File("/proc/sys/user/max_net_namespaces", "no number\n");
  const HostFacts facts = host.Facts();
  EXPECT_EQ(facts.apparmor_restrict, 1);
  EXPECT_EQ(facts.unprivileged_userns_clone, 0);
  EXPECT_EQ(facts.yama, 3);
  EXPECT_EQ(facts.max_namespaces, (std::map<std::string, long>{{"user", 0}}));
}

TEST(HostFactsTest, FindsItsCgroupInEveryLayout) {
  const struct {
    const char* mounts;
    const char* cgroup;
    bool hybrid;
    const char* directory;
  } kCases[] = {
      {"30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/user.slice/a.scope\n", false,
       "/sys/fs/cgroup/user.slice/a.scope"},
      {"30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n", false, "/sys/fs/cgroup"},
      {"31 22 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
       "30 22 0:26 / /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw\n",
       "8:pids:/x\n0::/a\n", true, "/sys/fs/cgroup/unified/a"},
      {"30 22 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/docker/1/sub\n", false,
       "/sys/fs/cgroup/sub"},
      {"30 22 0:26 / /my\\040cgroups rw - cgroup2 cgroup2 rw\n", "0::/a\n", false, "/my cgroups/a"},
  };
  for (const auto& c : kCases) {
    MadeHost host;
    host.File("/proc/self/mountinfo", c.mounts).File("/proc/self/cgroup", c.cgroup);
    EXPECT_TRUE(host.Facts().cgroup.present);
    EXPECT_EQ(host.Facts().cgroup.hybrid, c.hybrid) << c.mounts;
    EXPECT_EQ(host.Facts().cgroup.directory, c.directory);
  }
  EXPECT_FALSE(MadeHost().Facts().cgroup.present);
}

TEST(HostFactsTest, ReadsFilterAndCapabilityOfThisProcess) {
  MadeHost host;
  host.File("/proc/self/status",
            "Name:\tcordon\nCapEff:\t0000000000000000\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  EXPECT_TRUE(host.Facts().filtered);
  EXPECT_FALSE(host.Facts().admin);
  host.File("/proc/self/status", "Name:\tcordon\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
  EXPECT_FALSE(host.Facts().filtered);
  EXPECT_TRUE(host.Facts().admin);
}

TEST(HostFactsTest, SeesAChroot) {
  MadeHost host;
  host.File("/proc/self/mountinfo", "40 22 0:5 / /proc rw - proc proc rw\n");
  EXPECT_TRUE(host.Facts().chrooted);
  host.File("/proc/self/mountinfo", kRootMount);
  EXPECT_FALSE(host.Facts().chrooted);
  EXPECT_FALSE(MadeHost().Facts().chrooted);
}

TEST(HostFactsTest, FindsTheProfileOfABuildTreeAndOfAnInstallation) {
  const std::string text = "# why\nabi <abi/4.0>,\n\nprofile cordon-launch-12ab /x flags=() {\n}\n";
  MadeHost tree;
  tree.Link("/proc/self/exe", "/src/build/release/bin/cordon")
      .File("/src/build/release/apparmor/clone", text);
  EXPECT_EQ(tree.Facts().profile_source, "/src/build/release/apparmor/clone");
  EXPECT_EQ(tree.Facts().profile_name, "cordon-launch-12ab");
  EXPECT_FALSE(tree.Facts().profile_in_place);
  tree.File("/etc/apparmor.d/cordon-launch-12ab", text);
  EXPECT_TRUE(tree.Facts().profile_in_place);
  tree.File("/etc/apparmor.d/cordon-launch-12ab", text + "# older\n");
  EXPECT_FALSE(tree.Facts().profile_in_place);

  MadeHost installed;
  installed.Link("/proc/self/exe", "/usr/bin/cordon")
      .File("/usr/share/cordon/apparmor/cordon-launch", "\nprofile cordon-launch /x {\n}\n");
  EXPECT_EQ(installed.Facts().profile_source, "/usr/share/cordon/apparmor/cordon-launch");
  EXPECT_EQ(installed.Facts().profile_name, "cordon-launch");

  MadeHost other;
  other.Link("/proc/self/exe", "/python3");
  EXPECT_TRUE(other.Facts().profile_source.empty());
}

TEST(HostFactsTest, LooksForBubblewrapOnTrustedPathsOnly) {
  MadeHost host;
  host.File("/usr/local/bin/bwrap", "");
  EXPECT_EQ(host.Facts().bwrap, "");
  host.File("/run/current-system/sw/bin/bwrap", "");
  EXPECT_EQ(host.Facts().bwrap, "/run/current-system/sw/bin/bwrap");
  host.File("/usr/bin/bwrap", "");
  EXPECT_EQ(host.Facts().bwrap, "/usr/bin/bwrap");
}

TEST(HostFilesTest, BoundsWhatItReads) {
  EXPECT_FALSE(HostFiles("/").Read("/nonexistent").has_value());
  EXPECT_FALSE(HostFiles("/").Read("/").has_value());
  EXPECT_EQ(HostFiles("/").Read("/dev/zero")->size(), 256u << 10);
}

}  // namespace
}  // namespace cordon::probe
