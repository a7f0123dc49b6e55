#include "cli/event_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cordon::cli {
namespace {

class EventSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cordon-event-sink.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    event_.type = "ready";
    event_.session = "s";
    event_.sequence = 1;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
  session::Event event_;
};

bool Never() { return false; }
bool Always() { return true; }

TEST_F(EventSinkTest, WritesLinesToAPrivateFile) {
  const std::string path = directory_ + "/events";
  {
    const auto sink = EventSink::Open(path, Never);
    ASSERT_TRUE(sink.ok());
    (*sink)->Write(event_);
    (*sink)->Write(event_);
  }
  struct stat st;
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string line = session::ToJsonLine(event_) + "\n";
  EXPECT_EQ(text.str(), line + line);
}

TEST_F(EventSinkTest, RefusesWhatCannotBeWritten) {
  std::filesystem::create_symlink("target", directory_ + "/link");
  const UniqueFd reading(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (const std::string& where :
       {std::string("0"), std::string("1048575"), std::to_string(reading.get()),
        directory_ + "/link", directory_ + "/no/such"}) {
    EXPECT_FALSE(EventSink::Open(where, Never).ok()) << where;
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/target"));
}

TEST_F(EventSinkTest, ANumberedDescriptorIsClosedOnExec) {
  const UniqueFd fd(::open("/dev/null", O_WRONLY));
  ASSERT_TRUE(EventSink::Open(std::to_string(fd.get()), Never).ok());
  EXPECT_NE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(EventSinkTest, GivesUpOnAFullPipeOnlyWhenHurried) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  while (::write(write_end.get(), "x", 1) == 1) {
  }
  const auto sink = EventSink::Open(std::to_string(write_end.get()), Always);
  ASSERT_TRUE(sink.ok());
  ::testing::internal::CaptureStderr();
  (*sink)->Write(event_);
  (*sink)->Write(event_);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the rest of the events is lost"), std::string::npos);
  EXPECT_EQ(said.find("lost", said.find("lost") + 1), std::string::npos) << "said once";
}

}  // namespace
}  // namespace cordon::cli
