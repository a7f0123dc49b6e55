#include "cli/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace cordon::cli {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  void Put(std::string_view text) const {
    EXPECT_EQ(::write(in.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string Take() const {
    std::string text(1 << 17, '\0');
    const ssize_t n = ::read(out.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  UniqueFd out, in;
};

struct Line {
  Pipe from, to;
  Channel channel{from.out.get(), to.in.get(), Channel::kCapacity};
};

TEST(ChannelTest, CarriesBytesAndSeesTheEnd) {
  Line line;
  line.from.Put("hello");
  EXPECT_EQ(line.channel.ReadOnce(), Channel::Read::kSome);
  EXPECT_EQ(line.channel.last_byte(), 'o');
  EXPECT_TRUE(line.channel.WriteOnce());
  EXPECT_EQ(line.to.Take(), "hello");
  EXPECT_EQ(line.channel.ReadOnce(), Channel::Read::kNothingNow);
  line.from.in.reset();
  EXPECT_EQ(line.channel.ReadOnce(), Channel::Read::kEnd);
  EXPECT_TRUE(line.channel.ended());
  EXPECT_FALSE(line.channel.WantsRead());
}

TEST(ChannelTest, StopsReadingWhenNobodyTakes) {
  Line line;
  const std::string block(4096, 'x');
  std::size_t read = 0;
  while (line.channel.WantsRead()) {
    line.from.Put(block);
    ASSERT_EQ(line.channel.ReadOnce(), Channel::Read::kSome);
    read += block.size();
    ASSERT_LE(read, 2 * Channel::kCapacity);
  }
  EXPECT_LE(read, Channel::kCapacity);
  EXPECT_TRUE(line.channel.WantsWrite());
  EXPECT_TRUE(line.channel.WriteOnce());
  EXPECT_TRUE(line.channel.WantsRead());
}

TEST(ChannelTest, AReaderThatLeftBreaksIt) {
  ::signal(SIGPIPE, SIG_IGN);
  Line line;
  line.to.out.reset();
  line.from.Put("x");
  EXPECT_EQ(line.channel.ReadOnce(), Channel::Read::kSome);
  EXPECT_FALSE(line.channel.WriteOnce());
  EXPECT_TRUE(line.channel.broken());
  EXPECT_EQ(line.channel.write_error(), EPIPE);
  EXPECT_FALSE(line.channel.WantsRead());
  EXPECT_FALSE(line.channel.WantsWrite());
}

std::string Joined(const std::vector<std::string>& reads) {
  Line line;
  line.channel.set_join_line_ends(true);
  for (const std::string& text : reads) {
    line.from.Put(text);
    EXPECT_EQ(line.channel.ReadOnce(), Channel::Read::kSome);
  }
  line.channel.ReleaseHeld();
  while (line.channel.WantsWrite()) EXPECT_TRUE(line.channel.WriteOnce());
  return line.to.Take();
}

TEST(ChannelTest, JoinsLineEndsAcrossReads) {
  EXPECT_EQ(Joined({"a\r\nb\r\n"}), "a\nb\n");
  EXPECT_EQ(Joined({"a\r", "\nb"}), "a\nb");
  EXPECT_EQ(Joined({"50%\r", "60%\r"}), "50%\r60%\r");
  EXPECT_EQ(Joined({"a\r\r\n"}), "a\r\n");
  EXPECT_EQ(Joined({"\r", "\r", "\n"}), "\r\n");
}

TEST(ChannelTest, AppendsOnlyWhereThereIsRoom) {
  Line line;
  EXPECT_TRUE(line.channel.Append("\x04"));
  EXPECT_FALSE(line.channel.Append(std::string(Channel::kCapacity, 'x')));
  EXPECT_TRUE(line.channel.WriteOnce());
  EXPECT_EQ(line.to.Take(), "\x04");
}

}  // namespace
}  // namespace cordon::cli
