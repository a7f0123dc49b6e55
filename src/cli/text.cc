#include "cli/text.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "policy/json_reader.h"
#include "policy/suggest.h"

namespace cordon::cli {
namespace {

// REQUIRES: `bytes` is one valid UTF-8 sequence.
char32_t CodePoint(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() == 1) return byte(0);
  char32_t value = byte(0) & (0xffu >> (bytes.size() + 1));
  for (std::size_t i = 1; i < bytes.size(); ++i) value = value << 6 | (byte(i) & 0x3fu);
  return value;
}

bool DrivesTerminal(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

std::string HexBytes(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    char buf[8];
    std::snprintf(buf, sizeof buf, "\\x%02x", static_cast<unsigned char>(c));
    out += buf;
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t valid = policy::Utf8Length(text.substr(at));
    const std::string_view bytes = text.substr(at, std::max<std::size_t>(valid, 1));
    if (valid != 0 && !DrivesTerminal(CodePoint(bytes))) {
      out += bytes;
    } else if (bytes == "\n") {
      out += "\\n";
    } else if (bytes == "\t") {
      out += "\\t";
    } else {
      out += HexBytes(bytes);
    }
    at += bytes.size();
  }
  return out;
}

std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates) {
  for (std::string_view candidate : candidates) {
    if (name.size() > 3 && candidate.starts_with(name)) return candidate;
  }
  return policy::Nearest(name, candidates).value_or(std::string_view());
}

std::vector<std::string> Wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      // The caller's descriptor may have been made non-blocking by somebody else.
      pollfd p{fd, POLLOUT, 0};
      ::poll(&p, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace cordon::cli
