#include "policy/json_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policy/json_writer.h"

namespace cordon::policy {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto result = ParseJson(text, "f");
  return result.ok() ? "" : result.error().ToString();
}

TEST(JsonReaderTest, KeepsValuesAndPositions) {
  const auto root =
      ParseJson("{\n  \"a\": [1, -2.5e1, \"x\\n\\u00e9\\ud83d\\ude00\"],\n\t\"é\": true }", "f");
  ASSERT_TRUE(root.ok()) << root.error().ToString();
  ASSERT_EQ(root->members.size(), 2u);
  const JsonMember& list = root->members[0];
  EXPECT_EQ(list.position.line, 2);
  EXPECT_EQ(list.position.column, 3);
  EXPECT_EQ(list.value.position.column, 8);
  EXPECT_EQ(list.value.items[0].AsUint64(), 1u);
  EXPECT_EQ(list.value.items[1].AsDouble(), -25.0);
  EXPECT_EQ(list.value.items[1].AsUint64(), std::nullopt);
  EXPECT_EQ(list.value.items[2].text, "x\n\xC3\xA9\xF0\x9F\x98\x80");
  // A tab and a two-byte character are one column each.
  EXPECT_EQ(root->members[1].position.column, 2);
  EXPECT_EQ(root->members[1].value.position.line, 3);
  EXPECT_EQ(root->members[1].value.position.column, 7);
}

TEST(JsonReaderTest, TakesCommentsAndOneTrailingComma) {
  const auto root = ParseJson("// head\n{ /* in\n */ \"a\": [1, 2,], // tail\n} /**/ //", "f");
  ASSERT_TRUE(root.ok()) << root.error().ToString();
  EXPECT_EQ(root->Find("a")->value.items.size(), 2u);
  EXPECT_NE(ErrorOf("[1,,]"), "");
  EXPECT_NE(ErrorOf("[,]"), "");
  EXPECT_NE(ErrorOf("{,}"), "");
}

TEST(JsonReaderTest, CountsCrLfAsOneLine) {
  EXPECT_EQ(ErrorOf("{\r\n\"a\": 1,\r\n\"a\": 2}"),
            "f:3:1: field \"a\" stands twice (first in line 2)");
}

struct Fault {
  const char* name;
  std::string text;
  const char* message;
};

TEST(JsonReaderTest, RefusesWithThePlace) {
  using namespace std::string_literals;
  const Fault faults[] = {
      {"empty", "", "f:1:1: is empty; expected a JSON object"},
      {"blank", " \n ", "f:2:2: is empty; expected a JSON object"},
      {"comment only", "// x", "f:1:5: is empty; expected a JSON object"},
      {"half string", "{\"a\": \"b", "f:1:7: string is not closed"},
      {"string over a line", "[\"a\nb\"]", "f:1:2: string is not closed on its line"},
      {"half object", "{\"a\": 1", "f:1:1: object is not closed"},
      {"key only", "{\"a\"", "f:1:1: object is not closed"},
      {"half list", "[1, ", "f:1:1: list is not closed"},
      {"half comment", "[1 /* x", "f:1:4: comment is not closed"},
      {"two values", "{} {}", "f:1:4: expected the end of the text, found '{'"},
      {"missing comma", "[1 2]", "f:1:4: expected ',' or ']', found '2'"},
      {"missing colon", "{\"a\" 1}", "f:1:6: expected ':' after a field name, found '1'"},
      {"bare key", "{a: 1}",
       "f:1:2: expected a field name, found 'a'; write names in double quotes"},
      {"single quotes", "['a']",
       "f:1:2: expected a value, found a single quote; use double quotes"},
      {"word", "[yes]", "f:1:2: expected a value, found 'y'"},
      {"longer word", "[truest]",
       "f:1:2: expected a value, found 'truest'; write strings in double quotes"},
      {"NaN", "[NaN]", "f:1:2: expected a value, found 'N'"},
      {"leading zero", "[01]", "f:1:2: is not a number: it starts with a zero"},
      {"plus", "[+1]", "f:1:2: expected a value, found '+'"},
      {"no fraction", "[1.]", "f:1:2: is not a number: no digit after the point"},
      {"no exponent", "[1e]", "f:1:2: is not a number: no digit in the exponent"},
      {"huge exponent", "[1e999]", "f:1:2: number out of range: 1e999"},
      {"NUL raw", "[\"a\0b\"]"s, "f:1:4: holds a NUL byte"},
      {"NUL escaped", "[\"a\\u0000\"]", "f:1:4: holds a NUL byte"},
      {"NUL outside", "[\0]"s, "f:1:2: expected a value, found a NUL byte"},
      {"control character", "[\"\x01\"]",
       "f:1:3: holds a control character in a string (byte 0x01); "
       "write it as \\u00XX"},
      {"bad escape", "[\"\\x\"]", "f:1:3: unknown escape in a string: \\ followed by 'x'"},
      {"short escape", "[\"\\u12\"]", "f:1:3: \\u needs four hexadecimal digits"},
      {"lone high", "[\"\\ud800\"]", "f:1:3: holds half a surrogate pair"},
      {"lone low", "[\"\\udc00\"]", "f:1:3: holds half a surrogate pair"},
      {"high and no low", "[\"\\ud800\\u0041\"]", "f:1:3: holds half a surrogate pair"},
      {"Latin-1", "[\"\xE9\"]", "f:1:3: is not valid UTF-8 (byte 0xe9)"},
      {"overlong", "[\"\xC0\x80\"]", "f:1:3: is not valid UTF-8 (byte 0xc0)"},
      {"surrogate in UTF-8", "[\"\xED\xA0\x80\"]", "f:1:3: is not valid UTF-8 (byte 0xed)"},
      {"UTF-8 in a comment", "[] // \xFF", "f:1:7: is not valid UTF-8 (byte 0xff)"},
      {"byte order mark", "\xEF\xBB\xBF{}",
       "f:1:1: starts with a byte order mark; "
       "save it as UTF-8 without one"},
      {"UTF-16", "\xFF\xFE{\0}\0"s, "f:1:1: expected a value, found byte 0xff"},
      {"slash", "[/]", "f:1:2: expected a value, found '/'"},
  };
  for (const Fault& fault : faults) {
    EXPECT_EQ(ErrorOf(fault.text), fault.message) << fault.name;
  }
}

TEST(JsonReaderTest, BoundsDepthSizeAndCount) {
  const std::string depth64 = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(ErrorOf(depth64), "");
  EXPECT_EQ(ErrorOf("[" + depth64 + "]"), "f:1:65: is nested deeper than 64 levels");
  // An unclosed tower must end at the bound, not in the stack.
  EXPECT_EQ(ErrorOf(std::string(1u << 20, '[')), "f:1:65: is nested deeper than 64 levels");
  EXPECT_EQ(ErrorOf(std::string(kMaxJsonBytes + 1, ' ')), "f: is larger than 16 MiB");
  std::string many = "[";
  for (std::size_t i = 0; i < kMaxJsonValues; ++i) many += "0,";
  EXPECT_EQ(ErrorOf(many + "]"), "f:1:2097152: holds more than 1048576 values");
}

TEST(JsonReaderTest, FindsADuplicateAmongManyKeysInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += "\"k" + std::to_string(i) + "\":0,\n";
  text += "\"k99999\":1}";
  EXPECT_EQ(ErrorOf(text), "f:100001:1: field \"k99999\" stands twice (first in line 100000)");
}

// The same text through an independent reader. Where both read, the values agree; what only the
// other one reads is what the contract refuses.
TEST(JsonReaderTest, AgreesWithNlohmann) {
  const std::string texts[] = {
      "null",
      "true",
      "[]",
      "{}",
      "[[],{}]",
      "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
      "0",
      "-0",
      "-1.5e-3",
      "18446744073709551615",
      "{\"a\":{\"b\":[null,false,\"\\u20ac\"]}}",
      " [ 1 , 2 ] ",
      "[1 2]",
      "{\"a\"}",
      "\"\\u12\"",
      "[1,]x",
      "tru",
      "-",
      "1e5",
      "1E+2",
      "[\"\\ud83d\\ude00\"]",
      "/**/1",
  };
  for (const std::string& text : texts) {
    const auto own = ParseJson(text, "f");
    const auto other = nlohmann::json::parse(text, nullptr, false, true);
    EXPECT_EQ(own.ok(), !other.is_discarded()) << text;
    if (!own.ok() || other.is_discarded()) continue;
    EXPECT_EQ(nlohmann::json::parse(WriteJson(*own)), other) << text;
  }
}

TEST(JsonWriterTest, EscapesAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(QuoteJson("a\"\\\n\x01\x7F\xFFz\xC3\xA9"),
            "\"a\\\"\\\\\\n\\u0001\\u007f\\ufffdz\xC3\xA9\"");
}

TEST(JsonWriterTest, PutsPlainListsOnOneLineWhereTheyFit) {
  JsonValue list = JsonArray();
  list.items.push_back(JsonNumber(std::uint64_t{1}));
  list.items.push_back(JsonString("x"));
  JsonValue root = JsonObject();
  AddMember(root, "a", list);
  AddMember(root, "e", JsonArray());
  AddMember(root, "d", JsonNumber(0.5));
  EXPECT_EQ(WriteJson(root), "{\n  \"a\": [1, \"x\"],\n  \"e\": [],\n  \"d\": 0.5\n}\n");
  list.items.push_back(JsonString(std::string(90, 'y')));
  root = JsonObject();
  AddMember(root, "a", list);
  EXPECT_EQ(WriteJson(root),
            "{\n  \"a\": [\n    1,\n    \"x\",\n    \"" + std::string(90, 'y') + "\"\n  ]\n}\n");
}

}  // namespace
}  // namespace cordon::policy
