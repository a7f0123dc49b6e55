#include "cli/denial_summary.h"

#include <algorithm>
#include <tuple>

#include "cli/denial_remedy.h"
#include "cli/text.h"

namespace cordon::cli {
namespace {

using session::Action;
using session::Violation;

std::string ProgramName(const Violation& v) {
  return v.program.substr(v.program.rfind('/') == std::string::npos ? 0 : v.program.rfind('/') + 1);
}

bool IsRefusal(const Violation& v) {
  return v.action != Action::kChanged && v.action != Action::kLost;
}

std::uint64_t CountOf(const std::vector<const Violation*>& list) {
  std::uint64_t count = 0;
  for (const Violation* v : list) count += v->count;
  return count;
}

std::string Head(const Violation& v) {
  std::string line = std::string(VerbOf(v)) + " " + Printable(v.target);
  std::string more;
  if (v.count > 1) more = std::to_string(v.count) + " times";
  if (!v.program.empty()) more += (more.empty() ? "" : ", ") + Printable(ProgramName(v));
  if (v.inferred) more += std::string(more.empty() ? "" : ", ") + "inferred from its message";
  return more.empty() ? line : line + " (" + more + ")";
}

std::string Refusals(const std::vector<const Violation*>& list,
                     const policy::EffectivePolicy& policy, Events events) {
  const std::uint64_t calls = CountOf(list);
  std::string out = "cordon: the sandbox refused " + std::to_string(calls) +
                    (calls == 1 ? " call:\n" : " calls:\n");
  for (std::size_t i = 0; i < std::min(list.size(), kShownDenials); ++i) {
    const Violation& v = *list[i];
    out += "  " + Head(v) + "\n      " + WhyText(v) + "; " + RemedyFor(v, policy).text + "\n";
  }
  if (list.size() > kShownDenials) {
    out += "  and " + std::to_string(list.size() - kShownDenials) + " more (" +
           (events == Events::kWritten ? "--events has all" : "--events FILE has all") + ")\n";
  }
  return out;
}

std::string Changes(const std::vector<const Violation*>& list) {
  std::string out = "cordon: changed here, run later outside (look before you run them):\n";
  for (std::size_t i = 0; i < std::min(list.size(), kShownChanges); ++i)
    out += "  " + Printable(list[i]->target) + "\n";
  if (list.size() > kShownChanges)
    out += "  and " + std::to_string(list.size() - kShownChanges) + " more\n";
  return out;
}

}  // namespace

std::string WhyText(const Violation& v) {
  if (!v.rule.empty()) {
    return Printable(v.rule) + (v.source.empty() ? "" : " (" + Printable(v.source) + ")");
  }
  return v.reason.empty() ? "refused" : Printable(v.reason);
}

std::string DenialLine(const session::Event& event) {
  const auto text = [&event](const char* name) {
    const auto it = event.text.find(name);
    return it == event.text.end() ? std::string() : Printable(it->second);
  };
  const auto count = event.numbers.find(event.type == "gap" ? "lost" : "count");
  const std::string times = count == event.numbers.end() ? "0" : std::to_string(count->second);
  if (event.type == "gap") return times + " refusals came too fast to be written down";
  if (event.type == "changed") return "changed, runs later outside: " + text("target");
  std::string line = "refused: " + text("action") + " " + text("target");
  if (times != "1") line += " (" + times + " times)";
  line += ": " + (text("rule").empty() ? text("reason") : text("rule"));
  return text("source").empty() ? line : line + " (" + text("source") + ")";
}

std::string DenialSummary(const std::vector<Violation>& all, const policy::EffectivePolicy& policy,
                          Events events) {
  std::vector<const Violation*> refusals, changes;
  std::uint64_t lost = 0;
  for (const Violation& v : all) {
    if (IsRefusal(v)) refusals.push_back(&v);
    if (v.action == Action::kChanged) changes.push_back(&v);
    if (v.action == Action::kLost) lost += v.count;
  }
  std::string out;
  if (!refusals.empty()) out += Refusals(refusals, policy, events);
  if (lost != 0) {
    out += "cordon: " + std::to_string(lost) + " more refusals came too fast to be written down\n";
  }
  // One file may be changed by several programs.
  std::sort(changes.begin(), changes.end(), [](const auto* a, const auto* b) {
    return std::tie(a->target, a->number) < std::tie(b->target, b->number);
  });
  changes.erase(std::unique(changes.begin(), changes.end(),
                            [](const auto* a, const auto* b) { return a->target == b->target; }),
                changes.end());
  if (!changes.empty()) out += Changes(changes);
  return out;
}

}  // namespace cordon::cli
