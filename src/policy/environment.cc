#include "policy/environment.h"

#include <algorithm>

namespace cordon::policy {
namespace {

using When = EnvRule::When;

// `pattern`: a name, or a prefix followed by '*'.
bool NameMatches(std::string_view pattern, std::string_view name) {
  if (!pattern.empty() && pattern.back() == '*') {
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return pattern == name;
}

bool MatchesAny(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [name](const std::string& p) { return NameMatches(p, name); });
}

const EnvRule* RuleFor(std::string_view name) {
  for (const EnvRule& rule : EnvRules()) {
    if (NameMatches(rule.name, name)) return &rule;
  }
  return nullptr;
}

bool Readable(const EnvironmentFacts& facts, std::string_view path) {
  return facts.readable && facts.readable(path);
}

bool Writable(const EnvironmentFacts& facts, std::string_view path) {
  return !facts.writable || facts.writable(path);
}

// Whether `ok` holds for every colon-separated path. An empty element means the working directory;
// a name alone is a file there, not a program.
template <typename Predicate>
bool EveryPath(std::string_view value, Predicate ok) {
  while (true) {
    const std::size_t colon = value.find(':');
    const std::string_view path = value.substr(0, colon);
    const bool name = path.find('/') == std::string_view::npos;
    if (!ok(name ? "./" + std::string(path) : std::string(path))) return false;
    if (colon == std::string_view::npos) return true;
    value.remove_prefix(colon + 1);
  }
}

// What ends a word where it is not quoted.
constexpr std::string_view kSeparators = " \t\n;|&()<>";

// The words of a command line. Quotes and backslashes join and vanish, as in a shell.
std::vector<std::string> Words(std::string_view value) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == '\\' && i + 1 < value.size()) {
      word += value[++i];
      open = true;
    } else if (kSeparators.find(c) != std::string_view::npos) {
      if (open) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) words.push_back(std::move(word));
  return words;
}

bool NamesWritableProgram(std::string_view value, const EnvironmentFacts& facts) {
  // Text that a shell expands first hides the path from this look.
  if (value.find_first_of("$`") != std::string_view::npos) return true;
  const std::vector<std::string> words = Words(value);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    // A quoted word with separators in it is a command line of its own: sh -c 'a | b'.
    const bool line = i > 0 && word.find_first_of(kSeparators) != std::string_view::npos;
    if (line && NamesWritableProgram(word, facts)) return true;
    // NAME=/path and --option=/path.
    const std::size_t equals = word.find('=');
    const bool assigned = equals != std::string_view::npos;
    if (assigned) word.remove_prefix(equals + 1);
    const bool program = i == 0 && !assigned;
    if (word.empty() || (!program && word.find('/') == std::string_view::npos)) continue;
    if (Writable(facts, word)) return true;
  }
  return false;
}

bool Removes(const EnvRule& rule, std::string_view value, const EnvironmentFacts& facts) {
  switch (rule.when) {
    case When::kAlways: return true;
    case When::kUnlessReadable:
      return !EveryPath(value, [&](const std::string& p) { return Readable(facts, p); });
    case When::kUnlessFixed:
      return !EveryPath(
          value, [&](const std::string& p) { return Readable(facts, p) && !Writable(facts, p); });
    case When::kIfWritablePath: return NamesWritableProgram(value, facts);
  }
  return true;
}

bool IsBashFunction(std::string_view name, std::string_view value) {
  // "() {" is how bash before 4.3-027 exported them; a shell of that age still runs the text.
  return name.starts_with("BASH_FUNC_") || value.starts_with("() {");
}

bool ValidName(std::string_view name) {
  return !name.empty() && name.find('=') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// Why a variable is removed; empty when it stays.
std::string RemovalReason(const std::string& name, const std::string& value,
                          const Environment& rules, const EnvironmentFacts& facts) {
  if (!ValidName(name)) return "its name is not a variable's name";
  if (value.find('\0') != std::string::npos) return "its value holds a NUL byte";
  if (IsBashFunction(name, value))
    return "an exported function: bash runs it in place of a program";
  if (MatchesAny(rules.drop, name)) return "environment.drop";
  if (std::find(rules.keep.begin(), rules.keep.end(), name) != rules.keep.end()) return {};
  const EnvRule* rule = RuleFor(name);
  if (rule != nullptr && Removes(*rule, value, facts)) return std::string(rule->reason);
  return {};
}

}  // namespace

CleanedEnvironment CleanEnvironment(const std::map<std::string, std::string>& inherited,
                                    const Environment& rules, const EnvironmentFacts& facts) {
  CleanedEnvironment out;
  for (const auto& [name, value] : inherited) {
    std::string reason = RemovalReason(name, value, rules, facts);
    if (reason.empty()) {
      out.variables.emplace(name, value);
    } else {
      out.removed.push_back({name, std::move(reason)});
    }
  }
  for (const auto& [name, value] : rules.set) {
    if (ValidName(name) && value.find('\0') == std::string::npos) out.variables[name] = value;
  }
  return out;
}

std::map<std::string, std::string> EnvironmentFrom(const char* const* environ_block) {
  std::map<std::string, std::string> out;
  for (; *environ_block != nullptr; ++environ_block) {
    const std::string_view entry = *environ_block;
    // A name never starts with '=', so an entry "=x" has an empty name and is cleaned away later.
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

}  // namespace cordon::policy
