#include "cli/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/text.h"

namespace cordon::cli {
namespace {

bool stdout_was_closed = false;

void Say(std::string_view text) {
  // Nowhere is left to say that standard error is closed.
  (void)WriteAll(STDERR_FILENO, text);
}

}  // namespace

std::string ErrorText(const Error& error) {
  std::string line = error.message;
  if (error.sys_errno != 0) {
    char buf[128];
    line += ": ";
    line += strerror_r(error.sys_errno, buf, sizeof buf);
  }
  std::string out = "cordon: " + Printable(line) + "\n";
  if (!error.remedy.empty()) out += "  try: " + Printable(error.remedy) + "\n";
  return out;
}

int ReportError(const Error& error) {
  Say(ErrorText(error));
  return kExitCordon;
}

void ReportWarning(std::string_view text) { Say("cordon: warning: " + Printable(text) + "\n"); }
void ReportNote(std::string_view text) { Say("cordon: " + Printable(text) + "\n"); }

bool Print(std::string_view text) {
  if (stdout_was_closed) errno = EBADF;
  if (!stdout_was_closed && WriteAll(STDOUT_FILENO, text)) return true;
  if (errno != EPIPE) ReportError(ErrnoError("write to standard output"));
  return false;
}

void GuardStandardDescriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (fd == STDOUT_FILENO) stdout_was_closed = true;
    // The lowest free number is `fd`, for those below are open by now.
    (void)!::open("/dev/null", O_RDWR);
  }
}

}  // namespace cordon::cli
