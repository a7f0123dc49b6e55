// The program `cordon`: a thin client of the library.
#include <unistd.h>

#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "cli/explain.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/sessions.h"
#include "cli/trace.h"
#include "policy/spec_json.h"
#include "probe/doctor.h"

namespace cordon::cli {
namespace {

int PrintText(std::string_view text) { return Print(text) ? 0 : kExitCordon; }

Error Usage(std::string message, std::string remedy) {
  return MakeError(ErrorCode::kInvalid, std::move(message), std::move(remedy));
}

int HelpMain(const Arguments& arguments) {
  if (arguments.operands.empty()) return PrintText(GlobalHelp());
  const Command* command = FindCommand(arguments.operands[0]);
  if (command == nullptr) return ReportError(UnknownCommand(arguments.operands[0]));
  return PrintText(CommandHelp(*command));
}

int CompletionMain(const Arguments& arguments) {
  if (arguments.operands.size() != 1) {
    return ReportError(Usage("completion: name one shell", "cordon completion bash|zsh|fish"));
  }
  const auto script = CompletionScript(arguments.operands[0]);
  return script.ok() ? PrintText(*script) : ReportError(script.error());
}

int DoctorCommand(const Arguments& arguments) {
  const bool color = ::isatty(STDOUT_FILENO) != 0 && ::getenv("NO_COLOR") == nullptr;
  std::ostringstream out;
  const int code = probe::DoctorMain(arguments.Has(Opt::kJson), color, out);
  return Print(out.str()) ? code : kExitCordon;
}

int Dispatch(const Command& command, const Arguments& arguments) {
  if (arguments.Has(Opt::kHelp)) return PrintText(CommandHelp(command));
  if (command.operands.empty() && !arguments.operands.empty()) {
    return ReportError(
        Usage(std::string(command.name) + ": '" + arguments.operands[0] + "' is not expected here",
              "cordon help " + std::string(command.name)));
  }
  if (command.name == "run") return RunMain(arguments);
  if (command.name == "trace") return TraceMain(arguments);
  if (command.name == "explain") return ExplainMain(arguments);
  if (command.name == "doctor") return DoctorCommand(arguments);
  if (command.name == "ps") return PsMain(arguments);
  if (command.name == "kill") return KillMain(arguments);
  if (command.name == "completion") return CompletionMain(arguments);
  if (command.name == "schema") return PrintText(policy::SpecSchema());
  return HelpMain(arguments);
}

int Main(int argc, char** argv) {
  GuardStandardDescriptors();
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (args.empty()) {
    return ReportError(Usage("no command is given", "cordon run -- COMMAND, or cordon --help"));
  }
  if (args[0] == "--help" || args[0] == "-h") return PrintText(GlobalHelp());
  if (args[0] == "--version") return PrintText("cordon " CORDON_VERSION "\n");
  if (args[0].starts_with('-')) {
    return ReportError(
        Usage("unknown option " + args[0], "cordon run " + args[0] + " ..., or cordon --help"));
  }
  const Command* command = FindCommand(args[0]);
  if (command == nullptr) return ReportError(UnknownCommand(args[0]));
  const auto arguments = ParseArguments(*command, std::span(args).subspan(1));
  if (!arguments.ok()) return ReportError(arguments.error());
  return Dispatch(*command, *arguments);
}

}  // namespace
}  // namespace cordon::cli

int main(int argc, char** argv) { return cordon::cli::Main(argc, argv); }
