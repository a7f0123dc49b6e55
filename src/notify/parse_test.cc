#include "notify/parse.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

namespace cordon::notify {
namespace {

TEST(SplitPathTest, TakesTheLastComponentOff) {
  const struct {
    const char* path;
    const char* parent;
    const char* name;
    bool slash;
  } cases[] = {
      {"a", "", "a", false},
      {"a/", "", "a", true},
      {"a/b", "a/", "b", false},
      {"a//b///", "a//", "b", true},
      {"/", "/", ".", false},
      {"///", "/", ".", false},
      {"/a", "/", "a", false},
      {"//a/", "//", "a", true},
      {".", "", ".", false},
      {"..", "", "..", false},
      {"a/.", "a/", ".", false},
      {"../..", "../", "..", false},
      {"./", "", ".", true},
      {"/a/../b", "/a/../", "b", false},
      {"/a\nb/ ", "/a\nb/", " ", false},
  };
  for (const auto& c : cases) {
    const Split split = SplitPath(c.path);
    EXPECT_EQ(split.parent, c.parent) << c.path;
    EXPECT_EQ(split.name, c.name) << c.path;
    EXPECT_EQ(split.slash, c.slash) << c.path;
  }
}

std::string UnixAddress(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string out(reinterpret_cast<const char*>(&address), offsetof(sockaddr_un, sun_path));
  return out += path;
}

TEST(UnixPathTest, EndsAtTheFirstNulOrTheEnd) {
  using namespace std::string_view_literals;
  EXPECT_EQ(UnixPath(UnixAddress("/run/a")), "/run/a");
  EXPECT_EQ(UnixPath(UnixAddress("/run/a\0"sv)), "/run/a");
  EXPECT_EQ(UnixPath(UnixAddress("/run/a\0/etc\0"sv)), "/run/a");
  EXPECT_EQ(UnixPath(UnixAddress(std::string(108, 'x'))), std::string(108, 'x'));
}

TEST(UnixPathTest, UnnamedAbstractAndShortOnesNameNoPath) {
  using namespace std::string_view_literals;
  EXPECT_EQ(UnixPath(UnixAddress("")), "");
  EXPECT_EQ(UnixPath(UnixAddress("\0abstract"sv)), "");
  EXPECT_EQ(UnixPath(UnixAddress("\0"sv)), "");
  EXPECT_EQ(UnixPath(""), "");
  EXPECT_EQ(UnixPath("\1"), "");
}

TEST(InternetAddressTest, ReadsAsPeopleWriteIt) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(80);
  ::inet_pton(AF_INET, "192.0.2.1", &four.sin_addr);
  const std::string_view bytes(reinterpret_cast<const char*>(&four), sizeof four);
  EXPECT_EQ(InternetAddress(bytes), "192.0.2.1:80");
  EXPECT_EQ(InternetAddress(bytes.substr(0, 7)), "an address of family 2");
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(65535);
  ::inet_pton(AF_INET6, "2001:db8::1", &six.sin6_addr);
  EXPECT_EQ(InternetAddress({reinterpret_cast<const char*>(&six), sizeof six}),
            "[2001:db8::1]:65535");
  EXPECT_EQ(InternetAddress(""), "an address of family 0");
  EXPECT_EQ(InternetAddress({"\x10", 1}), "an address of family 16");
}

TEST(ProcNamesTest, OnlyFilesWithoutPowerAreHarmless) {
  for (const char* path : {"/proc/1/comm", "/proc/12/task/13/comm", "/proc/7/oom_score_adj",
                           "/proc/7/timerslack_ns", "/proc/7/task/7/clear_refs"})
    EXPECT_TRUE(IsHarmlessProc(path)) << path;
  for (const char* path :
       {"/proc/1/mem", "/proc/1/uid_map", "/proc/1/attr/current", "/proc/1/task/2/mem",
        "/proc/sys/kernel/comm", "/proc/comm", "/proc/1/comm/", "/proc/1/task/comm",
        "/proc/1/task/2/task/3/comm", "/proc/1/comm2", "/proc/-1/comm", "/proc/+1/comm",
        "/proc/ 1/comm", "/proc/1/fd/comm", "/proc/99999999999/comm", "/x/proc/1/comm",
        "/proc//comm", "proc/1/comm", ""})
    EXPECT_FALSE(IsHarmlessProc(path)) << path;
}

TEST(ProcNamesTest, DescriptorsAreNamedByProcessAndNumber) {
  const auto own = ParseProcDescriptor("/proc/12/fd/3");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->process, 12);
  EXPECT_EQ(own->fd, 3);
  const auto thread = ParseProcDescriptor("/proc/12/task/13/fd/255");
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->process, 12);
  EXPECT_EQ(thread->fd, 255);
  for (const char* path : {"/proc/12/fd/", "/proc/12/fd/3x", "/proc/12/fd/-1", "/proc/12/fd/3/",
                           "/proc/12/task/13/fd/3x", "/proc/12/fdinfo/3", "/proc/12/cwd",
                           "/proc/self/fd/3", "/proc/12/fd/99999999999", "/proc/12/map_files/3"})
    EXPECT_FALSE(ParseProcDescriptor(path)) << path;
}

constexpr std::string_view kStatus =
    "Name:\ta\\nTgid:\t9\nUmask:\t0022\nTgid:\t120\nNgid:\t0\nNStgid:\t120\t7\t2\nNSpid:\t121\t8\n"
    "SigPnd:\t0000000000000000\nShdPnd:\t0000000000000400\nSigBlk:\t0000000000000000\n";

TEST(StatusTest, LinesAreFoundByTheirWholeKey) {
  EXPECT_EQ(StatusLine(kStatus, "Name"), "a\\nTgid:\t9");
  EXPECT_EQ(StatusLine(kStatus, "Tgid"), "120");
  EXPECT_EQ(StatusLine(kStatus, "gid"), "");
  EXPECT_EQ(StatusLine(kStatus, "Umask"), "0022");
  EXPECT_EQ(StatusLine("Name:\tx", "Name"), "x");
  EXPECT_EQ(StatusLine("Name: x\n", "Name"), "");
  EXPECT_EQ(StatusLine("", "Name"), "");
}

TEST(StatusTest, TheLastIdIsTheInnermost) {
  EXPECT_EQ(LastNumber(StatusLine(kStatus, "NStgid")), 2);
  EXPECT_EQ(LastNumber(StatusLine(kStatus, "NSpid")), 8);
  EXPECT_EQ(LastNumber("120"), 120);
  EXPECT_EQ(LastNumber(""), 0);
  EXPECT_EQ(LastNumber("x"), 0);
  EXPECT_EQ(LastNumber("-4"), 0);
}

TEST(StatusTest, SignalsThatAreBlockedDoNotCount) {
  EXPECT_TRUE(HasPendingSignal(kStatus));
  EXPECT_FALSE(HasPendingSignal("ShdPnd:\t0000000000000400\nSigBlk:\t0000000000000400\n"));
  EXPECT_TRUE(HasPendingSignal("SigPnd:\t8000000000000000\nSigBlk:\t7fffffffffffffff\n"));
  EXPECT_FALSE(HasPendingSignal(""));
}

TEST(StatTest, TheTerminalIsFoundBehindAnyName) {
  EXPECT_EQ(TerminalNumber("12 (cat) S 1 12 12 34816 12 4194304"), 0u);
  EXPECT_EQ(TerminalNumber("12 (a) S 1 1 1 5 (b) R 1 12 12 34821 12"), 5u);
  // 136:300 in the old encoding of device numbers.
  EXPECT_EQ(TerminalNumber("12 (x y) S 1 2 3 1083436 9"), 300u);
  EXPECT_FALSE(TerminalNumber("12 (cat) S 1 12 12 0 -1 4194304"));
  EXPECT_FALSE(TerminalNumber("12 (cat) S 1 12 12 1025 -1")) << "a virtual console";
  for (const char* text :
       {"", ")", "12 (cat", "12 (cat) ", "12 (cat) S 1 2", "12 (cat) S 1 2 3 -1"})
    EXPECT_FALSE(TerminalNumber(text)) << text;
}

}  // namespace
}  // namespace cordon::notify
