// The JSON form of SandboxSpec: reading with positions, writing, and the JSON Schema.
//
// Comments (// and /* */) and trailing commas are accepted. Refused with file, line and column:
// unknown fields (with the nearest known one), wrong types, duplicate keys, NUL bytes, invalid
// UTF-8, numbers out of range, nesting deeper than 64, files larger than 16 MiB.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/spec.h"

namespace cordon::policy {

// Whether sessionId and workspaceId may be left out (they are then empty): in a named profile.
enum class Ids { kRequired, kOptional };

// `origin` names the text in messages and in the Source of every rule (a path, "--spec").
Result<SandboxSpec> ParseSpec(std::string_view text, const std::string& origin,
                              Ids ids = Ids::kRequired);
Result<SandboxSpec> ReadSpecFile(const std::string& path, Ids ids = Ids::kRequired);
// Canonical JSON with every field, two-space indentation, sorted as in the schema.
std::string WriteSpec(const SandboxSpec& spec);
// JSON Schema (2020-12), generated from the same table that the reader uses.
std::string SpecSchema();
// Markdown reference of the fields, from the same table.
std::string SpecReference();

}  // namespace cordon::policy
