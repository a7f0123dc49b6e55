#include <charconv>
#include <cmath>

#include "policy/json_reader.h"

namespace cordon::policy {

using Type = JsonValue::Type;

const JsonMember* JsonValue::Find(std::string_view name) const {
  for (const JsonMember& member : members) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

std::optional<std::uint64_t> JsonValue::AsUint64() const {
  if (type != Type::kNumber) return std::nullopt;
  std::uint64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, err] = std::from_chars(text.data(), last, value);
  if (err != std::errc() || end != last) return std::nullopt;
  return value;
}

std::optional<double> JsonValue::AsDouble() const {
  if (type != Type::kNumber) return std::nullopt;
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, err] = std::from_chars(text.data(), last, value);
  if (err != std::errc() || end != last || !std::isfinite(value)) return std::nullopt;
  return value;
}

const char* JsonValue::TypeName() const {
  switch (type) {
    case Type::kNull: return "null";
    case Type::kBool: return boolean ? "true" : "false";
    case Type::kNumber: return "a number";
    case Type::kString: return "a string";
    case Type::kArray: return "a list";
    case Type::kObject: return "an object";
  }
  return "unknown";
}

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
std::size_t Utf8Length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto tail = [&byte](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

std::string QuoteJson(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    std::size_t length = Utf8Length(text);
    if (length == 0) {
      out += "\\ufffd";
      length = 1;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  out += '"';
  return out;
}

}  // namespace cordon::policy
