// The one table of the JSON form of SandboxSpec. The reader, the writer, the schema and the
// reference all walk it, so that they cannot differ. Internal to spec_json*.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/spec.h"

namespace cordon::policy {

// Where a value lives in a spec; its type says which JSON is expected.
template <typename T>
using SlotOf = T* (*)(SandboxSpec&);
using Slot = std::variant<
    std::monostate,  // an object of fields, or nothing that is kept: see Form
    SlotOf<std::string>, SlotOf<std::optional<std::string>>, SlotOf<bool>, SlotOf<View>,
    SlotOf<Mode>, SlotOf<std::optional<std::uint64_t>>, SlotOf<std::optional<double>>,
    SlotOf<std::optional<std::chrono::milliseconds>>, SlotOf<std::vector<PathEntry>>,
    SlotOf<std::vector<std::string>>, SlotOf<std::map<std::string, std::string>>,
    SlotOf<std::map<std::string, std::vector<std::string>>>, SlotOf<std::vector<BindMount>>>;

// What a value must look like beyond its type.
enum class Form {
  kPlain,       // not empty
  kIdentifier,  // [A-Za-z0-9._-], 1 to 64
  kAbsolutePath,
  kCount,             // 1 or more
  kBytes,             // 1 or more, or a size as a string
  kVariableNames,     // exact names
  kVariablePatterns,  // names, or prefixes followed by *
  kNameGlobs,         // of a rule list
  kPrograms,          // base names, globs of base names or absolute paths
  kObject,            // an object of `fields`
  kIgnored,           // a string that is not kept ($schema)
  kNoNetworkFlag,     // only false
  kNoList,            // only []
  kNetwork,           // an object of `fields`; what else asks for a network is refused as such
  kNoNetworkMode,     // only "none"
  kNoCredentials,     // only {}
};

struct Field {
  std::string_view name;
  Slot slot;
  Form form = Form::kPlain;
  bool required = false;
  std::string_view default_text{};  // as JSON; "" for required fields and objects
  std::string_view meaning{};
  std::span<const Field> fields{};  // kObject, kNetwork
};

std::span<const Field> SpecFields();
// "denyRead" of "filesystem" is "filesystem.denyRead".
std::string FieldPath(std::string_view parent, std::string_view name);

}  // namespace cordon::policy
