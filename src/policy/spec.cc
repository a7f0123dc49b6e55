#include "policy/spec.h"

namespace cordon::policy {

std::string Source::ToString() const {
  std::string out = origin;
  if (line > 0) {
    out += ':' + std::to_string(line);
    if (column > 0) out += ':' + std::to_string(column);
  }
  return out;
}

const char* ViewName(View view) {
  switch (view) {
    case View::kBound: return "bound";
    case View::kHost: return "host";
  }
  return "unknown";
}

const char* ModeName(Mode mode) {
  switch (mode) {
    case Mode::kChat: return "chat";
    case Mode::kReview: return "review";
    case Mode::kPlan: return "plan";
    case Mode::kOrchestrate: return "orchestrate";
  }
  return "unknown";
}

}  // namespace cordon::policy
