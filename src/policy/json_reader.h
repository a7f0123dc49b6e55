// A strict JSON reader that keeps positions: each value and key knows its line and column.
//
//   CORDON_TRY(JsonValue root, ParseJson(text, "spec.json"));
//   if (const JsonMember* m = root.Find("mode")) ...
//
// Taken beyond RFC 8259: // and /* */ comments, and one comma after the last item. Refused, each
// with "ORIGIN:LINE:COLUMN: message": duplicate keys, NUL bytes (raw or as an escape), invalid
// UTF-8, lone surrogates, a byte order mark, control characters in strings, numbers that are not
// JSON's, nesting deeper than kMaxJsonDepth, text longer than kMaxJsonBytes, more values than
// kMaxJsonValues, anything after the value.
//
// Pure, thread-safe, linear in the text; recursion is bounded by the depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cordon::policy {

inline constexpr std::size_t kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonBytes = 16u << 20;
inline constexpr std::size_t kMaxJsonValues = 1u << 20;  // a value in memory is 60 times "0,"

// 1-based; columns count characters, not bytes. A line ends at LF, so CR LF counts once.
struct JsonPosition {
  int line = 1;
  int column = 1;
};

struct JsonMember;

struct JsonValue {
  enum class Type { kNull, kBool, kNumber, kString, kArray, kObject };
  Type type = Type::kNull;
  JsonPosition position;            // of its first character
  bool boolean = false;             // kBool
  std::string text;                 // kString: the decoded text; kNumber: as written
  std::vector<JsonValue> items;     // kArray
  std::vector<JsonMember> members;  // kObject, in the order of the text

  // Member by name; nullptr when there is none or this is no object.
  const JsonMember* Find(std::string_view name) const;
  // kNumber written as a whole number (no fraction, no exponent) that fits; nullopt otherwise.
  std::optional<std::uint64_t> AsUint64() const;
  // kNumber that a finite double can stand for; nullopt otherwise.
  std::optional<double> AsDouble() const;
  // "a string", "an object", "null": for messages.
  const char* TypeName() const;
};

struct JsonMember {
  std::string name;
  JsonPosition position;  // of the key
  JsonValue value;
};

// `origin` names the text in messages.
Result<JsonValue> ParseJson(std::string_view text, const std::string& origin);

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string QuoteJson(std::string_view text);

// Length of the valid UTF-8 sequence at the start of `text` (1 to 4), 0 when there is none.
std::size_t Utf8Length(std::string_view text);

}  // namespace cordon::policy
