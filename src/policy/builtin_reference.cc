#include "policy/builtin_reference.h"

#include "policy/builtin.h"
#include "policy/environment.h"

namespace cordon::policy {
namespace {

std::string Cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string Row(std::string_view what, std::string_view more, std::string_view why) {
  std::string out = "| `" + Cell(what) + "` | ";
  if (!more.empty()) out += Cell(more) + " | ";
  return out + Cell(why) + " |\n";
}

const char* Where(ProtectedScope scope) {
  switch (scope) {
    case ProtectedScope::kWritableRoot: return "top of every writable directory";
    case ProtectedScope::kWorkdirAndUp: return "working directory and above";
    case ProtectedScope::kGitDirectory: return "every git directory";
    case ProtectedScope::kHome: return "home";
  }
  return "";
}

const char* When(EnvRule::When when) {
  switch (when) {
    case EnvRule::When::kAlways: return "always";
    case EnvRule::When::kUnlessReadable: return "unless every path in it is readable inside";
    case EnvRule::When::kUnlessFixed: return "unless every path in it is readable and not writable";
    case EnvRule::When::kIfWritablePath:
      return "when it names a program that the session may write";
  }
  return "";
}

std::string DenyRead() {
  std::string out =
      "\n## Read-denied by default\n\nRelative paths are below home. `--no-default-denies` turns "
      "the set "
      "off, a rule of your own for the same path lifts one entry.\n\n| path | note | why |\n| --- "
      "| --- | --- |\n";
  for (const auto& e : DenyReadDefaults()) {
    std::string note = e.empty_mask ? "reads as an empty file" : "";
    if (e.root_only) note = "for root only";
    if (!e.keep_readable.empty())
      note = "`cordon run` keeps readable: " + std::string(e.keep_readable);
    out += Row(e.path, note.empty() ? " " : note, e.reason);
  }
  return out;
}

std::string Protected() {
  std::string out =
      "\n## Never writable\n\nNo rule lifts these; `filesystem.disabled` switches all file rules "
      "off, and "
      "`allowGitConfig` opens `config` alone.\n\n| path | where | why |\n| --- | --- | --- |\n";
  for (const auto& e : ProtectedEntries()) out += Row(e.path, Where(e.scope), e.reason);
  return out;
}

}  // namespace

std::string BuiltinReference() {
  std::string out =
      "# Built-in sets\n\nGenerated from the tables in `src/policy`; do not edit. `cordon run "
      "--dry-run` shows "
      "which entries matter on this machine.\n";
  out += DenyRead() + Protected();
  out +=
      "\n## Names that may not be made\n\nWith `defaultDenyNames`. A leading `!` is an exception; "
      "`filesystem.denyNames` can add more.\n\n| name | why |\n| --- | --- |\n";
  for (const auto& e : DenyNameDefaults()) out += Row(e.pattern, "", e.reason);
  out +=
      "\n## Changes that are told\n\nNot refused, but listed at the end of a run.\n\n| path | why "
      "|\n| --- | --- |\n";
  for (const auto& e : NotableEntries()) out += Row(e.path, "", e.reason);
  out += "\n## Programs that do not start\n\n| program | why |\n| --- | --- |\n";
  for (const auto& e : DangerousPrograms()) out += Row(e.name, "", e.reason);
  out += "\n## Removed from the environment\n\n| variable | when | why |\n| --- | --- | --- |\n";
  for (const auto& e : EnvRules()) out += Row(e.name, When(e.when), e.reason);
  out += "\n## Visible in view \"bound\"\n\n| directory | why |\n| --- | --- |\n";
  for (const auto& e : SystemDirectories()) out += Row(e.path, "", e.reason);
  return out;
}

}  // namespace cordon::policy
