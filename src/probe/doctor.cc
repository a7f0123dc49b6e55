#include "probe/doctor.h"

#include <ostream>

#include "probe/probe.h"

namespace cordon::probe {

int DoctorMain(bool json, bool color, std::ostream& out) {
  const ProbeReport report = Probe();
  out << (json ? ToJson(report) : ToText(report, color)) << std::flush;
  return report.available ? 0 : 1;
}

}  // namespace cordon::probe
