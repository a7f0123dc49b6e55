#include "policy/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cordon::policy {
namespace {

using Type = JsonValue::Type;
constexpr std::size_t kColumns = 100;

bool IsContainer(const JsonValue& value) {
  return value.type == Type::kArray || value.type == Type::kObject;
}

bool IsEmpty(const JsonValue& value) { return value.items.empty() && value.members.empty(); }

bool HoldsContainers(const JsonValue& value) {
  return std::any_of(value.items.begin(), value.items.end(), IsContainer) ||
         std::any_of(value.members.begin(), value.members.end(),
                     [](const JsonMember& m) { return IsContainer(m.value); });
}

std::string Scalar(const JsonValue& value) {
  switch (value.type) {
    case Type::kBool: return value.boolean ? "true" : "false";
    case Type::kNumber: return value.text;
    case Type::kString: return QuoteJson(value.text);
    default: return "null";
  }
}

std::string OneLine(const JsonValue& value) {
  if (!IsContainer(value)) return Scalar(value);
  const bool array = value.type == Type::kArray;
  std::string out(1, array ? '[' : '{');
  for (const JsonValue& item : value.items) {
    if (out.size() > 1) out += ", ";
    out += OneLine(item);
  }
  for (const JsonMember& member : value.members) {
    if (out.size() > 1) out += ", ";
    out += QuoteJson(member.name) + ": " + OneLine(member.value);
  }
  out += array ? ']' : '}';
  return out;
}

// `lead`: what already stands on the line before the value.
void Print(const JsonValue& value, std::size_t indent, std::size_t lead, std::string& out) {
  if (!IsContainer(value) || IsEmpty(value)) {
    out += OneLine(value);
    return;
  }
  if (indent > 0 && !HoldsContainers(value)) {
    const std::string line = OneLine(value);
    if (lead + line.size() < kColumns) {
      out += line;
      return;
    }
  }
  const bool array = value.type == Type::kArray;
  const std::string margin(indent + 2, ' ');
  const char* separator = "";
  out += array ? "[" : "{";
  for (const JsonValue& item : value.items) {
    out += separator;
    out += '\n' + margin;
    Print(item, indent + 2, margin.size(), out);
    separator = ",";
  }
  for (const JsonMember& member : value.members) {
    const std::string key = margin + QuoteJson(member.name) + ": ";
    out += separator;
    out += '\n' + key;
    Print(member.value, indent + 2, key.size(), out);
    separator = ",";
  }
  out += '\n' + std::string(indent, ' ');
  out += array ? ']' : '}';
}

JsonValue Make(Type type) {
  JsonValue value;
  value.type = type;
  return value;
}

}  // namespace

JsonValue JsonNull() { return Make(Type::kNull); }
JsonValue JsonArray() { return Make(Type::kArray); }
JsonValue JsonObject() { return Make(Type::kObject); }

JsonValue JsonBool(bool truth) {
  JsonValue value = Make(Type::kBool);
  value.boolean = truth;
  return value;
}

JsonValue JsonNumber(std::uint64_t number) {
  JsonValue value = Make(Type::kNumber);
  value.text = std::to_string(number);
  return value;
}

JsonValue JsonNumber(double number) {
  if (!std::isfinite(number)) return JsonNull();
  char buffer[64];
  const auto [end, err] = std::to_chars(buffer, buffer + sizeof buffer, number);
  JsonValue value = Make(Type::kNumber);
  value.text.assign(buffer, err == std::errc() ? end : buffer);
  return value;
}

JsonValue JsonString(std::string_view text) {
  JsonValue value = Make(Type::kString);
  value.text = std::string(text);
  return value;
}

void AddMember(JsonValue& object, std::string_view name, JsonValue value) {
  JsonMember member;
  member.name = std::string(name);
  member.value = std::move(value);
  object.members.push_back(std::move(member));
}

std::string WriteJson(const JsonValue& value) {
  std::string out;
  Print(value, 0, 0, out);
  out += '\n';
  return out;
}

}  // namespace cordon::policy
