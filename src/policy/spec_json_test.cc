#include "policy/spec_json.h"

#include <gtest/gtest.h>

#include <random>

namespace cordon::policy {
namespace {

using std::chrono::milliseconds;

constexpr const char* kEverything = R"({
  // every field, none at its default
  "$schema": "sandbox-spec.schema.json",
  "sessionId": "s-1", "workspaceId": "w_1", "agentId": "agent 7",
  "bindMounts": [{"hostPath": "/a", "guestPath": "/b", "readOnly": true}, {"hostPath": "/c"}],
  "view": "host", "mode": "plan",
  "networkEnabled": false, "egressAllowlist": [], "credentials": {},
  "network": {"mode": "none", "allowUnixSockets": ["~/agent", {"path": "/run/a*", "literal": true}]},
  "guestWorkdir": "/w",
  "protectedPaths": ["/p"], "runnerStateDirs": ["~/.agent"], "execGrantRoots": ["/w/bin"],
  "filesystem": {
    "allowWrite": ["/w", {"path": "/w[1]", "literal": true}],
    "denyWrite": ["/w/lock"],
    "denyRead": ["~/secret", "**/*.key"],
    "allowRead": ["~/secret/public"],
    "denyNames": ["*.pem", "!ca.pem"],
    "disabled": true, "allowGitConfig": true, "defaultDenies": false, "defaultDenyNames": true,
  },
  "limits": {"memory": "512M", "cpus": 1.5, "pids": 100, "openFiles": 1024, "fileSize": 1048576,
             "diskWritten": "2GiB", "wallTime": "5m", "idleTime": 30000},
  "environment": {"set": {"A": "1", "B": ""}, "keep": ["LD_LIBRARY_PATH"], "drop": ["AWS_*"]},
  "exec": {"deny": ["ssh", "mkfs*", "/opt/tool"], "defaultDenies": false, "blockWritableDirs": true},
  "ignoreViolations": {"*": ["~/.cache"], "npm install": ["unix-socket", "*.log"], "make": []}
})";

TEST(SpecJsonTest, ReadsEveryField) {
  const auto spec = ParseSpec(kEverything, "f.json");
  ASSERT_TRUE(spec.ok()) << spec.error().ToString();
  EXPECT_EQ(spec->session_id, "s-1");
  EXPECT_EQ(spec->workspace_id, "w_1");
  EXPECT_EQ(spec->agent_id, "agent 7");
  ASSERT_EQ(spec->bind_mounts.size(), 2u);
  EXPECT_EQ(spec->bind_mounts[0].guest_path, "/b");
  EXPECT_TRUE(spec->bind_mounts[0].read_only);
  EXPECT_EQ(spec->bind_mounts[1].guest_path, "/c");
  EXPECT_FALSE(spec->bind_mounts[1].read_only);
  EXPECT_EQ(spec->view, View::kHost);
  EXPECT_EQ(spec->mode, Mode::kPlan);
  EXPECT_EQ(spec->guest_workdir, "/w");
  EXPECT_EQ(spec->protected_paths[0].text, "/p");
  EXPECT_EQ(spec->runner_state_dirs[0].text, "~/.agent");
  EXPECT_EQ(spec->exec_grant_roots[0].text, "/w/bin");
  const FilesystemRules& files = spec->filesystem;
  ASSERT_EQ(files.allow_write.size(), 2u);
  EXPECT_FALSE(files.allow_write[0].literal);
  EXPECT_EQ(files.allow_write[1].text, "/w[1]");
  EXPECT_TRUE(files.allow_write[1].literal);
  EXPECT_EQ(files.deny_write[0].text, "/w/lock");
  EXPECT_EQ(files.deny_read[1].text, "**/*.key");
  EXPECT_EQ(files.allow_read[0].text, "~/secret/public");
  EXPECT_EQ(files.deny_names[1].text, "!ca.pem");
  EXPECT_TRUE(files.disabled);
  EXPECT_TRUE(files.allow_git_config);
  EXPECT_FALSE(files.default_denies);
  EXPECT_TRUE(files.default_deny_names);
  ASSERT_EQ(spec->network.allow_unix_sockets.size(), 2u);
  EXPECT_EQ(spec->network.allow_unix_sockets[0].text, "~/agent");
  EXPECT_EQ(spec->network.allow_unix_sockets[0].source.line, 8);
  EXPECT_TRUE(spec->network.allow_unix_sockets[1].literal);
  EXPECT_EQ(spec->limits.memory_bytes, 512u << 20);
  EXPECT_EQ(spec->limits.cpus, 1.5);
  EXPECT_EQ(spec->limits.pids, 100u);
  EXPECT_EQ(spec->limits.open_files, 1024u);
  EXPECT_EQ(spec->limits.file_size_bytes, 1u << 20);
  EXPECT_EQ(spec->limits.disk_written_bytes, 2ull << 30);
  EXPECT_EQ(spec->limits.wall_time, milliseconds(300'000));
  EXPECT_EQ(spec->limits.idle_time, milliseconds(30'000));
  EXPECT_EQ(spec->environment.set, (std::map<std::string, std::string>{{"A", "1"}, {"B", ""}}));
  EXPECT_EQ(spec->environment.keep, std::vector<std::string>{"LD_LIBRARY_PATH"});
  EXPECT_EQ(spec->environment.drop, std::vector<std::string>{"AWS_*"});
  EXPECT_EQ(spec->exec.deny, (std::vector<std::string>{"ssh", "mkfs*", "/opt/tool"}));
  EXPECT_FALSE(spec->exec.default_denies);
  EXPECT_TRUE(spec->exec.block_writable_dirs);
  EXPECT_EQ(spec->ignore_violations,
            (std::map<std::string, std::vector<std::string>>{
                {"*", {"~/.cache"}}, {"make", {}}, {"npm install", {"unix-socket", "*.log"}}}));
}

TEST(SpecJsonTest, RulesKnowTheirPlace) {
  const auto spec = ParseSpec(kEverything, "f.json");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->filesystem.deny_read[1].source.ToString(), "f.json:14:30");
  EXPECT_EQ(spec->filesystem.allow_write[1].source.ToString(), "f.json:12:26");
  EXPECT_EQ(spec->bind_mounts[1].source.ToString(), "f.json:5:75");
}

TEST(SpecJsonTest, AbsentFieldsKeepTheDefaultsOfTheValue) {
  const auto spec = ParseSpec(R"({"sessionId": "s", "workspaceId": "w"})", "f");
  ASSERT_TRUE(spec.ok()) << spec.error().ToString();
  SandboxSpec plain;
  plain.session_id = "s";
  plain.workspace_id = "w";
  EXPECT_EQ(WriteSpec(*spec), WriteSpec(plain));
  EXPECT_TRUE(spec->filesystem.default_denies);
  EXPECT_TRUE(spec->exec.default_denies);
  EXPECT_EQ(spec->view, View::kBound);
}

TEST(SpecJsonTest, WrittenEverythingReadsBackTheSame) {
  const auto spec = ParseSpec(kEverything, "f");
  ASSERT_TRUE(spec.ok());
  const std::string written = WriteSpec(*spec);
  const auto again = ParseSpec(written, "f");
  ASSERT_TRUE(again.ok()) << again.error().ToString() << "\n" << written;
  EXPECT_EQ(WriteSpec(*again), written);
}

// A spec of random content; every text is one that the reader takes.
SandboxSpec RandomSpec(std::mt19937& random) {
  const auto chance = [&random] { return random() % 2 == 0; };
  const auto text = [&random](const char* prefix) {
    static const char* const kParts[] = {"a",    "*", "[x]", "\"", "\\", "\n",
                                         "\x01", "é", "😀",  " ",  "."};
    std::string out = prefix;
    for (unsigned n = 1 + random() % 6; n > 0; --n) out += kParts[random() % std::size(kParts)];
    return out;
  };
  const auto number = [&random]() -> std::uint64_t {
    return 1 + ((std::uint64_t{random()} << 31) | random()) % 0x7FFF'FFFF'FFFF'FFFF;
  };
  const auto fill = [&](std::vector<PathEntry>& list) {
    while (chance()) list.push_back({text("/"), chance(), {}});
  };
  SandboxSpec spec;
  spec.session_id = "s-" + std::to_string(random());
  spec.workspace_id = "w";
  if (chance()) spec.agent_id = text("");
  while (chance()) spec.bind_mounts.push_back({text("/"), text("/"), chance(), {}});
  if (chance()) spec.view = View::kHost;
  spec.mode = static_cast<Mode>(random() % 4);
  if (chance()) spec.guest_workdir = text("/");
  FilesystemRules& files = spec.filesystem;
  for (auto* list : {&spec.protected_paths, &spec.runner_state_dirs, &spec.exec_grant_roots,
                     &files.allow_write, &files.deny_write, &files.deny_read, &files.allow_read,
                     &files.deny_names, &spec.network.allow_unix_sockets}) {
    fill(*list);
  }
  files.disabled = chance();
  files.default_deny_names = chance();
  files.allow_git_config = chance();
  files.default_denies = chance();
  for (auto* limit : {&spec.limits.memory_bytes, &spec.limits.pids, &spec.limits.open_files,
                      &spec.limits.file_size_bytes, &spec.limits.disk_written_bytes}) {
    if (chance()) *limit = number();
  }
  if (chance()) spec.limits.cpus = std::uniform_real_distribution<double>(0.001, 4096)(random);
  if (chance()) spec.limits.wall_time = milliseconds(1 + random() % 1'000'000'000);
  if (chance()) spec.limits.idle_time = milliseconds(1 + random() % 1'000'000'000);
  while (chance()) spec.environment.set[text("")] = chance() ? text("") : "";
  std::erase_if(spec.environment.set,
                [](const auto& v) { return v.first.find_first_of("*=") != std::string::npos; });
  while (chance()) spec.environment.keep.push_back("K" + std::to_string(random()));
  while (chance()) spec.environment.drop.push_back(chance() ? "D*" : "E");
  while (chance()) spec.exec.deny.push_back(text(chance() ? "/" : "p"));
  spec.exec.default_denies = chance();
  spec.exec.block_writable_dirs = chance();
  while (chance()) {
    auto& entries = spec.ignore_violations[text("")];
    while (chance()) entries.push_back(text(""));
  }
  return spec;
}

TEST(SpecJsonTest, AnySpecSurvivesWritingAndReading) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    const SandboxSpec spec = RandomSpec(random);
    const std::string written = WriteSpec(spec);
    const auto again = ParseSpec(written, "f");
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().ToString() << "\n"
                            << written;
    ASSERT_EQ(WriteSpec(*again), written) << "seed " << seed;
    // Equal text would hide a field that both directions forget.
    ASSERT_EQ(again->limits.cpus, spec.limits.cpus);
    ASSERT_EQ(again->limits.memory_bytes, spec.limits.memory_bytes);
    ASSERT_EQ(again->limits.wall_time, spec.limits.wall_time);
    ASSERT_EQ(again->environment.set, spec.environment.set);
    ASSERT_EQ(again->exec.deny, spec.exec.deny);
    ASSERT_EQ(again->ignore_violations, spec.ignore_violations);
    ASSERT_EQ(again->filesystem.deny_names.size(), spec.filesystem.deny_names.size());
    ASSERT_EQ(again->network.allow_unix_sockets.size(), spec.network.allow_unix_sockets.size());
    ASSERT_EQ(again->agent_id, spec.agent_id);
  }
}

TEST(SpecJsonTest, RefusesWhatNeedsANetworkByName) {
  const struct {
    const char* field;
    const char* message;
  } cases[] = {
      {R"("networkEnabled": true)",
       "f:1:58: networkEnabled: true is not supported: this version gives a sandbox no network and "
       "no "
       "credentials; set it to false or leave it out"},
      {R"("egressAllowlist": ["github.com"])",
       "f:1:60: egressAllowlist is not supported: this version gives a sandbox no network and no "
       "credentials; leave the list empty or out"},
      {R"("network": {"mode": "open"})",
       "f:1:60: network.mode: \"open\" is not supported: this version gives a sandbox no network "
       "and no "
       "credentials; set it to \"none\" or leave it out"},
      {R"("network": {"mode": "none", "allowedDomains": []})",
       "f:1:68: network.allowedDomains is not supported: this version gives a sandbox no network "
       "and no "
       "credentials; leave it out"},
      {R"("credentials": {"files": []})",
       "f:1:56: credentials.files is not supported: this version gives a sandbox no network and no "
       "credentials; leave it out"},
  };
  for (const auto& c : cases) {
    const std::string text =
        R"({"sessionId": "s", "workspaceId": "w", )" + std::string(c.field) + "}";
    const auto spec = ParseSpec(text, "f");
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::kUnsupported) << text;
    EXPECT_EQ(spec.error().ToString(), c.message);
  }
}

}  // namespace
}  // namespace cordon::policy
