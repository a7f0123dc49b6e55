#include <string>

#include "policy/json_quantity.h"
#include "policy/json_writer.h"
#include "policy/spec_json.h"
#include "policy/spec_json_fields.h"

namespace cordon::policy {
namespace {

constexpr std::string_view kIdentifierPattern = "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,64}$";

JsonValue Typed(std::string_view type) {
  JsonValue out = JsonObject();
  AddMember(out, "type", JsonString(type));
  return out;
}

JsonValue Text(std::string_view pattern = {}) {
  JsonValue out = Typed("string");
  if (pattern.empty()) {
    AddMember(out, "minLength", JsonNumber(std::uint64_t{1}));
  } else {
    AddMember(out, "pattern", JsonString(pattern));
  }
  return out;
}

JsonValue ListOf(JsonValue items) {
  JsonValue out = Typed("array");
  AddMember(out, "items", std::move(items));
  return out;
}

JsonValue OneOf(std::vector<JsonValue> choices) {
  JsonValue list = JsonArray();
  list.items = std::move(choices);
  JsonValue out = JsonObject();
  AddMember(out, "anyOf", std::move(list));
  return out;
}

JsonValue Count() {
  JsonValue out = Typed("integer");
  AddMember(out, "minimum", JsonNumber(std::uint64_t{1}));
  return out;
}

JsonValue Required(std::initializer_list<std::string_view> names) {
  JsonValue out = JsonArray();
  for (std::string_view name : names) out.items.push_back(JsonString(name));
  return out;
}

JsonValue Closed(JsonValue properties, JsonValue required) {
  JsonValue out = Typed("object");
  if (!required.items.empty()) AddMember(out, "required", std::move(required));
  AddMember(out, "properties", std::move(properties));
  AddMember(out, "additionalProperties", JsonBool(false));
  return out;
}

JsonValue PathEntrySchema() {
  JsonValue properties = JsonObject();
  AddMember(properties, "path", Text());
  AddMember(properties, "literal", Typed("boolean"));
  return OneOf({Text(), Closed(std::move(properties), Required({"path"}))});
}

JsonValue BindMountSchema() {
  JsonValue properties = JsonObject();
  AddMember(properties, "hostPath", Text("^/"));
  AddMember(properties, "guestPath", Text("^/"));
  AddMember(properties, "readOnly", Typed("boolean"));
  return Closed(std::move(properties), Required({"hostPath"}));
}

JsonValue Choice(std::initializer_list<const char*> names) {
  JsonValue list = JsonArray();
  for (const char* name : names) list.items.push_back(JsonString(name));
  JsonValue out = JsonObject();
  AddMember(out, "enum", std::move(list));
  return out;
}

std::string_view TextPattern(Form form) {
  switch (form) {
    case Form::kIdentifier: return kIdentifierPattern;
    case Form::kAbsolutePath: return "^/";
    case Form::kVariableNames: return "^[^=*]+$";
    case Form::kVariablePatterns: return "^[^=*]+\\*?$";
    case Form::kPrograms: return "^(/[^\\u0000]*|[^/]+)$";
    default: return {};
  }
}

// One overload per type of slot.
JsonValue SchemaOf(SlotOf<std::string>, Form form) { return Text(TextPattern(form)); }
JsonValue SchemaOf(SlotOf<std::optional<std::string>>, Form form) {
  return OneOf({Text(TextPattern(form)), Typed("null")});
}
JsonValue SchemaOf(SlotOf<bool>, Form) { return Typed("boolean"); }
JsonValue SchemaOf(SlotOf<View>, Form) {
  return Choice({ViewName(View::kBound), ViewName(View::kHost)});
}
JsonValue SchemaOf(SlotOf<Mode>, Form) {
  return Choice({ModeName(Mode::kChat), ModeName(Mode::kReview), ModeName(Mode::kPlan),
                 ModeName(Mode::kOrchestrate)});
}
JsonValue SchemaOf(SlotOf<std::optional<std::uint64_t>>, Form form) {
  if (form == Form::kBytes) return OneOf({Count(), Text(kByteSizePattern), Typed("null")});
  return OneOf({Count(), Typed("null")});
}
JsonValue SchemaOf(SlotOf<std::optional<double>>, Form) {
  JsonValue number = Typed("number");
  AddMember(number, "exclusiveMinimum", JsonNumber(std::uint64_t{0}));
  AddMember(number, "maximum", JsonNumber(std::uint64_t{4096}));
  return OneOf({std::move(number), Typed("null")});
}
JsonValue SchemaOf(SlotOf<std::optional<std::chrono::milliseconds>>, Form) {
  return OneOf({Count(), Text(kDurationPattern), Typed("null")});
}
JsonValue SchemaOf(SlotOf<std::vector<PathEntry>>, Form) { return ListOf(PathEntrySchema()); }
JsonValue SchemaOf(SlotOf<std::vector<std::string>>, Form form) {
  return ListOf(Text(TextPattern(form)));
}
JsonValue SchemaOf(SlotOf<std::map<std::string, std::string>>, Form) {
  JsonValue out = Typed("object");
  AddMember(out, "propertyNames", Text("^[^=*]+$"));
  AddMember(out, "additionalProperties", Typed("string"));
  return out;
}
JsonValue SchemaOf(SlotOf<std::map<std::string, std::vector<std::string>>>, Form) {
  JsonValue out = Typed("object");
  AddMember(out, "propertyNames", Text());
  AddMember(out, "additionalProperties", ListOf(Text()));
  return out;
}
JsonValue SchemaOf(SlotOf<std::vector<BindMount>>, Form) { return ListOf(BindMountSchema()); }

JsonValue SchemaOfUnkept(Form form) {
  JsonValue out = JsonObject();
  switch (form) {
    case Form::kNoNetworkFlag: AddMember(out, "const", JsonBool(false)); return out;
    case Form::kNoList:
      out = Typed("array");
      AddMember(out, "maxItems", JsonNumber(std::uint64_t{0}));
      return out;
    case Form::kNoNetworkMode: return Choice({"none"});
    case Form::kNoCredentials: return Closed(std::move(out), JsonArray());
    default: return Typed("string");
  }
}

JsonValue SchemaOfFields(std::span<const Field> fields) {
  JsonValue properties = JsonObject();
  JsonValue required = JsonArray();
  for (const Field& field : fields) {
    JsonValue schema = std::visit(
        [&field](auto slot) {
          if constexpr (!std::is_same_v<decltype(slot), std::monostate>) {
            return SchemaOf(slot, field.form);
          } else {
            return field.fields.empty() ? SchemaOfUnkept(field.form) : SchemaOfFields(field.fields);
          }
        },
        field.slot);
    AddMember(schema, "description", JsonString(field.meaning));
    if (!field.default_text.empty()) {
      AddMember(schema, "default", ParseJson(field.default_text, "default").value());
    }
    AddMember(properties, field.name, std::move(schema));
    if (field.required) required.items.push_back(JsonString(field.name));
  }
  return Closed(std::move(properties), std::move(required));
}

// What is written for a field, in the words of the reference.
const char* TypeInWords(const Field& field) {
  switch (field.form) {
    case Form::kIdentifier: return "identifier";
    case Form::kAbsolutePath: return "absolute path or null";
    case Form::kCount: return "whole number or null";
    case Form::kBytes: return "size or null";
    case Form::kVariableNames:
    case Form::kVariablePatterns: return "list of names";
    case Form::kNameGlobs: return "list of name globs";
    case Form::kPrograms: return "list of programs";
    case Form::kObject:
    case Form::kNetwork:
    case Form::kNoCredentials: return "object";
    case Form::kNoNetworkMode: return "`\"none\"`";
    case Form::kIgnored: return "string";
    case Form::kNoNetworkFlag: return "boolean";
    case Form::kNoList: return "list";
    case Form::kPlain: break;
  }
  struct Namer {
    const char* operator()(std::monostate) const { return ""; }
    const char* operator()(SlotOf<std::string>) const { return "string"; }
    const char* operator()(SlotOf<std::optional<std::string>>) const { return "string or null"; }
    const char* operator()(SlotOf<bool>) const { return "boolean"; }
    const char* operator()(SlotOf<View>) const { return "`\"bound\"`, `\"host\"`"; }
    const char* operator()(SlotOf<Mode>) const {
      return "`\"chat\"`, `\"review\"`, `\"plan\"`, `\"orchestrate\"`";
    }
    const char* operator()(SlotOf<std::optional<std::uint64_t>>) const { return "number or null"; }
    const char* operator()(SlotOf<std::optional<double>>) const { return "number or null"; }
    const char* operator()(SlotOf<std::optional<std::chrono::milliseconds>>) const {
      return "time or null";
    }
    const char* operator()(SlotOf<std::vector<PathEntry>>) const { return "list of paths"; }
    const char* operator()(SlotOf<std::vector<std::string>>) const { return "list of strings"; }
    const char* operator()(SlotOf<std::map<std::string, std::string>>) const {
      return "object of strings";
    }
    const char* operator()(SlotOf<std::map<std::string, std::vector<std::string>>>) const {
      return "object of lists of strings";
    }
    const char* operator()(SlotOf<std::vector<BindMount>>) const { return "list of mounts"; }
  };
  return std::visit(Namer{}, field.slot);
}

// A cell of a Markdown table: literal * would start emphasis, | ends the cell.
std::string Cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '*' || c == '|' || c == '[' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

void AppendTable(std::span<const Field> fields, std::string& out) {
  out += "| field | type | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const Field& field : fields) {
    out += "| `" + std::string(field.name) + "` | " + TypeInWords(field) + " | ";
    if (field.required) {
      out += "required";
    } else if (!field.default_text.empty()) {
      out += "`" + std::string(field.default_text) + "`";
    }
    out += " | " + Cell(field.meaning);
    if (!field.fields.empty()) out += ": see [below](#" + std::string(field.name) + ")";
    out += " |\n";
  }
}

constexpr std::string_view kIntroduction = R"(# Sandbox spec

<!-- Generated from src/policy/spec_json_fields.cc. After a change there:
     CORDON_UPDATE_DOCS=1 build/<preset>/tests/policy_test --gtest_filter='SpecDocsTest.*' -->

One JSON object describes one sandbox. `cordon run --spec FILE` reads it. Comments (`//`, `/* */`)
and a comma after the last item are accepted. Unknown fields, wrong types, duplicate fields and
values out of range are refused with file, line and column. The JSON Schema (2020-12) is
[sandbox-spec.schema.json](sandbox-spec.schema.json).

```json
{
  "sessionId": "build-17",
  "workspaceId": "local",
  "view": "host",
  "guestWorkdir": "/home/u/project",
  "filesystem": { "allowWrite": ["/home/u/project"], "denyRead": ["~/notes", "**/*.key"] },
  "limits": { "memory": "2GiB", "wallTime": "10m" }
}
```

- **path**: a string, or `{"path": TEXT, "literal": true}` for a name that holds `* ? [ ]`. `/x` is
  absolute, `~/x` below home, `x` and `./x` below the working directory. `**`, `*`, `?`, `[...]` and
  `{a,b}` make a glob; a trailing `/` or `/**` means the directory and everything below it.
- **size**: bytes as a whole number, or a string: `"512M"`, `"2GiB"` (powers of 1024), `"500MB"`
  (powers of 1000).
- **time**: milliseconds as a whole number, or a string: `"500ms"`, `"30s"`, `"1h30m"`, `"2d"`.
- **identifier**: 1 to 64 of `A-Z a-z 0-9 . _ -`.

## Fields

)";

}  // namespace

std::string SpecSchema() {
  JsonValue out = JsonObject();
  AddMember(out, "$schema", JsonString("https://json-schema.org/draft/2020-12/schema"));
  AddMember(out, "title", JsonString("Cordon sandbox spec"));
  JsonValue fields = SchemaOfFields(SpecFields());
  for (JsonMember& member : fields.members) {
    AddMember(out, member.name, std::move(member.value));
  }
  return WriteJson(out);
}

std::string SpecReference() {
  std::string out(kIntroduction);
  AppendTable(SpecFields(), out);
  for (const Field& field : SpecFields()) {
    if (field.fields.empty()) continue;
    out += "\n## " + std::string(field.name) + "\n\n";
    AppendTable(field.fields, out);
  }
  return out;
}

}  // namespace cordon::policy
