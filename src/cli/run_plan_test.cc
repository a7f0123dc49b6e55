#include "cli/run_plan.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/profile.h"

namespace cordon::cli {
namespace {

class RunPlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cordon-run-plan.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = std::filesystem::canonical(name);
    caller_ = {directory_, {{"HOME", directory_}, {"SHELLTOOL", "kept"}}};
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Result<RunPlan> Make(const std::vector<std::string>& words) const {
    auto parsed = ParseArguments(*FindCommand("run"), words);
    if (!parsed.ok()) return std::move(parsed).error();
    return MakeRunPlan(*parsed, caller_);
  }
  std::string MessageOf(const std::vector<std::string>& words) const {
    const auto plan = Make(words);
    return plan.ok() ? "" : plan.error().message;
  }
  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = directory_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::string directory_;
  Caller caller_;
};

TEST_F(RunPlanTest, DefaultsAreHostViewAndAWritableWorkingDirectory) {
  const auto plan = Make({"true"});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spec.view, policy::View::kHost);
  EXPECT_EQ(plan->spec.guest_workdir, directory_);
  EXPECT_TRUE(plan->workdir_writable);
  EXPECT_TRUE(plan->spec.filesystem.allow_write.empty());
  EXPECT_TRUE(plan->spec.filesystem.default_denies);
  EXPECT_TRUE(plan->spec.session_id.starts_with("run-"));
  EXPECT_EQ(plan->spec.session_id.size(), 12u);
  EXPECT_NE(plan->spec.session_id, Make({"true"})->spec.session_id);
}

TEST_F(RunPlanTest, TheModeIsTakenFromTheOption) {
  const auto plan = Make({"--mode", "review", "true"});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spec.mode, policy::Mode::kReview);
}

TEST_F(RunPlanTest, NamesThatAreRefused) {
  const auto plan = Make({"--deny-name", "*.key", "--deny-name", "!test.key", "true"});
  ASSERT_TRUE(plan.ok());
  const auto& names = plan->spec.filesystem.deny_names;
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[1].text, "!test.key");
  EXPECT_EQ(names[1].source.origin, "command line: --deny-name");
  EXPECT_FALSE(plan->spec.filesystem.default_deny_names);
  EXPECT_TRUE(Make({"--default-deny-names", "true"})->spec.filesystem.default_deny_names);
}

TEST_F(RunPlanTest, StrictReadsReachTheSession) {
  EXPECT_FALSE(LaunchOptionsFor(*Make({"true"})).strict_reads);
  const auto plan = Make({"--strict-reads", "/bin/true"});
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(LaunchOptionsFor(*plan).strict_reads);
  EXPECT_EQ(LaunchOptionsFor(*plan).label, "true");
}

TEST_F(RunPlanTest, AQuestionAboutThePolicyNeedsNoCommand) {
  const auto arguments =
      ParseArguments(*FindCommand("explain"),
                     std::vector<std::string>{"--json", "--write", "/data", "--create", "/data/x"});
  ASSERT_TRUE(arguments.ok());
  const auto plan = MakePolicyPlan(*arguments, caller_);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->spec.filesystem.allow_write.size(), 1u);
  EXPECT_EQ(plan->spec.filesystem.allow_write[0].text, "/data");
}

TEST_F(RunPlanTest, OptionsFillTheSpec) {
  const auto plan = Make({"--deny-read", "*.pem", "--timeout", "2m", "--memory", "1G", "--pids",
                          "64", "--uid", "1000", "--env", "A=b=c", "--env", "SHELLTOOL",
                          "--keep-env", "LD_PRELOAD", "--no-default-denies", "true"});
  ASSERT_TRUE(plan.ok());
  const policy::SandboxSpec& spec = plan->spec;
  ASSERT_EQ(spec.filesystem.deny_read.size(), 1u);
  EXPECT_EQ(spec.filesystem.deny_read[0].text, "*.pem");
  EXPECT_EQ(spec.filesystem.deny_read[0].source.origin, "command line: --deny-read");
  EXPECT_EQ(spec.limits.wall_time, std::chrono::minutes(2));
  EXPECT_EQ(spec.limits.memory_bytes, 1u << 30);
  EXPECT_EQ(spec.limits.pids, 64u);
  EXPECT_EQ(plan->uid, 1000u);
  EXPECT_EQ(spec.environment.set.at("A"), "b=c");
  EXPECT_EQ(spec.environment.set.at("SHELLTOOL"), "kept");
  EXPECT_EQ(spec.environment.keep, std::vector<std::string>{"LD_PRELOAD"});
  EXPECT_FALSE(spec.filesystem.default_denies);
}

TEST_F(RunPlanTest, MountsAreMadeAbsolute) {
  const auto plan = Make({"--mount", "data:ro", "--mount", "~/x:/y", "true"});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->spec.bind_mounts.size(), 2u);
  EXPECT_EQ(plan->spec.bind_mounts[0].host_path, directory_ + "/data");
  EXPECT_EQ(plan->spec.bind_mounts[0].guest_path, directory_ + "/data");
  EXPECT_TRUE(plan->spec.bind_mounts[0].read_only);
  EXPECT_EQ(plan->spec.bind_mounts[1].host_path, directory_ + "/x");
  EXPECT_EQ(plan->spec.bind_mounts[1].guest_path, "/y");
}

TEST_F(RunPlanTest, RelativeRulesMeanTheCallersDirectory) {
  std::filesystem::create_directory(directory_ + "/sub");
  const auto plan = Make({"--workdir", "sub", "--write", "out", "--deny-read", "*.key",
                          "--allow-unix-socket", "a.sock", "--allow-unix-socket=~/b.sock", "true"});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spec.guest_workdir, directory_ + "/sub");
  EXPECT_EQ(plan->spec.filesystem.allow_write[0].text, directory_ + "/out");
  EXPECT_EQ(plan->spec.filesystem.deny_read[0].text, directory_ + "/*.key");
  ASSERT_EQ(plan->spec.network.allow_unix_sockets.size(), 2u);
  EXPECT_EQ(plan->spec.network.allow_unix_sockets[0].text, directory_ + "/a.sock");
  EXPECT_EQ(plan->spec.network.allow_unix_sockets[1].text, "~/b.sock");
  EXPECT_EQ(plan->spec.network.allow_unix_sockets[0].source.origin,
            "command line: --allow-unix-socket");
}

TEST_F(RunPlanTest, AShellLineRunsWithAShell) {
  const auto plan = Make({"-c", "echo $0 $1", "zero", "one"});
  ASSERT_TRUE(plan.ok());
  const char* shell = ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
  EXPECT_EQ(plan->argv, (std::vector<std::string>{shell, "-c", "echo $0 $1", "zero", "one"}));
}

TEST_F(RunPlanTest, ASpecSetsEverythingAndOptionsAddToIt) {
  Write("spec.json",
        R"({"sessionId": "s1", "workspaceId": "w", "filesystem": {"denyRead": ["/a"]}})");
  const auto plan = Make({"--spec", directory_ + "/spec.json", "--deny-read", "/b", "true"});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->spec.session_id, "s1");
  EXPECT_EQ(plan->spec.view, policy::View::kBound);
  EXPECT_FALSE(plan->workdir_writable);
  EXPECT_EQ(plan->spec.filesystem.deny_read.size(), 2u);
}

TEST_F(RunPlanTest, AProfileNeedsNoIds) {
  Write(".config/cordon/profiles/net.json", R"({"view": "host", "limits": {"pids": 9}})");
  const auto plan = Make({"--profile", "net", "true"});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->spec.limits.pids, 9u);
  EXPECT_TRUE(plan->spec.session_id.starts_with("run-"));
  EXPECT_TRUE(plan->workdir_writable);

  caller_.environment["XDG_CONFIG_HOME"] = directory_ + "/other";
  EXPECT_FALSE(Make({"--profile", "net", "true"}).ok());
}

TEST_F(RunPlanTest, UnknownProfilesListTheKnownOnes) {
  Write(".config/cordon/profiles/build.json", "{}");
  Write(".config/cordon/profiles/agent.json", "{}");
  const auto plan = Make({"--profile", "bulid", "true"});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().remedy, "--profile build; known profiles: agent, build");
  for (const char* name : {"../x", "a/b", ".", "..", "a b"}) {
    EXPECT_NE(MessageOf({"--profile", name, "true"}).find("no name of a profile"),
              std::string::npos)
        << name;
  }
}

TEST_F(RunPlanTest, ErrorsNameTheirOption) {
  EXPECT_EQ(MessageOf({"--timeout", "soon", "true"}), "--timeout: 'soon' is not a duration");
  EXPECT_TRUE(MessageOf({"--memory", "x", "true"}).starts_with("--memory: "));
  EXPECT_TRUE(MessageOf({"--pids", "0", "true"}).starts_with("--pids: "));
  EXPECT_TRUE(MessageOf({"--mount", "a:b:c", "true"}).starts_with("--mount: "));
  EXPECT_TRUE(MessageOf({"--env", "=x", "true"}).starts_with("--env: "));
  EXPECT_TRUE(MessageOf({"--workdir", std::string("~other/x"), "true"}).starts_with("--workdir: "));
  EXPECT_FALSE(MessageOf({"--tty", "--no-tty", "true"}).empty());
  EXPECT_FALSE(MessageOf({"--json", "true"}).empty());
  EXPECT_FALSE(MessageOf({}).empty());
}

}  // namespace
}  // namespace cordon::cli
