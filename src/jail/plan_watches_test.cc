#include "jail/plan_watches.h"

#include <gtest/gtest.h>

#include "jail/plan_builder.h"
#include "jail/wire.h"
#include "policy/memory_file_system.h"

namespace cordon::jail {
namespace {

using policy::MemoryFileSystem;
using Strings = std::vector<std::string>;

class PlanWatchesTest : public ::testing::Test {
 protected:
  PlanWatchesTest() {
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
    context_.supervised = true;
  }
  void DenyRead(const std::string& path) {
    spec_.filesystem.deny_read.push_back({path, false, {}});
  }
  Watches Build() {
    auto policy = policy::Compile(spec_, context_, fs_);
    EXPECT_TRUE(policy.ok()) << policy.error().ToString();
    policy_ = *policy;
    PlanInput input;
    input.policy = &policy_;
    input.inner_uid = 1000;
    auto plan = BuildPlan(input, fs_);
    EXPECT_TRUE(plan.ok()) << plan.error().ToString();
    return WatchesFor(policy_, *plan);
  }
  // "PATH what flags" of each node that is more than a step on the way.
  static Strings Lines(const Watches& watches) {
    Strings lines;
    for (std::uint32_t i = 0; i < watches.nodes.size(); ++i) {
      const Watches::Node& node = watches.nodes[i];
      if (node.action == Watches::Action::kNone && node.flags == 0) continue;
      std::string line = PathOf(watches, i);
      if (node.action == Watches::Action::kMask) line += " mask";
      if (node.action == Watches::Action::kEmptyMask) line += " empty";
      if (node.action == Watches::Action::kSelf) line += " self " + std::to_string(node.attributes);
      if (node.flags & Watches::kGlob) line += " glob";
      if (node.flags & Watches::kLinkAtStart) line += " link";
      if (node.flags & Watches::kOpenings) line += " openings";
      lines.push_back(line);
    }
    return lines;
  }

  MemoryFileSystem fs_;
  policy::SandboxSpec spec_;
  policy::Context context_;
  policy::EffectivePolicy policy_;
};

TEST_F(PlanWatchesTest, NothingIsWatchedWithoutRules) {
  spec_.filesystem.disabled = true;
  EXPECT_TRUE(Build().empty());
}

TEST_F(PlanWatchesTest, AMaskedFileAndOneToCome) {
  fs_.AddFile("/home/u/secret");
  DenyRead("/home/u/secret");
  DenyRead("/home/u/a/b/later");
  EXPECT_EQ(Lines(Build()), (Strings{"/home/u/secret mask", "/home/u/a/b/later mask"}));
}

TEST_F(PlanWatchesTest, EveryComponentHasItsParentAndNeighboursAreSorted) {
  DenyRead("/home/u/b/x");
  DenyRead("/home/u/a/y");
  DenyRead("/home/u/a/x");
  const Watches watches = Build();
  Strings paths;
  for (std::uint32_t i = 0; i < watches.nodes.size(); ++i) {
    const auto& node = watches.nodes[i];
    paths.push_back(PathOf(watches, i));
    for (std::uint32_t c = 0; c < node.child_count; ++c) {
      EXPECT_EQ(watches.nodes[node.first_child + c].parent, i);
      if (c == 0) continue;
      EXPECT_LT(watches.nodes[node.first_child + c - 1].name,
                watches.nodes[node.first_child + c].name);
    }
  }
  EXPECT_EQ(paths, (Strings{"/", "/home", "/home/u", "/home/u/a", "/home/u/b", "/home/u/a/x",
                            "/home/u/a/y", "/home/u/b/x"}));
}

TEST_F(PlanWatchesTest, AReadOnlyFileInAWritablePlace) {
  fs_.AddFile("/home/u/w/fixed");
  spec_.filesystem.deny_write.push_back({"/home/u/w/fixed", false, {}});
  EXPECT_EQ(Lines(Build()), Strings{"/home/u/w/fixed self 1"});
}

TEST_F(PlanWatchesTest, AnAllowedPathIsNotWatched) {
  DenyRead("/home/u/later");
  spec_.filesystem.allow_read.push_back({"/home/u/other", false, {}});
  DenyRead("/tmp/own");  // the session's own /tmp
  EXPECT_EQ(Lines(Build()), Strings{"/home/u/later mask"});
}

TEST_F(PlanWatchesTest, NothingBelowAMask) {
  fs_.AddFile("/home/u/s/t");
  DenyRead("/home/u/s");
  DenyRead("/home/u/s/t");
  DenyRead("/home/u/s/later");
  EXPECT_EQ(Lines(Build()), Strings{"/home/u/s mask"});
}

TEST_F(PlanWatchesTest, AMaskWithOpeningsSaysSo) {
  fs_.AddFile("/home/u/s/open/closed");
  DenyRead("/home/u/s");
  spec_.filesystem.allow_read.push_back({"/home/u/s/open", false, {}});
  DenyRead("/home/u/s/open/closed");
  EXPECT_EQ(Lines(Build()), (Strings{"/home/u/s mask openings", "/home/u/s/open/closed mask"}));
}

TEST_F(PlanWatchesTest, AGlobWatchesItsPrefixAndWhereMatchesAre) {
  fs_.AddFile("/home/u/w/sub/old.pem").AddDirectory("/home/u/w/none");
  DenyRead("**/*.pem");
  const Watches watches = Build();
  EXPECT_EQ(Lines(watches),
            (Strings{"/home/u/w glob", "/home/u/w/sub glob", "/home/u/w/sub/old.pem mask"}));
  EXPECT_EQ(watches.patterns, (std::vector<Watches::Pattern>{{"/home/u/w/**/*.pem", false}}));
}

TEST_F(PlanWatchesTest, ANameOfAFoldingDirectoryIsAPatternToo) {
  fs_.FoldCase("/home/u/w/f");
  DenyRead("/home/u/w/f/key*");
  const Watches glob = Build();
  EXPECT_EQ(glob.patterns, (std::vector<Watches::Pattern>{{"/home/u/w/f/key*", true}}));
  spec_.filesystem.deny_read.clear();
  DenyRead("/home/u/w/f/key");
  const Watches literal = Build();
  EXPECT_EQ(literal.patterns, (std::vector<Watches::Pattern>{{"/home/u/w/f/key", true}}));
  EXPECT_EQ(Lines(literal), (Strings{"/home/u/w/f glob", "/home/u/w/f/key mask"}));
}

TEST_F(PlanWatchesTest, ALinkIsKnownAsOne) {
  fs_.AddFile("/home/u/dot/key").AddLink("/home/u/key", "dot/key");
  DenyRead("/home/u/key");
  EXPECT_EQ(Lines(Build()), (Strings{"/home/u/key mask link", "/home/u/dot/key mask"}));
}

TEST_F(PlanWatchesTest, AMountAtAnotherPlaceIsWatchedThere) {
  fs_.AddDirectory("/srv/data");
  policy::BindMount mount;
  mount.host_path = "/srv/data";
  mount.guest_path = "/tmp/data";
  spec_.bind_mounts.push_back(mount);
  DenyRead("/srv/data/key");
  DenyRead("/srv/data/*.pem");
  const Watches watches = Build();
  EXPECT_EQ(Lines(watches), (Strings{"/srv/data glob", "/tmp/data glob", "/srv/data/key mask",
                                     "/tmp/data/key mask"}));
  EXPECT_EQ(watches.patterns, (std::vector<Watches::Pattern>{{"/srv/data/*.pem", false},
                                                             {"/tmp/data/*.pem", false}}));
}

TEST_F(PlanWatchesTest, ViewBoundWatchesWhatIsMountedOnly) {
  fs_.AddFile("/etc/passwd").AddDirectory("/srv/data");
  spec_.view = policy::View::kBound;
  policy::BindMount mount;
  mount.host_path = mount.guest_path = "/srv/data";
  spec_.bind_mounts.push_back(mount);
  DenyRead("/srv/data/key");
  DenyRead("/home/u/later");
  EXPECT_EQ(Lines(Build()), Strings{"/srv/data/key mask"});
}

TEST_F(PlanWatchesTest, TheEncodingIsReadBackWhole) {
  fs_.AddFile("/home/u/w/sub/old.pem");
  DenyRead("**/*.pem");
  const Watches watches = Build();
  const std::string bytes = Encode(watches);
  wire::Reader r(bytes);
  ASSERT_EQ(r.U32(), watches.nodes.size());
  for (const Watches::Node& node : watches.nodes) {
    EXPECT_EQ(r.String(), node.name);
    EXPECT_EQ(r.U32(), node.parent);
    EXPECT_EQ(r.U32(), node.first_child);
    EXPECT_EQ(r.U32(), node.child_count);
    EXPECT_EQ(r.U32(), static_cast<std::uint32_t>(node.action));
    EXPECT_EQ(r.U32(), node.flags);
    EXPECT_EQ(r.U32(), node.attributes);
  }
  ASSERT_EQ(r.U32(), 1u);
  EXPECT_EQ(r.String(), "/home/u/w/**/*.pem");
  EXPECT_EQ(r.U32(), 0u);
  EXPECT_TRUE(r.ok() && r.AtEnd());
}

}  // namespace
}  // namespace cordon::jail
