#include "cli/denial_remedy.h"

#include <gtest/gtest.h>

#include "cli/denial_test_support.h"

namespace cordon::cli {
namespace {

using session::Action;
using Kind = Remedy::Kind;

class DenialRemedyTest : public ::testing::Test {
 protected:
  Remedy For(Action action, const std::string& target, std::string_view call = "openat") const {
    return RemedyFor(world_.Refused(action, target, call), world_.Compile());
  }
  DenialWorld world_;
};

TEST_F(DenialRemedyTest, OneOptionWhereNoRuleSpeaks) {
  const Remedy file = For(Action::kFileWrite, "/etc/hosts");
  EXPECT_EQ(file.kind, Kind::kOption);
  EXPECT_EQ(file.text, "--write /etc/hosts");
  EXPECT_EQ(file.field, "filesystem.allowWrite");
  // A name can be made only where its directory is writable.
  const Remedy made = For(Action::kFileCreate, "/home/u/.cache/tool/x");
  EXPECT_EQ(made.text, "--write /home/u/.cache/tool");
  EXPECT_TRUE(made.directory);
  EXPECT_EQ(For(Action::kFileUnlink, "/home/u/.cache/tool/x").text, "--write /home/u/.cache/tool");
}

TEST_F(DenialRemedyTest, DirectoriesThatNobodyShouldOpenWhole) {
  const Remedy home = For(Action::kFileCreate, "/home/u/notes");
  EXPECT_EQ(home.kind, Kind::kTooWide);
  EXPECT_EQ(home.text,
            "all of /home/u would have to be writable; make it outside first, then --write "
            "/home/u/notes");
  EXPECT_EQ(For(Action::kFileUnlink, "/etc/hosts").text, "all of /etc would have to be writable");
  for (const char* path :
       {"/", "/usr", "/usr/lib", "/home", "/home/u", "/home/u/.config", "/var/lib"})
    EXPECT_TRUE(IsTooWide(path, "/home/u")) << path;
  for (const char* path : {"/data", "/home/u/w", "/home/u/.cache", "/opt/app", "/usr/lib/x"})
    EXPECT_FALSE(IsTooWide(path, "/home/u")) << path;
}

TEST_F(DenialRemedyTest, NothingLiftsTheProtectedSet) {
  const Remedy hook = For(Action::kFileCreate, "/home/u/w/.git/hooks/pre-commit");
  EXPECT_EQ(hook.kind, Kind::kNothing);
  EXPECT_NE(hook.text.find("filesystem.disabled"), std::string::npos);
  EXPECT_NE(For(Action::kFileWrite, "/home/u/w/.git/config").text.find("allowGitConfig"),
            std::string::npos);
  // Refused although the policy as it was compiled allows it: a rule of the moment.
  EXPECT_EQ(For(Action::kFileCreate, "/home/u/w/made/.git/hooks/x").kind, Kind::kNothing);
  world_.spec.protected_paths = policy::PolicyWorld::Entries({"/home/u/w/src"}, "spec.json");
  const Remedy own = For(Action::kFileWrite, "/home/u/w/src");
  EXPECT_EQ(own.kind, Kind::kRule);
  EXPECT_EQ(own.text, "take /home/u/w/src out of protectedPaths in spec.json");
}

TEST_F(DenialRemedyTest, ForbiddenNames) {
  auto& names = world_.spec.filesystem.deny_names;
  names = policy::PolicyWorld::Entries({"*.key"}, "command line: --deny-name");
  EXPECT_EQ(For(Action::kFileCreate, "/home/u/w/it's.key").text,
            "leave out --deny-name '*.key', or add --deny-name '!it'\\''s.key'");
  names = policy::PolicyWorld::Entries({".env"}, "spec.json");
  EXPECT_EQ(For(Action::kFileCreate, "/home/u/w/.env").text,
            "take .env out of denyNames in spec.json, or add '!.env' to it");
}

TEST_F(DenialRemedyTest, APersonsOwnRules) {
  world_.DenyWrite({"/home/u/w/readme"});
  EXPECT_EQ(For(Action::kFileWrite, "/home/u/w/readme").text,
            "take /home/u/w/readme out of denyWrite in test:denyWrite");
  world_.DenyRead({"/home/u/w/src"});
  EXPECT_EQ(For(Action::kFileRead, "/home/u/w/src").text,
            "take /home/u/w/src out of denyRead in test:denyRead");
  const Remedy below = For(Action::kFileRead, "/home/u/w/src/a");
  EXPECT_EQ(below.kind, Kind::kRule);
  EXPECT_EQ(below.text, "--allow-read /home/u/w/src/a");
}

TEST_F(DenialRemedyTest, SecretsAreMarked) {
  world_.spec.filesystem.default_denies = true;
  const Remedy key = For(Action::kFileRead, "/home/u/.ssh/id");
  EXPECT_EQ(key.kind, Kind::kSecret);
  EXPECT_EQ(key.text, "--allow-read /home/u/.ssh/id");
}

TEST_F(DenialRemedyTest, ReadOnlyModesAndMounts) {
  world_.spec.bind_mounts = {{"/home/u/.cache", "/home/u/.cache", true, {"test"}}};
  EXPECT_EQ(For(Action::kFileWrite, "/home/u/.cache/tool").text,
            "mount /home/u/.cache:ro without :ro");
  world_.spec.mode = policy::Mode::kReview;
  EXPECT_EQ(For(Action::kFileWrite, "/home/u/w/readme").text,
            "nothing is writable in mode review; --mode chat");
}

TEST_F(DenialRemedyTest, Sockets) {
  EXPECT_EQ(For(Action::kUnixSocket, "/srv/db/.s.PGSQL.5432", "connect").text,
            "--allow-unix-socket /srv/db/.s.PGSQL.5432");
  EXPECT_EQ(For(Action::kUnixSocket, "/srv/db/.s.PGSQL.5432", "connect").kind, Kind::kOption);
  for (const char* path : {"/run/docker.sock", "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0"})
    EXPECT_EQ(For(Action::kUnixSocket, path, "connect").kind, Kind::kSecret) << path;
  EXPECT_EQ(For(Action::kUnixSocket, "@abstract", "connect").kind, Kind::kNothing);
  EXPECT_EQ(For(Action::kUnixSocket, "/srv/x/s", "bind").text, "--write /srv/x");
  EXPECT_EQ(For(Action::kFileWrite, "/proc/sys/kernel/x").kind, Kind::kNothing);
}

TEST(ShellWordTest, QuotesAndShowsSafely) {
  EXPECT_EQ(ShellWord("/a/b-c_1.txt"), "/a/b-c_1.txt");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("~/x"), "'~/x'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("a\x1b[2J'"), "$'a\\x1b[2J\\''");
  EXPECT_EQ(ShellWord("\xff"), "$'\\xff'");
  EXPECT_EQ(OptionText("--write", "/a/b*"), "--write '/a/b\\*'");
}

}  // namespace
}  // namespace cordon::cli
