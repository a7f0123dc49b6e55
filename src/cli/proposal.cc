#include "cli/proposal.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/denial_remedy.h"
#include "cli/denial_summary.h"
#include "cli/text.h"
#include "glob/glob.h"
#include "policy/json_writer.h"
#include "policy/path.h"
#include "policy/rule_match.h"

namespace cordon::cli {
namespace {

using policy::EffectivePolicy;
using session::Action;
using session::Violation;

constexpr std::string_view kAllowWrite = "filesystem.allowWrite";
constexpr std::string_view kAllowRead = "filesystem.allowRead";
constexpr std::size_t kShownLeft = 20;

// One path of one field, and the refusals that it would let through.
struct Need {
  bool directory = false;
  std::vector<const Violation*> because;
};
using Needs = std::map<std::string, Need>;  // by path

std::string What(const Violation& v) {
  std::string out = std::string(VerbOf(v)) + " " + Printable(v.target);
  const std::string_view program = policy::BaseName(v.program);
  if (!program.empty()) out += " (" + Printable(program) + ")";
  return out;
}

bool IsText(std::string_view path) {
  while (!path.empty()) {
    const std::size_t n = policy::Utf8Length(path);
    if (n == 0) return false;
    path.remove_prefix(n);
  }
  return true;
}

// A directory that may stand for what lies in it: not too wide, and nothing that a rule speaks of.
bool MayStandForMany(const std::string& directory, const EffectivePolicy& policy) {
  if (IsTooWide(directory, policy.home)) return false;
  if (policy::IsAtOrBelow(policy.workdir, directory)) return false;
  return std::none_of(policy.rules.begin(), policy.rules.end(), [&](const policy::Rule& rule) {
    const bool refuses =
        rule.kind == policy::RuleKind::kProtected || rule.kind == policy::RuleKind::kDenyWrite ||
        rule.kind == policy::RuleKind::kDenyRead || rule.kind == policy::RuleKind::kDenyName;
    return refuses && policy::RuleMatch(rule, directory) != 0;
  });
}

void DropCovered(Needs& needs) {
  for (auto it = needs.begin(); it != needs.end(); ++it) {
    if (!it->second.directory) continue;
    for (auto below = std::next(it); below != needs.end();) {
      if (!policy::IsAtOrBelow(below->first, it->first)) {
        ++below;
        continue;
      }
      auto& because = it->second.because;
      because.insert(because.end(), below->second.because.begin(), below->second.because.end());
      below = needs.erase(below);
    }
  }
}

// Siblings become their directory, and again, as long as that helps.
void Group(Needs& needs, const EffectivePolicy& policy) {
  for (bool changed = true; changed;) {
    changed = false;
    DropCovered(needs);
    std::map<std::string, std::size_t> siblings;
    for (const auto& [path, need] : needs) ++siblings[std::string(policy::ParentPath(path))];
    for (const auto& [directory, count] : siblings) {
      if (count < kGroup || needs.count(directory) != 0 || !MayStandForMany(directory, policy))
        continue;
      needs[directory].directory = true;
      changed = true;
    }
  }
}

void AddEntries(std::string_view field, std::string_view option, Needs& needs, const Needs* wider,
                Proposal& out) {
  for (auto& [path, need] : needs) {
    const bool covered =
        wider != nullptr && std::any_of(wider->begin(), wider->end(), [&](const auto& other) {
          return policy::IsAtOrBelow(path, other.first);
        });
    if (covered) continue;
    Proposal::Entry entry{std::string(field), std::string(option), path, 0, {}, 0};
    std::set<std::string> targets;
    for (const Violation* v : need.because) {
      entry.calls += v->count;
      if (targets.insert(v->target).second && entry.examples.size() < kExamples)
        entry.examples.push_back(What(*v));
    }
    entry.targets = targets.size();
    out.entries.push_back(std::move(entry));
  }
}

void Leave(const Violation& v, const Remedy& remedy, Proposal& out) {
  Proposal::Left left{What(v), WhyText(v) + "; ", v.count};
  if (remedy.kind == Remedy::Kind::kSecret) {
    left.why += v.action == Action::kUnixSocket
                    ? "it acts for its callers outside the sandbox; if you trust the command: "
                    : "a secret; if the command really needs it: ";
  }
  left.why += remedy.text;
  for (Proposal::Left& other : out.left) {
    if (other.what != left.what || other.why != left.why) continue;
    other.calls += left.calls;
    return;
  }
  out.left.push_back(std::move(left));
}

policy::JsonValue PathJson(const std::string& path, bool pattern) {
  if (!pattern || !glob::HasMagic(path)) return policy::JsonString(path);
  policy::JsonValue entry = policy::JsonObject();
  policy::AddMember(entry, "path", policy::JsonString(path));
  policy::AddMember(entry, "literal", policy::JsonBool(true));
  return entry;
}

}  // namespace

Proposal Propose(std::span<const Violation> violations, const EffectivePolicy& policy) {
  Proposal out;
  Needs writes, reads, sockets;
  for (const Violation& v : violations) {
    if (v.action == Action::kChanged || v.action == Action::kLost) continue;
    const Remedy remedy = RemedyFor(v, policy);
    if (remedy.kind != Remedy::Kind::kOption) {
      Leave(v, remedy, out);
      continue;
    }
    Needs& needs = remedy.field == kAllowWrite  ? writes
                   : remedy.field == kAllowRead ? reads
                                                : sockets;
    Need& need = needs[remedy.value];
    need.directory = need.directory || remedy.directory;
    need.because.push_back(&v);
  }
  Group(writes, policy);
  Group(reads, policy);
  AddEntries(kAllowRead, "--allow-read", reads, &writes, out);
  AddEntries(kAllowWrite, "--write", writes, nullptr, out);
  AddEntries("network.allowUnixSockets", "--allow-unix-socket", sockets, nullptr, out);
  return out;
}

std::string ProposalJson(const Proposal& proposal) {
  policy::JsonValue root = policy::JsonObject();
  for (const Proposal::Entry& entry : proposal.entries) {
    if (!IsText(entry.path)) continue;
    const std::size_t dot = entry.field.find('.');
    const auto member = [](policy::JsonValue& object, const std::string& name,
                           policy::JsonValue fresh) -> policy::JsonValue& {
      const auto it = std::find_if(object.members.begin(), object.members.end(),
                                   [&](const auto& m) { return m.name == name; });
      if (it != object.members.end()) return it->value;
      policy::AddMember(object, name, std::move(fresh));
      return object.members.back().value;
    };
    policy::JsonValue& section = member(root, entry.field.substr(0, dot), policy::JsonObject());
    policy::JsonValue& list = member(section, entry.field.substr(dot + 1), policy::JsonArray());
    list.items.push_back(PathJson(entry.path, entry.option != "--allow-unix-socket"));
  }
  return policy::WriteJson(root);
}

std::string ProposalOptions(const Proposal& proposal) {
  std::string out;
  for (const Proposal::Entry& entry : proposal.entries)
    out += (out.empty() ? "" : " ") + OptionText(entry.option, entry.path);
  return out;
}

std::string ProposalText(const Proposal& proposal) {
  std::string out;
  if (proposal.entries.empty() && proposal.left.empty())
    return "cordon trace: nothing was refused; the policy is enough for this run\n";
  if (proposal.entries.empty()) {
    out += "cordon trace: there is nothing to propose\n";
  } else {
    out +=
        "cordon trace: these additions would let through what no rule speaks of; read them "
        "before you use them\n\n" +
        ProposalJson(proposal) + "\nas options, before the command:\n  " +
        ProposalOptions(proposal) + "\n\nfor:\n";
  }
  for (const Proposal::Entry& entry : proposal.entries) {
    out += "  " + OptionText(entry.option, entry.path) + "\n";
    for (const std::string& example : entry.examples) out += "      " + example + "\n";
    if (entry.targets > entry.examples.size())
      out += "      and " + std::to_string(entry.targets - entry.examples.size()) + " more\n";
    if (!IsText(entry.path)) out += "      its name is not UTF-8: only as an option\n";
  }
  if (proposal.left.empty()) return out;
  out += "\nnot proposed:\n";
  for (std::size_t i = 0; i < std::min(proposal.left.size(), kShownLeft); ++i)
    out += "  " + proposal.left[i].what + "\n      " + proposal.left[i].why + "\n";
  if (proposal.left.size() > kShownLeft)
    out += "  and " + std::to_string(proposal.left.size() - kShownLeft) + " more\n";
  return out;
}

}  // namespace cordon::cli
