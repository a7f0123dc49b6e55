// The plan of a session's view: a pure, printable, ordered list of what the launcher does to the
// mount table. BuildPlan (plan_builder.h) makes it from an EffectivePolicy; src/launcher/view.cc
// executes it line by line and reports the number of the line that failed.
//
// Terms. The *store* is one tmpfs of the session's own, mounted over /proc of the namespace copy
// (nobody needs the host's /proc there; the fresh one goes on top in the end). It holds the private
// /tmp, /dev/shm, /run, the skeletons of /dev and /sys, and the masks. Sources that begin with
// kStore ("/proc") are in it.
//
// Order of execution:
//   base        nodes and devices that every session has in its store, from the Boot message
//   nodes       the plan's own mount points and masks in the store
//   [a copy of the mount namespace, when the session may change its policy]
//   early       every operation with `early`: its source is cloned now, still writable
//   read-only   the whole tree becomes read-only, nosuid, nodev, private, in one call
//   attach      operations in order (parents before children): early ones are put in place, late
//               ones are cloned from what is there and put on top
//   proc        a fresh /proc, and what stands read-only or hidden in it
//   pivot       only in view: bound
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cordon::jail {

inline constexpr const char* kStore = "/proc";
inline constexpr const char* kNewRoot = "/proc/root";  // view: bound

struct StoreNode {
  enum class Kind : std::uint32_t { kDirectory, kFile, kSymlink } kind = Kind::kDirectory;
  std::string path;           // relative to the store, parents come first
  std::uint32_t mode = 0755;  // exact (umask does not apply)
  std::string target;         // kSymlink: what it points to
};

struct Operation {
  // Mount attributes that are set (never cleared); MOUNT_ATTR_* of mount_setattr(2).
  enum Attribute : std::uint32_t { kReadOnly = 1, kNoExec = 2 };
  std::string source;  // canonical path in the untouched tree, or in the store
  std::string target;  // canonical path in the view
  std::uint32_t attributes = 0;
  bool early = false;         // clone the source before the tree becomes read-only
  bool recursive = true;      // with what is mounted below; false for files and masks
  bool keep_devices = false;  // the mount keeps device nodes usable (/dev)
  bool optional = false;      // a source or target that vanished is no failure
  bool link = false;          // source and target are the symbolic link itself
  // A mask of a denied read: where a FUSE server can stand behind it (src/maskfs), it does, and the
  // attempts are reported. `rule` is the index in EffectivePolicy::rules, ~0u when none decided.
  bool reported = false;
  std::uint32_t rule = ~0u;
  std::string why;        // rule and source, for people
  std::string mechanism;  // "read-only bind mount", "mask", ...
};

struct Plan {
  std::vector<StoreNode> nodes;       // in addition to StoreBase
  std::vector<Operation> operations;  // before /proc
  std::vector<Operation> after_proc;  // below the fresh /proc
  bool new_root = false;              // view: bound
  bool read_only_tree = true;         // false only for filesystem.disabled
  std::string Describe() const;       // one line a step, for --dry-run and golden files
};

// What the launcher needs before it makes the namespaces.
struct Boot {
  std::string uid_map, gid_map;  // text for /proc/PID/{uid,gid}_map
  bool deny_setgroups = true;
  bool keep_base = false;  // Update() may come: keep an untouched mount namespace
  // What every session has in its store (StoreBase): made while the policy is still being compiled.
  std::vector<StoreNode> nodes;
  std::vector<std::string> devices;  // absolute host paths; bound at <store>/dev/<name>
  // Not empty: bwrap makes the namespaces and the view, with these arguments (bwrap_arguments.h).
  std::vector<std::string> bwrap;
};

// Fills in Boot::nodes and Boot::devices.
void StoreBase(std::uint32_t inner_uid, Boot& boot);

struct ResourceLimit {
  std::uint32_t resource = 0;  // RLIMIT_*
  std::uint64_t soft = 0, hard = 0;
};

// One command, as init gets it. Descriptors travel beside it.
struct ExecPlan {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=VALUE
  std::string workdir;
  std::string search_path;      // PATH for argv[0] without a slash
  std::uint32_t stdio[3] = {};  // wire::StdioKind
  bool new_terminal = false;
  std::uint16_t rows = 0, columns = 0;
  std::string terminal_modes;  // a struct termios as bytes, or empty
  std::uint32_t umask = 022;
  std::vector<ResourceLimit> limits;
  // Where files may be opened for writing, beside what the mounts say (launcher/fence.h); absent
  // where the whole tree is writable.
  std::optional<std::vector<std::string>> fence;
  // Commands of one session may stand under different policies (Session::Update): none may look
  // into another through /proc/PID/root or ptrace(2) (launcher/fence.h).
  bool isolated = false;
  // The filter has notifications: the session's broker gets its listener.
  bool supervised = false;
  std::string filter;  // sock_filter[] as bytes
};

// The places of a view that are writable: targets of its operations, and the session's own /dev and
// /proc. Absent where the tree is not read-only to begin with.
std::optional<std::vector<std::string>> WritablePlaces(const Plan& plan);

// Encoders for jail/wire.h.
std::string Encode(const Boot& boot);
std::string Encode(const Plan& plan);
std::string Encode(const ExecPlan& plan);
// The table of a plan's reported masks for their server, whose nodes belong to these ids inside;
// empty when the plan has none.
std::string EncodeMasks(const Plan& plan, std::uint32_t inner_uid, std::uint32_t inner_gid);

}  // namespace cordon::jail
