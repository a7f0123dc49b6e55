#include "policy/json_quantity.h"

#include <charconv>
#include <limits>

namespace cordon::policy {
namespace {

constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

// Takes the digits at the start of `text` away; nullopt: none, or too many.
std::optional<std::uint64_t> TakeDigits(std::string_view& text) {
  std::uint64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, err] = std::from_chars(text.data(), last, value);
  if (err != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<std::uint64_t> UnitFactor(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  const std::size_t power = std::string_view("KMGT").find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  unit.remove_prefix(1);
  std::uint64_t base = 0;
  if (unit.empty() || unit == "iB") base = 1024;
  if (unit == "B") base = 1000;
  if (base == 0) return std::nullopt;
  std::uint64_t factor = base;
  for (std::size_t i = 0; i < power; ++i) factor *= base;
  return factor;
}

}  // namespace

std::optional<std::uint64_t> ParseByteSize(std::string_view text) {
  const auto whole = TakeDigits(text);
  if (!whole) return std::nullopt;
  std::uint64_t fraction = 0;
  std::uint64_t scale = 1;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const std::size_t before = text.size();
    const auto digits = TakeDigits(text);
    if (!digits || before - text.size() > 6) return std::nullopt;
    fraction = *digits;
    for (std::size_t i = text.size(); i < before; ++i) scale *= 10;
  }
  const auto factor = UnitFactor(text);
  // The factor is at most 2^40 and the fraction below 10^6, so that product cannot overflow.
  if (!factor || *whole > kMaxBytes / *factor || fraction * *factor % scale != 0)
    return std::nullopt;
  const std::uint64_t bytes = *whole * *factor + fraction * *factor / scale;
  if (bytes > kMaxBytes) return std::nullopt;
  return bytes;
}

std::optional<std::uint64_t> ParseMilliseconds(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t milliseconds;
  };
  static constexpr Unit kUnits[] = {
      {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};
  if (text.empty()) return std::nullopt;
  std::uint64_t total = 0;
  std::size_t next = 0;  // units come from large to small, each at most once
  while (!text.empty()) {
    const auto count = TakeDigits(text);
    if (!count) return std::nullopt;
    std::size_t length = 0;
    while (length < text.size() && text[length] >= 'a' && text[length] <= 'z') ++length;
    const std::string_view name = text.substr(0, length);
    while (next < std::size(kUnits) && kUnits[next].name != name) ++next;
    if (next == std::size(kUnits) || *count > kMaxMilliseconds / kUnits[next].milliseconds) {
      return std::nullopt;
    }
    total += *count * kUnits[next].milliseconds;
    ++next;
    text.remove_prefix(length);
  }
  if (total > kMaxMilliseconds) return std::nullopt;
  return total;
}

}  // namespace cordon::policy
