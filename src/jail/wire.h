// The private protocol between the host library and the launcher (cordon-launch), and its encoding.
//
// One SOCK_SEQPACKET pair carries messages: a MessageHeader, then a payload. A payload of more than
// kInlineBytes travels in a memory file as the last passed descriptor. Both ends are the same
// build; kWireVersion is checked once, in Boot. Nothing from inside a session ever reaches this
// socket: every process closes it before it runs a command.
//
// Host to launcher:  Boot (first, before the fork), View, Exec, Signal, Suspend, Resume, Stop
// Launcher to host:  Ready, Failed, Started, ExecFailed, Exited, Acknowledged, Ended
//
// No allocation, no exceptions in this file: it is used on both sides of a fork.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace cordon::jail::wire {

inline constexpr std::uint32_t kWireVersion = 1;
inline constexpr std::uint32_t kInlineBytes = 96 * 1024;
inline constexpr int kMaxDescriptors = 8;
inline constexpr int kControlFd = 3;  // the launcher's end of the socket

enum class Type : std::uint32_t {
  kBoot = 1,
  kView,
  kExec,
  kSignal,
  kSuspend,
  kResume,
  kStop,
  kWatches,  // jail/plan_watches.h; replaces earlier ones
  kReady = 100,
  kFailed,      // launch or Update failed: stage, operation, errno
  kStarted,     // an exec's process id inside; the terminal's descriptor when it has one
  kExecFailed,  // sent by the child itself before it exits
  kExited,      // wait status and resources of an exec
  kAcknowledged,
  kEnded,        // from the monitor: why the session is over
  kWatchFailed,  // what (0: watching, 1: mounting), errno, path
  kHelper,       // init to monitor: start one (HelperKind); its descriptors
  // The broker's own sockets (jail/wire_report.h).
  kPolicy = 200,
  kFlush,
  kListener,  // init to broker: the listener of an exec
  // init to the server of masks (src/maskfs): descriptors of the session's /proc and pid namespace;
  // and, from the child that becomes a command, its exec and its process id inside.
  kSessionProc,
  kExecLeader,
  kBrokerReady = 300,
  kBrokerFailed,
  kReport,
  kFlushed,
};

struct MessageHeader {
  Type type = Type::kReady;
  std::uint32_t exec = 0;     // exec's number, or the request's number for Acknowledged/Failed
  std::uint32_t size = 0;     // payload bytes
  std::uint32_t in_file = 0;  // 1: the payload is in the last descriptor
};

// Where a launch or an exec failed; the host turns it into words (jail/stage.h).
enum class Stage : std::uint32_t {
  kNone,
  kClone,
  kIdMap,
  kProtocol,
  kPrivate,    // making the mount tree private
  kStore,      // the session's own tmpfs
  kStoreNode,  // a node in it
  kDevice,     // a device node of /dev
  kUnshare,    // the copy of the mount namespace for an Update
  kSource,     // opening what is to be bound
  kCloneTree,
  kReadOnly,  // the recursive read-only step
  kTarget,    // opening the mount point
  kAttributes,
  kAttach,
  kProc,  // a fresh /proc
  kPivot,
  kLoopback,
  kKeyring,
  kFork,
  kTerminal,
  kDescriptors,
  kWorkdir,
  kResourceLimit,
  kCapabilities,
  kNoNewPrivileges,
  kFence,
  kFilter,
  kExecve,
  kInterpreter,  // execve said ENOENT although the file is there
  kBubblewrap,   // starting bwrap
  kListener,     // the command's notification filter, or handing its listener to the broker
  kBroker,       // starting the broker, or its place in the session's namespaces
  kMasks,        // the server of masks
};

struct Failure {
  Stage stage = Stage::kNone;
  std::int32_t error = 0;       // errno
  std::uint32_t operation = 0;  // index into the plan's operations or nodes, where that fits
};
// `operation` of an ExecFailed that came before the fork: no Exited will follow.
inline constexpr std::uint32_t kNoProcess = 1;

struct Exited {
  std::int32_t wait_status = 0;
  std::uint32_t reserved = 0;
  std::uint64_t max_rss_kib = 0;
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
};

enum class EndReason : std::uint32_t { kStopped, kManual, kInitDied, kHostGone, kBrokerDied };
struct Ended {
  EndReason reason = EndReason::kStopped;
  std::int32_t init_status = 0;  // wait status of pid 1
};

enum class SignalScope : std::uint32_t { kLeader, kGroup, kTree };
struct SignalRequest {
  std::int32_t signal = 0;
  SignalScope scope = SignalScope::kGroup;
};

// What the monitor starts beside init, and the descriptors that it gets, in this order: a socket to
// the host library, one to init, and
enum class HelperKind : std::uint32_t {
  kBroker,  // the session's user and mount namespaces (src/notify)
  kMasks,   // /dev/fuse, mounted (src/maskfs)
};

// How one of the three standard descriptors of an exec is made.
enum class StdioKind : std::uint32_t { kNull, kPassed, kTerminal };

// Reads what Writer (plan.h) wrote. Every read past the end makes `ok()` false and yields zeros.
class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}
  bool ok() const { return ok_; }
  bool AtEnd() const { return data_.empty(); }
  std::uint32_t U32() { return Fixed<std::uint32_t>(); }
  std::uint64_t U64() { return Fixed<std::uint64_t>(); }
  // Length, bytes, and a NUL that is not counted: data() of the result is a C string.
  std::string_view String() {
    std::uint32_t n = U32();
    if (!ok_ || data_.size() < std::size_t{n} + 1 || data_[n] != '\0') {
      ok_ = false;
      data_ = {};
      return std::string_view("", 0);
    }
    std::string_view s = data_.substr(0, n);
    data_.remove_prefix(std::size_t{n} + 1);
    return s;
  }

 private:
  template <typename T>
  T Fixed() {
    T v{};
    if (data_.size() < sizeof v) {
      ok_ = false;
      data_ = {};
      return v;
    }
    std::memcpy(&v, data_.data(), sizeof v);
    data_.remove_prefix(sizeof v);
    return v;
  }
  std::string_view data_;
  bool ok_ = true;
};

}  // namespace cordon::jail::wire
