// What the files of a host say about it: distribution, container, sysctls, cgroup. No trials here.
//
//   HostFacts facts = ReadHostFacts(HostFiles("/"), kernel_release);
//
// Every file is reached through HostFiles, so that tests describe a host as a directory tree.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::probe {

// The files of a host below `root`. Reading never fails loudly: a missing file is nullopt.
class HostFiles {
 public:
  explicit HostFiles(std::string root) : root_(std::move(root)) {}

  // At most 256 KiB of the file.
  std::optional<std::string> Read(std::string_view path) const;
  // The first integer of the file.
  std::optional<long> ReadNumber(std::string_view path) const;
  bool Exists(std::string_view path) const;
  // Target of a symbolic link.
  std::optional<std::string> ReadLink(std::string_view path) const;

 private:
  std::string Full(std::string_view path) const;
  std::string root_;
};

enum class Family { kDebian, kUbuntu, kFedora, kRhel, kArch, kOpenSuse, kAlpine, kNixOs, kOther };
enum class Container { kNone, kDocker, kPodman, kKubernetes, kLxc, kNspawn, kOther };
const char* ContainerName(Container container);

// Where this process stands in the cgroup v2 hierarchy.
struct CgroupPlace {
  bool present = false;   // a cgroup2 file system is mounted
  bool hybrid = false;    // v1 controllers are mounted as well
  std::string directory;  // the process's own cgroup
};

// Why no session can have a supervisor here (supervisor.h).
enum class SupervisorLack {
  kNone,
  kKernel,    // no wait that signals cannot disturb (before Linux 5.19), or no filters at all
  kMemory,    // kernel.yama.ptrace_scope is 3: no process may read the arguments of another's call
  kListener,  // what started this process holds the only listener that a process may have
};
struct SupervisorFinding {
  SupervisorLack lack = SupervisorLack::kNone;
  int err = 0;  // errno of the call that said so, or 0
};

struct HostFacts {
  Family family = Family::kOther;
  std::string distribution;  // "debian 12"
  std::string kernel;        // "6.1.0-18-amd64"
  int kernel_major = 0, kernel_minor = 0;
  Container container = Container::kNone;
  std::string container_detail;                   // "docker (/.dockerenv)"
  int wsl = 0;                                    // 0, 1, 2
  std::optional<long> apparmor_restrict;          // kernel.apparmor_restrict_unprivileged_userns
  std::optional<long> unprivileged_userns_clone;  // kernel.unprivileged_userns_clone
  std::optional<long> yama;                       // kernel.yama.ptrace_scope
  std::map<std::string, long> max_namespaces;     // "user" -> user.max_user_namespaces
  bool chrooted = false;  // no mount at "/": user namespaces are refused in a chroot
  bool filtered = false;  // a seccomp filter is on this process already
  bool selinux = false;
  bool admin = false;          // CAP_SYS_ADMIN is effective
  std::string lsm;             // security modules in use, "lockdown,capability,apparmor"
  bool systemd = false;        // pid 1 is systemd
  bool bwrap_profile = false;  // an AppArmor profile lets bubblewrap create namespaces
  // The AppArmor profile that came with the running program; empty when there is none.
  std::string profile_source, profile_name;
  bool profile_in_place = false;  // the same text is in /etc/apparmor.d (perhaps not loaded)
  std::string bwrap;              // trusted path of bubblewrap; empty when it is not installed
  std::string program;            // the running program, as /proc/self/exe has it
  bool root = false;
  CgroupPlace cgroup;
  SupervisorFinding supervisor;  // not from files: Probe() fills it in

  bool KernelAtLeast(int major, int minor) const;
};

HostFacts ReadHostFacts(const HostFiles& files, const std::string& kernel_release);

}  // namespace cordon::probe
