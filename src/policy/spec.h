// SandboxSpec: the one value that describes a sandbox (its JSON form is in spec_json.h).
//
//   SandboxSpec spec;
//   spec.session_id = "build-17";
//   spec.workspace_id = "local";
//   spec.view = View::kHost;
//   spec.guest_workdir = "/home/u/project";
//   spec.filesystem.allow_write.push_back({"/home/u/project", false, {"command line"}});
//
// A plain value: no descriptors, no clock, thread-safe as any value is.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cordon::policy {

// Where a rule was written. `origin` is a settings file's path, "command line: --deny-read", or
// "built-in deny-read set"; line and column are 1-based, 0 where they do not apply.
struct Source {
  std::string origin;
  int line = 0;
  int column = 0;
  // "origin:line:column" with the zero parts left out.
  std::string ToString() const;
};

enum class View { kBound, kHost };
enum class Mode { kChat, kReview, kPlan, kOrchestrate };

// A path rule as written. `literal` forces the reading as a plain path although it holds * ? [ ].
struct PathEntry {
  std::string text;
  bool literal = false;
  Source source;
};

struct BindMount {
  std::string host_path;   // absolute
  std::string guest_path;  // absolute
  bool read_only = false;
  Source source;
};

struct FilesystemRules {
  std::vector<PathEntry> allow_write;
  std::vector<PathEntry> deny_write;
  std::vector<PathEntry> deny_read;
  std::vector<PathEntry> allow_read;
  std::vector<PathEntry> deny_names;
  // The built-in name list (.env, *.key, ...) as well.
  bool default_deny_names = false;
  // No file rules at all, the always-protected set included.
  bool disabled = false;
  // Opens .git/config (and nothing else) of the protected set.
  bool allow_git_config = false;
  // The built-in deny-read set; `cordon run --no-default-denies` turns it off.
  bool default_denies = true;
};

struct NetworkRules {
  // Sockets of the host that may be connected to; each stays visible where it stands. No globs.
  std::vector<PathEntry> allow_unix_sockets;
};

// Absent means no limit. Bytes, counts, processor share in whole processors, milliseconds.
struct Limits {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<double> cpus;
  std::optional<std::uint64_t> pids;
  std::optional<std::uint64_t> open_files;
  std::optional<std::uint64_t> file_size_bytes;
  std::optional<std::uint64_t> disk_written_bytes;
  std::optional<std::chrono::milliseconds> wall_time;
  std::optional<std::chrono::milliseconds> idle_time;
};

struct Environment {
  std::map<std::string, std::string> set;
  std::vector<std::string> keep;  // names that cleaning must not remove
  std::vector<std::string> drop;  // names, or a prefix followed by '*'
};

struct ExecRules {
  std::vector<std::string> deny;  // program names or absolute paths, added to the built-in table
  bool default_denies = true;     // the built-in table of always-dangerous programs
  bool block_writable_dirs = false;
};

struct SandboxSpec {
  std::string session_id;
  std::string workspace_id;
  std::optional<std::string> agent_id;
  std::vector<BindMount> bind_mounts;
  View view = View::kBound;
  Mode mode = Mode::kChat;
  std::optional<std::string> guest_workdir;
  std::vector<PathEntry> protected_paths;
  std::vector<PathEntry> runner_state_dirs;
  std::vector<PathEntry> exec_grant_roots;
  FilesystemRules filesystem;
  NetworkRules network;
  Limits limits;
  Environment environment;
  ExecRules exec;
  // Refusals that nobody wants to hear of, by command pattern (session/violation_filter.h has the
  // grammar); they are refused all the same.
  std::map<std::string, std::vector<std::string>> ignore_violations;
};

const char* ViewName(View view);
const char* ModeName(Mode mode);

}  // namespace cordon::policy
