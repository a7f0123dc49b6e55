#include <cstdio>

#include "probe/probe.h"

namespace cordon::probe {
namespace {

// Length of the UTF-8 sequence at `at`, 0 when it is not one.
std::size_t SequenceLength(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  const unsigned second = byte(at + 1);
  std::size_t length = 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

std::string Quote(const std::string& text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = SequenceLength(text, i);
    if (length == 0) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out.append(text, i, length);
    }
    i += length;
  }
  return out + "\"";
}

std::string Bool(bool value) { return value ? "true" : "false"; }

}  // namespace

std::string ToJson(const ProbeReport& report) {
  std::string out = "{\n  \"schema\": 1,\n";
  out += "  \"available\": " + Bool(report.available) + ",\n";
  out += "  \"backend\": " + Quote(report.backend) + ",\n";
  out += "  \"launcher\": " + Quote(report.launcher) + ",\n";
  out += "  \"requiresInstall\": " + Bool(report.requires_install) + ",\n";
  out += "  \"note\": " + Quote(report.note) + ",\n";
  out += "  \"hint\": " + Quote(report.hint) + ",\n";
  out += "  \"distribution\": " + Quote(report.distribution) + ",\n";
  out += "  \"kernel\": " + Quote(report.kernel) + ",\n";
  out += "  \"capabilities\": [";
  const char* separator = "\n";
  for (const Capability& row : report.capabilities) {
    out += separator;
    out += "    {\n      \"name\": " + Quote(row.name) + ",\n";
    out += "      \"support\": " + Quote(SupportName(row.support)) + ",\n";
    out += "      \"required\": " + Bool(row.required) + ",\n";
    out += "      \"kind\": " + Quote(row.fact ? "fact" : "capability") + ",\n";
    out += "      \"detail\": " + Quote(row.detail) + ",\n";
    out += "      \"usedFor\": " + Quote(row.used_for) + ",\n";
    out += "      \"remedy\": " + Quote(row.remedy) + "\n    }";
    separator = ",\n";
  }
  return out + "\n  ]\n}\n";
}

}  // namespace cordon::probe
