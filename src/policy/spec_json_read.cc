#include <algorithm>
#include <string>

#include "policy/json_quantity.h"
#include "policy/json_reader.h"
#include "policy/spec_json.h"
#include "policy/spec_json_fields.h"
#include "policy/suggest.h"

namespace cordon::policy {
namespace {

using Type = JsonValue::Type;

constexpr std::uint64_t kMaxBytes = 0x7FFF'FFFF'FFFF'FFFF;
constexpr double kMaxCpus = 4096;

bool IsIdentifier(std::string_view text) {
  if (text.empty() || text.size() > 64 || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

bool IsVariableName(std::string_view text) {
  return !text.empty() && text.find_first_of("=*") == std::string_view::npos;
}

class SpecReader {
 public:
  SpecReader(const std::string& origin, Ids ids) : origin_(origin), ids_(ids) {}

  Result<SandboxSpec> Read(const JsonValue& root) {
    CORDON_CHECK(ReadFields(root, SpecFields(), ""));
    return std::move(spec_);
  }

 private:
  Error Fail(ErrorCode code, JsonPosition where, std::string message, std::string remedy = {}) {
    return MakeError(code,
                     origin_ + ":" + std::to_string(where.line) + ":" +
                         std::to_string(where.column) + ": " + std::move(message),
                     std::move(remedy));
  }
  Error Invalid(const JsonValue& value, std::string message, std::string remedy = {}) {
    return Fail(ErrorCode::kInvalid, value.position, std::move(message), std::move(remedy));
  }
  Error Unsupported(const JsonValue& value, const std::string& what, std::string remedy) {
    return Fail(
        ErrorCode::kUnsupported, value.position,
        what + " is not supported: this version gives a sandbox no network and no credentials",
        std::move(remedy));
  }
  // "view must be "bound" or "host", not a number".
  Error Expected(const JsonValue& value, const std::string& path, std::string_view what) {
    std::string found = value.TypeName();
    if (value.type == Type::kString && value.text.size() <= 64) found = QuoteJson(value.text);
    if (value.type == Type::kNumber && value.text.size() <= 64) found = value.text;
    return Invalid(value, (path.empty() ? "a spec" : path) + " must be " + std::string(what) +
                              ", not " + found);
  }
  Source SourceOf(const JsonValue& value) const {
    return {origin_, value.position.line, value.position.column};
  }

  Error UnknownField(const JsonMember& member, std::span<const std::string_view> known,
                     const std::string& path) {
    std::string remedy = BelongsIn(member.name);
    if (const auto near = Nearest(member.name, known); remedy.empty() && near) {
      remedy = "did you mean " + QuoteJson(*near) + "?";
    } else if (remedy.empty()) {
      remedy = "known fields: ";
      for (std::size_t i = 0; i < known.size(); ++i) {
        remedy += (i > 0 ? ", " : "") + std::string(known[i]);
      }
    }
    return Fail(ErrorCode::kInvalid, member.position,
                "unknown field " + QuoteJson(member.name) + (path.empty() ? "" : " in " + path),
                std::move(remedy));
  }

  // Where a field of that very name stands; "" when there is none.
  static std::string BelongsIn(std::string_view name) {
    for (const Field& field : SpecFields()) {
      if (field.name == name) return "it belongs at the top level";
      for (const Field& inner : field.fields) {
        if (inner.name == name) return "it belongs in " + QuoteJson(field.name);
      }
    }
    return {};
  }

  Status ReadFields(const JsonValue& value, std::span<const Field> fields,
                    const std::string& path) {
    if (value.type != Type::kObject) return Expected(value, path, "an object");
    for (const JsonMember& member : value.members) {
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&member](const Field& f) { return f.name == member.name; });
      if (field == fields.end()) {
        std::vector<std::string_view> known;
        for (const Field& f : fields) known.push_back(f.name);
        return UnknownField(member, known, path);
      }
      CORDON_CHECK(ReadField(*field, member.value, FieldPath(path, member.name)));
    }
    for (const Field& field : fields) {
      if (field.required && ids_ == Ids::kRequired && value.Find(field.name) == nullptr) {
        return Invalid(value, FieldPath(path, field.name) + " is missing",
                       "it is the " + std::string(field.meaning));
      }
    }
    return Ok();
  }

  Status ReadField(const Field& field, const JsonValue& value, const std::string& path) {
    return std::visit(
        [&](auto slot) -> Status {
          if constexpr (std::is_same_v<decltype(slot), std::monostate>) {
            return ReadUnkept(field, value, path);
          } else {
            return Take(value, path, field.form, *slot(spec_));
          }
        },
        field.slot);
  }

  Status ReadUnkept(const Field& field, const JsonValue& value, const std::string& path) {
    switch (field.form) {
      case Form::kObject: return ReadFields(value, field.fields, path);
      case Form::kIgnored:
        if (value.type != Type::kString) return Expected(value, path, "a string");
        return Ok();
      case Form::kNoNetworkFlag:
        if (value.type != Type::kBool) return Expected(value, path, "true or false");
        if (value.boolean)
          return Unsupported(value, path + ": true", "set it to false or leave it out");
        return Ok();
      case Form::kNoList:
        if (value.type != Type::kArray) return Expected(value, path, "a list");
        if (!value.items.empty()) {
          return Unsupported(value.items.front(), path, "leave the list empty or out");
        }
        return Ok();
      case Form::kNoNetworkMode:
        if (value.type != Type::kString) return Expected(value, path, "\"none\"");
        if (value.text == "none") return Ok();
        return Unsupported(value, path + ": " + QuoteJson(value.text),
                           "set it to \"none\" or leave it out");
      default: return ReadWithoutNetwork(field, value, path);
    }
  }

  // network and credentials: accepted where they ask for what this version does anyway.
  Status ReadWithoutNetwork(const Field& field, const JsonValue& value, const std::string& path) {
    if (value.type != Type::kObject) return Expected(value, path, "an object");
    std::vector<std::string_view> known;
    for (const Field& f : field.fields) known.push_back(f.name);
    for (const JsonMember& member : value.members) {
      const std::string inner = FieldPath(path, member.name);
      const auto kept = std::find(known.begin(), known.end(), member.name);
      if (kept != known.end()) {
        const auto at = static_cast<std::size_t>(kept - known.begin());
        CORDON_CHECK(ReadField(field.fields[at], member.value, inner));
        continue;
      }
      if (Nearest(member.name, known)) return UnknownField(member, known, path);
      return Fail(
          ErrorCode::kUnsupported, member.position,
          inner + " is not supported: this version gives a sandbox no network and no credentials",
          "leave it out");
    }
    return Ok();
  }

  Status TakeText(const JsonValue& value, const std::string& path, Form form, std::string& out) {
    if (value.type != Type::kString) return Expected(value, path, "a string");
    if (value.text.empty()) return Invalid(value, path + " must not be empty");
    if (form == Form::kIdentifier && !IsIdentifier(value.text)) {
      return Expected(value, path, "1 to 64 of A-Z a-z 0-9 . _ -");
    }
    if (form == Form::kAbsolutePath && !value.text.starts_with('/')) {
      return Expected(value, path, "an absolute path");
    }
    out = value.text;
    return Ok();
  }

  Status Take(const JsonValue& value, const std::string& path, Form form, std::string& out) {
    return TakeText(value, path, form, out);
  }

  Status Take(const JsonValue& value, const std::string& path, Form form,
              std::optional<std::string>& out) {
    if (value.type == Type::kNull) return Ok();
    if (value.type != Type::kString) return Expected(value, path, "a string or null");
    return TakeText(value, path, form, out.emplace());
  }

  Status Take(const JsonValue& value, const std::string& path, Form, bool& out) {
    if (value.type != Type::kBool) return Expected(value, path, "true or false");
    out = value.boolean;
    return Ok();
  }

  template <typename Enum>
  Status TakeChoice(const JsonValue& value, const std::string& path, std::span<const Enum> choices,
                    const char* (*name_of)(Enum), Enum& out) {
    std::string expected;
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const char* name = name_of(choices[i]);
      if (value.type == Type::kString && value.text == name) {
        out = choices[i];
        return Ok();
      }
      names.push_back(name);
      expected += i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ";
      expected += QuoteJson(name);
    }
    Error error = Expected(value, path, expected);
    if (value.type == Type::kString) {
      if (const auto near = Nearest(value.text, names)) {
        error.remedy = "did you mean " + QuoteJson(*near) + "?";
      }
    }
    return error;
  }

  Status Take(const JsonValue& value, const std::string& path, Form, View& out) {
    static constexpr View kViews[] = {View::kBound, View::kHost};
    return TakeChoice<View>(value, path, kViews, ViewName, out);
  }

  Status Take(const JsonValue& value, const std::string& path, Form, Mode& out) {
    static constexpr Mode kModes[] = {Mode::kChat, Mode::kReview, Mode::kPlan, Mode::kOrchestrate};
    return TakeChoice<Mode>(value, path, kModes, ModeName, out);
  }

  Status Take(const JsonValue& value, const std::string& path, Form form,
              std::optional<std::uint64_t>& out) {
    if (value.type == Type::kNull) return Ok();
    const bool bytes = form == Form::kBytes;
    const std::string_view what =
        bytes ? "a whole number of bytes, at least 1, or a size such as \"512M\" or \"2GiB\""
              : "a whole number, at least 1";
    std::optional<std::uint64_t> number = value.AsUint64();
    if (bytes && value.type == Type::kString) number = ParseByteSize(value.text);
    if (!number || *number == 0 || *number > kMaxBytes) return Expected(value, path, what);
    out = number;
    return Ok();
  }

  Status Take(const JsonValue& value, const std::string& path, Form, std::optional<double>& out) {
    if (value.type == Type::kNull) return Ok();
    const std::optional<double> number = value.AsDouble();
    if (!number || *number <= 0 || *number > kMaxCpus) {
      return Expected(value, path, "a number above 0 and at most 4096");
    }
    out = number;
    return Ok();
  }

  Status Take(const JsonValue& value, const std::string& path, Form,
              std::optional<std::chrono::milliseconds>& out) {
    if (value.type == Type::kNull) return Ok();
    std::optional<std::uint64_t> number = value.AsUint64();
    if (value.type == Type::kString) number = ParseMilliseconds(value.text);
    if (!number || *number == 0 || *number > kMaxMilliseconds) {
      return Expected(
          value, path,
          "a whole number of milliseconds, at least 1, or a time such as \"30s\" or \"5m\"");
    }
    out = std::chrono::milliseconds(*number);
    return Ok();
  }

  // Calls `read(item, "path[i]")` for each item of a list.
  template <typename ReadItem>
  Status EachItem(const JsonValue& value, const std::string& path, ReadItem read) {
    if (value.type != Type::kArray) return Expected(value, path, "a list");
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      CORDON_CHECK(read(value.items[i], path + "[" + std::to_string(i) + "]"));
    }
    return Ok();
  }

  Status Take(const JsonValue& value, const std::string& path, Form form,
              std::vector<std::string>& out) {
    return EachItem(value, path, [&](const JsonValue& item, const std::string& where) -> Status {
      std::string text;
      CORDON_CHECK(TakeText(item, where, Form::kPlain, text));
      std::string_view name = text;
      if (form == Form::kVariablePatterns && name.size() > 1 && name.ends_with('*')) {
        name.remove_suffix(1);
      }
      if (form == Form::kVariableNames && !IsVariableName(name)) {
        return Expected(item, where, "the name of a variable");
      }
      if (form == Form::kVariablePatterns && !IsVariableName(name)) {
        return Expected(item, where, "the name of a variable, or a prefix followed by one *");
      }
      if (form == Form::kPrograms &&
          name.find('/', name.starts_with('/') ? name.size() : 0) != std::string_view::npos) {
        return Expected(item, where, "the name of a program or an absolute path");
      }
      out.push_back(std::move(text));
      return Ok();
    });
  }

  Status Take(const JsonValue& value, const std::string& path, Form,
              std::map<std::string, std::string>& out) {
    if (value.type != Type::kObject) return Expected(value, path, "an object of strings");
    for (const JsonMember& member : value.members) {
      if (!IsVariableName(member.name)) {
        return Fail(ErrorCode::kInvalid, member.position,
                    QuoteJson(member.name) + " in " + path + " is not the name of a variable");
      }
      if (member.value.type != Type::kString) {
        return Expected(member.value, FieldPath(path, member.name), "a string");
      }
      out[member.name] = member.value.text;
    }
    return Ok();
  }

  Status Take(const JsonValue& value, const std::string& path, Form form,
              std::map<std::string, std::vector<std::string>>& out) {
    if (value.type != Type::kObject) return Expected(value, path, "an object of lists");
    for (const JsonMember& member : value.members) {
      if (member.name.empty()) {
        return Fail(ErrorCode::kInvalid, member.position, path + " has an empty command pattern",
                    "\"*\" stands for every command");
      }
      CORDON_CHECK(
          Take(member.value, path + "[" + QuoteJson(member.name) + "]", form, out[member.name]));
    }
    return Ok();
  }

  Status Take(const JsonValue& value, const std::string& path, Form, std::vector<PathEntry>& out) {
    return EachItem(value, path, [&](const JsonValue& item, const std::string& where) -> Status {
      PathEntry entry;
      entry.source = SourceOf(item);
      if (item.type == Type::kObject) {
        CORDON_CHECK(TakeLiteral(item, where, entry));
      } else if (item.type == Type::kString) {
        CORDON_CHECK(TakeText(item, where, Form::kPlain, entry.text));
      } else {
        return Expected(item, where, "a path, or {\"path\": ..., \"literal\": true}");
      }
      out.push_back(std::move(entry));
      return Ok();
    });
  }

  Status TakeLiteral(const JsonValue& item, const std::string& where, PathEntry& entry) {
    static constexpr std::string_view kKnown[] = {"path", "literal"};
    for (const JsonMember& member : item.members) {
      const std::string inner = FieldPath(where, member.name);
      if (member.name == "path") {
        CORDON_CHECK(TakeText(member.value, inner, Form::kPlain, entry.text));
      } else if (member.name == "literal") {
        CORDON_CHECK(Take(member.value, inner, Form::kPlain, entry.literal));
      } else {
        return UnknownField(member, kKnown, where);
      }
    }
    if (entry.text.empty()) return Invalid(item, where + ".path is missing");
    return Ok();
  }

  Status Take(const JsonValue& value, const std::string& path, Form, std::vector<BindMount>& out) {
    static constexpr std::string_view kKnown[] = {"hostPath", "guestPath", "readOnly"};
    return EachItem(value, path, [&](const JsonValue& item, const std::string& where) -> Status {
      if (item.type != Type::kObject) return Expected(item, where, "an object");
      BindMount mount;
      mount.source = SourceOf(item);
      for (const JsonMember& member : item.members) {
        const std::string inner = FieldPath(where, member.name);
        if (member.name == "hostPath") {
          CORDON_CHECK(TakeText(member.value, inner, Form::kAbsolutePath, mount.host_path));
        } else if (member.name == "guestPath") {
          CORDON_CHECK(TakeText(member.value, inner, Form::kAbsolutePath, mount.guest_path));
        } else if (member.name == "readOnly") {
          CORDON_CHECK(Take(member.value, inner, Form::kPlain, mount.read_only));
        } else {
          return UnknownField(member, kKnown, where);
        }
      }
      if (mount.host_path.empty()) return Invalid(item, where + ".hostPath is missing");
      if (mount.guest_path.empty()) mount.guest_path = mount.host_path;
      out.push_back(std::move(mount));
      return Ok();
    });
  }

  const std::string& origin_;
  const Ids ids_;  // the only fields that are required at all
  SandboxSpec spec_;
};

}  // namespace

Result<SandboxSpec> ParseSpec(std::string_view text, const std::string& origin, Ids ids) {
  CORDON_TRY(const JsonValue root, ParseJson(text, origin));
  return SpecReader(origin, ids).Read(root);
}

}  // namespace cordon::policy
