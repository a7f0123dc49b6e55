#include "cli/report.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace cordon::cli {
namespace {

TEST(ReportTest, SaysWhatFailedWhyAndWhatToTry) {
  Error error = ErrnoError("--spec: a.json", ENOENT);
  error.remedy = "name a file";
  EXPECT_EQ(ErrorText(error),
            "cordon: --spec: a.json: No such file or directory\n  try: name a file\n");
  EXPECT_EQ(ErrorText(MakeError(ErrorCode::kInvalid, "wrong")), "cordon: wrong\n");
}

TEST(ReportTest, StaysOnItsLinesAndOffTheTerminal) {
  const std::string text = ErrorText(MakeError(ErrorCode::kInvalid, "a\nb\x1b[2J", "c\rd"));
  EXPECT_EQ(text, "cordon: a\\nb\\x1b[2J\n  try: c\\x0dd\n");
}

}  // namespace
}  // namespace cordon::cli
