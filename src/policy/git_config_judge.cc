// Which changes of a git configuration are harmless: one table of keys, and what their values may
// be.
#include <algorithm>
#include <array>

#include "policy/git_config.h"

namespace cordon::policy {
namespace {

using Entries = std::vector<GitConfigEntry>;

// What a changed value must be.
enum class Form {
  kBoolean,
  kVersion,  // 0 or 1
  kRemote,   // the name of a remote that is there, or "."
  kRef,      // refs/...
  kRefspec,
  kUrl,
  kText,  // anything on one line that git does not run
  kPathspec,
  kTagOption,  // --tags, --no-tags
  kUpdate,     // how a submodule is brought up to date; no "!command"
  kRebase,
  kHash,
  kFilter,  // a filter of objects: blob:none
  kWorktree,
};

struct Row {
  std::string_view section;
  bool named;  // has a subsection
  std::string_view key;
  Form form;
  bool always = false;  // also in a repository that was there before the session
};

constexpr auto kRows = std::to_array<Row>({
    {"branch", true, "remote", Form::kRemote, true},
    {"branch", true, "merge", Form::kRef, true},
    {"branch", true, "pushremote", Form::kRemote},
    {"branch", true, "rebase", Form::kRebase},
    {"core", false, "repositoryformatversion", Form::kVersion},
    {"core", false, "bare", Form::kBoolean},
    {"core", false, "filemode", Form::kBoolean},
    {"core", false, "ignorecase", Form::kBoolean},
    {"core", false, "logallrefupdates", Form::kBoolean},
    {"core", false, "symlinks", Form::kBoolean},
    {"core", false, "precomposeunicode", Form::kBoolean},
    {"core", false, "worktree", Form::kWorktree},
    {"extensions", false, "objectformat", Form::kHash},
    {"extensions", false, "partialclone", Form::kRemote},
    {"remote", true, "url", Form::kUrl},
    {"remote", true, "pushurl", Form::kUrl},
    {"remote", true, "fetch", Form::kRefspec},
    {"remote", true, "mirror", Form::kBoolean},
    {"remote", true, "tagopt", Form::kTagOption},
    {"remote", true, "promisor", Form::kBoolean},
    {"remote", true, "partialclonefilter", Form::kFilter},
    {"submodule", false, "active", Form::kPathspec},
    {"submodule", true, "active", Form::kBoolean},
    {"submodule", true, "url", Form::kUrl},
    {"submodule", true, "update", Form::kUpdate},
    {"user", false, "name", Form::kText},
    {"user", false, "email", Form::kText},
});

const Row* FindRow(const GitConfigEntry& entry) {
  for (const Row& row : kRows) {
    const bool named = !entry.subsection.empty();
    if (row.section == entry.section && row.named == named && row.key == entry.key) return &row;
  }
  return nullptr;
}

bool OneOf(std::string_view text, std::initializer_list<std::string_view> choices) {
  return std::find(choices.begin(), choices.end(), text) != choices.end();
}

bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool IsBoolean(const std::optional<std::string>& value) {
  return !value || OneOf(*value, {"true", "false", "yes", "no", "on", "off", "0", "1"});
}

bool IsRemoteName(std::string_view name) {
  const auto odd = [](char c) {
    return std::string_view(" ~^:?*[\\").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.front() != '-' && name.front() != '/' && !HasControl(name) &&
         name.find("..") == std::string_view::npos && std::none_of(name.begin(), name.end(), odd);
}

bool IsRelativeTree(std::string_view path) {
  if (HasControl(path) || !path.starts_with("../")) return false;
  while (path.starts_with("../")) path.remove_prefix(3);
  const std::string whole = "/" + std::string(path) + "/";
  return !path.empty() && whole.find("/../") == std::string::npos &&
         whole.find("/./") == std::string::npos && whole.find("//") == std::string::npos &&
         whole.find("/.git/") == std::string::npos;
}

bool HasRemote(const Entries& entries, std::string_view name) {
  return std::any_of(entries.begin(), entries.end(), [&](const GitConfigEntry& e) {
    return e.section == "remote" && e.subsection == name && e.key == "url";
  });
}

bool FitsForm(Form form, const GitConfigEntry& entry, const Entries& all) {
  if (form == Form::kBoolean) return IsBoolean(entry.value);
  if (!entry.value || HasControl(*entry.value)) return false;
  const std::string_view value = *entry.value;
  if (form == Form::kTagOption) return OneOf(value, {"--tags", "--no-tags"});
  if (value.starts_with('-')) return false;
  switch (form) {
    case Form::kVersion: return OneOf(value, {"0", "1"});
    case Form::kRemote: return value == "." || HasRemote(all, value);
    case Form::kRef: return value.starts_with("refs/");
    case Form::kRefspec: {
      const std::string_view rest = value.substr(value.starts_with('+') ? 1 : 0);
      return !rest.empty() && rest.find(' ') == rest.npos && !rest.starts_with('-');
    }
    case Form::kUrl: return IsPlainGitUrl(value);
    case Form::kUpdate: return OneOf(value, {"none", "checkout", "rebase", "merge"});
    case Form::kRebase: return OneOf(value, {"true", "false", "merges", "interactive"});
    case Form::kHash: return OneOf(value, {"sha1", "sha256"});
    case Form::kFilter:
      return std::all_of(value.begin(), value.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':' || c == '=' || c == '+';
      });
    case Form::kWorktree: return IsRelativeTree(value);
    case Form::kText:
    case Form::kPathspec: return true;
    case Form::kBoolean:
    case Form::kTagOption: break;
  }
  return false;
}

GitConfigVerdict Refuse(const GitConfigEntry& entry, std::string_view what) {
  GitConfigVerdict verdict;
  verdict.key = entry.Name();
  verdict.reason = "git config " + verdict.key + " " + std::string(what);
  return verdict;
}

GitConfigVerdict NotUnderstood(std::string_view which) {
  GitConfigVerdict verdict;
  verdict.reason = "the git config " + std::string(which) + " is not understood wholly";
  return verdict;
}

// The entries that must stay as they are.
std::vector<const GitConfigEntry*> Fixed(const Entries& entries, RepositoryOrigin origin) {
  std::vector<const GitConfigEntry*> fixed;
  for (const GitConfigEntry& entry : entries) {
    const Row* row = FindRow(entry);
    const bool free = row != nullptr && (row->always || origin == RepositoryOrigin::kMade);
    // `git branch -d` takes the whole section away.
    if (!free && entry.section != "branch") fixed.push_back(&entry);
  }
  return fixed;
}

std::string Shown(const GitConfigEntry& entry) {
  std::string value = entry.value.value_or("");
  if (HasControl(value)) return "is not a value that may be set in a session";
  if (value.size() > 100) value.resize(100);
  return "= " + value + " is not a value that may be set in a session";
}

}  // namespace

bool IsPlainGitUrl(std::string_view url) {
  if (url.empty() || url.front() == '-' || HasControl(url)) return false;
  const auto scheme_char = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.';
  };
  const std::size_t length =
      static_cast<std::size_t>(std::find_if_not(url.begin(), url.end(), scheme_char) - url.begin());
  const std::string_view rest = url.substr(length);
  if (rest.starts_with("::")) return false;  // a helper
  std::string_view host;
  if (rest.starts_with("://")) {
    std::string scheme(url.substr(0, length));
    std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (!OneOf(scheme, {"https", "http", "ssh", "file"})) return false;
    host = rest.substr(3);
    if (scheme == "file") return true;
    host = host.substr(0, host.find('/'));
  } else {
    const std::size_t colon = url.find(':');
    if (colon == url.npos || url.find('/') < colon) return true;  // a path
    if (url.substr(colon + 1).starts_with('-')) return false;
    host = url.substr(0, colon);
  }
  if (host.starts_with('-')) return false;
  const std::size_t at = host.rfind('@');
  if (at != host.npos) host.remove_prefix(at + 1);
  return !host.empty() && host.front() != '-';
}

GitConfigVerdict JudgeGitConfig(std::string_view before, std::string_view after,
                                RepositoryOrigin origin) {
  const auto old_entries = ParseGitConfig(before);
  if (!old_entries) return NotUnderstood("that is there");
  const auto entries = ParseGitConfig(after);
  if (!entries) return NotUnderstood("that would take its place");

  const auto old_fixed = Fixed(*old_entries, origin), fixed = Fixed(*entries, origin);
  for (std::size_t i = 0; i < std::max(old_fixed.size(), fixed.size()); ++i) {
    if (i >= fixed.size()) return Refuse(*old_fixed[i], "may not be removed in a session");
    if (i >= old_fixed.size() || *old_fixed[i] != *fixed[i])
      return Refuse(*fixed[i], origin == RepositoryOrigin::kExisted
                                   ? "may not be changed in a repository that was there before"
                                   : "may not be set in a session");
  }
  GitConfigVerdict verdict;
  Entries known = *old_entries;
  for (const GitConfigEntry& entry : *entries) {
    const Row* row = FindRow(entry);
    const auto same = std::find(known.begin(), known.end(), entry);
    if (same != known.end()) {
      known.erase(same);
      continue;
    }
    const bool free = row != nullptr && (row->always || origin == RepositoryOrigin::kMade);
    if (!free || !FitsForm(row->form, entry, *entries)) return Refuse(entry, Shown(entry));
    const bool names_remote = row->section == "remote" && !IsRemoteName(entry.subsection);
    if (names_remote) return Refuse(entry, "has no plain name of a remote");
    if (row->form == Form::kWorktree) {
      // Of two that are set git takes the last; only one is looked at by the caller.
      if (!verdict.worktree.empty()) return Refuse(entry, "is set twice");
      verdict.worktree = *entry.value;
    }
  }
  verdict.allowed = true;
  return verdict;
}

}  // namespace cordon::policy
