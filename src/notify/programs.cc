// Programs that must not start: the mounts refuse them, this only says so.
#include <cerrno>

#include "notify/handler.h"

namespace cordon::notify {

// The call is always made by the kernel: nothing is decided here, so that it does not matter that
// the path may change in between.
Answer Handler::ReportProgram(int directory, std::uint64_t address) {
  std::string path;
  if (session_.refused_names.empty() || caller_.ReadString(address, path) != 0)
    return Answer::Continue();
  const std::string name = path.substr(path.rfind('/') + 1);
  if (session_.refused_names.count(name) == 0) return Answer::Continue();
  raw_ = path;
  Place place = session_.walker->Resolve(caller_, directory, path);
  if (place.error != 0 || place.Special() || !caller_.Valid()) return Answer::Continue();
  Target target = session_.walker->Open(caller_, std::move(place));
  auto it = target.error == 0 ? session_.refused_programs.find(target.path)
                              : session_.refused_programs.end();
  if (it == session_.refused_programs.end()) return Answer::Continue();
  policy::NameVerdict verdict{false, nullptr, it->second.reason, false, false};
  Report(verdict, jail::wire::Action::kExec, target.path, EACCES);
  return Answer::Continue();
}

}  // namespace cordon::notify
