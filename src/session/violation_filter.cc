#include "session/violation_filter.h"

#include <algorithm>

#include "policy/policy.h"
#include "policy/suggest.h"
#include "session/violation_action.h"

namespace cordon::session {
namespace {

// The parts of `pattern` between its stars stand in `text` in this order.
bool Contains(std::string_view text, std::string_view pattern) {
  while (!pattern.empty()) {
    const std::string_view part = pattern.substr(0, pattern.find('*'));
    const std::size_t at = text.find(part);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + part.size());
    pattern.remove_prefix(std::min(pattern.size(), part.size() + 1));
  }
  return true;
}

Error Bad(std::string what, std::string remedy) {
  return MakeError(ErrorCode::kInvalid, std::move(what), std::move(remedy));
}

// A misspelt action would be read as a file name and ignore nothing.
Status CheckNotAnAction(const std::string& text) {
  if (text.find('/') != std::string::npos) return Ok();
  std::vector<std::string_view> verbs;
  for (const Action action : RefusedActions()) verbs.push_back(ActionVerb(action));
  const bool alike = std::any_of(verbs.begin(), verbs.end(), [&](std::string_view verb) {
    return policy::EditDistance(text, verb) <= 2;
  });
  if (!alike) return Ok();
  const auto nearest = policy::Nearest(text, verbs);
  return Bad("'" + text + "' is no action",
             std::string(nearest.value_or(verbs.front())) + ", or ./" + text + " for a file");
}

}  // namespace

Status ViolationFilter::AddEntry(const std::string& text, const std::string& home,
                                 const std::string& workdir, Row& row) {
  if (text.empty()) return Bad("an empty entry", "an action such as unix-socket, or a path");
  if (const auto action = ActionOf(text)) {
    row.actions.push_back(*action);
    if (*action == Action::kFileWrite) {
      row.actions.push_back(Action::kFileCreate);
      row.actions.push_back(Action::kFileUnlink);
    }
    return Ok();
  }
  CORDON_CHECK(CheckNotAnAction(text));
  std::string absolute = "/**/" + text;
  const bool placed = text[0] == '/' || text[0] == '~' || text.starts_with("./");
  if (placed) {
    CORDON_TRY(absolute, policy::AbsolutePath(text, home, workdir));
  }
  CORDON_TRY(glob::Pattern pattern, glob::Pattern::Parse(absolute));
  row.paths.push_back(std::move(pattern));
  return Ok();
}

Result<ViolationFilter> ViolationFilter::Make(const Spec& spec, const std::string& home,
                                              const std::string& workdir) {
  ViolationFilter filter;
  for (const auto& [command, entries] : spec) {
    const std::string place = "ignoreViolations \"" + command + "\"";
    if (command.empty())
      return Bad(place + ": an empty command pattern", "\"*\" for every command");
    Row row;
    row.command = command;
    for (const std::string& text : entries) {
      Status added = AddEntry(text, home, workdir, row);
      if (!added.ok()) return Annotate(std::move(added).error(), place + ", \"" + text + "\"");
    }
    filter.rows_.push_back(std::move(row));
  }
  return filter;
}

bool ViolationFilter::Ignores(std::string_view command, std::string_view program,
                              jail::wire::Action action, std::string_view target) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) {
    if (!Contains(command, row.command) && !Contains(program, row.command)) return false;
    if (std::find(row.actions.begin(), row.actions.end(), action) != row.actions.end()) return true;
    return std::any_of(row.paths.begin(), row.paths.end(), [&](const glob::Pattern& pattern) {
      return pattern.MatchLength(target) != 0;
    });
  });
}

}  // namespace cordon::session
