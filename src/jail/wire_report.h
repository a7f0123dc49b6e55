// What the broker (src/notify) tells the host library: refusals and notable changes, and the small
// protocol on their own SOCK_SEQPACKET socket.
//
// Host to broker: kPolicy (an encoded policy, policy/policy_codec.h), kFlush (a number)
// Broker to host: kBrokerReady, kBrokerFailed (wire::Failure), kReport, kFlushed (the number)
//
// A refusal is sent when it happens. Further ones of the same kind fold into a count, which is sent
// when it doubles, when an exec's last process ends, and before kFlushed. The broker never waits
// for the host: what does not fit into the socket is kept and sent later; beyond a bound it is
// counted, and said as a report of action kLost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jail/wire.h"

namespace cordon::jail::wire {

// Spec 05; the words are Seatbelt's verbs (session/violation.h).
enum class Action : std::uint32_t {
  kFileRead = 1,     // file-read*
  kFileWrite,        // file-write*: content of a file that exists
  kFileCreate,       // file-write-create
  kFileUnlink,       // file-write-unlink: removed, or renamed away
  kExec,             // process-exec
  kNetworkOutbound,  // network-outbound
  kNetworkBind,      // network-bind
  kUnixSocket,       // unix-socket
  kSyscall,          // syscall
  kChanged = 100,    // no refusal: a file that runs later outside was changed (spec 01)
  kLost,             // reports that did not fit: `count` of them
};

inline constexpr std::uint32_t kNoRule = ~0u;

// What a mask looks like where the server of masks (src/maskfs) stands behind it; jail::EncodeMasks
// writes the table that it gets as kPolicy.
enum class MaskKind : std::uint32_t { kFile, kDirectory, kEmptyFile };

// One report. Strings are bytes as the kernel gave them, with NUL never inside.
struct Report {
  Action action = Action::kFileWrite;
  std::uint32_t exec = 0;        // the exec whose process asked
  std::uint32_t count = 1;       // since the last report of the same refusal
  std::uint32_t host_pid = 0;    // process id outside
  std::uint32_t pid = 0;         // process id inside; 0 when it could not be read
  std::uint32_t rule = kNoRule;  // index into EffectivePolicy::rules
  std::int32_t error = 0;        // errno that the caller got
  std::string_view call;         // "openat", "rename", ...
  std::string_view target;       // canonical path in the session's view, or an address
  std::string_view raw;          // the path as the program gave it
  std::string_view program;      // path of the program, or its name in brackets
  std::string_view reason;       // one sentence
};

// What Reader (wire.h) reads, for the broker's socket.
inline void PutNumber(std::string& out, std::uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void PutString(std::string& out, std::string_view value) {
  PutNumber(out, static_cast<std::uint32_t>(value.size()));
  out += value;
  out += '\0';
}

inline Report ReadReport(std::string_view payload, bool& ok) {
  Reader r(payload);
  Report out;
  out.action = static_cast<Action>(r.U32());
  out.exec = r.U32();
  out.count = r.U32();
  out.host_pid = r.U32();
  out.pid = r.U32();
  out.rule = r.U32();
  out.error = static_cast<std::int32_t>(r.U32());
  out.call = r.String();
  out.target = r.String();
  out.raw = r.String();
  out.program = r.String();
  out.reason = r.String();
  ok = r.ok();
  return out;
}

}  // namespace cordon::jail::wire
