#include "maskfs/mask_tree.h"

#include <gtest/gtest.h>
#include <linux/fuse.h>

#include <cerrno>
#include <cstring>

namespace cordon::maskfs {
namespace {

using jail::wire::MaskKind;

constexpr std::uint64_t kDirectory = 2 + 3, kFile = 2 + 7, kEmpty = 2 + 9;

class MaskTreeTest : public ::testing::Test {
 protected:
  static MaskTable Table() {
    MaskTable table;
    table.uid = 1000;
    table.gid = 1001;
    table.masks.push_back({3, MaskKind::kDirectory, 11, "/home/u/.ssh"});
    table.masks.push_back({7, MaskKind::kFile, 12, "/home/u/.netrc"});
    table.masks.push_back({9, MaskKind::kEmptyFile, 13, "/home/u/.npmrc"});
    return table;
  }
  Answer Ask(std::uint32_t opcode, std::uint64_t node, std::string_view rest = {}) {
    fuse_in_header header{};
    header.len = static_cast<std::uint32_t>(sizeof header + rest.size());
    header.opcode = opcode;
    header.unique = 77;
    header.nodeid = node;
    header.pid = 5;
    request_.assign(reinterpret_cast<const char*>(&header), sizeof header);
    request_ += rest;
    return tree_.Ask(request_);
  }
  template <typename T>
  Answer AskWith(std::uint32_t opcode, std::uint64_t node, const T& value) {
    return Ask(opcode, node, {reinterpret_cast<const char*>(&value), sizeof value});
  }
  Answer LookUp(std::uint64_t node, const std::string& name) {
    return Ask(FUSE_LOOKUP, node, std::string_view(name.c_str(), name.size() + 1));
  }
  template <typename T>
  static T As(std::string_view body) {
    T value{};
    std::memcpy(&value, body.data(), std::min(body.size(), sizeof value));
    return value;
  }

  MaskTree tree_{Table(), 1234};
  std::string request_;
};

TEST_F(MaskTreeTest, NameBelowDirectoryIsRefusedAndTold) {
  const Answer answer = LookUp(kDirectory, "id_rsa");
  EXPECT_EQ(answer.error, EACCES);
  EXPECT_EQ(answer.unique, 77u);
  EXPECT_EQ(answer.pid, 5u);
  ASSERT_TRUE(answer.attempt);
  EXPECT_EQ(answer.attempt->mask->path, "/home/u/.ssh");
  EXPECT_EQ(answer.attempt->mask->rule, 11u);
  EXPECT_EQ(answer.attempt->name, "id_rsa");
}

TEST_F(MaskTreeTest, OpeningIsRefusedAndTold) {
  for (const auto& [opcode, node] : {std::pair{FUSE_OPEN, kFile}, {FUSE_OPENDIR, kDirectory}}) {
    const Answer answer = AskWith(opcode, node, fuse_open_in{});
    EXPECT_EQ(answer.error, EACCES);
    ASSERT_TRUE(answer.attempt);
    EXPECT_EQ(answer.attempt->error, EACCES);
    EXPECT_TRUE(answer.attempt->name.empty());
  }
}

TEST_F(MaskTreeTest, EmptyFileOpensAndIsTold) {
  const Answer opened = AskWith(FUSE_OPEN, kEmpty, fuse_open_in{});
  EXPECT_EQ(opened.error, 0);
  EXPECT_EQ(opened.body.size(), sizeof(fuse_open_out));
  ASSERT_TRUE(opened.attempt);
  EXPECT_EQ(opened.attempt->error, 0);
  const Answer read = AskWith(FUSE_READ, kEmpty, fuse_read_in{});
  EXPECT_EQ(read.error, 0);
  EXPECT_TRUE(read.body.empty());
}

TEST_F(MaskTreeTest, LookingAtTheMaskItselfIsNoAttempt) {
  struct Row {
    std::uint64_t node;
    std::uint32_t mode;
  };
  for (const Row& row : {Row{kDirectory, 040000}, Row{kFile, 0100000}, Row{kEmpty, 0100444}}) {
    const Answer answer = AskWith(FUSE_GETATTR, row.node, fuse_getattr_in{});
    EXPECT_FALSE(answer.attempt);
    const auto out = As<fuse_attr_out>(answer.body);
    EXPECT_EQ(out.attr.mode, row.mode);
    EXPECT_EQ(out.attr.uid, 1000u);
    EXPECT_EQ(out.attr.gid, 1001u);
    EXPECT_EQ(out.attr.mtime, 1234u);
    EXPECT_GT(out.attr_valid, 3600u);
  }
  EXPECT_FALSE(AskWith(FUSE_ACCESS, kFile, fuse_access_in{0, 0}).attempt);
}

TEST_F(MaskTreeTest, AskingForAccessIsAnAttempt) {
  const Answer read = AskWith(FUSE_ACCESS, kFile, fuse_access_in{4, 0});
  EXPECT_EQ(read.error, EACCES);
  EXPECT_TRUE(read.attempt);
  const Answer enter = AskWith(FUSE_ACCESS, kDirectory, fuse_access_in{1, 0});
  EXPECT_EQ(enter.error, EACCES);
  EXPECT_TRUE(enter.attempt);
  const Answer write = AskWith(FUSE_ACCESS, kFile, fuse_access_in{2, 0});
  EXPECT_EQ(write.error, EACCES);
  EXPECT_FALSE(write.attempt);
  EXPECT_EQ(AskWith(FUSE_ACCESS, kEmpty, fuse_access_in{4, 0}).error, 0);
  EXPECT_EQ(AskWith(FUSE_ACCESS, kEmpty, fuse_access_in{2, 0}).error, EACCES);
}

TEST_F(MaskTreeTest, RootHoldsTheNodesByNumber) {
  const Answer found = LookUp(FUSE_ROOT_ID, "7");
  ASSERT_EQ(found.error, 0);
  EXPECT_TRUE(found.from_launcher);
  EXPECT_FALSE(found.attempt);
  EXPECT_EQ(As<fuse_entry_out>(found.body).nodeid, kFile);
  for (const char* name : {"8", "", "7x", "-1", "99999999999", "../7"})
    EXPECT_EQ(LookUp(FUSE_ROOT_ID, name).error, ENOENT) << name;
}

TEST_F(MaskTreeTest, RootIsListedWithAttributes) {
  EXPECT_EQ(AskWith(FUSE_OPENDIR, FUSE_ROOT_ID, fuse_open_in{}).error, 0);
  fuse_read_in in{};
  in.size = 4096;
  const Answer all = AskWith(FUSE_READDIRPLUS, FUSE_ROOT_ID, in);
  EXPECT_EQ(all.body.size(), 3 * FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + 1));
  const auto first = As<fuse_direntplus>(all.body);
  EXPECT_EQ(first.entry_out.nodeid, kDirectory);
  EXPECT_EQ(first.dirent.namelen, 1u);
  in.size = 200;  // room for one
  EXPECT_EQ(AskWith(FUSE_READDIRPLUS, FUSE_ROOT_ID, in).body.size(), all.body.size() / 3);
  in.offset = 3;
  EXPECT_TRUE(AskWith(FUSE_READDIRPLUS, FUSE_ROOT_ID, in).body.empty());
  EXPECT_EQ(AskWith(FUSE_READDIRPLUS, kDirectory, in).error, EACCES);
}

TEST_F(MaskTreeTest, ChangesAreRefused) {
  for (std::uint32_t opcode :
       {FUSE_SETATTR, FUSE_MKNOD, FUSE_MKDIR, FUSE_UNLINK, FUSE_RMDIR, FUSE_RENAME, FUSE_RENAME2,
        FUSE_LINK, FUSE_SYMLINK, FUSE_CREATE, FUSE_WRITE, FUSE_SETXATTR, FUSE_READDIR})
    EXPECT_EQ(Ask(opcode, kDirectory, std::string(64, 'x')).error, EACCES) << opcode;
}

TEST_F(MaskTreeTest, SomeRequestsTakeNoAnswer) {
  for (std::uint32_t opcode : {FUSE_FORGET, FUSE_BATCH_FORGET, FUSE_INTERRUPT, FUSE_NOTIFY_REPLY})
    EXPECT_FALSE(Ask(opcode, kFile, std::string(16, '\0')).send) << opcode;
  EXPECT_FALSE(tree_.Ask("short").send);
}

TEST_F(MaskTreeTest, CutRequestsAreRefused) {
  EXPECT_EQ(Ask(FUSE_LOOKUP, kDirectory, "no end").error, EINVAL);
  EXPECT_EQ(Ask(FUSE_OPEN, kFile).error, EACCES);
  EXPECT_EQ(Ask(FUSE_INIT, 0).error, EPROTO);
  request_.push_back('x');
  EXPECT_EQ(tree_.Ask(request_).error, EIO);
}

TEST_F(MaskTreeTest, SpeaksAnOlderProtocolThanTheKernel) {
  const Answer answer = AskWith(FUSE_INIT, 0, fuse_init_in{7, 45, 131072, ~0u, 0, {}});
  const auto out = As<fuse_init_out>(answer.body);
  EXPECT_EQ(out.major, 7u);
  EXPECT_EQ(out.minor, 31u);
  EXPECT_EQ(out.flags & FUSE_POSIX_ACL, 0u);
}

TEST(DecodeMasksTest, RefusesWhatIsNoTable) {
  const auto number = [](std::uint32_t v) {
    return std::string(reinterpret_cast<const char*>(&v), sizeof v);
  };
  const std::string path = number(2) + std::string("/x\0", 3);
  const std::string one = number(4) + number(1) + number(0) + path;
  const auto table = DecodeMasks(number(5) + number(6) + number(1) + one);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->uid, 5u);
  EXPECT_EQ(table->masks.at(0).path, "/x");
  EXPECT_EQ(table->masks.at(0).kind, MaskKind::kDirectory);
  EXPECT_FALSE(DecodeMasks(""));
  EXPECT_FALSE(DecodeMasks(number(5) + number(6) + number(1)));
  EXPECT_FALSE(DecodeMasks(number(5) + number(6) + number(1) + one + "x"));
  EXPECT_FALSE(DecodeMasks(number(5) + number(6) + number(2) + one + one));
  EXPECT_FALSE(
      DecodeMasks(number(5) + number(6) + number(1) + number(4) + number(9) + number(0) + path));
}

}  // namespace
}  // namespace cordon::maskfs
