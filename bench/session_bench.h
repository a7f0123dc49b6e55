// The benchmarks that use the library; each prints lines of samples (measure.h) or of numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "session/session.h"

namespace cordon::bench {

// A warm session as `cordon run` in `workdir` would make it, but that may change its policy.
// kMany: as a harness launches a session that it will Update; kOne: as `cordon run` does.
enum class Policies { kOne, kMany };
// kDefault: as `cordon run` has them; kNames: the built-in list of names too, as dispatch of agents
// has it (dies where no session can have a supervisor); kDisabled: no file rules at all.
enum class FileRules { kDefault, kNames, kDisabled };
std::unique_ptr<session::Session> LaunchIn(const std::string& workdir, Policies policies,
                                           FileRules rules = FileRules::kDefault);
// Runs `argv` in it and dies when it does not end with 0.
void ExecOnce(session::Session& session, const std::vector<std::string>& argv);

// crowd.cc. Sessions that are all alive at once, one exec in each, then destroyed.
int Crowd(int count, const std::string& workdir, const std::string& program);

// inside.cc. Tasks of `bench-harness work`, done in turn by workers in several places.
struct InsideOptions {
  int blocks = 1;      // how often the sessions and all workers are made anew
  int rounds = 1;      // per block
  std::string places;  // names of Place (inside.cc), with commas between
  std::string workdir;
  std::string harness;  // bench-harness, visible inside
  std::vector<std::string> tasks;
};
int Inside(const InsideOptions& options);

}  // namespace cordon::bench
