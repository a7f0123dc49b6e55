#include "probe/probe.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "probe/host_facts.h"
#include "probe/remedy.h"
#include "probe/report_builder.h"
#include "probe/supervisor.h"
#include "probe/trials.h"

namespace cordon::probe {
namespace {

constexpr std::chrono::milliseconds kTimeLimit{3000};
constexpr std::string_view kCgroupPrefix = "cordon-probe-";

HostFacts FactsOfThisHost() {
  utsname names{};
  ::uname(&names);
  return ReadHostFacts(HostFiles("/"), names.release);
}

// Empty cgroups of probes that were killed between making and removing theirs.
void RemoveStaleCgroups(const std::string& directory) {
  DIR* listing = ::opendir(directory.c_str());
  if (listing == nullptr) return;
  while (const dirent* entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name.substr(0, kCgroupPrefix.size()) != kCgroupPrefix) continue;
    const int pid = std::atoi(entry->d_name + kCgroupPrefix.size());
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) {
      ::rmdir((directory + "/" + entry->d_name).c_str());
    }
  }
  ::closedir(listing);
}

}  // namespace

const char* SupportName(Support support) {
  switch (support) {
    case Support::kYes: return "yes";
    case Support::kNo: return "no";
    case Support::kUnknown: break;
  }
  return "unknown";
}

const Capability* ProbeReport::Find(std::string_view name) const {
  const auto it = std::find_if(capabilities.begin(), capabilities.end(),
                               [&](const Capability& row) { return row.name == name; });
  return it == capabilities.end() ? nullptr : &*it;
}

ProbeReport Probe() {
  HostFacts facts = FactsOfThisHost();
  facts.supervisor = FindSupervisor(HostFiles("/"));
  std::string cgroup;
  if (facts.cgroup.present) {
    RemoveStaleCgroups(facts.cgroup.directory);
    cgroup = facts.cgroup.directory + "/" + std::string(kCgroupPrefix) + std::to_string(::getpid());
  }
  TrialContext context;
  context.uid = ::geteuid();
  context.gid = ::getegid();
  context.cgroup = cgroup.c_str();
  context.bwrap = facts.bwrap.c_str();
  const auto results = RunTrials(AllTrials(), context, kTimeLimit);
  // The trial removes it; one that ran into the time limit could not.
  if (!cgroup.empty()) ::rmdir(cgroup.c_str());
  return BuildReport(facts, results);
}

std::string UserNamespaceRemedy(int err) {
  std::string text;
  for (const std::string& line : NamespaceRemedy(FactsOfThisHost(), "user", err)) {
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

}  // namespace cordon::probe
