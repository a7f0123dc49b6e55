// How one rule matches one path; shared by Decide and Compile.
#pragma once

#include <cstddef>
#include <string_view>

#include "policy/policy.h"

namespace cordon::policy {

// Length in bytes of `directory` when `path` is it or lies below it, else 0. Names from offset
// `fold_from` of `directory` on are compared case-folded.
std::size_t LiteralMatch(std::string_view path, std::string_view directory, std::size_t fold_from);
// Longest match of the rule on the path or one of its ancestors; 0 when there is none.
std::size_t RuleMatch(const Rule& rule, std::string_view path);
// True when one of the rule's own literal or found paths lies strictly below `path`.
bool RuleReachesBelow(const Rule& rule, std::string_view path);
// The kinds that open a path for writing, with their read_only taken into account.
bool OpensWriting(const Rule& rule);
// `denyRead "~/.ssh" (built-in deny-read set)`.
std::string DescribeRule(const Rule& rule);
// `denyRead ~/.ssh (built-in deny-read set)`: the same for a table.
std::string LabelRule(const Rule& rule);

}  // namespace cordon::policy
