#include "session/event.h"

#include <cstdio>
#include <ctime>

namespace cordon::session {
namespace {

// Length of the UTF-8 sequence at `s[i]`, or 0 when it is not valid (RFC 3629).
std::size_t SequenceLength(const std::string& s, std::size_t i) {
  auto byte = [&](std::size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  auto tail = [&](std::size_t k) { return (byte(k) & 0xC0u) == 0x80u; };
  unsigned c = byte(i);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return tail(i + 1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    unsigned second = byte(i + 1);
    if (c == 0xE0 && second < 0xA0) return 0;
    if (c == 0xED && second > 0x9F) return 0;
    return tail(i + 1) && tail(i + 2) ? 3 : 0;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    unsigned second = byte(i + 1);
    if (c == 0xF0 && second < 0x90) return 0;
    if (c == 0xF4 && second > 0x8F) return 0;
    return tail(i + 1) && tail(i + 2) && tail(i + 3) ? 4 : 0;
  }
  return 0;
}

bool IsUtf8(const std::string& s) {
  for (std::size_t i = 0; i < s.size();) {
    std::size_t n = SequenceLength(s, i);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

std::string Base64(const std::string& s) {
  static const char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < s.size(); i += 3) {
    unsigned v = static_cast<unsigned char>(s[i]) << 16;
    if (i + 1 < s.size()) v |= static_cast<unsigned char>(s[i + 1]) << 8;
    if (i + 2 < s.size()) v |= static_cast<unsigned char>(s[i + 2]);
    out += kAlphabet[v >> 18 & 63];
    out += kAlphabet[v >> 12 & 63];
    out += i + 1 < s.size() ? kAlphabet[v >> 6 & 63] : '=';
    out += i + 2 < s.size() ? kAlphabet[v & 63] : '=';
  }
  return out;
}

// Control bytes are escaped, DEL and C1 too: an event line may be shown on a terminal.
std::string Quoted(const std::string& s) {
  std::string out = "\"";
  char buf[8];
  for (std::size_t i = 0; i < s.size(); ++i) {
    auto c = static_cast<unsigned char>(s[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += s[i];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || c == 0x7F) {
      std::snprintf(buf, sizeof buf, "\\u%04x", c);
      out += buf;
    } else if (c == 0xC2 && i + 1 < s.size() && static_cast<unsigned char>(s[i + 1]) < 0xA0) {
      std::snprintf(buf, sizeof buf, "\\u%04x", static_cast<unsigned char>(s[++i]));
      out += buf;
    } else {
      out += s[i];
    }
  }
  return out + "\"";
}

std::string Timestamp(std::chrono::system_clock::time_point time) {
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char buf[64];
  std::size_t n = std::strftime(buf, sizeof buf, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(buf + n, sizeof buf - n, ".%03dZ", static_cast<int>(ms % 1000));
  return buf;
}

}  // namespace

std::string ToJsonLine(const Event& event) {
  std::string out = "{\"type\":" + Quoted(event.type) + ",\"session\":" + Quoted(event.session);
  if (event.exec) out += ",\"exec\":" + std::to_string(*event.exec);
  out += ",\"sequence\":" + std::to_string(event.sequence) + ",\"time\":\"" +
         Timestamp(event.time) + "\"";
  for (const auto& [key, value] : event.text) {
    if (IsUtf8(value)) {
      out += "," + Quoted(key) + ":" + Quoted(value);
    } else {
      out += "," + Quoted(key + "Base64") + ":\"" + Base64(value) + "\"";
    }
  }
  for (const auto& [key, value] : event.numbers)
    out += "," + Quoted(key) + ":" + std::to_string(value);
  return out + "}";
}

}  // namespace cordon::session
