// What would let a refused call through: the one option, or why there is none.
//
// Pure and thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "policy/policy.h"
#include "session/violation.h"

namespace cordon::cli {

struct Remedy {
  enum class Kind {
    kNothing,  // nothing lifts it, or nothing but giving up all file rules
    kTooWide,  // only by opening what nobody should open whole: /, the home directory, /usr
    kRule,     // a person's own rule, mode or mount refuses: that has to change
    kSecret,   // one more option, which gives away a built-in secret or power over the machine
    kOption,   // one more option
  } kind = Kind::kNothing;
  std::string option;      // kOption, kSecret: "--write"
  std::string value;       // its path, as it is (not quoted)
  std::string field;       // the same in a spec: "filesystem.allowWrite"
  bool directory = false;  // `value` is one, and stands for what lies in it
  std::string text;        // for a person; always set; printable
};

// REQUIRES: `v` is a refusal (not kChanged or kLost).
Remedy RemedyFor(const session::Violation& v, const policy::EffectivePolicy& policy);

// Nobody should make this directory writable as a whole: it holds start files, programs or the data
// of everything else.
bool IsTooWide(std::string_view directory, std::string_view home);

// `word` as one word of a POSIX shell, or of bash where it holds control bytes; printable.
std::string ShellWord(std::string_view word);
// "--write /path": `path` as a rule that means exactly it, even where it holds * or ?.
std::string OptionText(std::string_view option, std::string_view path);

// "create", "write", "connect to", ...: what the call was about to do to its target.
std::string_view VerbOf(const session::Violation& v);

}  // namespace cordon::cli
