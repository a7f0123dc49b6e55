// docs/reference/ holds what the table generates, and the schema says what the reader does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <nlohmann/json.hpp>

#include "policy/builtin_reference.h"
#include "policy/spec_json.h"

namespace cordon::policy {
namespace {

using Json = nlohmann::json;

std::string DocPath(const std::string& name) {
  return std::string(CORDON_SOURCE_DIR) + "/docs/reference/" + name;
}

void ExpectUpToDate(const std::string& name, const std::string& generated) {
  const std::string path = DocPath(name);
  if (std::getenv("CORDON_UPDATE_DOCS") != nullptr) std::ofstream(path) << generated;
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  std::stringstream stored;
  stored << file.rdbuf();
  EXPECT_EQ(stored.str(), generated) << path << " is out of date; CORDON_UPDATE_DOCS=1 writes it";
}

TEST(SpecDocsTest, SchemaIsUpToDate) { ExpectUpToDate("sandbox-spec.schema.json", SpecSchema()); }
TEST(SpecDocsTest, BuiltinSetsAreUpToDate) {
  ExpectUpToDate("builtin-sets.md", BuiltinReference());
}
TEST(SpecDocsTest, ReferenceIsUpToDate) { ExpectUpToDate("sandbox-spec.md", SpecReference()); }

// The keywords of JSON Schema that the generated schema uses, and no other.
bool Holds(const Json& schema, const Json& value);

bool HasType(const std::string& type, const Json& value) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

bool ObjectHolds(const Json& schema, const Json& value) {
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, member] : value.items()) {
    if (schema.contains("propertyNames") && !Holds(schema["propertyNames"], Json(name)))
      return false;
    if (properties.contains(name)) {
      if (!Holds(properties[name], member)) return false;
    } else if (const Json& rest = schema["additionalProperties"]; rest.is_boolean()) {
      if (!rest.get<bool>()) return false;
    } else if (!Holds(rest, member)) {
      return false;
    }
  }
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) return false;
  }
  return true;
}

bool KeywordHolds(const std::string& key, const Json& argument, const Json& schema,
                  const Json& value) {
  if (key == "type") return HasType(argument, value);
  if (key == "const") return value == argument;
  if (key == "enum") return std::find(argument.begin(), argument.end(), value) != argument.end();
  if (key == "anyOf") {
    return std::any_of(argument.begin(), argument.end(),
                       [&](const Json& s) { return Holds(s, value); });
  }
  if (key == "properties") return !value.is_object() || ObjectHolds(schema, value);
  if (key == "additionalProperties") return !value.is_object() || ObjectHolds(schema, value);
  if (key == "items") {
    return !value.is_array() || std::all_of(value.begin(), value.end(),
                                            [&](const Json& v) { return Holds(argument, v); });
  }
  if (key == "maxItems") return !value.is_array() || value.size() <= argument;
  if (key == "minLength") return !value.is_string() || !value.get<std::string>().empty();
  if (key == "pattern") {
    return !value.is_string() ||
           std::regex_search(value.get<std::string>(), std::regex(argument.get<std::string>()));
  }
  if (key == "minimum") return !value.is_number() || value >= argument;
  if (key == "exclusiveMinimum") return !value.is_number() || value > argument;
  if (key == "maximum") return !value.is_number() || value <= argument;
  static const std::set<std::string> kNotes = {"$schema", "title",    "description",
                                               "default", "required", "propertyNames"};
  EXPECT_TRUE(kNotes.count(key)) << "this test does not know the keyword " << key;
  return true;
}

bool Holds(const Json& schema, const Json& value) {
  for (const auto& [key, argument] : schema.items()) {
    if (!KeywordHolds(key, argument, schema, value)) return false;
  }
  return true;
}

// One field at a time on top of a good spec: reader and schema give the same answer.
TEST(SpecDocsTest, SchemaAndReaderAgree) {
  const Json schema = Json::parse(SpecSchema());
  const std::pair<const char*, const char*> fields[] = {
      {"mode", R"("plan")"},
      {"mode", R"("plna")"},
      {"mode", "1"},
      {"view", R"("host")"},
      {"agentId", "null"},
      {"agentId", R"("a")"},
      {"agentId", R"("")"},
      {"agentId", "7"},
      {"sessionId", R"("ok.id-1_")"},
      {"sessionId", R"("a/b")"},
      {"sessionId", R"("..")"},
      {"sessionId", R"("...")"},
      {"guestWorkdir", R"("/w")"},
      {"guestWorkdir", R"("w")"},
      {"guestWorkdir", "null"},
      {"unknown", "1"},
      {"ignoreViolations", R"({"*": ["~/.cache", "unix-socket"], "make": []})"},
      {"ignoreViolations", R"({"*": "~/.cache"})"},
      {"ignoreViolations", R"({"*": [""]})"},
      {"ignoreViolations", R"({"": ["/x"]})"},
      {"ignoreViolations", R"({"*": [1]})"},
      {"ignoreViolations", R"(["*"])"},
      {"$schema", R"("x")"},
      {"bindMounts", R"([{"hostPath": "/a"}])"},
      {"bindMounts", R"([{"guestPath": "/a"}])"},
      {"bindMounts", R"([{"hostPath": "/a", "guestPath": "/b", "readOnly": true}])"},
      {"bindMounts", R"([{"hostPath": "/a", "ro": true}])"},
      {"bindMounts", R"(["/a"])"},
      {"protectedPaths", R"(["/a", {"path": "/b", "literal": true}, {"path": "/c"}])"},
      {"protectedPaths", R"([{"literal": true}])"},
      {"protectedPaths", R"([""])"},
      {"filesystem", R"({"denyRead": ["~/a"], "disabled": true})"},
      {"filesystem", R"({"denyread": []})"},
      {"filesystem", "[]"},
      {"filesystem", "null"},
      {"networkEnabled", "false"},
      {"networkEnabled", "true"},
      {"egressAllowlist", "[]"},
      {"egressAllowlist", R"(["a"])"},
      {"network", "{}"},
      {"network", R"({"mode": "none"})"},
      {"network", R"({"mode": "open"})"},
      {"network", R"({"mode": 1})"},
      {"network", R"({"allowUnixSockets": ["/a", {"path": "/b", "literal": true}]})"},
      {"network", R"({"allowUnixSockets": "/a"})"},
      {"network", R"({"allowUnixSocket": ["/a"]})"},
      {"credentials", "{}"},
      {"credentials", R"({"a": 1})"},
      {"limits", R"({"memory": "512M", "pids": 5, "cpus": 0.5})"},
      {"limits", R"({"memory": null, "wallTime": "5m", "idleTime": 7})"},
      {"limits", R"({"memory": "5X"})"},
      {"limits", R"({"pids": 0})"},
      {"limits", R"({"pids": "5"})"},
      {"limits", R"({"cpus": 0})"},
      {"limits", R"({"cpus": 4097})"},
      {"limits", R"({"wallTime": "5"})"},
      {"limits", R"({"memory": 1.5})"},
      {"environment", R"({"set": {"A": ""}, "keep": ["B"], "drop": ["C*", "D"]})"},
      {"environment", R"({"set": {"A=": "1"}})"},
      {"environment", R"({"set": {"": "1"}})"},
      {"environment", R"({"set": {"A": 1}})"},
      {"environment", R"({"keep": ["B*"]})"},
      {"environment", R"({"drop": ["*"]})"},
      {"environment", R"({"drop": ["A**"]})"},
      {"exec", R"({"deny": ["a", "m*", "/b/c"]})"},
      {"exec", R"({"deny": ["b/c"]})"},
      {"exec", R"({"deny": [""]})"},
      {"exec", R"({"blockWritableDirs": 1})"},
  };
  for (const auto& [name, value] : fields) {
    Json spec = {{"sessionId", "s"}, {"workspaceId", "w"}};
    spec[name] = Json::parse(value);
    const auto read = ParseSpec(spec.dump(), "f");
    EXPECT_EQ(Holds(schema, spec), read.ok())
        << spec.dump() << (read.ok() ? "" : "\n" + read.error().ToString());
  }
  EXPECT_FALSE(Holds(schema, Json{{"sessionId", "s"}}));
  EXPECT_FALSE(Holds(schema, Json::array()));
}

TEST(SpecDocsTest, WrittenSpecsHoldToTheSchema) {
  SandboxSpec spec;
  spec.session_id = "s";
  spec.workspace_id = "w";
  spec.limits.cpus = 2;
  spec.filesystem.deny_read.push_back({"/a*", true, {}});
  spec.bind_mounts.push_back({"/a", "/b", true, {}});
  EXPECT_TRUE(Holds(Json::parse(SpecSchema()), Json::parse(WriteSpec(spec)))) << WriteSpec(spec);
}

}  // namespace
}  // namespace cordon::policy
