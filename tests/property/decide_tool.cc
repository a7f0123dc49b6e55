// decide_tool: what the policy of a sandbox description says about paths, for property_test.py.
//
//   decide_tool SPEC [--workdir-writable] < QUESTIONS
//
// A question is a line "OPERATION PATH", the path in hexadecimal. The answer is a line
// "ALLOWED OWN HELD KIND REASON": ALLOWED, OWN (the session's own file stands there) and HELD (no
// supervisor is needed for the deciding rule) are 0 or 1, KIND is the deciding rule's or "-".
// A description that is refused gives exit code 3 and the message.
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

#include "policy/spec_json.h"
#include "session/session.h"

namespace {

using cordon::policy::Operation;

std::optional<Operation> OperationOf(const std::string& name) {
  for (Operation op :
       {Operation::kRead, Operation::kWrite, Operation::kCreate, Operation::kRemove}) {
    if (name == cordon::policy::OperationName(op)) return op;
  }
  return std::nullopt;
}

std::string FromHex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return out;
}

// A path in a reason may hold any byte, and an answer is one line.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return text;
}

int Answer(const cordon::policy::EffectivePolicy& policy) {
  std::string name, path;
  while (std::cin >> name >> path) {
    const auto op = OperationOf(name);
    if (!op) {
      std::cerr << "unknown operation " << name << "\n";
      return 2;
    }
    const auto verdict = policy.Decide(*op, FromHex(path));
    const bool held = verdict.rule == nullptr || !verdict.rule->needs_supervisor;
    std::cout << verdict.allowed << ' ' << verdict.session_own << ' ' << held << ' '
              << (verdict.rule ? cordon::policy::RuleKindName(verdict.rule->kind) : "-") << ' '
              << OneLine(verdict.reason) << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "decide_tool SPEC [--workdir-writable] < QUESTIONS\n";
    return 2;
  }
  const auto spec = cordon::policy::ReadSpecFile(argv[1]);
  if (!spec.ok()) {
    std::cerr << spec.error().ToString() << "\n";
    return 3;
  }
  cordon::session::LaunchOptions options;
  options.single_policy = true;
  options.workdir_writable = argc > 2 && std::string(argv[2]) == "--workdir-writable";
  const auto preview = cordon::session::Session::DryRun(*spec, options);
  if (!preview.ok()) {
    std::cerr << preview.error().ToString() << "\n";
    return 3;
  }
  return Answer(preview->policy);
}
