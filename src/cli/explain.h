// `cordon explain`: what the policy answers for a path, by which rule, what holds it, and what
// would change it. Asks the code that the session itself decides by (policy::Decide,
// policy::NameJudge).
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/options.h"
#include "policy/file_system.h"
#include "session/session.h"

namespace cordon::cli {

struct Question {
  enum class Kind {
    kLook,    // may it be read, and may it be changed (or created, where it is missing)?
    kChange,  // its contents
    kCreate,
    kRemove,
    kRename,   // `path` to `to`
    kConnect,  // to a unix socket
  } kind = Kind::kLook;
  // Absolute and normalised, links not resolved; a trailing slash was taken away.
  std::string path, to;
  bool directory = false;  // kCreate: as a directory
};

struct Explanation {
  std::string verb;  // "read", "create", ...
  std::string path;  // links resolved, where the question follows them
  std::string to;    // kRename
  bool allowed = false;
  std::string rule, source;  // "" when no rule decided
  std::string reason;        // one sentence
  std::string held_by;       // the mechanism
  std::string change;        // what would turn the answer round; "" when nothing is known
};

// `fs`: the host's, in place of the view's. Never empty; the first one is the question's own.
// Error kInvalid: links in a circle.
Result<std::vector<Explanation>> Explain(const Question& question, const session::Preview& preview,
                                         const policy::FileSystem& fs);

std::string ExplainText(const std::vector<Explanation>& answers);
// {"path": ..., "allowed": ..., "answers": [...]}
std::string ExplainJson(const Question& question, const std::vector<Explanation>& answers);

// Reads the question off the command line. Errors: none, or more than one.
Result<Question> ReadQuestion(const Arguments& arguments, const std::string& home,
                              const std::string& directory);

// 0 the answer is yes, 1 it is no, 125 the question or the policy is wrong.
int ExplainMain(const Arguments& arguments);

}  // namespace cordon::cli
