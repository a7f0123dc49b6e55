// network.allowUnixSockets: which sockets of the host may be connected to.
#include <algorithm>

#include "policy/compiler.h"
#include "policy/path.h"
#include "policy/rule_match.h"

namespace cordon::policy {

Status Compiler::AddSockets() {
  for (const PathEntry& entry : spec_.network.allow_unix_sockets) {
    CORDON_TRY(Rule rule, FromEntry(RuleKind::kAllowSocket, entry, "allowUnixSockets"));
    if (!rule.globs.empty()) {
      return MakeError(ErrorCode::kInvalid,
                       DescribeRule(rule) +
                           ": a pattern would also allow sockets that nobody "
                           "thought of",
                       "name each socket (with \"literal\": true where its name holds * ? [ or {)");
    }
    if (rule.existing.empty()) {
      Warn(DescribeRule(rule) +
           " is not there: it must exist when the session starts to be seen below a directory that "
           "is hidden or the session's own");
    } else if (rule.existing.front().kind != FileKind::kOther) {
      // A directory would open everything below it, and a file would be readable by this rule.
      const bool directory = rule.existing.front().kind == FileKind::kDirectory;
      return MakeError(
          ErrorCode::kInvalid,
          DescribeRule(rule) + (directory ? " is a directory, not a socket" : " is no socket"),
          directory ? "name the socket itself" : "take it out; --allow-read is for files");
    }
    policy_.rules.push_back(std::move(rule));
  }
  return Ok();
}

// A session could have put a link to any socket of the host in place of the one that was meant,
// wherever it may write.
Status Compiler::CheckSocketLinks() {
  for (const Rule& rule : policy_.rules) {
    if (rule.kind != RuleKind::kAllowSocket || rule.paths.size() < 2) continue;
    const std::string& real = rule.paths.back();
    const auto any_rule = [&](auto matches) {
      return std::any_of(policy_.rules.begin(), policy_.rules.end(), matches);
    };
    const auto in_writable = [&](const std::string& link) {
      return any_rule(
          [&](const Rule& r) { return OpensWriting(r) && RuleMatch(r, ParentPath(link)) != 0; });
    };
    const bool plantable = in_writable(rule.paths.front()) ||
                           std::any_of(rule.links.begin(), rule.links.end(), in_writable);
    const bool named = any_rule([&](const Rule& r) {
      return r.kind == RuleKind::kAllowSocket && &r != &rule && r.paths.front() == real;
    });
    if (!plantable || named) continue;
    return MakeError(ErrorCode::kInvalid,
                     DescribeRule(rule) + ": " + rule.paths.front() +
                         " is reached through a link in a writable directory, which a session may "
                         "have made; it leads to " +
                         real,
                     "name that place itself, or remove the link");
  }
  return Ok();
}

}  // namespace cordon::policy
