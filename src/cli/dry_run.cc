#include "cli/dry_run.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/quantity.h"
#include "cli/report.h"
#include "cli/text.h"
#include "policy/json_writer.h"

namespace cordon::cli {
namespace {

constexpr std::string_view kNotHeld = "not held";

bool IsHeld(const session::EnforcementLine& line) { return !line.mechanism.starts_with(kNotHeld); }

std::vector<std::pair<std::string, std::string>> LimitRows(const policy::Limits& limits) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (limits.memory_bytes) rows.emplace_back("memory", FormatSize(*limits.memory_bytes));
  if (limits.cpus) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", *limits.cpus);
    rows.emplace_back("cpus", text);
  }
  if (limits.pids) rows.emplace_back("pids", std::to_string(*limits.pids));
  if (limits.open_files) rows.emplace_back("openFiles", std::to_string(*limits.open_files));
  if (limits.file_size_bytes) rows.emplace_back("fileSize", FormatSize(*limits.file_size_bytes));
  if (limits.disk_written_bytes) {
    rows.emplace_back("diskWritten", FormatSize(*limits.disk_written_bytes));
  }
  if (limits.wall_time) rows.emplace_back("wallTime", FormatDuration(*limits.wall_time));
  if (limits.idle_time) rows.emplace_back("idleTime", FormatDuration(*limits.idle_time));
  return rows;
}

void Heading(std::string& out, std::string_view title) { out += "\n" + std::string(title) + ":\n"; }

std::string MountText(const policy::BindMount& mount) {
  std::string text = mount.host_path;
  if (mount.guest_path != mount.host_path) text += " at " + mount.guest_path;
  return text + (mount.read_only ? " (read-only)" : " (writable)");
}

// Rules of one origin stand together: the built-in ones are many.
void RuleTable(std::string& out, const std::vector<session::EnforcementLine>& lines, bool held) {
  std::size_t width = 0;
  for (const auto& line : lines) {
    if (IsHeld(line) == held) width = std::max(width, std::min<std::size_t>(line.path.size(), 44));
  }
  for (const auto& line : lines) {
    if (IsHeld(line) != held) continue;
    std::string path = Printable(line.path);
    if (path.size() < width) path.resize(width, ' ');
    out += "  " + path + "  " + Printable(line.mechanism) + "\n";
    out += "      " + Printable(line.rule) + "\n";
  }
}

}  // namespace

std::string DryRunText(const RunPlan& plan, const session::Preview& preview) {
  const policy::EffectivePolicy& effective = preview.policy;
  std::string out;
  const auto row = [&out](std::string_view name, std::string_view value) {
    std::string left = "  " + std::string(name);
    left.resize(std::max<std::size_t>(left.size() + 2, 14), ' ');
    out += left + Printable(value) + "\n";
  };
  out += "Session:\n";
  row("id", plan.spec.session_id);
  row("view", policy::ViewName(effective.view));
  row("mode", policy::ModeName(effective.mode));
  row("workdir", effective.workdir);
  std::string command;
  for (const std::string& word : plan.argv) command += (command.empty() ? "" : " ") + word;
  if (!command.empty()) row("command", command);
  row("network", "none");
  if (effective.files_disabled) row("files", "no rules at all (filesystem.disabled)");

  const auto& lines = preview.enforcement;
  if (std::any_of(lines.begin(), lines.end(), [](const auto& l) { return IsHeld(l); })) {
    Heading(out, "Rules, and how each is held");
    RuleTable(out, lines, true);
  }
  if (std::any_of(lines.begin(), lines.end(), [](const auto& l) { return !IsHeld(l); })) {
    Heading(out, "Not held yet");
    RuleTable(out, lines, false);
  }
  if (!effective.mounts.empty()) {
    Heading(out, "Mounts");
    for (const auto& mount : effective.mounts) out += "  " + Printable(MountText(mount)) + "\n";
  }
  const auto limits = LimitRows(plan.spec.limits);
  if (!limits.empty()) {
    Heading(out, "Limits");
    for (const auto& [name, value] : limits) row(name, value);
  }
  if (!preview.removed_variables.empty()) {
    Heading(out, "Removed from the environment");
    for (const auto& line : preview.removed_variables) out += "  " + Printable(line) + "\n";
  }
  if (!effective.warnings.empty() || !plan.warnings.empty()) {
    Heading(out, "Warnings");
    for (const auto& line : plan.warnings) out += "  " + Printable(line) + "\n";
    for (const auto& line : effective.warnings) out += "  " + Printable(line) + "\n";
  }
  return out;
}

namespace {

using policy::AddMember;
using policy::JsonValue;

JsonValue TextList(const std::vector<std::string>& items) {
  JsonValue list = policy::JsonArray();
  for (const std::string& item : items) list.items.push_back(policy::JsonString(item));
  return list;
}

JsonValue LimitsJson(const policy::Limits& limits) {
  JsonValue json = policy::JsonObject();
  const auto number = [&json](std::string_view key, const std::optional<std::uint64_t>& value) {
    if (value) AddMember(json, key, policy::JsonNumber(*value));
  };
  const auto ms = [&json](std::string_view key, const std::optional<std::chrono::milliseconds>& t) {
    if (t) AddMember(json, key, policy::JsonNumber(static_cast<std::uint64_t>(t->count())));
  };
  number("memoryBytes", limits.memory_bytes);
  if (limits.cpus) AddMember(json, "cpus", policy::JsonNumber(*limits.cpus));
  number("pids", limits.pids);
  number("openFiles", limits.open_files);
  number("fileSizeBytes", limits.file_size_bytes);
  number("diskWrittenBytes", limits.disk_written_bytes);
  ms("wallTimeMs", limits.wall_time);
  ms("idleTimeMs", limits.idle_time);
  return json;
}

JsonValue RulesJson(const std::vector<session::EnforcementLine>& lines) {
  JsonValue list = policy::JsonArray();
  for (const auto& line : lines) {
    JsonValue row = policy::JsonObject();
    AddMember(row, "rule", policy::JsonString(line.rule));
    AddMember(row, "path", policy::JsonString(line.path));
    AddMember(row, "mechanism", policy::JsonString(line.mechanism));
    AddMember(row, "held", policy::JsonBool(IsHeld(line)));
    list.items.push_back(std::move(row));
  }
  return list;
}

JsonValue MountsJson(const std::vector<policy::BindMount>& mounts) {
  JsonValue list = policy::JsonArray();
  for (const auto& mount : mounts) {
    JsonValue row = policy::JsonObject();
    AddMember(row, "hostPath", policy::JsonString(mount.host_path));
    AddMember(row, "guestPath", policy::JsonString(mount.guest_path));
    AddMember(row, "readOnly", policy::JsonBool(mount.read_only));
    list.items.push_back(std::move(row));
  }
  return list;
}

}  // namespace

std::string DryRunJson(const RunPlan& plan, const session::Preview& preview) {
  const policy::EffectivePolicy& effective = preview.policy;
  std::vector<std::string> warnings = plan.warnings;
  warnings.insert(warnings.end(), effective.warnings.begin(), effective.warnings.end());
  JsonValue environment = policy::JsonObject();
  for (const auto& [name, value] : preview.environment) {
    AddMember(environment, name, policy::JsonString(value));
  }
  JsonValue json = policy::JsonObject();
  AddMember(json, "session", policy::JsonString(plan.spec.session_id));
  AddMember(json, "view", policy::JsonString(policy::ViewName(effective.view)));
  AddMember(json, "mode", policy::JsonString(policy::ModeName(effective.mode)));
  AddMember(json, "workdir", policy::JsonString(effective.workdir));
  AddMember(json, "filesDisabled", policy::JsonBool(effective.files_disabled));
  AddMember(json, "command", TextList(plan.argv));
  AddMember(json, "rules", RulesJson(preview.enforcement));
  AddMember(json, "mounts", MountsJson(effective.mounts));
  AddMember(json, "limits", LimitsJson(plan.spec.limits));
  AddMember(json, "environment", std::move(environment));
  AddMember(json, "removedEnvironment", TextList(preview.removed_variables));
  AddMember(json, "warnings", TextList(warnings));
  AddMember(json, "plan", policy::JsonString(preview.plan_text));
  AddMember(json, "filter", policy::JsonString(preview.filter_text));
  return policy::WriteJson(json);
}

int DryRunMain(const RunPlan& plan, const session::LaunchOptions& options) {
  const auto preview = session::Session::DryRun(plan.spec, options);
  if (!preview.ok()) return ReportError(preview.error());
  const bool printed = Print(plan.json ? DryRunJson(plan, *preview) : DryRunText(plan, *preview));
  return printed ? 0 : kExitCordon;
}

}  // namespace cordon::cli
