// Where --events writes: JSON Lines to a descriptor that the caller opened, or to a file.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "session/event.h"

namespace cordon::cli {

class EventSink {
 public:
  // `where`: a descriptor number (1, 2, or 3 and above; open for writing), or a path: created with
  // mode 0600 or truncated; a symbolic link is refused. The descriptor is closed on exec, so that
  // it never enters a session. Once `hurried` says true no write waits longer than a moment for a
  // reader that does not read.
  static Result<std::unique_ptr<EventSink>> Open(const std::string& where,
                                                 std::function<bool()> hurried);

  // The first failure is reported on standard error and ends the writing; it never throws.
  void Write(const session::Event& event);

 private:
  EventSink(UniqueFd fd, std::string name, std::function<bool()> hurried)
      : fd_(std::move(fd)), name_(std::move(name)), hurried_(std::move(hurried)) {}
  // False when the reader does not take anything in time; errno says why.
  bool WaitWritable() const;

  UniqueFd fd_;
  std::string name_;
  std::function<bool()> hurried_;
};

}  // namespace cordon::cli
