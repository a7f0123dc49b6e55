#include "policy/git_config.h"

#include <algorithm>
#include <array>

namespace cordon::policy {
namespace {

bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsKeyChar(char c) { return IsAlpha(c) || (c >= '0' && c <= '9') || c == '-'; }
// Git's own isspace: no vertical tab, no form feed.
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// As git's config.c reads, a character at a time; the end counts as the end of a line.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  bool Run(std::vector<GitConfigEntry>* out) {
    if (text_.find('\0') != std::string_view::npos) return false;
    bool comment = false;
    while (!AtEnd()) {
      const char c = Next();
      if (c == '\n') {
        comment = false;
      } else if (comment || IsSpace(c)) {
        continue;
      } else if (c == '#' || c == ';') {
        comment = true;
      } else if (c == '[') {
        if (!Section()) return false;
      } else if (!IsAlpha(c) || section_.empty() || !Key(c, out)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  char Next() {
    if (AtEnd()) return '\n';
    const char c = text_[at_++];
    if (c != '\r' || at_ >= text_.size() || text_[at_] != '\n') return c;
    ++at_;
    return '\n';
  }

  bool Section() {
    section_.clear();
    subsection_.clear();
    bool dotted = false;
    while (true) {
      if (AtEnd()) return false;
      const char c = Next();
      // An empty subsection is another section to git than none.
      if (c == ']') return !section_.empty() && (!dotted || !subsection_.empty());
      if (IsSpace(c)) return !dotted && !section_.empty() && Subsection(c);
      if (c == '.' && !dotted && !section_.empty()) {
        dotted = true;
      } else if (!IsKeyChar(c) && c != '.') {
        return false;
      } else {
        (dotted ? subsection_ : section_) += Lower(c);
      }
    }
  }

  bool Subsection(char c) {
    while (IsSpace(c) && c != '\n') {
      if (AtEnd()) return false;
      c = Next();
    }
    if (c != '"') return false;
    while (true) {
      if (AtEnd()) return false;
      c = Next();
      if (c == '"') break;
      if (c == '\\') c = Next();
      if (c == '\n') return false;
      subsection_ += c;
    }
    return !subsection_.empty() && !AtEnd() && Next() == ']';
  }

  bool Key(char c, std::vector<GitConfigEntry>* out) {
    GitConfigEntry entry{section_, subsection_, std::string(1, Lower(c)), std::nullopt};
    c = Next();
    for (; IsKeyChar(c); c = Next()) entry.key += Lower(c);
    while (c == ' ' || c == '\t') c = Next();
    if (c != '\n') {
      if (c != '=') return false;
      std::string value;
      if (!Value(&value)) return false;
      entry.value = std::move(value);
    }
    out->push_back(std::move(entry));
    return true;
  }

  bool Value(std::string* value) {
    bool quoted = false, comment = false;
    std::string space;
    while (true) {
      char c = Next();
      if (c == '\n') return !quoted;
      if (comment) continue;
      if (IsSpace(c) && !quoted) {
        if (!value->empty()) space += c;
        continue;
      }
      if (!quoted && (c == ';' || c == '#')) {
        comment = true;
        continue;
      }
      *value += space;
      space.clear();
      if (c == '"') {
        quoted = !quoted;
        continue;
      }
      if (c == '\\') {
        if (AtEnd()) return false;
        c = Next();
        if (c == '\n') continue;
        if (!Escape(&c)) return false;
      }
      *value += c;
    }
  }

  static bool Escape(char* c) {
    switch (*c) {
      case 't': *c = '\t'; return true;
      case 'b': *c = '\b'; return true;
      case 'n': *c = '\n'; return true;
      case '\\':
      case '"': return true;
      default: return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string section_, subsection_;
};

}  // namespace

std::string GitConfigEntry::Name() const {
  return section + "." + (subsection.empty() ? "" : subsection + ".") + key;
}

std::optional<std::vector<GitConfigEntry>> ParseGitConfig(std::string_view text) {
  std::vector<GitConfigEntry> entries;
  if (!Parser(text).Run(&entries)) return std::nullopt;
  return entries;
}

}  // namespace cordon::policy
