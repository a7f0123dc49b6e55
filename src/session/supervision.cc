#include "session/supervision.h"

#include <string_view>

#include "jail/wire_report.h"
#include "policy/policy_codec.h"
#include "probe/supervisor.h"

namespace cordon::session {
namespace {}  // namespace

Status SupervisorAvailable() { return probe::SupervisorAvailable(); }

jail::Supervision SupervisionFor(const policy::EffectivePolicy& policy, bool strict_reads) {
  jail::Supervision out;
  out.sockets = true;
  if (policy.files_disabled) return out;
  out.names = out.umask = true;
  out.reads = strict_reads;
  // Also for what must have happened before a program starts (notify/open.cc).
  out.exec_reports = true;
  return out;
}

std::string EncodeForBroker(const policy::EffectivePolicy& policy,
                            const std::vector<jail::PlanInput::DeniedProgram>& programs) {
  using jail::wire::PutNumber, jail::wire::PutString;
  std::string out;
  PutString(out, policy::EncodePolicy(policy));
  PutNumber(out, static_cast<std::uint32_t>(programs.size()));
  for (const auto& program : programs) {
    PutString(out, program.path);
    PutString(out, program.reason);
  }
  return out;
}

}  // namespace cordon::session
