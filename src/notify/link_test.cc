#include "notify/link.h"

#include <sys/mman.h>
#include <sys/uio.h>

#include "notify/notify_test_support.h"

namespace cordon::notify {
namespace {

using jail::wire::kInlineBytes;
using jail::wire::kMaxDescriptors;
using jail::wire::MessageHeader;
using jail::wire::Type;

UniqueFd FileOf(const std::string& text) {
  UniqueFd fd(::memfd_create("payload", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return fd;
}

class LinkTest : public ::testing::Test {
 protected:
  // Any bytes, with descriptors.
  void SendRaw(const std::string& bytes, const std::vector<int>& fds = {}) {
    iovec iov{const_cast<char*>(bytes.data()), bytes.size()};
    std::vector<char> control(CMSG_SPACE(sizeof(int) * std::max<std::size_t>(fds.size(), 1)));
    msghdr message{};
    message.msg_iov = &iov;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
    }
    ASSERT_EQ(::sendmsg(pair_.far.get(), &message, 0), static_cast<ssize_t>(bytes.size()));
  }
  static std::string Message(std::uint32_t size, std::uint32_t in_file,
                             const std::string& payload = {}) {
    const MessageHeader header{Type::kPolicy, 7, size, in_file};
    std::string out(reinterpret_cast<const char*>(&header), sizeof header);
    out += payload;
    return out;
  }
  LinkResult Receive() { return ReceiveLink(pair_.near.get(), message_, false); }

  SocketPair pair_;
  LinkMessage message_;
};

TEST_F(LinkTest, WhatIsSentArrives) {
  EXPECT_EQ(Receive(), LinkResult::kNothing);
  const UniqueFd file = FileOf("in the file");
  ASSERT_TRUE(SendLink(pair_.far.get(), Type::kListener, 12, "payload", {file.get(), file.get()}));
  ASSERT_TRUE(SendLink(pair_.far.get(), Type::kFlush, 3, {}));
  ASSERT_EQ(Receive(), LinkResult::kMessage);
  EXPECT_EQ(message_.header.type, Type::kListener);
  EXPECT_EQ(message_.header.exec, 12u);
  EXPECT_EQ(message_.payload, "payload");
  ASSERT_EQ(message_.fds.size(), 2u);
  char text[16] = {};
  EXPECT_EQ(::pread(message_.fds[1].get(), text, sizeof text, 0), 11);
  EXPECT_NE(::fcntl(message_.fds[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_EQ(Receive(), LinkResult::kMessage);
  EXPECT_EQ(message_.header.type, Type::kFlush);
  EXPECT_EQ(message_.payload, "");
  EXPECT_TRUE(message_.fds.empty()) << "nothing is left of the message before";
  EXPECT_EQ(Receive(), LinkResult::kNothing);
  pair_.far.reset();
  EXPECT_EQ(Receive(), LinkResult::kEndOfFile);
}

TEST_F(LinkTest, LargePayloadsAreReadFromTheirFile) {
  const std::string text(3u << 20, 'x');
  const UniqueFd first = FileOf("first"), last = FileOf(text);
  SendRaw(Message(static_cast<std::uint32_t>(text.size()), 1), {first.get(), last.get()});
  ASSERT_EQ(Receive(), LinkResult::kMessage);
  EXPECT_EQ(message_.payload, text);
  EXPECT_EQ(message_.fds.size(), 1u) << "the file itself is not passed on";
  SendRaw(Message(0, 1), {first.get()});
  EXPECT_EQ(Receive(), LinkResult::kMessage);
  EXPECT_EQ(message_.payload, "");
}

TEST_F(LinkTest, FilesThatAreMissingOrTooShortBreakIt) {
  SendRaw(Message(4, 1));
  EXPECT_EQ(Receive(), LinkResult::kBroken);
  const UniqueFd file = FileOf("text");
  SendRaw(Message(5, 1), {file.get()});
  EXPECT_EQ(Receive(), LinkResult::kBroken);
  SendRaw(Message(~0u, 1), {file.get()});
  EXPECT_EQ(Receive(), LinkResult::kBroken);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  SendRaw(Message(4, 1), {reader.get()});
  EXPECT_EQ(Receive(), LinkResult::kBroken) << "a pipe could keep the broker waiting";
}

TEST_F(LinkTest, CutMessagesBreakIt) {
  SendRaw("short");
  EXPECT_EQ(Receive(), LinkResult::kBroken);
  SendRaw(Message(5, 0, "text"));
  EXPECT_EQ(Receive(), LinkResult::kBroken);
  SendRaw(Message(3, 0, "text"));
  EXPECT_EQ(Receive(), LinkResult::kBroken);
  const int size = 1 << 20;
  ASSERT_EQ(::setsockopt(pair_.far.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
  SendRaw(Message(kInlineBytes + 1, 0, std::string(kInlineBytes + 1, 'x')));
  EXPECT_EQ(Receive(), LinkResult::kBroken);
  SendRaw(Message(kInlineBytes, 0, std::string(kInlineBytes, 'x')));
  EXPECT_EQ(Receive(), LinkResult::kMessage) << "and the next one is whole again";
}

TEST_F(LinkTest, NoDescriptorIsKeptOfAMessageThatIsNotTaken) {
  const UniqueFd file = FileOf("text");
  const std::size_t before = OpenDescriptors();
  SendRaw(Message(0, 0), std::vector<int>(kMaxDescriptors + 1, file.get()));
  EXPECT_EQ(Receive(), LinkResult::kBroken);
  SendRaw("", {file.get(), file.get()});
  EXPECT_EQ(Receive(), LinkResult::kEndOfFile);
  message_ = LinkMessage{};
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(LinkTest, SendingNeverWaits) {
  const std::string payload(1000, 'x');
  int sent = 0;
  while (SendLink(pair_.far.get(), Type::kReport, 0, payload)) ++sent;
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GT(sent, 0);
  ASSERT_EQ(Receive(), LinkResult::kMessage);
  EXPECT_TRUE(SendLink(pair_.far.get(), Type::kReport, 0, payload));
  pair_.near.reset();
  EXPECT_FALSE(SendLink(pair_.far.get(), Type::kReport, 0, payload)) << "and no SIGPIPE";
  EXPECT_NE(errno, EAGAIN);
}

}  // namespace
}  // namespace cordon::notify
