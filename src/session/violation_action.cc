#include "session/violation_action.h"

#include <array>

namespace cordon::session {
namespace {

constexpr std::array kRefusals = {
    Action::kFileRead,    Action::kFileWrite,  Action::kFileCreate,
    Action::kFileUnlink,  Action::kExec,       Action::kNetworkOutbound,
    Action::kNetworkBind, Action::kUnixSocket, Action::kSyscall,
};

}  // namespace

std::string_view ActionVerb(Action action) {
  switch (action) {
    case Action::kFileRead: return "file-read*";
    case Action::kFileWrite: return "file-write*";
    case Action::kFileCreate: return "file-write-create";
    case Action::kFileUnlink: return "file-write-unlink";
    case Action::kExec: return "process-exec";
    case Action::kNetworkOutbound: return "network-outbound";
    case Action::kNetworkBind: return "network-bind";
    case Action::kUnixSocket: return "unix-socket";
    case Action::kSyscall: return "syscall";
    case Action::kChanged: return "changed";
    case Action::kLost: return "lost";
  }
  return "unknown";
}

std::optional<Action> ActionOf(std::string_view verb) {
  for (const Action action : kRefusals) {
    if (ActionVerb(action) == verb) return action;
  }
  return std::nullopt;
}

std::span<const Action> RefusedActions() { return kRefusals; }

}  // namespace cordon::session
