#include "probe/report_builder.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <set>

#include "probe/made_results.h"

namespace cordon::probe {
namespace {

HostFacts Debian() {
  HostFacts facts;
  facts.family = Family::kDebian;
  facts.distribution = "debian 12";
  facts.kernel = "6.1.0";
  facts.kernel_major = 6;
  facts.kernel_minor = 1;
  facts.cgroup.present = true;
  facts.cgroup.directory = "/sys/fs/cgroup";
  facts.max_namespaces["user"] = 1000;
  facts.bwrap = "/usr/bin/bwrap";
  return facts;
}

TEST(ReportBuilderTest, EverythingWorks) {
  const ProbeReport report = BuildReport(Debian(), AllWork());
  EXPECT_TRUE(report.available);
  EXPECT_EQ(report.backend, "native");
  EXPECT_EQ(report.launcher, "native");
  EXPECT_FALSE(report.requires_install);
  EXPECT_EQ(report.note, "namespace isolation, no kernel boundary");
  EXPECT_EQ(report.hint, "");
  EXPECT_EQ(report.distribution, "debian 12");
  EXPECT_EQ(report.kernel, "6.1.0");
  EXPECT_EQ(report.Find("landlock")->detail, "ABI 4");
  for (const Capability& row : report.capabilities) EXPECT_EQ(row.remedy, "") << row.name;
}

TEST(ReportBuilderTest, NamesAreStableAndUnique) {
  const std::vector<std::string> expected = {"user_namespace",
                                             "id_maps",
                                             "mount_namespace",
                                             "pid_namespace",
                                             "net_namespace",
                                             "ipc_namespace",
                                             "uts_namespace",
                                             "cgroup_namespace",
                                             "mount_setattr",
                                             "open_tree",
                                             "openat2",
                                             "fresh_proc",
                                             "tmpfs",
                                             "devpts",
                                             "seccomp_filter",
                                             "user_notification",
                                             "addfd_send",
                                             "wait_killable",
                                             "sync_wake_up",
                                             "supervisor",
                                             "landlock",
                                             "fuse",
                                             "overlay_in_user_namespace",
                                             "nftables_redirect",
                                             "cgroup_v2",
                                             "cgroup_freeze",
                                             "kvm",
                                             "yama_ptrace_scope",
                                             "bubblewrap",
                                             "container",
                                             "wsl",
                                             "apparmor_userns_restriction"};
  std::vector<std::string> names;
  for (const Capability& row : BuildReport(Debian(), AllWork()).capabilities) {
    names.push_back(row.name);
    EXPECT_FALSE(row.used_for.empty()) << row.name;
    EXPECT_FALSE(row.detail.empty()) << row.name;
  }
  EXPECT_EQ(names, expected);
}

TEST(ReportBuilderTest, AnyRequiredCapabilityDecides) {
  for (const Capability& row : BuildReport(Debian(), AllWork()).capabilities) {
    if (row.fact || row.name == "cgroup_freeze" || row.name == "supervisor") continue;
    auto results = AllWork();
    MakeFail(results, "bubblewrap", 0, "not installed");
    MakeFail(results, row.name, EPERM, "some call");
    const ProbeReport report = BuildReport(Debian(), results);
    EXPECT_EQ(report.available, !row.required) << row.name;
    EXPECT_EQ(report.backend, row.required ? "none" : "native") << row.name;
    EXPECT_EQ(report.hint.empty(), !row.required) << row.name;
  }
}

TEST(ReportBuilderTest, OneRemedyForOneCause) {
  auto results = AllWork();
  RefuseUserNamespaces(results, ENOSPC);
  MakeFail(results, "bubblewrap", 0, "not installed");
  HostFacts facts = Debian();
  facts.max_namespaces["user"] = 0;
  const ProbeReport report = BuildReport(facts, results);
  EXPECT_FALSE(report.available);
  EXPECT_EQ(report.Find("user_namespace")->detail, "ENOSPC from clone(CLONE_NEWUSER)");
  EXPECT_EQ(report.Find("net_namespace")->detail, "needs user_namespace");
  EXPECT_EQ(report.Find("net_namespace")->remedy, "");
  EXPECT_EQ(report.hint, report.Find("user_namespace")->remedy);
  EXPECT_NE(report.hint.find("sysctl -w user.max_user_namespaces=15000"), std::string::npos);
}

// Ubuntu 24.04: the namespace is made, but it carries no capabilities.
TEST(ReportBuilderTest, AppArmorRestrictionShowsAtTheIdMaps) {
  auto results = AllWork();
  for (TrialResult& result : results) {
    if (result.trial->map_ids) MakeFail(results, result.trial->name, EPERM, "write uid_map");
  }
  MakeFail(results, "bubblewrap", 0, "it cannot create namespaces here");
  HostFacts facts = Debian();
  facts.family = Family::kUbuntu;
  facts.apparmor_restrict = 1;
  facts.profile_source = "/usr/share/cordon/apparmor/cordon-launch";
  facts.profile_name = "cordon-launch";
  const ProbeReport report = BuildReport(facts, results);
  EXPECT_FALSE(report.available);
  EXPECT_FALSE(report.requires_install);
  EXPECT_EQ(report.Find("user_namespace")->support, Support::kYes);
  EXPECT_EQ(report.Find("id_maps")->support, Support::kNo);
  EXPECT_EQ(report.Find("fresh_proc")->detail, "needs id_maps");
  EXPECT_NE(report.hint.find("apparmor_parser -r /etc/apparmor.d/cordon-launch"),
            std::string::npos);
  EXPECT_EQ(report.Find("apparmor_userns_restriction")->support, Support::kYes);
}

TEST(ReportBuilderTest, BubblewrapStandsInWhereOnlyItMay) {
  auto results = AllWork();
  RefuseUserNamespaces(results, EPERM);
  HostFacts facts = Debian();
  const ProbeReport report = BuildReport(facts, results);
  EXPECT_TRUE(report.available);
  EXPECT_EQ(report.launcher, "bubblewrap");
  EXPECT_NE(report.note.find("network administration"), std::string::npos);
  // It cannot install a filter for us.
  MakeFail(results, "seccomp_filter", EINVAL, "seccomp(SECCOMP_SET_MODE_FILTER)");
  EXPECT_FALSE(BuildReport(facts, results).available);
}

TEST(ReportBuilderTest, InstallingBubblewrapHelpsWhereAProfileAllowsIt) {
  auto results = AllWork();
  RefuseUserNamespaces(results, EPERM);
  MakeFail(results, "bubblewrap", 0, "not installed");
  HostFacts facts = Debian();
  facts.bwrap.clear();
  facts.apparmor_restrict = 1;
  EXPECT_FALSE(BuildReport(facts, results).requires_install);
  facts.bwrap_profile = true;
  const ProbeReport report = BuildReport(facts, results);
  EXPECT_TRUE(report.requires_install);
  EXPECT_EQ(report.Find("bubblewrap")->remedy, "sudo apt-get install bubblewrap");
  EXPECT_NE(report.hint.find("sudo apt-get install bubblewrap"), std::string::npos);
}

TEST(ReportBuilderTest, Wsl1IsRefusedAndWsl2IsNot) {
  HostFacts facts = Debian();
  facts.wsl = 1;
  const ProbeReport first = BuildReport(facts, AllWork());
  EXPECT_FALSE(first.available);
  EXPECT_NE(first.hint.find("wsl.exe --set-version"), std::string::npos);
  facts.wsl = 2;
  const ProbeReport second = BuildReport(facts, AllWork());
  EXPECT_TRUE(second.available);
  EXPECT_EQ(second.Find("wsl")->detail, "WSL2");
}

TEST(ReportBuilderTest, HeldListenerLeavesTheTierAvailable) {
  auto results = AllWork();
  for (const char* name : {"user_notification", "addfd_send", "wait_killable", "sync_wake_up"}) {
    MakeFail(results, name, EBUSY, "seccomp(NEW_LISTENER)");
  }
  const ProbeReport report = BuildReport(Debian(), results);
  EXPECT_TRUE(report.available);
  EXPECT_EQ(report.Find("user_notification")->detail, "EBUSY from seccomp(NEW_LISTENER)");
  EXPECT_EQ(report.Find("addfd_send")->detail, "needs user_notification");
}

TEST(ReportBuilderTest, TimeLimitIsUnknownAndAKillIsNo) {
  auto results = AllWork();
  ResultOf(results, "fuse").end = TrialResult::End::kTimedOut;
  ResultOf(results, "openat2").end = TrialResult::End::kDied;
  ResultOf(results, "openat2").signal = SIGSYS;
  const ProbeReport report = BuildReport(Debian(), results);
  EXPECT_EQ(report.Find("fuse")->support, Support::kUnknown);
  EXPECT_EQ(report.Find("openat2")->support, Support::kNo);
  EXPECT_EQ(report.Find("openat2")->detail, "killed by SIGSYS");
}

TEST(ReportBuilderTest, CgroupNeedsMemoryAndPids) {
  auto results = AllWork();
  TrialResult& cgroup = ResultOf(results, "cgroup_v2");
  std::strcpy(cgroup.answer.text, "cpu memory pids");
  EXPECT_EQ(BuildReport(Debian(), results).Find("cgroup_v2")->detail,
            "controllers: cpu memory pids");
  cgroup.answer.value = kCgroupPids | kCgroupFreeze;
  std::strcpy(cgroup.answer.text, "pids");
  HostFacts facts = Debian();
  facts.systemd = true;
  const ProbeReport partial = BuildReport(facts, results);
  EXPECT_EQ(partial.Find("cgroup_v2")->support, Support::kNo);
  EXPECT_NE(partial.Find("cgroup_v2")->remedy.find("Delegate=yes"), std::string::npos);
  EXPECT_EQ(partial.Find("cgroup_freeze")->support, Support::kYes);
  EXPECT_EQ(partial.Find("cgroup_freeze")->detail, "cgroup.freeze");
  facts.cgroup.present = false;
  EXPECT_EQ(BuildReport(facts, results).Find("cgroup_v2")->detail, "cgroup v2 is not mounted");
}

TEST(ReportBuilderTest, SupervisorSaysWhatIsMissing) {
  HostFacts facts = Debian();
  EXPECT_EQ(BuildReport(facts, AllWork()).Find("supervisor")->support, Support::kYes);
  struct {
    SupervisorLack lack;
    int err;
    const char *detail, *remedy;
  } const cases[] = {
      {SupervisorLack::kKernel, EINVAL, "without being interrupted", "5.19"},
      {SupervisorLack::kMemory, EPERM, "ptrace_scope is 3", "restart"},
      {SupervisorLack::kListener, EBUSY, "holds the one place", "already holds a seccomp listener"},
  };
  for (const auto& c : cases) {
    facts.supervisor = {c.lack, c.err};
    if (c.lack == SupervisorLack::kKernel) facts.kernel_major = 5, facts.kernel_minor = 10;
    const ProbeReport report = BuildReport(facts, AllWork());
    const Capability& row = *report.Find("supervisor");
    EXPECT_TRUE(report.available);
    EXPECT_EQ(row.support, Support::kNo);
    EXPECT_NE(row.detail.find(c.detail), std::string::npos) << row.detail;
    EXPECT_NE(row.remedy.find(c.remedy), std::string::npos) << row.remedy;
  }
}

TEST(ReportBuilderTest, OneRemedyForTheKernelThatLacksTheWait) {
  auto results = AllWork();
  MakeFail(results, "wait_killable", EINVAL, "seccomp(NEW_LISTENER|WAIT_KILLABLE_RECV)");
  HostFacts facts = Debian();
  facts.supervisor = {SupervisorLack::kKernel, EINVAL};
  const ProbeReport report = BuildReport(facts, results);
  EXPECT_EQ(report.Find("supervisor")->remedy, report.Find("wait_killable")->remedy);
}

TEST(ReportBuilderTest, BubblewrapHasNoSupervisor) {
  auto results = AllWork();
  RefuseUserNamespaces(results, EPERM);
  const ProbeReport report = BuildReport(Debian(), results);
  EXPECT_EQ(report.Find("supervisor")->support, Support::kNo);
  EXPECT_NE(report.note.find("no supervisor"), std::string::npos);
}

TEST(ReportBuilderTest, MissingFuseSaysWhatIsLost) {
  auto results = AllWork();
  MakeFail(results, "fuse", ENOENT, "open /dev/fuse");
  const ProbeReport report = BuildReport(Debian(), results);
  const Capability& row = *report.Find("fuse");
  EXPECT_EQ(row.detail,
            "ENOENT from open /dev/fuse; denied reads stay refused, but are not reported");
  EXPECT_NE(row.remedy.find("modprobe -a fuse"), std::string::npos);
}

TEST(ReportBuilderTest, YamaScopeThreeBlocks) {
  auto results = AllWork();
  HostFacts facts = Debian();
  facts.yama = 1;
  EXPECT_EQ(BuildReport(facts, results).Find("yama_ptrace_scope")->detail, "scope 1");
  facts.yama = 3;
  MakeFail(results, "yama_ptrace_scope", EPERM, "process_vm_readv of a child");
  EXPECT_NE(BuildReport(facts, results)
                .Find("yama_ptrace_scope")
                ->remedy.find("kernel.yama.ptrace_scope=1"),
            std::string::npos);
  // The kernel would refuse to change it back now.
  EXPECT_EQ(BuildReport(facts, results).Find("yama_ptrace_scope")->remedy.find("sysctl -w"),
            std::string::npos);
}

}  // namespace
}  // namespace cordon::probe
