#include "cli/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "policy/json_quantity.h"

namespace cordon::cli {
namespace {

Error NotA(std::string_view what, std::string_view text, std::string_view examples) {
  return MakeError(ErrorCode::kInvalid, "'" + std::string(text) + "' is not a " + std::string(what),
                   "write it as " + std::string(examples));
}

struct Number {
  double value = 0;
  std::size_t length = 0;  // bytes read; 0: no number
};

// Digits with at most one point: no sign, no exponent, no "inf".
Number ReadNumber(std::string_view text) {
  std::size_t length = 0;
  bool digit = false, point = false;
  for (; length < text.size(); ++length) {
    if (text[length] >= '0' && text[length] <= '9') {
      digit = true;
    } else if (text[length] == '.' && !point) {
      point = true;
    } else {
      break;
    }
  }
  if (!digit) return {};
  Number number{0, length};
  const auto r = std::from_chars(text.data(), text.data() + length, number.value);
  if (r.ec != std::errc()) return {};
  return number;
}

constexpr std::array<std::pair<std::string_view, double>, 5> kTimeUnits = {{
    {"ms", 1},
    {"s", 1000},
    {"m", 60.0 * 1000},
    {"h", 3600.0 * 1000},
    {"d", 86400.0 * 1000},
}};
constexpr double kLongest = 10 * 366 * 86400.0 * 1000;

}  // namespace

Result<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  const auto wrong = [&] { return NotA("duration", text, "30s, 1.5m, 1h30m or 250ms"); };
  double total = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const Number number = ReadNumber(rest);
    if (number.length == 0) return wrong();
    rest.remove_prefix(number.length);
    const std::size_t unit_length = rest.find_first_of("0123456789.");
    const std::string_view unit = rest.substr(0, unit_length);
    double factor = 0;
    for (const auto& [name, value] : kTimeUnits) {
      if (unit == name) factor = value;
    }
    if (unit.empty() && number.length == text.size()) factor = 1000;
    if (factor == 0) return wrong();
    total += number.value * factor;
    rest.remove_prefix(unit.size());
  }
  if (total < 1 || total > kLongest) return wrong();
  return std::chrono::milliseconds(std::llround(total));
}

// The units are those of the JSON form; people also write them small.
Result<std::uint64_t> ParseSize(std::string_view text) {
  std::string units(text);
  for (char& c : units) {
    if (c == 'k' || c == 'm' || c == 'g' || c == 't') c = static_cast<char>(c - 'a' + 'A');
  }
  const auto size = policy::ParseByteSize(units);
  if (!size || *size == 0) return NotA("size", text, "512M, 2G or a number of bytes");
  return *size;
}

Result<std::uint64_t> ParseCount(std::string_view text, std::uint64_t minimum,
                                 std::uint64_t maximum) {
  std::uint64_t value = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size() || value < minimum ||
      value > maximum) {
    return NotA(
        "number in its range", text,
        "a whole number from " + std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return value;
}

std::string FormatAge(std::chrono::seconds age) {
  const std::int64_t s = age.count() < 0 ? 0 : age.count();
  const auto pair = [](std::int64_t a, const char* an, std::int64_t b, const char* bn) {
    return std::to_string(a) + an + (b == 0 ? "" : " " + std::to_string(b) + bn);
  };
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return pair(s / 60, "m", s % 60, "s");
  if (s < 86400) return pair(s / 3600, "h", s % 3600 / 60, "m");
  return pair(s / 86400, "d", s % 86400 / 3600, "h");
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  const std::int64_t ms = duration.count();
  if (ms % 1000 != 0) return std::to_string(ms) + "ms";
  if (ms % 3600000 == 0) return std::to_string(ms / 3600000) + "h";
  if (ms % 60000 == 0) return std::to_string(ms / 60000) + "m";
  return std::to_string(ms / 1000) + "s";
}

std::string FormatSize(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 4> kUnits = {"K", "M", "G", "T"};
  std::string_view unit;
  for (std::string_view next : kUnits) {
    if (bytes == 0 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return std::to_string(bytes) + std::string(unit);
}

}  // namespace cordon::cli
