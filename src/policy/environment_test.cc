#include "policy/environment.h"

#include <gtest/gtest.h>

#include <set>

#include "policy/memory_file_system.h"

namespace cordon::policy {
namespace {

using Variables = std::map<std::string, std::string>;

// Inside, everything but /secret is readable and only /w is writable. "tool" is found in /w/bin.
EnvironmentFacts Facts() {
  return {[](std::string_view path) { return !path.starts_with("/secret"); },
          [](std::string_view path) {
            return path.starts_with("/w") || path == "tool" || path.starts_with("./");
          }};
}

Variables Clean(const Variables& inherited, const Environment& rules = {}) {
  return CleanEnvironment(inherited, rules, Facts()).variables;
}

TEST(EnvironmentTest, RemovesWhatRunsCode) {
  // Every name that the specification lists, with a harmless-looking value.
  const char* const names[] = {"LD_PRELOAD",
                               "LD_LIBRARY_PATH",
                               "LD_AUDIT",
                               "DYLD_INSERT_LIBRARIES",
                               "GLIBC_TUNABLES",
                               "NODE_OPTIONS",
                               "PYTHONSTARTUP",
                               "PERL5OPT",
                               "PERL5LIB",
                               "RUBYOPT",
                               "RUBYLIB",
                               "JAVA_TOOL_OPTIONS",
                               "_JAVA_OPTIONS",
                               "JDK_JAVA_OPTIONS",
                               "BASH_ENV",
                               "ENV",
                               "PROMPT_COMMAND",
                               "SHELLOPTS",
                               "BASHOPTS",
                               "PS4",
                               "GIT_SSH_COMMAND",
                               "GIT_SSH",
                               "GIT_EXTERNAL_DIFF",
                               "GIT_PAGER",
                               "GIT_ASKPASS",
                               "GIT_CONFIG_GLOBAL",
                               "GIT_CONFIG_COUNT",
                               "GIT_CONFIG_KEY_0",
                               "GIT_CONFIG_PARAMETERS",
                               "GIT_EXEC_PATH",
                               "GIT_TEMPLATE_DIR",
                               "SSH_ASKPASS",
                               "SSH_AUTH_SOCK",
                               "LESSOPEN",
                               "LESSCLOSE",
                               "GPG_AGENT_INFO",
                               "DBUS_SESSION_BUS_ADDRESS",
                               "DISPLAY",
                               "WAYLAND_DISPLAY",
                               "XAUTHORITY",
                               "XDG_RUNTIME_DIR",
                               "TMPDIR",
                               "TMUX",
                               "WSL_INTEROP"};
  Variables inherited;
  for (const char* name : names) inherited[name] = "/usr/lib/x";
  const CleanedEnvironment cleaned = CleanEnvironment(inherited, {}, Facts());
  EXPECT_TRUE(cleaned.variables.empty()) << cleaned.variables.begin()->first;
  ASSERT_EQ(cleaned.removed.size(), std::size(names));
  for (const RemovedVariable& removed : cleaned.removed) EXPECT_FALSE(removed.reason.empty());
}

TEST(EnvironmentTest, KeepsWhatOrdinaryWorkNeeds) {
  const Variables ordinary = {{"PATH", "/w/bin:/usr/bin"},
                              {"HOME", "/home/u"},
                              {"USER", "u"},
                              {"LANG", "C.UTF-8"},
                              {"LC_ALL", "C"},
                              {"TERM", "xterm-256color"},
                              {"COLORTERM", "truecolor"},
                              {"SHELL", "/bin/bash"},
                              {"CC", "clang"},
                              {"CFLAGS", "-O2"},
                              {"MAKEFLAGS", "-j8"},
                              {"CI", "true"},
                              {"VIRTUAL_ENV", "/w/v"},
                              {"GOPATH", "/home/u/go"},
                              {"CARGO_HOME", "/home/u/.cargo"},
                              {"JAVA_HOME", "/usr/lib/jvm"},
                              {"NODE_ENV", "test"},
                              {"GIT_AUTHOR_NAME", "A"},
                              {"GIT_TERMINAL_PROMPT", "0"},
                              {"SSH_CONNECTION", "1 2 3 4"},
                              {"XDG_CONFIG_HOME", "/home/u/.config"},
                              {"TZ", "UTC"},
                              {"LESS", "-R"},
                              {"CORDON_DEBUG", "1"},
                              {"EDITOR", "vim"},
                              {"LDFLAGS", "-s"},
                              {"ENVIRONMENT", "x"}};
  EXPECT_EQ(Clean(ordinary), ordinary);
}

TEST(EnvironmentTest, ModulePathsStayWhereTheyAreReadable) {
  const Variables kept = {{"PYTHONPATH", "/w/src:/opt/lib"}, {"NODE_PATH", "/w/node_modules"}};
  EXPECT_EQ(Clean(kept), kept);
  EXPECT_TRUE(Clean({{"PYTHONPATH", "/w/src:/secret/lib"}}).empty());
}

TEST(EnvironmentTest, SettingsStayWhereTheSandboxCannotWriteThem) {
  const Variables kept = {{"RIPGREP_CONFIG_PATH", "/home/u/.rgrc"},
                          {"OPENSSL_CONF", "/etc/ssl/o.cnf"}};
  EXPECT_EQ(Clean(kept), kept);
  EXPECT_TRUE(Clean({{"RIPGREP_CONFIG_PATH", "/w/.rgrc"}, {"ZDOTDIR", "/secret/z"}}).empty());
  // An empty element is the working directory.
  EXPECT_TRUE(Clean({{"TERMINFO_DIRS", "/usr/share/terminfo:"}}).empty());
}

TEST(EnvironmentTest, ProgramsGoOnlyWhereTheSandboxMayWriteThem) {
  const char* const kept[] = {"vim",
                              "/usr/bin/vim -f",
                              "code --wait",
                              "'/opt/my editor' -w",
                              "sh -c 'col -bx | bat -l man'",
                              "env A=/opt/x vim",
                              ""};
  for (const char* value : kept) EXPECT_EQ(Clean({{"EDITOR", value}}).size(), 1u) << value;
  const char* const removed[] = {"/w/evil",
                                 "tool",
                                 "tool --flag",
                                 "sh /w/evil.sh",
                                 "'/w/evil' -w",
                                 "\"/w/e\"vil",
                                 "/\\w/evil",
                                 "env A=/w/x vim",
                                 "vim --cmd=/w/x",
                                 "sh -c 'cat | /w/evil'",
                                 "sh -c \"true;/w/evil\"",
                                 "$HOME/x",
                                 "`cat x`",
                                 "A=1 /w/evil",
                                 "vim;/w/evil",
                                 "(/w/evil)"};
  for (const char* value : removed) EXPECT_TRUE(Clean({{"EDITOR", value}}).empty()) << value;
}

TEST(EnvironmentTest, WithoutFactsValueRulesRemove) {
  const Variables inherited = {{"PYTHONPATH", "/a"}, {"EDITOR", "vim"}, {"OPENSSL_CONF", "/a"}};
  EXPECT_TRUE(CleanEnvironment(inherited, {}, {}).variables.empty());
}

TEST(EnvironmentTest, RemovesExportedFunctionsAndBadNames) {
  using namespace std::string_literals;
  Environment rules;
  rules.keep = {"BASH_FUNC_ls%%", "old", "", "A=B"};
  const Variables inherited = {{"BASH_FUNC_ls%%", "() {  /w/evil; }"},
                               {"BASH_FUNC_git()", "() { :; }"},
                               {"old", "() { :; }; /w/evil"},
                               {"", "x"},
                               {"A=B", "x"},
                               {"N\0L"s, "x"},
                               {"V", "a\0b"s},
                               {"GOOD", "x"}};
  EXPECT_EQ(Clean(inherited, rules), (Variables{{"GOOD", "x"}}));
}

TEST(EnvironmentTest, KeepThenDropThenSet) {
  Environment rules;
  rules.keep = {"LD_LIBRARY_PATH"};
  rules.drop = {"AWS_*", "EXACT", "LD_LIBRARY_PATHS"};
  rules.set = {
      {"AWS_REGION", "eu"}, {"NODE_OPTIONS", "--max-old-space-size=512"}, {"PATH", "/bin"}};
  const Variables inherited = {{"LD_LIBRARY_PATH", "/opt"},
                               {"LD_PRELOAD", "/x"},
                               {"AWS_REGION", "us"},
                               {"AWS_SECRET_ACCESS_KEY", "s"},
                               {"EXACT", "1"},
                               {"EXACTLY", "2"},
                               {"PATH", "/usr/bin"}};
  EXPECT_EQ(Clean(inherited, rules), (Variables{{"LD_LIBRARY_PATH", "/opt"},
                                                {"EXACTLY", "2"},
                                                {"AWS_REGION", "eu"},
                                                {"NODE_OPTIONS", "--max-old-space-size=512"},
                                                {"PATH", "/bin"}}));
}

TEST(EnvironmentTest, DropBeatsKeep) {
  Environment rules;
  rules.keep = {"A"};
  rules.drop = {"A"};
  const CleanedEnvironment cleaned = CleanEnvironment({{"A", "1"}}, rules, Facts());
  EXPECT_TRUE(cleaned.variables.empty());
  ASSERT_EQ(cleaned.removed.size(), 1u);
  EXPECT_EQ(cleaned.removed[0].reason, "environment.drop");
}

TEST(EnvironmentFactsTest, ResolvesAsTheProgramWould) {
  MemoryFileSystem fs;
  fs.AddFile("/w/bin/tool")
      .AddFile("/usr/bin/vim")
      .AddFile("/usr/bin/tool")
      .AddFile("/home/u/.vimrc");
  fs.AddLink("/usr/bin/edit", "/w/bin/tool").AddFile("/home/u/.ssh/id");
  SandboxSpec spec;
  spec.session_id = spec.workspace_id = "s";
  spec.view = View::kHost;
  spec.filesystem.allow_write.push_back({"/w", false, {}});
  Context context;
  context.home = "/home/u";
  context.workdir = "/w";
  const auto policy = Compile(spec, context, fs);
  ASSERT_TRUE(policy.ok()) << policy.error().ToString();
  const EnvironmentFacts facts = FactsFor(*policy, fs, "/nowhere:/usr/bin:/w/bin");
  const EnvironmentFacts local = FactsFor(*policy, fs, "bin:/usr/bin");
  EXPECT_FALSE(facts.writable("vim"));
  EXPECT_FALSE(facts.writable("tool"));
  EXPECT_TRUE(local.writable("tool"));
  EXPECT_FALSE(facts.writable("missing"));
  EXPECT_TRUE(facts.writable("edit"));  // a link to what is writable
  EXPECT_TRUE(facts.writable("./evil"));
  EXPECT_TRUE(facts.writable("sub/evil"));
  EXPECT_FALSE(facts.writable("../usr/bin/vim"));
  EXPECT_FALSE(facts.writable("~/.vimrc"));
  EXPECT_TRUE(facts.readable("~/.vimrc"));
  EXPECT_TRUE(facts.readable("lib"));
  EXPECT_FALSE(facts.readable("/home/u/.ssh"));
}

TEST(EnvironmentTest, FirstOfARepeatedNameWins) {
  const char* const block[] = {"A=1", "A=2", "B=", "novalue", "C=x=y", "=odd", nullptr};
  EXPECT_EQ(EnvironmentFrom(block), (Variables{{"", "odd"}, {"A", "1"}, {"B", ""}, {"C", "x=y"}}));
}

TEST(EnvTableTest, RowsAreWellFormedAndReachable) {
  std::set<std::string_view> seen;
  std::vector<std::string_view> prefixes;
  for (const EnvRule& rule : EnvRules()) {
    EXPECT_TRUE(seen.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.reason.empty()) << rule.name;
    const std::size_t star = rule.name.find('*');
    EXPECT_TRUE(star == std::string_view::npos || star + 1 == rule.name.size()) << rule.name;
    EXPECT_GT(rule.name.size(), 1u);
    for (std::string_view prefix : prefixes) {
      EXPECT_FALSE(rule.name.starts_with(prefix))
          << rule.name << " never decides: " << prefix << "*";
    }
    if (star != std::string_view::npos) prefixes.push_back(rule.name.substr(0, star));
  }
}

}  // namespace
}  // namespace cordon::policy
