#include "probe/host_facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/unique_fd.h"

namespace cordon::probe {
namespace {

constexpr std::size_t kMaxFileBytes = 256u << 10;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// KEY=value or KEY="value" of os-release(5).
std::string OsReleaseValue(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + "=", 0) != 0) continue;
    std::string value = line.substr(key.size() + 1);
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
        value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    return value;
  }
  return {};
}

Family FamilyOfWord(std::string_view word) {
  struct Row {
    std::string_view id;
    Family family;
  };
  static constexpr Row kRows[] = {
      {"debian", Family::kDebian},     {"raspbian", Family::kDebian}, {"ubuntu", Family::kUbuntu},
      {"linuxmint", Family::kUbuntu},  {"pop", Family::kUbuntu},      {"fedora", Family::kFedora},
      {"rhel", Family::kRhel},         {"centos", Family::kRhel},     {"rocky", Family::kRhel},
      {"almalinux", Family::kRhel},    {"ol", Family::kRhel},         {"amzn", Family::kRhel},
      {"arch", Family::kArch},         {"archarm", Family::kArch},    {"manjaro", Family::kArch},
      {"opensuse", Family::kOpenSuse}, {"suse", Family::kOpenSuse},   {"sles", Family::kOpenSuse},
      {"alpine", Family::kAlpine},     {"nixos", Family::kNixOs},
  };
  for (const Row& row : kRows) {
    if (row.id == word) return row.family;
  }
  if (word.rfind("opensuse-", 0) == 0) return Family::kOpenSuse;
  return Family::kOther;
}

void ReadDistribution(const HostFiles& files, HostFacts& facts) {
  auto text = files.Read("/etc/os-release");
  if (!text) text = files.Read("/usr/lib/os-release");
  if (!text) {
    facts.distribution = "unknown";
    return;
  }
  std::string id = OsReleaseValue(*text, "ID");
  std::string version = OsReleaseValue(*text, "VERSION_ID");
  if (id.empty()) id = "linux";
  facts.distribution = version.empty() ? id : id + " " + version;
  facts.family = FamilyOfWord(id);
  std::istringstream like(OsReleaseValue(*text, "ID_LIKE"));
  for (std::string word; facts.family == Family::kOther && like >> word;) {
    facts.family = FamilyOfWord(word);
  }
}

// The word that systemd and container managers use for themselves.
Container ContainerOfWord(std::string_view word) {
  if (word == "docker") return Container::kDocker;
  if (word == "podman") return Container::kPodman;
  if (word == "kube" || word == "kubernetes") return Container::kKubernetes;
  if (word == "lxc" || word == "lxc-libvirt" || word == "lxd" || word == "incus") {
    return Container::kLxc;
  }
  if (word == "systemd-nspawn") return Container::kNspawn;
  return word.empty() || word == "wsl" ? Container::kNone : Container::kOther;
}

std::string EnvironmentValue(const std::string& block, const std::string& name) {
  for (std::size_t at = 0; at < block.size();) {
    std::size_t end = block.find('\0', at);
    if (end == std::string::npos) end = block.size();
    if (block.compare(at, name.size() + 1, name + "=") == 0) {
      return block.substr(at + name.size() + 1, end - at - name.size() - 1);
    }
    at = end + 1;
  }
  return {};
}

struct MountLine {
  std::string root, point, type;
};

// \040 and friends of mountinfo.
std::string Unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<MountLine> ParseMountInfo(const std::string& text) {
  std::vector<MountLine> mounts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash)), back(line.substr(dash + 3));
    std::string id, parent, device;
    MountLine mount;
    front >> id >> parent >> device >> mount.root >> mount.point;
    back >> mount.type;
    mount.root = Unescape(mount.root);
    mount.point = Unescape(mount.point);
    mounts.push_back(mount);
  }
  return mounts;
}

bool HasMountAt(const std::vector<MountLine>& mounts, std::string_view point) {
  return std::any_of(mounts.begin(), mounts.end(),
                     [&](const MountLine& mount) { return mount.point == point; });
}

void SetContainer(HostFacts& facts, Container container, const std::string& evidence) {
  facts.container = container;
  facts.container_detail = std::string(ContainerName(container)) + " (" + evidence + ")";
}

void ReadContainer(const HostFiles& files, const std::vector<MountLine>& mounts, HostFacts& facts) {
  // Kubernetes first: its pods carry the marks of the runtime below it as well.
  const std::string own = files.Read("/proc/self/environ").value_or("");
  if (!EnvironmentValue(own, "KUBERNETES_SERVICE_HOST").empty()) {
    return SetContainer(facts, Container::kKubernetes, "KUBERNETES_SERVICE_HOST");
  }
  if (files.Exists("/var/run/secrets/kubernetes.io") ||
      files.Exists("/run/secrets/kubernetes.io")) {
    return SetContainer(facts, Container::kKubernetes, "/run/secrets/kubernetes.io");
  }
  if (files.Exists("/run/.containerenv")) {
    return SetContainer(facts, Container::kPodman, "/run/.containerenv");
  }
  // A tree made from an image carries the file as well (a virtual machine, WSL); Docker's own
  // containers have these mounts.
  if (files.Exists("/.dockerenv") &&
      (mounts.empty() || HasMountAt(mounts, "/etc/hosts") || HasMountAt(mounts, "/etc/hostname") ||
       HasMountAt(mounts, "/etc/resolv.conf"))) {
    return SetContainer(facts, Container::kDocker, "/.dockerenv");
  }
  for (const char* path : {"/run/systemd/container", "/run/host/container-manager"}) {
    const Container found = ContainerOfWord(FirstLine(files.Read(path).value_or("")));
    if (found != Container::kNone) return SetContainer(facts, found, path);
  }
  const std::string init = files.Read("/proc/1/environ").value_or("");
  const Container by_init = ContainerOfWord(EnvironmentValue(init, "container"));
  if (by_init != Container::kNone) {
    return SetContainer(facts, by_init, "container= of process 1");
  }
  const std::string groups =
      files.Read("/proc/1/cgroup").value_or("") + files.Read("/proc/self/cgroup").value_or("");
  struct Row {
    const char* part;
    Container container;
  };
  static constexpr Row kRows[] = {
      {"/kubepods", Container::kKubernetes},
      {"/libpod-", Container::kPodman},
      {"/docker/", Container::kDocker},
      {"/docker-", Container::kDocker},
      {"/lxc/", Container::kLxc},
      {"/lxc.payload", Container::kLxc},
      {"systemd-nspawn@", Container::kNspawn},
  };
  for (const Row& row : kRows) {
    if (Contains(groups, row.part)) return SetContainer(facts, row.container, "cgroup path");
  }
}

void ReadKernel(const std::string& release, HostFacts& facts) {
  facts.kernel = release;
  std::sscanf(release.c_str(), "%d.%d", &facts.kernel_major, &facts.kernel_minor);
  // WSL1 calls itself 4.4.0-19041-Microsoft, WSL2 5.15.90.1-microsoft-standard-WSL2.
  if (Contains(release, "WSL2") || Contains(release, "microsoft-standard")) {
    facts.wsl = 2;
  } else if (Contains(release, "Microsoft")) {
    facts.wsl = 1;
  }
}

std::string OwnV2Path(const std::string& cgroup_file) {
  std::istringstream lines(cgroup_file);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return {};
}

void ReadCgroup(const HostFiles& files, const std::vector<MountLine>& mounts, HostFacts& facts) {
  const std::string path = OwnV2Path(files.Read("/proc/self/cgroup").value_or(""));
  for (const MountLine& mount : mounts) {
    if (mount.type == "cgroup") facts.cgroup.hybrid = true;
    if (mount.type != "cgroup2" || facts.cgroup.present) continue;
    facts.cgroup.present = true;
    std::string rest = path;
    if (mount.root != "/" && rest.rfind(mount.root, 0) == 0) rest.erase(0, mount.root.size());
    if (rest == "/") rest.clear();
    facts.cgroup.directory = mount.point + rest;
  }
}

bool HasAdmin(const std::string& status) {
  constexpr std::string_view kField = "\nCapEff:\t";
  constexpr int kCapSysAdmin = 21;
  const std::size_t at = status.find(kField);
  if (at == std::string::npos) return false;
  return (std::strtoull(status.c_str() + at + kField.size(), nullptr, 16) >> kCapSysAdmin) & 1;
}

void ReadSysctls(const HostFiles& files, HostFacts& facts) {
  const std::string kernel = "/proc/sys/kernel/";
  facts.apparmor_restrict = files.ReadNumber(kernel + "apparmor_restrict_unprivileged_userns");
  facts.unprivileged_userns_clone = files.ReadNumber(kernel + "unprivileged_userns_clone");
  facts.yama = files.ReadNumber(kernel + "yama/ptrace_scope");
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    auto value = files.ReadNumber(std::string("/proc/sys/user/max_") + kind + "_namespaces");
    if (value) facts.max_namespaces[kind] = *value;
  }
}

// Beside a program in a build tree, or in the share folder of an installation.
void ReadProfile(const HostFiles& files, HostFacts& facts) {
  const std::size_t slash = facts.program.rfind('/');
  if (slash == std::string::npos || slash == 0) return;
  const std::string upper = facts.program.substr(0, facts.program.rfind('/', slash - 1));
  for (const char* path : {"/apparmor/clone", "/share/cordon/apparmor/cordon-launch"}) {
    const auto text = files.Read(upper + path);
    if (!text) continue;
    constexpr std::string_view kStart = "\nprofile ";
    const std::size_t at = text->find(kStart);
    if (at == std::string::npos) continue;
    const std::size_t name = at + kStart.size();
    facts.profile_name = text->substr(name, text->find(' ', name) - name);
    facts.profile_source = upper + path;
    facts.profile_in_place = files.Read("/etc/apparmor.d/" + facts.profile_name) == text;
    return;
  }
}

}  // namespace

std::string HostFiles::Full(std::string_view path) const {
  return root_ == "/" ? std::string(path) : root_ + std::string(path);
}

std::optional<std::string> HostFiles::Read(std::string_view path) const {
  UniqueFd fd(::open(Full(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return std::nullopt;
  std::string text;
  char buffer[4096];
  while (text.size() < kMaxFileBytes) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<long> HostFiles::ReadNumber(std::string_view path) const {
  const auto text = Read(path);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text->c_str(), &end, 10);
  return end == text->c_str() ? std::nullopt : std::optional<long>(value);
}

bool HostFiles::Exists(std::string_view path) const {
  struct stat info{};
  return ::lstat(Full(path).c_str(), &info) == 0;
}

std::optional<std::string> HostFiles::ReadLink(std::string_view path) const {
  char buffer[PATH_MAX];
  const ssize_t got = ::readlink(Full(path).c_str(), buffer, sizeof buffer);
  if (got < 0) return std::nullopt;
  return std::string(buffer, static_cast<std::size_t>(got));
}

const char* ContainerName(Container container) {
  switch (container) {
    case Container::kNone: return "none";
    case Container::kDocker: return "docker";
    case Container::kPodman: return "podman";
    case Container::kKubernetes: return "kubernetes";
    case Container::kLxc: return "lxc";
    case Container::kNspawn: return "systemd-nspawn";
    case Container::kOther: break;
  }
  return "a container";
}

bool HostFacts::KernelAtLeast(int major, int minor) const {
  return kernel_major > major || (kernel_major == major && kernel_minor >= minor);
}

HostFacts ReadHostFacts(const HostFiles& files, const std::string& kernel_release) {
  HostFacts facts;
  ReadKernel(kernel_release, facts);
  ReadDistribution(files, facts);
  const auto mounts = ParseMountInfo(files.Read("/proc/self/mountinfo").value_or(""));
  ReadContainer(files, mounts, facts);
  ReadSysctls(files, facts);
  facts.chrooted = !mounts.empty() && !HasMountAt(mounts, "/");
  ReadCgroup(files, mounts, facts);
  const std::string status = files.Read("/proc/self/status").value_or("");
  facts.filtered = Contains(status, "\nSeccomp:\t2");
  facts.admin = HasAdmin(status);
  facts.lsm = FirstLine(files.Read("/sys/kernel/security/lsm").value_or(""));
  facts.selinux = files.ReadNumber("/sys/fs/selinux/enforce").value_or(0) == 1;
  facts.systemd = files.Exists("/run/systemd/system");
  facts.bwrap_profile = files.Exists("/etc/apparmor.d/bwrap-userns-restrict") ||
                        files.Exists("/etc/apparmor.d/bwrap");
  for (const char* path : {"/usr/bin/bwrap", "/run/current-system/sw/bin/bwrap"}) {
    if (facts.bwrap.empty() && files.Exists(path)) facts.bwrap = path;
  }
  facts.program = files.ReadLink("/proc/self/exe").value_or("");
  facts.root = ::geteuid() == 0;
  ReadProfile(files, facts);
  return facts;
}

}  // namespace cordon::probe
