#include "policy/json_writer.h"
#include "policy/spec_json.h"
#include "policy/spec_json_fields.h"

namespace cordon::policy {
namespace {

JsonValue ToJson(const std::string& text) { return JsonString(text); }
JsonValue ToJson(bool value) { return JsonBool(value); }
JsonValue ToJson(View view) { return JsonString(ViewName(view)); }
JsonValue ToJson(Mode mode) { return JsonString(ModeName(mode)); }
JsonValue ToJson(std::uint64_t value) { return JsonNumber(value); }
JsonValue ToJson(double value) { return JsonNumber(value); }
JsonValue ToJson(std::chrono::milliseconds value) {
  return JsonNumber(static_cast<std::uint64_t>(value.count()));
}

JsonValue ToJson(const PathEntry& entry) {
  if (!entry.literal) return JsonString(entry.text);
  JsonValue out = JsonObject();
  AddMember(out, "path", JsonString(entry.text));
  AddMember(out, "literal", JsonBool(true));
  return out;
}

JsonValue ToJson(const BindMount& mount) {
  JsonValue out = JsonObject();
  AddMember(out, "hostPath", JsonString(mount.host_path));
  AddMember(out, "guestPath", JsonString(mount.guest_path));
  AddMember(out, "readOnly", JsonBool(mount.read_only));
  return out;
}

template <typename T>
JsonValue ToJson(const std::optional<T>& value) {
  return value ? ToJson(*value) : JsonNull();
}

template <typename T>
JsonValue ToJson(const std::vector<T>& values) {
  JsonValue out = JsonArray();
  for (const T& value : values) out.items.push_back(ToJson(value));
  return out;
}

JsonValue ToJson(const std::map<std::string, std::string>& values) {
  JsonValue out = JsonObject();
  for (const auto& [name, value] : values) AddMember(out, name, JsonString(value));
  return out;
}

JsonValue ToJson(const std::map<std::string, std::vector<std::string>>& values) {
  JsonValue out = JsonObject();
  for (const auto& [name, list] : values) AddMember(out, name, ToJson(list));
  return out;
}

JsonValue FieldsToJson(SandboxSpec& spec, std::span<const Field> fields) {
  JsonValue out = JsonObject();
  for (const Field& field : fields) {
    if (field.form == Form::kIgnored) continue;
    JsonValue value = std::visit(
        [&](auto slot) {
          if constexpr (!std::is_same_v<decltype(slot), std::monostate>) {
            return ToJson(*slot(spec));
          } else if (!field.fields.empty()) {
            return FieldsToJson(spec, field.fields);
          } else {
            // Fields that are not kept are written as their default, which reads back.
            return ParseJson(field.default_text, "default").value();
          }
        },
        field.slot);
    AddMember(out, field.name, std::move(value));
  }
  return out;
}

}  // namespace

std::string WriteSpec(const SandboxSpec& spec) {
  SandboxSpec copy = spec;  // slots give access for writing
  return WriteJson(FieldsToJson(copy, SpecFields()));
}

}  // namespace cordon::policy
