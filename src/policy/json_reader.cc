#include "policy/json_reader.h"

#include <cctype>
#include <charconv>
#include <set>

namespace cordon::policy {
namespace {

using Type = JsonValue::Type;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& origin) : text_(text), origin_(origin) {}

  Result<JsonValue> Read() {
    if (text_.size() > kMaxJsonBytes) {
      return MakeError(ErrorCode::kInvalid, origin_ + ": is larger than 16 MiB");
    }
    if (text_.starts_with("\xEF\xBB\xBF")) {
      return Fail("starts with a byte order mark", "save it as UTF-8 without one");
    }
    CORDON_CHECK(SkipBlanks());
    if (AtEnd()) return Fail("is empty; expected a JSON object");
    JsonValue root;
    CORDON_CHECK(ReadValue(root, 1));
    CORDON_CHECK(SkipBlanks());
    if (!AtEnd()) return Fail("expected the end of the text, found " + Here());
    return root;
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return text_[at_]; }

  // Moves over one character that is known to be ASCII.
  void Step() {
    if (text_[at_] == '\n') {
      ++position_.line;
      position_.column = 1;
    } else {
      ++position_.column;
    }
    ++at_;
  }

  Error FailAt(JsonPosition where, std::string message, std::string remedy = {}) const {
    return MakeError(ErrorCode::kInvalid,
                     origin_ + ":" + std::to_string(where.line) + ":" +
                         std::to_string(where.column) + ": " + std::move(message),
                     std::move(remedy));
  }
  Error Fail(std::string message, std::string remedy = {}) const {
    return FailAt(position_, std::move(message), std::move(remedy));
  }

  // What stands here, for a message.
  std::string Here() const {
    if (AtEnd()) return "the end of the text";
    const char c = Peek();
    if (c == '\0') return "a NUL byte";
    if (c > 0x20 && c < 0x7F) return c == '\'' ? "a single quote" : std::string("'") + c + "'";
    const std::size_t length = Utf8Length(text_.substr(at_));
    if (length > 1) return "'" + std::string(text_.substr(at_, length)) + "'";
    static constexpr char kHex[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    return std::string("byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
  }

  // Moves over one character of any kind; refuses NUL and what is not UTF-8.
  Status StepText() {
    if (Peek() == '\0') return Fail("holds a NUL byte");
    const std::size_t length = Utf8Length(text_.substr(at_));
    if (length == 0) return Fail("is not valid UTF-8 (" + Here() + ")");
    if (length == 1) {
      Step();
    } else {
      at_ += length;
      ++position_.column;
    }
    return Ok();
  }

  Status SkipBlanks() {
    while (!AtEnd()) {
      const char c = Peek();
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        Step();
      } else if (c == '/') {
        CORDON_CHECK(SkipComment());
      } else {
        break;
      }
    }
    return Ok();
  }

  Status SkipComment() {
    const JsonPosition start = position_;
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("//")) {
      while (!AtEnd() && Peek() != '\n') CORDON_CHECK(StepText());
      return Ok();
    }
    if (!rest.starts_with("/*")) return Fail("expected a value, found '/'");
    Step();
    Step();
    while (!AtEnd()) {
      if (text_.substr(at_).starts_with("*/")) {
        Step();
        Step();
        return Ok();
      }
      CORDON_CHECK(StepText());
    }
    return FailAt(start, "comment is not closed");
  }

  Status ReadValue(JsonValue& out, std::size_t depth) {
    out.position = position_;
    if (depth > kMaxJsonDepth) return Fail("is nested deeper than 64 levels");
    if (++values_ > kMaxJsonValues) return Fail("holds more than 1048576 values");
    switch (Peek()) {
      case '{': return ReadObject(out, depth);
      case '[': return ReadArray(out, depth);
      case '"': out.type = Type::kString; return ReadString(out.text);
      case 't': return ReadWord("true", Type::kBool, true, out);
      case 'f': return ReadWord("false", Type::kBool, false, out);
      case 'n': return ReadWord("null", Type::kNull, false, out);
      default: break;
    }
    if (Peek() == '-' || IsDigit(Peek())) return ReadNumber(out);
    if (Peek() == '\'') return Fail("expected a value, found a single quote", "use double quotes");
    return Fail("expected a value, found " + Here());
  }

  Status ReadWord(std::string_view word, Type type, bool value, JsonValue& out) {
    const std::string_view rest = text_.substr(at_, 32);
    std::size_t length = 0;
    while (length < rest.size() && std::isalnum(static_cast<unsigned char>(rest[length]))) ++length;
    if (rest.substr(0, length) != word) {
      return Fail("expected a value, found '" + std::string(rest.substr(0, length)) + "'",
                  "write strings in double quotes");
    }
    for (std::size_t i = 0; i < word.size(); ++i) Step();
    out.type = type;
    out.boolean = value;
    return Ok();
  }

  Status ReadNumber(JsonValue& out) {
    const std::size_t start = at_;
    out.type = Type::kNumber;
    if (Peek() == '-') Step();
    if (AtEnd() || !IsDigit(Peek())) return FailAt(out.position, "is not a number");
    if (Peek() == '0') {
      Step();
      if (!AtEnd() && IsDigit(Peek())) {
        return FailAt(out.position, "is not a number: it starts with a zero");
      }
    }
    while (!AtEnd() && IsDigit(Peek())) Step();
    if (!AtEnd() && Peek() == '.') {
      Step();
      if (AtEnd() || !IsDigit(Peek())) {
        return FailAt(out.position, "is not a number: no digit after the point");
      }
      while (!AtEnd() && IsDigit(Peek())) Step();
    }
    if (!AtEnd() && (Peek() == 'e' || Peek() == 'E')) {
      Step();
      if (!AtEnd() && (Peek() == '+' || Peek() == '-')) Step();
      if (AtEnd() || !IsDigit(Peek())) {
        return FailAt(out.position, "is not a number: no digit in the exponent");
      }
      while (!AtEnd() && IsDigit(Peek())) Step();
    }
    out.text = std::string(text_.substr(start, at_ - start));
    if (!out.AsDouble()) return FailAt(out.position, "number out of range: " + out.text);
    return Ok();
  }

  Status ReadString(std::string& out) {
    const JsonPosition start = position_;
    Step();
    while (true) {
      if (AtEnd()) return FailAt(start, "string is not closed");
      const char c = Peek();
      if (c == '"') {
        Step();
        return Ok();
      }
      if (c == '\\') {
        CORDON_CHECK(ReadEscape(out));
        continue;
      }
      if (c == '\n') return FailAt(start, "string is not closed on its line");
      if (c != '\0' && static_cast<unsigned char>(c) < 0x20) {
        return Fail("holds a control character in a string (" + Here() + ")",
                    "write it as \\u00XX");
      }
      const std::size_t from = at_;
      CORDON_CHECK(StepText());
      out.append(text_.substr(from, at_ - from));
    }
  }

  // The four digits after "\u"; nullopt when they are not there.
  std::optional<std::uint32_t> ReadHex() {
    std::uint32_t code = 0;
    if (text_.size() - at_ < 4) return std::nullopt;
    const char* first = text_.data() + at_;
    const auto [end, err] = std::from_chars(first, first + 4, code, 16);
    if (err != std::errc() || end != first + 4) return std::nullopt;
    for (int i = 0; i < 4; ++i) Step();
    return code;
  }

  Status ReadEscape(std::string& out) {
    const JsonPosition start = position_;
    Step();
    if (AtEnd()) return FailAt(start, "string is not closed");
    const char c = Peek();
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = kNames.find(c); i != std::string_view::npos) {
      out += kMeanings[i];
      Step();
      return Ok();
    }
    if (c != 'u') return FailAt(start, "unknown escape in a string: \\ followed by " + Here());
    Step();
    const auto code = ReadHex();
    if (!code) return FailAt(start, "\\u needs four hexadecimal digits");
    if (*code == 0) return FailAt(start, "holds a NUL byte");
    if (*code >= 0xDC00 && *code <= 0xDFFF) return FailAt(start, "holds half a surrogate pair");
    if (*code < 0xD800 || *code > 0xDBFF) {
      AppendUtf8(*code, out);
      return Ok();
    }
    if (!text_.substr(at_).starts_with("\\u")) return FailAt(start, "holds half a surrogate pair");
    Step();
    Step();
    const auto low = ReadHex();
    if (!low || *low < 0xDC00 || *low > 0xDFFF) return FailAt(start, "holds half a surrogate pair");
    AppendUtf8(0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00), out);
    return Ok();
  }

  Status ReadArray(JsonValue& out, std::size_t depth) {
    out.type = Type::kArray;
    Step();
    while (true) {
      CORDON_CHECK(SkipBlanks());
      if (AtEnd()) return FailAt(out.position, "list is not closed");
      if (Peek() == ']') break;
      CORDON_CHECK(ReadValue(out.items.emplace_back(), depth + 1));
      CORDON_CHECK(SkipBlanks());
      if (AtEnd()) return FailAt(out.position, "list is not closed");
      if (Peek() == ']') break;
      if (Peek() != ',') return Fail("expected ',' or ']', found " + Here());
      Step();
    }
    Step();
    return Ok();
  }

  Status ReadObject(JsonValue& out, std::size_t depth) {
    out.type = Type::kObject;
    Step();
    std::set<std::string> seen;
    while (true) {
      CORDON_CHECK(SkipBlanks());
      if (AtEnd()) return FailAt(out.position, "object is not closed");
      if (Peek() == '}') break;
      CORDON_CHECK(ReadMember(out, seen, depth));
      CORDON_CHECK(SkipBlanks());
      if (AtEnd()) return FailAt(out.position, "object is not closed");
      if (Peek() == '}') break;
      if (Peek() != ',') return Fail("expected ',' or '}', found " + Here());
      Step();
    }
    Step();
    return Ok();
  }

  Status ReadMember(JsonValue& out, std::set<std::string>& seen, std::size_t depth) {
    JsonMember member;
    member.position = position_;
    if (Peek() != '"') {
      return Fail("expected a field name, found " + Here(), "write names in double quotes");
    }
    CORDON_CHECK(ReadString(member.name));
    if (!seen.insert(member.name).second) {
      const JsonPosition first = out.Find(member.name)->position;
      return FailAt(member.position, "field " + QuoteJson(member.name) +
                                         " stands twice (first in line " +
                                         std::to_string(first.line) + ")");
    }
    CORDON_CHECK(SkipBlanks());
    if (AtEnd()) return FailAt(out.position, "object is not closed");
    if (Peek() != ':') return Fail("expected ':' after a field name, found " + Here());
    Step();
    CORDON_CHECK(SkipBlanks());
    if (AtEnd()) return FailAt(out.position, "object is not closed");
    CORDON_CHECK(ReadValue(member.value, depth + 1));
    out.members.push_back(std::move(member));
    return Ok();
  }

  std::string_view text_;
  const std::string& origin_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  JsonPosition position_;
};

}  // namespace

Result<JsonValue> ParseJson(std::string_view text, const std::string& origin) {
  return Reader(text, origin).Read();
}

}  // namespace cordon::policy
