#include "policy/suggest.h"

#include <algorithm>
#include <array>
#include <string>

namespace cordon::policy {
namespace {

constexpr std::size_t kMaxName = 64;

std::string Plain(std::string_view name) {
  std::string out;
  for (char c : name.substr(0, kMaxName)) {
    if (c == '_' || c == '-') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

}  // namespace

// Optimal string alignment, with the last three rows kept.
std::size_t EditDistance(std::string_view first, std::string_view second) {
  const std::string a = Plain(first);
  const std::string b = Plain(second);
  std::array<std::array<std::size_t, kMaxName + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::optional<std::string_view> Nearest(std::string_view name,
                                        std::span<const std::string_view> known) {
  if (name.size() > kMaxName) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (std::string_view candidate : known) {
    const std::size_t distance = EditDistance(name, candidate);
    const std::size_t limit = std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
    if (distance <= limit && (!best || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace cordon::policy
