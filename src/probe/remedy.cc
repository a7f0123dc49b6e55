#include "probe/remedy.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

namespace cordon::probe {
namespace {

constexpr long kNamespaceLimit = 15000;

std::string ShellQuote(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("/._-+").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Kernel arguments, kept over a restart.
Lines KernelArgument(const HostFacts& facts, const std::string& argument) {
  const std::string sudo = Elevate(facts);
  const std::string edit = "add " + argument + " to GRUB_CMDLINE_LINUX in /etc/default/grub";
  switch (facts.family) {
    case Family::kDebian:
    case Family::kUbuntu: return {edit, sudo + "update-grub", sudo + "reboot"};
    case Family::kFedora:
    case Family::kRhel:
      return {sudo + "grubby --update-kernel=ALL --args=\"" + argument + "\"", sudo + "reboot"};
    case Family::kNixOs:
      return {"boot.kernelParams = [ \"" + argument + "\" ]; in /etc/nixos/configuration.nix",
              sudo + "nixos-rebuild boot", sudo + "reboot"};
    case Family::kOpenSuse:
      return {edit, sudo + "grub2-mkconfig -o /boot/grub2/grub.cfg", sudo + "reboot"};
    case Family::kArch:
    case Family::kAlpine:
      return {edit, sudo + "grub-mkconfig -o /boot/grub/grub.cfg", sudo + "reboot"};
    case Family::kOther: break;
  }
  return {"add " + argument + " to the kernel's command line and restart"};
}

Lines ModuleRemedy(const HostFacts& facts, const std::string& modules) {
  const std::string sudo = Elevate(facts);
  if (facts.container != Container::kNone) {
    return {"on the container's host: modprobe -a " + modules};
  }
  Lines lines = {sudo + "modprobe -a " + modules};
  if (facts.family == Family::kNixOs) {
    lines.push_back("to keep it: boot.kernelModules in /etc/nixos/configuration.nix");
    return lines;
  }
  std::string listed = modules;
  for (std::size_t at = 0; (at = listed.find(' ', at)) != std::string::npos; at += 2) {
    listed.replace(at, 1, "\\n");
  }
  lines.push_back("to keep it: printf '" + listed + "\\n' | " + sudo +
                  "tee /etc/modules-load.d/cordon.conf");
  return lines;
}

Lines FilterRemedy(const HostFacts& facts, std::string_view what) {
  if (facts.container != Container::kNone) return ContainerRemedy(facts);
  if (!facts.filtered) return {"run a kernel that was built with " + std::string(what)};
  return {
      "a system call filter on this process refuses it; start Cordon outside of what set it (a "
      "systemd unit with RestrictNamespaces= or SystemCallFilter=, another sandbox)"};
}

std::string PackageName(Family family, std::string_view package) {
  struct Row {
    std::string_view package;
    Family family;
    std::string_view name;
  };
  static constexpr Row kRows[] = {
      {"nftables", Family::kArch, "nftables iptables-nft"},
  };
  for (const Row& row : kRows) {
    if (row.package == package && row.family == family) return std::string(row.name);
  }
  return std::string(package);
}

}  // namespace

std::string Elevate(const HostFacts& facts) {
  if (facts.root) return "";
  return facts.family == Family::kAlpine ? "doas " : "sudo ";
}

std::string InstallCommand(const HostFacts& facts, std::string_view package) {
  const std::string name = PackageName(facts.family, package);
  const std::string sudo = Elevate(facts);
  switch (facts.family) {
    case Family::kDebian:
    case Family::kUbuntu: return sudo + "apt-get install " + name;
    case Family::kFedora:
    case Family::kRhel: return sudo + "dnf install " + name;
    case Family::kArch: return sudo + "pacman -S " + name;
    case Family::kOpenSuse: return sudo + "zypper install " + name;
    case Family::kAlpine: return sudo + "apk add " + name;
    case Family::kNixOs:
      return "environment.systemPackages = [ pkgs." + name +
             " ]; in /etc/nixos/configuration.nix, then " + sudo + "nixos-rebuild switch";
    case Family::kOther: break;
  }
  return "install the package " + name;
}

Lines SysctlRemedy(const HostFacts& facts, const std::string& name, long value) {
  const std::string number = std::to_string(value);
  const std::string sudo = Elevate(facts);
  Lines lines = {sudo + "sysctl -w " + name + "=" + number};
  if (facts.family == Family::kNixOs) {
    lines.push_back("to keep it: boot.kernel.sysctl.\"" + name + "\" = " + number +
                    "; in /etc/nixos/configuration.nix");
  } else {
    lines.push_back("to keep it: echo '" + name + "=" + number + "' | " + sudo +
                    "tee /etc/sysctl.d/90-cordon.conf");
  }
  if (facts.container != Container::kNone) lines[0] = "on the container's host: " + lines[0];
  return lines;
}

Lines AppArmorRemedy(const HostFacts& facts) {
  const std::string sudo = Elevate(facts);
  if (facts.profile_source.empty()) {
    return {
        "install the cordon package, whose AppArmor profile allows its launcher to make user "
        "namespaces"};
  }
  const std::string target = "/etc/apparmor.d/" + facts.profile_name;
  const std::string load = sudo + "apparmor_parser -r " + target;
  if (facts.profile_in_place) return {load};
  return {sudo + "install -m 644 " + ShellQuote(facts.profile_source) + " " + target + " && " +
          load};
}

Lines ContainerRemedy(const HostFacts& facts) {
  switch (facts.container) {
    case Container::kDocker:
      return {
          "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
          "--security-opt systempaths=unconfined --device /dev/fuse ..."};
    case Container::kPodman:
      return {
          "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL "
          "--security-opt label=disable --device /dev/fuse ..."};
    case Container::kKubernetes:
      return {"in the pod's spec: hostUsers: false",
              "in the container's securityContext: procMount: Unmasked, seccompProfile: {type: "
              "Unconfined}, appArmorProfile: {type: Unconfined}"};
    case Container::kLxc:
      return {"lxc config set NAME security.nesting true && lxc restart NAME (LXD, Incus)",
              "or in the container's config file: lxc.include = "
              "/usr/share/lxc/config/nesting.conf"};
    case Container::kNspawn:
      return {
          "systemd-nspawn has no switch that uncovers /proc; run the same tree with: podman run "
          "--security-opt unmask=ALL --security-opt seccomp=unconfined --device /dev/fuse "
          "--rootfs TREE ..."};
    case Container::kOther:
      return {
          "let the container's runtime allow clone with CLONE_NEWUSER, mount and an unmasked "
          "/proc"};
    case Container::kNone: break;
  }
  return {};
}

Lines NamespaceRemedy(const HostFacts& facts, std::string_view kind, int err) {
  if (facts.wsl == 1) return {"in PowerShell: wsl.exe --set-version DISTRIBUTION 2"};
  const auto limit = facts.max_namespaces.find(std::string(kind));
  const std::string limit_name = "user.max_" + std::string(kind) + "_namespaces";
  if (limit != facts.max_namespaces.end() && limit->second == 0) {
    return SysctlRemedy(facts, limit_name, kNamespaceLimit);
  }
  if (err == ENOSPC || err == EUSERS) {
    Lines lines = SysctlRemedy(facts, limit_name, kNamespaceLimit);
    lines[0] = "too many namespaces exist, or the limit of an outer namespace is reached; there: " +
               lines[0];
    return lines;
  }
  if (facts.unprivileged_userns_clone == 0 && !facts.admin) {
    return SysctlRemedy(facts, "kernel.unprivileged_userns_clone", 1);
  }
  if (facts.chrooted) {
    return {
        "user namespaces are refused in a chroot: enter the tree with systemd-nspawn -D TREE, "
        "or with unshare --mount and pivot_root"};
  }
  const bool restricted = facts.apparmor_restrict.value_or(0) != 0 && !facts.admin;
  if (facts.container != Container::kNone) {
    Lines lines = ContainerRemedy(facts);
    if (restricted) {
      lines.push_back(
          "on the container's host: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
    }
    return lines;
  }
  if (restricted) return AppArmorRemedy(facts);
  if (facts.filtered) return FilterRemedy(facts, "namespaces");
  if (err == EINVAL || err == ENOSYS) {
    return {"run a kernel with CONFIG_USER_NS=y, CONFIG_PID_NS=y and CONFIG_NET_NS=y"};
  }
  if (facts.selinux) {
    return {Elevate(facts) + "ausearch -m avc -ts recent | audit2allow -M cordon && " +
            Elevate(facts) + "semodule -i cordon.pp"};
  }
  return {
      "a chroot, a security module or an outer sandbox refuses namespaces: leave it, or look "
      "into the kernel's log with " +
      Elevate(facts) + "dmesg | tail"};
}

Lines MountRemedy(const HostFacts& facts, std::string_view file_system, int err) {
  if (err == ENODEV) return ModuleRemedy(facts, std::string(file_system));
  const bool refused = err == EPERM || err == EACCES;
  if (facts.container != Container::kNone && refused) return ContainerRemedy(facts);
  if (file_system == "proc" && refused && !facts.apparmor_restrict.value_or(0)) {
    return {
        "parts of /proc are covered by other mounts, which the kernel does not allow to "
        "uncover: unmount what `grep ' /proc/' /proc/self/mountinfo` lists"};
  }
  if (file_system == "overlay" && !facts.KernelAtLeast(5, 11)) return {"run Linux 5.11 or newer"};
  return refused ? NamespaceRemedy(facts, "mnt", err) : Lines{};
}

Lines CallRemedy(const HostFacts& facts, std::string_view call, int major, int minor, int err) {
  if (!facts.KernelAtLeast(major, minor)) {
    return {"run Linux " + std::to_string(major) + "." + std::to_string(minor) +
            " or newer (this "
            "is " +
            facts.kernel + ")"};
  }
  if (err == ENOSYS || err == EPERM || err == EACCES || err == EINVAL) {
    return FilterRemedy(facts, call);
  }
  return {};
}

Lines LandlockRemedy(const HostFacts& facts, int err) {
  if (err == EOPNOTSUPP) {
    return KernelArgument(
        facts,
        "lsm=landlock," + (facts.lsm.empty() ? "$(cat /sys/kernel/security/lsm)" : facts.lsm));
  }
  if (err == ENOSYS && facts.KernelAtLeast(5, 13) && !facts.filtered) {
    return {"run a kernel with CONFIG_SECURITY_LANDLOCK=y"};
  }
  return CallRemedy(facts, "landlock_create_ruleset", 5, 13, err);
}

Lines ListenerRemedy(const HostFacts& facts, int err) {
  if (err != EBUSY) return CallRemedy(facts, "a seccomp listener", 5, 0, err);
  const std::string why =
      "what started this process already holds a seccomp listener, and the "
      "kernel allows one only: ";
  if (facts.container != Container::kNone) {
    return {why + "run the container with a seccomp profile without SCMP_ACT_NOTIFY",
            ContainerRemedy(facts).front()};
  }
  return {why + "start Cordon outside of that sandbox"};
}

Lines YamaRemedy(const HostFacts& facts) {
  Lines lines = SysctlRemedy(facts, "kernel.yama.ptrace_scope", 1);
  lines.erase(lines.begin());
  lines.push_back("and restart: scope 3 cannot be left while the kernel runs");
  if (facts.container != Container::kNone) lines[0] = "on the container's host: " + lines[0];
  return lines;
}

Lines SupervisorRemedy(const HostFacts& facts) {
  const int err = facts.supervisor.err;
  switch (facts.supervisor.lack) {
    case SupervisorLack::kNone: return {};
    case SupervisorLack::kKernel: return CallRemedy(facts, "WAIT_KILLABLE_RECV", 5, 19, err);
    case SupervisorLack::kMemory: return YamaRemedy(facts);
    case SupervisorLack::kListener: return ListenerRemedy(facts, EBUSY);
  }
  return {};
}

Lines FuseRemedy(const HostFacts& facts, int err) {
  const std::string sudo = Elevate(facts);
  if (facts.container != Container::kNone) {
    return facts.container == Container::kKubernetes
               ? Lines{"give the pod /dev/fuse by a device plugin"}
               : ContainerRemedy(facts);
  }
  if (err == EACCES) {
    return {sudo + "chmod 0666 /dev/fuse", "to keep it: echo 'KERNEL==\"fuse\", MODE=\"0666\"' | " +
                                               sudo + "tee /etc/udev/rules.d/90-cordon-fuse.rules"};
  }
  if (err == ENOENT || err == ENODEV || err == ENXIO) return ModuleRemedy(facts, "fuse");
  return MountRemedy(facts, "fuse", err);
}

Lines NftablesRemedy(const HostFacts& facts, int err) {
  if (err == EPERM || err == EACCES) return NamespaceRemedy(facts, "net", err);
  return ModuleRemedy(facts, "nf_tables nft_chain_nat nft_redir");
}

Lines CgroupRemedy(const HostFacts& facts) {
  if (!facts.cgroup.present || facts.cgroup.hybrid) {
    if (facts.container != Container::kNone) {
      return {
          "the container's host must mount cgroup v2 only (systemd.unified_cgroup_hierarchy=1 "
          "on its kernel's command line)"};
    }
    if (facts.systemd) return KernelArgument(facts, "systemd.unified_cgroup_hierarchy=1");
    return {
        "mount cgroup v2 with the memory and pids controllers, which v1 must not hold: "
        "cgroup_no_v1=all on the kernel's command line"};
  }
  if (facts.container == Container::kDocker) {
    return {
        "docker run --cgroupns=private --security-opt writable-cgroups=true ... (Docker 28 or "
        "newer)"};
  }
  if (facts.container != Container::kNone) {
    return {"let the container's runtime delegate its cgroup (a writable /sys/fs/cgroup)"};
  }
  if (facts.systemd) {
    return facts.root ? Lines{"systemd-run --scope -p Delegate=yes -- cordon run ..."}
                      : Lines{"systemd-run --user --scope -p Delegate=yes -- cordon run ..."};
  }
  return {"echo '+memory +pids +cpu' | " + Elevate(facts) + "tee " + facts.cgroup.directory +
              "/cgroup.subtree_control",
          Elevate(facts) + "chown -R USER " + facts.cgroup.directory + " for an ordinary user"};
}

Lines KvmRemedy(const HostFacts& facts, int err) {
  if (facts.container == Container::kDocker || facts.container == Container::kPodman) {
    return {std::string(ContainerName(facts.container)) + " run --device /dev/kvm ..."};
  }
  if (facts.container != Container::kNone) return {"give the container the device /dev/kvm"};
  const std::string sudo = Elevate(facts);
  if (err == EACCES || err == EPERM) {
    if (facts.family == Family::kAlpine) return {sudo + "addgroup $USER kvm, then log in again"};
    return {sudo + "usermod -aG kvm $USER, then log in again"};
  }
  if (facts.wsl == 2)
    return {"nestedVirtualization=true below [wsl2] in %UserProfile%\\.wslconfig"};
  return {"switch on virtualisation in the firmware, then: " + sudo +
          "modprobe kvm_intel (or "
          "kvm_amd)"};
}

Lines BubblewrapRemedy(const HostFacts& facts) { return {InstallCommand(facts, "bubblewrap")}; }

}  // namespace cordon::probe
