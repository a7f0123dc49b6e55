// `ignoreViolations` of the spec: refusals that a person does not want to hear of. They are refused
// all the same.
//
//   {"*": ["/home/u/.cache"], "npm install": ["unix-socket", "~/.npmrc", "*.log"]}
//
// Key, a command pattern: part of the command line (the words joined by single spaces) or of the
// program that was refused; "*" stands for anything, so "*" alone is every command.
// Value, a list of
//   an action      "file-read*", "unix-socket", ...; "file-write*" also means create and unlink
//   a path         absolute, ~/... or ./... (from the working directory); globs are allowed; it
//                  means the path and what lies below
//   a name         any other text without a leading "/": a path of one or more components at any
//                  depth, "node_modules/.cache", "*.pyc"
//
// Pure and thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "glob/glob.h"
#include "jail/wire_report.h"

namespace cordon::session {

class ViolationFilter {
 public:
  using Spec = std::map<std::string, std::vector<std::string>>;

  // Errors kInvalid, each naming the command pattern and the entry: an empty one, a bad glob, a
  // word that is nearly an action.
  static Result<ViolationFilter> Make(const Spec& spec, const std::string& home,
                                      const std::string& workdir);

  // `command`: the words of the exec joined by spaces.
  bool Ignores(std::string_view command, std::string_view program, jail::wire::Action action,
               std::string_view target) const;
  bool empty() const { return rows_.empty(); }

 private:
  struct Row {
    std::string command;
    std::vector<jail::wire::Action> actions;
    std::vector<glob::Pattern> paths;
  };
  static Status AddEntry(const std::string& text, const std::string& home,
                         const std::string& workdir, Row& row);
  std::vector<Row> rows_;
};

}  // namespace cordon::session
