// Sizes and times as strings, for settings files. The command line writes the same units.
// Pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cordon::policy {

inline constexpr std::uint64_t kMaxMilliseconds = 3650ull * 24 * 60 * 60 * 1000;  // ten years

// "4096" and "4096B" are bytes; K, M, G, T and KiB, MiB, GiB, TiB powers of 1024; KB, MB, GB, TB
// powers of 1000. A fraction is allowed where whole bytes come out ("1.5G"). nullopt: not of this
// form, or more than 2^63-1.
std::optional<std::uint64_t> ParseByteSize(std::string_view text);

// "500ms", "30s", "5m", "1h", "2d", and joined from large to small: "1h30m". A bare number has no
// unit and is refused here. nullopt: not of this form, or more than ten years.
std::optional<std::uint64_t> ParseMilliseconds(std::string_view text);

// The regular expressions (ECMA 262) of the two, for the schema.
inline constexpr std::string_view kByteSizePattern = "^[0-9]+(\\.[0-9]+)?(B|[KMGT](i?B)?)?$";
inline constexpr std::string_view kDurationPattern =
    "^(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$";

}  // namespace cordon::policy
