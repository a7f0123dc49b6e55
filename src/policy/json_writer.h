// Builds and prints JSON: values are made with the functions below and printed by WriteJson.
// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "policy/json_reader.h"

namespace cordon::policy {

JsonValue JsonNull();
JsonValue JsonBool(bool value);
JsonValue JsonNumber(std::uint64_t value);
// The shortest text that reads back as the same number; null for what is not finite.
JsonValue JsonNumber(double value);
JsonValue JsonString(std::string_view text);
JsonValue JsonArray();
JsonValue JsonObject();
// REQUIRES: `object` is a kObject. Appends; does not look for an older member of that name.
void AddMember(JsonValue& object, std::string_view name, JsonValue value);

// Two-space indentation, a newline at the end. Lists and objects of plain values stand on one line
// where they fit in 100 columns and are not the whole text. ParseJson reads the result back.
std::string WriteJson(const JsonValue& value);

}  // namespace cordon::policy
