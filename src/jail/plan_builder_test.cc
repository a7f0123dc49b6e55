#include "jail/plan_builder.h"

#include <gtest/gtest.h>

#include "policy/memory_file_system.h"

namespace cordon::jail {
namespace {

using policy::MemoryFileSystem;

class PlanBuilderTest : public ::testing::Test {
 protected:
  PlanBuilderTest() {
    for (const char* dir :
         {"/tmp", "/var/tmp", "/dev", "/run", "/sys", "/usr/bin", "/home/u/w", "/etc"})
      fs_.AddDirectory(dir);
    spec_.session_id = "s";
    spec_.workspace_id = "w";
    spec_.view = policy::View::kHost;
    spec_.guest_workdir = "/home/u/w";
    spec_.filesystem.default_denies = false;
    context_.home = "/home/u";
    context_.workdir = "/home/u/w";
    context_.root = false;
    context_.workdir_writable = true;
  }
  Plan Build(std::uint32_t uid = 1000) {
    auto policy = policy::Compile(spec_, context_, fs_);
    EXPECT_TRUE(policy.ok()) << policy.error().ToString();
    policy_ = *policy;
    PlanInput input;
    input.policy = &policy_;
    input.inner_uid = uid;
    input.host_sockets = sockets_;
    auto plan = BuildPlan(input, fs_);
    EXPECT_TRUE(plan.ok()) << plan.error().ToString();
    return *plan;
  }
  // "ro|rw [early] TARGET <- SOURCE" of each operation at or below `prefix`.
  static std::vector<std::string> Lines(const Plan& plan, const std::string& prefix) {
    std::vector<std::string> lines;
    for (const auto& op : plan.operations) {
      if (op.target.compare(0, prefix.size(), prefix) != 0) continue;
      std::string line = (op.attributes & Operation::kReadOnly) ? "ro " : "rw ";
      if (op.attributes & Operation::kNoExec) line += "noexec ";
      if (op.early) line += "early ";
      line += op.target;
      if (op.source != op.target) line += " <- " + op.source;
      lines.push_back(line);
    }
    return lines;
  }
  using Strings = std::vector<std::string>;

  MemoryFileSystem fs_;
  policy::SandboxSpec spec_;
  policy::Context context_;
  policy::EffectivePolicy policy_;
  std::vector<std::string> sockets_;
};

TEST_F(PlanBuilderTest, OpensTheWorkingDirectoryAndNothingElse) {
  Plan plan = Build();
  EXPECT_TRUE(plan.read_only_tree);
  EXPECT_FALSE(plan.new_root);
  EXPECT_EQ(Lines(plan, "/home"), Strings{"rw early /home/u/w"});
}

TEST_F(PlanBuilderTest, ParentsComeBeforeChildren) {
  fs_.AddDirectory("/home/u/w/a-b").AddDirectory("/home/u/w/a/c").AddDirectory("/home/u/w/a");
  for (const char* path : {"/home/u/w/a/c", "/home/u/w/a-b", "/home/u/w/a"})
    spec_.filesystem.deny_read.push_back({path, false, {}});
  spec_.filesystem.allow_read.push_back({"/home/u/w/a/c/d", false, {}});
  fs_.AddDirectory("/home/u/w/a/c/d");
  Plan plan = Build();
  for (std::size_t i = 0; i < plan.operations.size(); ++i)
    for (std::size_t k = i + 1; k < plan.operations.size(); ++k)
      EXPECT_NE(plan.operations[i].target.rfind(plan.operations[k].target + "/", 0), 0u)
          << plan.operations[i].target << " before " << plan.operations[k].target;
}

TEST_F(PlanBuilderTest, DenyInsideAllowInsideDeny) {
  fs_.AddDirectory("/home/u/w/s/open/closed").AddFile("/home/u/w/s/open/f");
  spec_.filesystem.deny_read.push_back({"/home/u/w/s", false, {}});
  spec_.filesystem.allow_read.push_back({"/home/u/w/s/open", false, {}});
  spec_.filesystem.deny_read.push_back({"/home/u/w/s/open/closed", false, {}});
  Plan plan = Build();
  EXPECT_EQ(Lines(plan, "/home/u/w/s"),
            (Strings{"ro /home/u/w/s <- /proc/masks/skeleton1", "rw early /home/u/w/s/open",
                     "ro /home/u/w/s/open/closed <- /proc/masks/dir"}));
}

TEST_F(PlanBuilderTest, AMaskedDirectoryInsideAMaskedOneNeedsNothing) {
  fs_.AddDirectory("/home/u/w/s/t");
  spec_.filesystem.deny_read.push_back({"/home/u/w/s", false, {}});
  spec_.filesystem.deny_read.push_back({"/home/u/w/s/t", false, {}});
  EXPECT_EQ(Lines(Build(), "/home/u/w/s"), Strings{"ro /home/u/w/s <- /proc/masks/dir"});
}

TEST_F(PlanBuilderTest, ProtectedFilesAreBoundLate) {
  fs_.AddFile("/home/u/w/.bashrc").AddDirectory("/home/u/w/.vscode");
  EXPECT_EQ(Lines(Build(), "/home/u/w/"),
            (Strings{"ro /home/u/w/.bashrc", "ro /home/u/w/.vscode"}));
}

TEST_F(PlanBuilderTest, AWorkingDirectoryBelowTmpIsPutBack) {
  fs_.AddDirectory("/tmp/a/w");
  spec_.guest_workdir = context_.workdir = "/tmp/a/w";
  Plan plan = Build();
  EXPECT_EQ(Lines(plan, "/tmp"), (Strings{"rw early /tmp <- /proc/tmp", "rw early /tmp/a/w"}));
  bool has_mount_point = false;
  for (const auto& node : plan.nodes) has_mount_point = has_mount_point || node.path == "tmp/a/w";
  EXPECT_TRUE(has_mount_point);
}

TEST_F(PlanBuilderTest, OnlyAMountBringsTheHostsTmp) {
  spec_.guest_workdir = context_.workdir = "/tmp";
  EXPECT_EQ(Lines(Build(), "/tmp"), Strings{"rw early /tmp <- /proc/tmp"});
  spec_.bind_mounts.push_back({"/tmp", "/tmp", false, {}});
  EXPECT_EQ(Lines(Build(), "/tmp"), Strings{"rw early /tmp"});
}

TEST_F(PlanBuilderTest, AMountElsewhereDoesNotOpenItsSource) {
  fs_.AddDirectory("/home/u/data/.git/hooks").AddDirectory("/mnt/d");
  spec_.bind_mounts.push_back({"/home/u/data", "/mnt/d", false, {}});
  Plan plan = Build();
  EXPECT_TRUE(Lines(plan, "/home/u/data").empty());
  EXPECT_EQ(Lines(plan, "/mnt"),
            (Strings{"rw early /mnt/d <- /home/u/data", "ro /mnt/d/.git/hooks"}));
}

TEST_F(PlanBuilderTest, ReadOnlyModesOpenNothing) {
  spec_.mode = policy::Mode::kPlan;
  EXPECT_TRUE(Lines(Build(), "/home/u/w").empty());
}

TEST_F(PlanBuilderTest, BoundViewShowsTheListOnly) {
  fs_.AddLink("/bin", "usr/bin").AddDirectory("/home/u/data");
  spec_.view = policy::View::kBound;
  spec_.bind_mounts.push_back({"/home/u/data", "/data", true, {}});
  Plan plan = Build();
  EXPECT_TRUE(plan.new_root);
  EXPECT_EQ(Lines(plan, "/data"), Strings{"ro early /data <- /home/u/data"});
  EXPECT_EQ(Lines(plan, "/home"), Strings{"rw early /home/u/w"});
  EXPECT_EQ(Lines(plan, "/usr"), Strings{"ro early /usr"});
  bool link = false;
  for (const auto& node : plan.nodes)
    link = link || (node.path == "root/bin" && node.kind == StoreNode::Kind::kSymlink &&
                    node.target == "usr/bin");
  EXPECT_TRUE(link);
}

TEST_F(PlanBuilderTest, AMountElsewhereKeepsTheMasksOfItsSource) {
  fs_.AddFile("/home/u/.ssh/key").AddDirectory("/mnt/h");
  spec_.filesystem.deny_read.push_back({"/home/u/.ssh", false, {}});
  spec_.bind_mounts.push_back({"/home/u", "/mnt/h", false, {}});
  EXPECT_EQ(Lines(Build(), "/mnt/h/.ssh"), Strings{"ro /mnt/h/.ssh <- /proc/masks/dir"});
}

TEST_F(PlanBuilderTest, AGuestPathThatIsNotThereIsRefusedInTheHostView) {
  fs_.AddDirectory("/home/u/data");
  spec_.bind_mounts.push_back({"/home/u/data", "/nowhere", false, {}});
  auto policy = policy::Compile(spec_, context_, fs_);
  ASSERT_TRUE(policy.ok());
  PlanInput input;
  input.policy = &*policy;
  auto plan = BuildPlan(input, fs_);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(plan.error().remedy.find("bound"), std::string::npos);
}

TEST_F(PlanBuilderTest, HidesSocketsOfTheHostWhereTheViewShowsThem) {
  fs_.AddOther("/home/u/w/s.sock").AddOther("/run/docker.sock").AddOther("/tmp/x.sock");
  sockets_ = {"/home/u/w/s.sock", "/run/docker.sock", "/tmp/x.sock"};
  Plan plan = Build();
  EXPECT_EQ(Lines(plan, "/home/u/w/"), Strings{"ro /home/u/w/s.sock <- /proc/masks/file"});
  EXPECT_TRUE(Lines(plan, "/run/").empty());
  EXPECT_TRUE(Lines(plan, "/tmp/").empty());
}

TEST_F(PlanBuilderTest, AllowedSocketsAreNotHiddenAndArePutBack) {
  fs_.AddOther("/home/u/w/s.sock").AddOther("/home/u/w/t.sock").AddOther("/etc/e.sock");
  fs_.AddOther("/run/user/1000/agent").AddOther("/run/user/1000/bus").AddOther("/tmp/x.sock");
  fs_.AddLink("/run/link.sock", "user/1000/agent");
  sockets_ = {"/home/u/w/s.sock",     "/home/u/w/t.sock",   "/etc/e.sock",
              "/run/user/1000/agent", "/run/user/1000/bus", "/tmp/x.sock"};
  for (const char* path : {"/home/u/w/s.sock", "/etc/e.sock", "/run/link.sock", "/tmp/x.sock"})
    spec_.network.allow_unix_sockets.push_back({path, false, {}});
  Plan plan = Build();
  EXPECT_EQ(Lines(plan, "/home/u/w/"), Strings{"ro /home/u/w/t.sock <- /proc/masks/file"});
  EXPECT_TRUE(Lines(plan, "/etc/").empty());
  EXPECT_EQ(Lines(plan, "/run/"), Strings{"ro early /run/user/1000/agent"});
  EXPECT_EQ(Lines(plan, "/tmp/"), Strings{"ro early /tmp/x.sock"});
  auto node = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                           [](const StoreNode& n) { return n.path == "run/link.sock"; });
  ASSERT_NE(node, plan.nodes.end());
  EXPECT_EQ(node->target, "user/1000/agent");
}

TEST_F(PlanBuilderTest, AllowedSocketsBelowMasksAndInMountsElsewhere) {
  fs_.AddOther("/home/u/.keys/agent").AddFile("/home/u/.keys/id");
  fs_.AddOther("/data/a.sock").AddOther("/data/b.sock");
  sockets_ = {"/home/u/.keys/agent", "/data/a.sock", "/data/b.sock"};
  spec_.filesystem.deny_read.push_back({"/home/u/.keys", false, {}});
  spec_.bind_mounts.push_back({"/data", "/tmp/data", false, {}});
  for (const char* path : {"/home/u/.keys/agent", "/data/a.sock"})
    spec_.network.allow_unix_sockets.push_back({path, false, {}});
  Plan plan = Build();
  EXPECT_EQ(Lines(plan, "/home/u/.keys"),
            (Strings{"ro /home/u/.keys <- /proc/masks/skeleton1", "ro early /home/u/.keys/agent"}));
  // Nothing on the allowed one, as in every writable directory: its server may make it anew.
  EXPECT_EQ(Lines(plan, "/tmp/data"),
            (Strings{"rw early /tmp/data <- /data", "ro /tmp/data/b.sock <- /proc/masks/file"}));
}

TEST_F(PlanBuilderTest, AllowedSocketsStandOpenWithoutFileRules) {
  fs_.AddOther("/run/a.sock").AddOther("/run/b.sock");
  sockets_ = {"/run/a.sock", "/run/b.sock"};
  spec_.filesystem.disabled = true;
  spec_.network.allow_unix_sockets.push_back({"/run/a.sock", false, {}});
  EXPECT_EQ(Lines(Build(), "/run/"), Strings{"ro /run/b.sock <- /proc/masks/file"});
}

TEST_F(PlanBuilderTest, TheBoundViewShowsAllowedSockets) {
  fs_.AddOther("/srv/a.sock").AddOther("/srv/b.sock");
  sockets_ = {"/srv/a.sock", "/srv/b.sock"};
  spec_.view = policy::View::kBound;
  spec_.network.allow_unix_sockets.push_back({"/srv/a.sock", false, {}});
  EXPECT_EQ(Lines(Build(), "/srv"), Strings{"ro early /srv/a.sock"});
}

TEST_F(PlanBuilderTest, UserZeroFindsKernelSettingsReadOnly) {
  auto has = [](const Plan& plan, const std::string& target) {
    for (const auto& op : plan.after_proc)
      if (op.target == target) return (op.attributes & Operation::kReadOnly) != 0;
    return false;
  };
  EXPECT_TRUE(has(Build(1000), "/proc/keys"));
  EXPECT_FALSE(has(Build(1000), "/proc/sys"));
  EXPECT_TRUE(has(Build(0), "/proc/keys"));
  EXPECT_TRUE(has(Build(0), "/proc/sys"));
}

TEST_F(PlanBuilderTest, ADeniedRootLeavesOnlyWhatIsOpened) {
  spec_.filesystem.deny_read.push_back({"/", false, {}});
  spec_.filesystem.allow_read.push_back({"/usr", false, {}});
  Plan plan = Build();
  EXPECT_TRUE(plan.new_root);
  EXPECT_EQ(Lines(plan, "/usr"), Strings{"ro early /usr"});
  EXPECT_TRUE(Lines(plan, "/etc").empty());
}

TEST_F(PlanBuilderTest, AWritableRootKeepsTheTreeWritable) {
  fs_.AddFile("/home/u/w/.bashrc");
  spec_.filesystem.allow_write.push_back({"/", false, {}});
  Plan plan = Build();
  EXPECT_FALSE(plan.read_only_tree);
  EXPECT_EQ(Lines(plan, "/home/u/w/"), Strings{"ro /home/u/w/.bashrc"});
}

}  // namespace
}  // namespace cordon::jail
