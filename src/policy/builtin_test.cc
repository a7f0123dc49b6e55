#include "policy/builtin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "glob/glob.h"

namespace cordon::policy {
namespace {

bool IsPlain(std::string_view path) {
  return !path.empty() && !path.ends_with('/') && path.find("//") == std::string_view::npos &&
         path.find("/./") == std::string_view::npos && path.find("..") == std::string_view::npos;
}

TEST(BuiltinTest, DenyReadRowsAreWellFormed) {
  std::set<std::string_view> seen;
  for (const DenyReadEntry& entry : DenyReadDefaults()) {
    EXPECT_TRUE(IsPlain(entry.path)) << entry.path;
    EXPECT_FALSE(entry.reason.empty()) << entry.path;
    EXPECT_TRUE(seen.insert(entry.path).second) << entry.path;
    EXPECT_TRUE(!entry.root_only || entry.path.starts_with('/')) << entry.path;
  }
}

TEST(BuiltinTest, DenyReadHoldsWhatTheSpecificationLists) {
  std::set<std::string_view> paths;
  for (const DenyReadEntry& entry : DenyReadDefaults()) paths.insert(entry.path);
  for (const char* path :
       {".ssh", ".aws", ".gnupg", ".config/gh", ".config/gcloud", ".azure", ".kube", ".docker",
        ".netrc", ".git-credentials", ".npmrc", ".pypirc", ".cargo/credentials",
        ".cargo/credentials.toml", "Library/Keychains", ".mozilla", ".config/google-chrome",
        ".config/chromium", "/etc/shadow"}) {
    EXPECT_TRUE(paths.count(path)) << path;
  }
  // What ordinary work reads.
  for (const char* path :
       {".gitconfig", ".config/git", ".cargo", ".config", ".m2", ".cache", "/etc"}) {
    EXPECT_FALSE(paths.count(path)) << path;
  }
}

TEST(BuiltinTest, SshKeepsKnownHostsAndConfig) {
  const auto rows = DenyReadDefaults();
  const auto ssh =
      std::find_if(rows.begin(), rows.end(), [](const auto& e) { return e.path == ".ssh"; });
  ASSERT_NE(ssh, rows.end());
  EXPECT_EQ(ssh->keep_readable, "known_hosts:config");
}

TEST(BuiltinTest, ProtectedRowsAreWellFormed) {
  std::set<std::pair<int, std::string_view>> seen;
  for (const ProtectedEntry& entry : ProtectedEntries()) {
    EXPECT_TRUE(IsPlain(entry.path) && !entry.path.starts_with('/')) << entry.path;
    EXPECT_FALSE(entry.reason.empty()) << entry.path;
    EXPECT_TRUE(seen.insert({static_cast<int>(entry.scope), entry.path}).second) << entry.path;
    const std::size_t magic = entry.path.find_first_of("*?[{");
    EXPECT_TRUE(magic == std::string_view::npos || magic + 1 == entry.path.size()) << entry.path;
    EXPECT_TRUE(!entry.runner_state_lifts || entry.scope == ProtectedScope::kHome) << entry.path;
  }
}

TEST(BuiltinTest, ProtectedHoldsWhatTheSpecificationLists) {
  std::set<std::pair<ProtectedScope, std::string_view>> rows;
  for (const ProtectedEntry& entry : ProtectedEntries()) rows.insert({entry.scope, entry.path});
  for (const char* path :
       {".claude/settings*", ".claude/skills", ".claude/agents", ".claude/commands",
        ".claude/hooks", ".claude/workflows", ".claude/scheduled_tasks.json", ".mcp.json",
        ".cordon", ".cordon.json"}) {
    EXPECT_TRUE(rows.count({ProtectedScope::kWorkdirAndUp, path})) << path;
    EXPECT_TRUE(rows.count({ProtectedScope::kWritableRoot, path})) << path;
  }
  for (const char* path : {".bashrc",
                           ".bash_profile",
                           ".bash_login",
                           ".bash_logout",
                           ".bash_aliases",
                           ".zshrc",
                           ".zshenv",
                           ".zprofile",
                           ".zlogin",
                           ".profile",
                           ".inputrc",
                           ".config/fish",
                           ".envrc",
                           ".gitconfig",
                           ".gitmodules",
                           ".ripgreprc",
                           ".vscode",
                           ".idea",
                           ".cursor/mcp.json",
                           ".codex",
                           ".gemini/settings.json",
                           ".ssh"}) {
    EXPECT_TRUE(rows.count({ProtectedScope::kWritableRoot, path})) << path;
  }
  for (const char* path : {"hooks", "config", "info/attributes"}) {
    EXPECT_TRUE(rows.count({ProtectedScope::kGitDirectory, path})) << path;
  }
  for (const char* path :
       {".claude", ".claude.json", ".config/systemd/user", ".config/autostart"}) {
    EXPECT_TRUE(rows.count({ProtectedScope::kHome, path})) << path;
  }
  // Files that projects must be able to change.
  for (const auto& [scope, path] : rows) {
    for (const char* free :
         {".github/workflows", ".husky", ".pre-commit-config.yaml", ".devcontainer", "package.json",
          "Makefile", "conftest.py", "AGENTS.md", "CLAUDE.md"}) {
      EXPECT_NE(path, free);
      EXPECT_FALSE(std::string_view(free).starts_with(std::string(path) + "/")) << path;
    }
  }
}

TEST(BuiltinTest, AWrappedAgentsSettingsStayProtectedInsideItsState) {
  std::set<std::string_view> home;
  for (const ProtectedEntry& e : ProtectedEntries()) {
    if (e.scope == ProtectedScope::kHome && !e.runner_state_lifts) home.insert(e.path);
  }
  for (const char* path : {".claude/settings*", ".claude/hooks", ".claude/skills", ".claude/agents",
                           ".claude/commands", ".codex/config.toml", ".gemini/settings.json"}) {
    EXPECT_TRUE(home.count(path)) << path;
  }
}

TEST(BuiltinTest, DenyNamesParseAndMeanWhatTheySay) {
  const auto denied = [](const std::string& name) {
    bool result = false;
    bool excepted = false;
    for (const DenyNameEntry& entry : DenyNameDefaults()) {
      const bool exception = entry.pattern.starts_with('!');
      const std::string_view text = entry.pattern.substr(exception ? 1 : 0);
      const bool whole = text.find('/') != std::string_view::npos;
      const auto pattern =
          glob::Pattern::Parse(whole ? "/" + std::string(text) : "/**/" + std::string(text));
      EXPECT_TRUE(pattern.ok()) << entry.pattern;
      EXPECT_FALSE(entry.reason.empty());
      if (pattern.ok() && pattern->Matches(name)) (exception ? excepted : result) = true;
    }
    return result && !excepted;
  };
  for (const char* name :
       {"/w/.env", "/w/a/.env.local", "/w/tls.key", "/w/ca.pem", "/w/a.p12", "/w/a.pfx"}) {
    EXPECT_TRUE(denied(name)) << name;
  }
  for (const char* name :
       {"/w/.env.example", "/w/.env.sample", "/w/.env.template", "/w/environment",
        "/w/node_modules/p/test.pem", "/w/v/site-packages/certifi/cacert.pem", "/w/vendor/x/a.key",
        "/w/target/debug/.env"}) {
    EXPECT_FALSE(denied(name)) << name;
  }
}

TEST(BuiltinTest, ProgramsAreBaseNamesWithoutGlobs) {
  std::set<std::string_view> seen;
  for (const DangerousProgram& program : DangerousPrograms()) {
    EXPECT_TRUE(seen.insert(program.name).second) << program.name;
    EXPECT_FALSE(program.reason.empty()) << program.name;
    // A glob would make every start list the program directories.
    EXPECT_EQ(program.name.find_first_of("/*?[{"), std::string_view::npos) << program.name;
  }
  for (const char* name : {"sudo", "su", "doas", "pkexec", "mount", "nsenter", "machinectl",
                           "systemd-run", "at", "crontab", "docker", "podman", "mkfs", "mkfs.ext4",
                           "fdisk", "parted", "chroot", "unshare"}) {
    EXPECT_TRUE(seen.count(name)) << name;
  }
}

TEST(BuiltinTest, SystemDirectoriesAreAbsolute) {
  for (const SystemDirectory& directory : SystemDirectories()) {
    EXPECT_TRUE(IsPlain(directory.path) && directory.path.starts_with('/')) << directory.path;
    EXPECT_FALSE(directory.reason.empty());
  }
}

}  // namespace
}  // namespace cordon::policy
