// Many sessions at once: do they all start, run something and end, and what does one weigh?
//
// Memory of a session is what its monitor and its init hold. /proc/PID/smaps_rollup says it
// exactly, but these two are not dumpable, so only root may read it; anybody may read RssAnon in
// /proc/PID/status, which counts a page that the two share twice and leaves nothing private out but
// file pages that no other session has mapped: with many sessions there are none.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "bench/measure.h"
#include "bench/session_bench.h"

namespace cordon::bench {
namespace {

// Sum of the fields that begin with `prefix`, in KiB; -1 when the file cannot be read.
std::int64_t SumKib(const std::string& path, const std::string& prefix) {
  std::ifstream in(path);
  std::int64_t sum = 0;
  bool any = false;
  for (std::string line; std::getline(in, line);) {
    any = true;
    if (line.rfind(prefix, 0) != 0) continue;
    sum += std::stoll(line.substr(line.find(':') + 1));
  }
  return any ? sum : -1;
}

std::vector<int> ChildrenOf(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  std::vector<int> out;
  for (int child; in >> child;) out.push_back(child);
  return out;
}

std::vector<int> ProcessesOf(int monitor) {
  std::vector<int> out{monitor};
  for (std::size_t i = 0; i < out.size(); ++i)
    for (const int child : ChildrenOf(out[i])) out.push_back(child);
  return out;
}

struct Weight {
  std::int64_t private_kib = 0;
  std::int64_t proportional_kib = 0;  // 0 where smaps_rollup is closed
  std::int64_t processes = 0;
};

Weight Weigh(int monitor) {
  Weight weight;
  for (const int pid : ProcessesOf(monitor)) {
    const std::string process = "/proc/" + std::to_string(pid);
    std::int64_t own = SumKib(process + "/smaps_rollup", "Private_");
    if (own >= 0) {
      weight.proportional_kib += SumKib(process + "/smaps_rollup", "Pss:");
    } else {
      own = SumKib(process + "/status", "RssAnon:");
    }
    if (own < 0) Die("process " + std::to_string(pid) + " of a session cannot be read");
    weight.private_kib += own;
    ++weight.processes;
  }
  return weight;
}

void RaiseDescriptorLimit(int count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const auto needed = static_cast<rlim_t>(count) * 3 + 64;
  if (limit.rlim_max < needed) {
    Die(std::to_string(count) + " sessions take " + std::to_string(needed) +
        " descriptors, and the limit is " + std::to_string(limit.rlim_max) +
        ": raise it (ulimit -n)");
  }
}

}  // namespace

int Crowd(int count, const std::string& workdir, const std::string& program) {
  RaiseDescriptorLimit(count);
  const std::int64_t available = SumKib("/proc/meminfo", "MemAvailable:");
  const std::int64_t own = SumKib("/proc/self/status", "RssAnon:");
  std::vector<std::unique_ptr<session::Session>> sessions;
  std::vector<std::int64_t> launch, exec, destroy, private_kib, proportional_kib, processes;
  const auto timed = [](std::vector<std::int64_t>& samples, const auto& what) {
    const std::int64_t start = Now();
    what();
    samples.push_back(Now() - start);
  };
  for (int i = 0; i < count; ++i)
    timed(launch, [&] { sessions.push_back(LaunchIn(workdir, Policies::kMany)); });
  for (const auto& session : sessions) timed(exec, [&] { ExecOnce(*session, {program}); });
  const std::int64_t taken = available - SumKib("/proc/meminfo", "MemAvailable:");
  const std::int64_t grown = SumKib("/proc/self/status", "RssAnon:") - own;
  for (const auto& session : sessions) {
    const Weight weight = Weigh(session->monitor_pid());
    private_kib.push_back(weight.private_kib);
    proportional_kib.push_back(weight.proportional_kib);
    processes.push_back(weight.processes);
  }
  for (const auto& session : sessions) {
    timed(destroy, [&] {
      if (const Status gone = session->Destroy(); !gone.ok())
        Die("destroy: " + gone.error().ToString());
    });
  }
  if (!ChildrenOf(::getpid()).empty())
    Die("processes are left after the last session was destroyed");
  PrintSamples("launch", launch);
  PrintSamples("exec", exec);
  PrintSamples("destroy", destroy);
  PrintSamples("private-kib", private_kib);
  PrintSamples("proportional-kib", proportional_kib);
  PrintSamples("processes", processes);
  PrintSamples("machine-kib", {taken});
  PrintSamples("library-kib", {grown});
  return 0;
}

}  // namespace cordon::bench
