// "Did you mean": the nearest known name to a wrong one. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace cordon::policy {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. Case, '_' and
// '-' do not count. Names longer than 64 bytes are cut.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The known name with the smallest distance, where that is at most a third of the longer name (and
// at least one error is always forgiven); nullopt when none is near.
std::optional<std::string_view> Nearest(std::string_view name,
                                        std::span<const std::string_view> known);

}  // namespace cordon::policy
