#include "policy/exec_rules.h"

#include <gtest/gtest.h>

#include "policy/memory_file_system.h"

namespace cordon::policy {
namespace {

ExecDenials Find(const MemoryFileSystem& fs, std::vector<std::string> deny = {},
                 bool defaults = true) {
  ExecRules rules;
  rules.deny = std::move(deny);
  rules.default_denies = defaults;
  auto found = FindDeniedPrograms(rules, fs);
  EXPECT_TRUE(found.ok()) << found.error().ToString();
  return found.ok() ? std::move(found).value() : ExecDenials{};
}

std::vector<std::string> Masked(const ExecDenials& denials) {
  std::vector<std::string> out;
  for (const DeniedProgram& program : denials.masked) out.push_back(program.path);
  return out;
}

using Paths = std::vector<std::string>;

MemoryFileSystem MergedUsr() {
  MemoryFileSystem fs;
  fs.AddDirectory("/usr/bin").AddDirectory("/usr/sbin").AddDirectory("/usr/local/bin");
  fs.AddLink("/bin", "usr/bin").AddLink("/sbin", "usr/sbin");
  return fs;
}

TEST(ExecRulesTest, FindsEachFileOnceAlthoughDirectoriesAreLinks) {
  MemoryFileSystem fs = MergedUsr();
  fs.AddFile("/usr/bin/sudo")
      .AddFile("/usr/bin/ls")
      .AddFile("/usr/sbin/fdisk")
      .AddFile("/usr/local/bin/docker");
  EXPECT_EQ(Masked(Find(fs)), (Paths{"/usr/bin/sudo", "/usr/local/bin/docker", "/usr/sbin/fdisk"}));
  EXPECT_EQ(Find(fs).masked[0].rule, "sudo");
  EXPECT_EQ(Find(fs).masked[0].reason, "runs a program as another user");
}

TEST(ExecRulesTest, FindsBothFilesWhereDirectoriesAreApart) {
  MemoryFileSystem fs;
  fs.AddFile("/bin/su").AddFile("/usr/bin/su").AddFile("/usr/local/sbin/su");
  EXPECT_EQ(Masked(Find(fs)), (Paths{"/bin/su", "/usr/bin/su", "/usr/local/sbin/su"}));
}

TEST(ExecRulesTest, FollowsAlternativesToTheFile) {
  MemoryFileSystem fs = MergedUsr();
  fs.AddLink("/usr/bin/sudo", "/etc/alternatives/sudo")
      .AddLink("/etc/alternatives/sudo", "/usr/bin/sudo-rs");
  fs.AddFile("/usr/bin/sudo-rs");
  EXPECT_EQ(Masked(Find(fs)), Paths{"/usr/bin/sudo-rs"});
}

TEST(ExecRulesTest, LinksToAProgramThatIsDeniedItselfGoWithIt) {
  MemoryFileSystem fs = MergedUsr();
  fs.AddFile("/usr/bin/systemctl").AddLink("/usr/sbin/reboot", "/bin/systemctl");
  // Not denied by name, but what it leads to is.
  fs.AddLink("/usr/sbin/runlevel", "/bin/systemctl");
  const ExecDenials denials = Find(fs);
  EXPECT_EQ(Masked(denials), Paths{"/usr/bin/systemctl"});
  EXPECT_TRUE(denials.not_held.empty());
}

TEST(ExecRulesTest, NeverMasksBusybox) {
  MemoryFileSystem fs;
  fs.AddFile("/bin/busybox");
  for (const char* name : {"/bin/sh", "/bin/su", "/bin/mount", "/sbin/reboot"})
    fs.AddLink(name, "/bin/busybox");
  const ExecDenials denials = Find(fs);
  EXPECT_TRUE(denials.masked.empty());
  ASSERT_EQ(denials.not_held.size(), 3u);
  EXPECT_EQ(denials.not_held[0], (DeniedProgram{"/bin/busybox", "mount",
                                                "it is busybox, which is many programs in one"}));
}

TEST(ExecRulesTest, NeverMasksAFileThatOtherNamesLeadTo) {
  MemoryFileSystem fs = MergedUsr();
  fs.AddFile("/usr/bin/multi").AddLink("/usr/bin/su", "multi").AddLink("/usr/bin/id", "multi");
  const ExecDenials denials = Find(fs);
  EXPECT_TRUE(denials.masked.empty());
  ASSERT_EQ(denials.not_held.size(), 1u);
  EXPECT_EQ(denials.not_held[0].reason, "other programs are the same file: /usr/bin/id");
}

TEST(ExecRulesTest, NeverMasksAFileOfAnotherName) {
  MemoryFileSystem fs = MergedUsr();
  fs.AddFile("/usr/bin/git").AddLink("/usr/bin/at", "git");
  EXPECT_TRUE(Find(fs).masked.empty());
  EXPECT_EQ(Find(fs).not_held[0].reason, "other programs are the same file: /usr/bin/git");
}

TEST(ExecRulesTest, TakesNamesGlobsAndPathsOfTheUser) {
  MemoryFileSystem fs = MergedUsr();
  fs.AddFile("/usr/bin/ssh")
      .AddFile("/usr/bin/ssh-add")
      .AddFile("/opt/tool")
      .AddLink("/opt/link", "tool");
  fs.AddFile("/usr/bin/sudo");
  EXPECT_EQ(Masked(Find(fs, {"ssh"}, false)), Paths{"/usr/bin/ssh"});
  EXPECT_EQ(Masked(Find(fs, {"ssh*"}, false)), (Paths{"/usr/bin/ssh", "/usr/bin/ssh-add"}));
  EXPECT_EQ(Masked(Find(fs, {"/opt//x/../tool"}, false)), Paths{"/opt/tool"});
  EXPECT_EQ(Find(fs, {"ssh"}, false).masked[0].reason, "denied by exec.deny");
  EXPECT_EQ(Masked(Find(fs, {"missing", "/missing/tool"}, false)), Paths{});
}

TEST(ExecRulesTest, APathThatIsADirectoryIsReported) {
  MemoryFileSystem fs = MergedUsr();
  fs.AddDirectory("/opt/tools").AddDirectory("/usr/bin/sudo");
  const ExecDenials denials = Find(fs, {"/opt/tools"});
  EXPECT_TRUE(denials.masked.empty());
  ASSERT_EQ(denials.not_held.size(), 1u);
  EXPECT_EQ(denials.not_held[0], (DeniedProgram{"/opt/tools", "/opt/tools", "it is a directory"}));
}

TEST(ExecRulesTest, ABadGlobIsAnError) {
  ExecRules rules;
  rules.deny = {"a[b"};
  const auto found = FindDeniedPrograms(rules, MergedUsr());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kInvalid);
  EXPECT_NE(found.error().message.find("a[b"), std::string::npos);
}

TEST(ExecRulesTest, DanglingLinksAndLoopsAreNothing) {
  MemoryFileSystem fs = MergedUsr();
  fs.AddLink("/usr/bin/sudo", "/nowhere").AddLink("/usr/bin/su", "su");
  const ExecDenials denials = Find(fs);
  EXPECT_TRUE(denials.masked.empty());
  EXPECT_TRUE(denials.not_held.empty());
}

TEST(ExecRulesTest, TheBuiltInTableCostsAFewHundredLooks) {
  MemoryFileSystem fs = MergedUsr();
  fs.AddFile("/usr/bin/sudo").AddFile("/usr/bin/mount").AddFile("/usr/sbin/fdisk");
  fs.asked = 0;
  fs.listed = 0;
  EXPECT_EQ(Find(fs).masked.size(), 3u);
  EXPECT_LE(fs.asked, 2 * DangerousPrograms().size() + 100);
  EXPECT_EQ(fs.listed, 1u);  // /usr/local/bin
}

TEST(ExecRulesTest, ALongLocalDirectoryIsLookedIntoByName) {
  MemoryFileSystem fs = MergedUsr();
  for (int i = 0; i < 200; ++i) fs.AddFile("/usr/local/bin/a" + std::to_string(i));
  fs.AddFile("/usr/local/bin/docker").AddFile("/snap/bin/lxc").AddDirectory("/usr/local/sbin");
  EXPECT_EQ(Masked(Find(fs)), (Paths{"/snap/bin/lxc", "/usr/local/bin/docker"}));
}

}  // namespace
}  // namespace cordon::policy
