// From entries as written to rules: both readings, both spellings (as written and resolved).
#include <algorithm>

#include "policy/compiler.h"
#include "policy/path.h"
#include "policy/rule_match.h"

namespace cordon::policy {
namespace {

bool IsDeny(RuleKind kind) {
  return kind == RuleKind::kDenyRead || kind == RuleKind::kDenyWrite ||
         kind == RuleKind::kProtected || kind == RuleKind::kDenyName;
}

// "dir/**" without other magic is the directory, which is no glob.
std::string_view WithoutSubtreeTail(std::string_view text) {
  std::string_view head = text;
  while (head.size() >= 3 && head.substr(head.size() - 3) == "/**") head.remove_suffix(3);
  if (head == "**") return ".";
  if (head.empty() && !text.empty()) return "/";
  return glob::HasMagic(head) ? text : head;
}

// Without magic only an escape before a character that could be magic is one: "a\b" is a name.
std::string WithoutEscapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size() &&
                        std::string_view("*?[]{},\\").find(text[i + 1]) != std::string_view::npos;
    if (escape) ++i;
    out += text[i];
  }
  return out;
}

constexpr std::string_view kNeedsSupervisor =
    ": this also forbids names that do not exist yet, and the supervisor, which holds them, is "
    "missing";

// An entry of denyNames that takes names out of the others.
bool IsException(const PathEntry& entry) { return !entry.literal && entry.text.starts_with('!'); }

std::string Place(std::string_view field, const PathEntry& entry) {
  return std::string(field) + " \"" + entry.text + "\" (" + entry.source.ToString() + ")";
}

}  // namespace

Result<Rule> Compiler::FromEntry(RuleKind kind, const PathEntry& entry, std::string_view field) {
  Rule rule;
  rule.kind = kind;
  rule.text = entry.text;
  rule.source = entry.source;
  const auto in_rule = [&](Error e) { return Annotate(std::move(e), Place(field, entry)); };
  const std::string text(entry.literal ? std::string_view(entry.text)
                                       : WithoutSubtreeTail(entry.text));

  auto literal = AbsolutePath(text, context_.home, context_.workdir, PathReading::kLiteral);
  if (!literal.ok()) return in_rule(literal.error());
  const bool magic = !entry.literal && glob::HasMagic(text);
  // "link/.." is lexically nothing, but to the kernel the parent of where the link leads.
  const bool climbs = IsDeny(kind) && ("/" + text + "/").find("/../") != std::string::npos;
  if (climbs && !magic && text.front() != '~') {
    const std::string raw = text.front() == '/' ? text : context_.workdir + "/" + text;
    if (auto added = AddLiteral(&rule, raw); !added.ok()) return in_rule(added.error());
  }
  if (!magic) {
    const std::string plain = entry.literal ? *literal : WithoutEscapes(*literal);
    if (auto added = AddLiteral(&rule, plain); !added.ok()) return in_rule(added.error());
    if (plain != *literal && IsDeny(kind)) {
      if (auto added = AddLiteral(&rule, *literal); !added.ok()) return in_rule(added.error());
    }
    return rule;
  }
  // A name that exists exactly as written is that path; for a deny the pattern holds as well.
  const bool exists = fs_.Kind(*literal) != FileKind::kMissing;
  if (exists) {
    if (auto added = AddLiteral(&rule, *literal); !added.ok()) return in_rule(added.error());
    if (!IsDeny(kind)) return rule;
  }
  auto pattern = AbsolutePath(text, context_.home, context_.workdir);
  Status added = pattern.ok() ? AddGlob(&rule, *pattern) : Status(pattern.error());
  if (!added.ok()) {
    if (exists) return rule;  // no pattern at all, such as "[draft": the path is all it can mean
    return in_rule(added.error());
  }
  return rule;
}

Result<Rule> Compiler::FromPath(RuleKind kind, const std::string& path, std::string_view origin,
                                std::string_view reason) {
  Rule rule;
  rule.kind = kind;
  rule.text = path;
  rule.source.origin = origin;
  rule.reason = reason;
  if (auto added = AddLiteral(&rule, path); !added.ok()) {
    return Annotate(std::move(added).error(), DescribeRule(rule));
  }
  return rule;
}

Result<ResolvedPath> Compiler::Resolve(const std::string& path) {
  if (path == "/" || NormalizePath(path) != path) return ResolveLinks(path, fs_);
  const std::string above(ParentPath(path));
  auto known = resolved_.find(above);
  if (known == resolved_.end()) {
    CORDON_TRY(ResolvedPath parent, Resolve(above));
    known = resolved_.emplace(above, std::move(parent)).first;
  }
  const ResolvedPath& parent = known->second;
  ResolvedPath out;
  out.path = JoinPath(parent.path, BaseName(path));
  if (parent.kind == FileKind::kMissing) return out;
  out.kind = fs_.Kind(out.path);
  if (out.kind == FileKind::kSymlink) return ResolveLinks(path, fs_);
  return out;
}

Status Compiler::AddLiteral(Rule* rule, const std::string& path) {
  CORDON_TRY(ResolvedPath resolved, Resolve(path));
  const auto add_path = [&](const std::string& p) {
    if (std::find(rule->paths.begin(), rule->paths.end(), p) != rule->paths.end()) return;
    rule->paths.push_back(p);
    rule->fold_from.push_back(FoldFrom(p));
  };
  add_path(NormalizePath(path));
  add_path(resolved.path);
  // Every link of a chain is a name that could be replaced.
  for (const std::string& link : resolved.links) {
    rule->links.push_back(link);
    if (IsDeny(rule->kind)) add_path(link);
  }
  const ExistingPath found{resolved.path, resolved.kind};
  const bool known =
      std::find(rule->existing.begin(), rule->existing.end(), found) != rule->existing.end();
  if (resolved.kind != FileKind::kMissing && !known) rule->existing.push_back(found);
  return Ok();
}

Status Compiler::AddGlobText(Rule* rule, const std::string& text) {
  CORDON_TRY(glob::Pattern plain, glob::Pattern::Parse(text));
  const bool folds = FoldFrom(JoinPath(plain.fixed_prefix(), "x")) != std::string::npos;
  if (folds) {
    CORDON_TRY(glob::Pattern folded, glob::Pattern::Parse(text, glob::Case::kFolded));
    rule->patterns.push_back(std::move(folded));
  } else {
    rule->patterns.push_back(std::move(plain));
  }
  rule->globs.push_back(text);
  rule->pattern_folds.push_back(folds);
  return Ok();
}

Status Compiler::AddGlob(Rule* rule, const std::string& text) {
  CORDON_CHECK(AddGlobText(rule, text));
  const std::string prefix = rule->patterns.back().fixed_prefix();
  const std::string suffix = rule->patterns.back().magic_suffix();
  CORDON_TRY(std::string resolved, ResolvePath(prefix, fs_));
  if (resolved == prefix) return Ok();
  return AddGlobText(rule, PatternStart(resolved) + suffix);
}

std::size_t Compiler::FoldFrom(const std::string& path) {
  const std::string parent(ParentPath(path));
  const auto known = fold_cache_.find(parent);
  if (known != fold_cache_.end()) return known->second;
  std::size_t from = parent == "/" ? std::string::npos : FoldFrom(parent);
  if (from == std::string::npos && fs_.Kind(parent) != FileKind::kMissing &&
      fs_.CaseFolds(parent)) {
    from = parent == "/" ? 1 : parent.size() + 1;
  }
  fold_cache_.emplace(parent, from);
  return from;
}

Status Compiler::AddEntries(RuleKind kind, const std::vector<PathEntry>& entries,
                            std::string_view field) {
  const bool mode_forbids = kind == RuleKind::kAllowWrite && spec_.mode != Mode::kChat;
  for (const PathEntry& entry : entries) {
    CORDON_TRY(Rule rule, FromEntry(kind, entry, field));
    rule.read_only = mode_forbids;
    if (rule.kind == RuleKind::kProtected) rule.reason = "the specification protects it";
    const bool refuses = kind == RuleKind::kDenyWrite || kind == RuleKind::kProtected;
    if (refuses && !rule.globs.empty() && !context_.supervised) {
      return MakeError(
          ErrorCode::kUnsupported, Place(field, entry) + std::string(kNeedsSupervisor),
          "name the existing files and directories one by one (with \"literal\": true where a "
          "name itself holds * ? [ or {), or run on Linux 5.19 or later");
    }
    policy_.rules.push_back(std::move(rule));
  }
  return Ok();
}

// A name is forbidden anywhere in the writable area: one glob for each writable root. What exists
// is not looked for: the supervisor judges a name when it is used.
Status Compiler::AddDenyNames() {
  const std::vector<PathEntry>& entries = spec_.filesystem.deny_names;
  const bool defaults = spec_.filesystem.default_deny_names;
  if (entries.empty() && !defaults) return Ok();
  if (!context_.supervised) {
    const std::string what =
        entries.empty() ? "defaultDenyNames" : Place("denyNames", entries.front());
    return MakeError(ErrorCode::kUnsupported, what + std::string(kNeedsSupervisor),
                     "name the existing files in denyWrite, or run on Linux 5.19 or later");
  }
  const std::vector<std::string> roots = WritableRoots();
  std::vector<PathEntry> exceptions;  // the user's own hold for the built-in list too
  for (const PathEntry& entry : entries) {
    if (IsException(entry)) exceptions.push_back(entry);
  }
  for (const PathEntry& entry : entries) {
    if (!IsException(entry)) CORDON_CHECK(AddDenyName(entry, "", roots, exceptions));
  }
  if (!defaults) return Ok();
  const auto built_in = [](const DenyNameEntry& row) {
    return PathEntry{std::string(row.pattern), false, {"built-in name list", 0, 0}};
  };
  for (const DenyNameEntry& row : DenyNameDefaults()) {
    if (IsException(built_in(row))) exceptions.push_back(built_in(row));
  }
  for (const DenyNameEntry& row : DenyNameDefaults()) {
    const PathEntry entry = built_in(row);
    if (!IsException(entry)) CORDON_CHECK(AddDenyName(entry, row.reason, roots, exceptions));
  }
  return Ok();
}

Status Compiler::AddDenyName(const PathEntry& entry, std::string_view reason,
                             const std::vector<std::string>& roots,
                             const std::vector<PathEntry>& exceptions) {
  const auto below = [](const std::string& root, std::string_view name) {
    while (!name.empty() && name.front() == '/') name.remove_prefix(1);
    return PatternStart(root) + "/**/" + std::string(name);
  };
  Rule rule;
  rule.kind = RuleKind::kDenyName;
  rule.text = entry.text;
  rule.source = entry.source;
  rule.reason = reason;
  for (const std::string& root : roots) {
    for (const PathEntry& exception : exceptions) {
      const std::string text = below(root, std::string_view(exception.text).substr(1));
      auto pattern = glob::Pattern::Parse(text);
      if (!pattern.ok()) return Annotate(std::move(pattern).error(), Place("denyNames", exception));
      rule.exceptions.push_back(text);
      rule.exception_patterns.push_back(*std::move(pattern));
    }
    const std::string text = below(root, entry.literal ? glob::Escape(entry.text) : entry.text);
    if (auto added = AddGlobText(&rule, text); !added.ok())
      return Annotate(std::move(added).error(), Place("denyNames", entry));
  }
  policy_.rules.push_back(std::move(rule));
  return Ok();
}

}  // namespace cordon::policy
