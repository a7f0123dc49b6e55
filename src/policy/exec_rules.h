// Which program files are masked so that they cannot be executed.
//
//   CORDON_TRY(ExecDenials denials, FindDeniedPrograms(spec.exec, fs));
//   for (auto& p : denials.masked) plan.Mask(p.path);
//
// Names are looked up in fixed system directories, never through PATH. A mask on a file gives a
// clear refusal; it is no boundary (12.19: copies, interpreters, memfd stay possible).
//
// A file that other names lead to is left alone: /bin/su of a small system is a link to busybox,
// and a mask there would take the shell away. Such names are reported in `not_held`.
//
// Pure but for the FileSystem given. Costs one look per name and directory of the distribution
// (some 200 where /usr is merged) and a listing of each directory beside it; the distribution's are
// listed only for a glob, or where a name leads to a file of another name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/builtin.h"
#include "policy/file_system.h"
#include "policy/spec.h"

namespace cordon::policy {

struct DeniedProgram {
  std::string path;    // of the file itself, without links
  std::string rule;    // the entry that named it: "sudo", "/opt/tool"
  std::string reason;  // masked: why it is denied; not held: why it cannot be masked
  bool operator==(const DeniedProgram&) const = default;
};

struct ExecDenials {
  std::vector<DeniedProgram> masked;    // sorted by path, each path once
  std::vector<DeniedProgram> not_held;  // sorted by rule
};

// Where names are looked up, in this order.
std::span<const std::string_view> ProgramDirectories();

// `rules.deny` and, with `rules.default_denies`, DangerousPrograms(). Error kInvalid: a glob in
// `rules.deny` that cannot be read.
Result<ExecDenials> FindDeniedPrograms(const ExecRules& rules, const FileSystem& fs);

}  // namespace cordon::policy
