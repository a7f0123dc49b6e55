#include "cli/proposal.h"

#include <gtest/gtest.h>

#include "cli/denial_test_support.h"
#include "policy/spec_json.h"

namespace cordon::cli {
namespace {

using session::Action;
using session::Violation;

class ProposalTest : public ::testing::Test {
 protected:
  void Refuse(Action action, const std::string& target, std::string_view call = "openat") {
    all_.push_back(world_.Refused(action, target, call));
  }
  Proposal Proposed() const { return Propose(all_, world_.Compile()); }
  // "--write /a, --allow-read /b"
  std::string Options() const {
    std::string out;
    for (const auto& entry : Proposed().entries)
      out += (out.empty() ? "" : ", ") + entry.option + " " + entry.path;
    return out;
  }
  DenialWorld world_;
  std::vector<Violation> all_;
};

TEST_F(ProposalTest, ProposesTheSmallestAdditions) {
  Refuse(Action::kFileWrite, "/etc/hosts");
  Refuse(Action::kFileCreate, "/home/u/.cache/tool/a");
  Refuse(Action::kFileCreate, "/home/u/.cache/tool/b");
  Refuse(Action::kFileWrite, "/home/u/.cache/tool/sub/c");
  Refuse(Action::kUnixSocket, "/srv/db/s", "connect");
  EXPECT_EQ(Options(),
            "--write /etc/hosts, --write /home/u/.cache/tool, --allow-unix-socket /srv/db/s");
  const Proposal proposal = Proposed();
  EXPECT_EQ(proposal.entries[1].targets, 3u);
  EXPECT_EQ(ProposalJson(proposal),
            "{\n"
            "  \"filesystem\": {\n"
            "    \"allowWrite\": [\"/etc/hosts\", \"/home/u/.cache/tool\"]\n"
            "  },\n"
            "  \"network\": {\n"
            "    \"allowUnixSockets\": [\"/srv/db/s\"]\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(ProposalOptions(proposal),
            "--write /etc/hosts --write /home/u/.cache/tool --allow-unix-socket /srv/db/s");
}

TEST_F(ProposalTest, ManyFilesBecomeTheirDirectory) {
  for (int i = 0; i < 3; ++i) Refuse(Action::kFileWrite, "/data/out/" + std::to_string(i));
  EXPECT_EQ(Options(), "--write /data/out/0, --write /data/out/1, --write /data/out/2");
  Refuse(Action::kFileWrite, "/data/out/3");
  EXPECT_EQ(Options(), "--write /data/out");
  // Directories do so as well, up to what is too wide.
  for (int i = 0; i < 5; ++i) {
    Refuse(Action::kFileCreate, "/data/x/" + std::to_string(i) + "/new");
    Refuse(Action::kFileCreate, "/home/u/" + std::to_string(i) + "/new");
    Refuse(Action::kFileWrite, "/etc/" + std::to_string(i));
  }
  const std::string options = Options();
  EXPECT_NE(options.find("--write /data/x,"), std::string::npos) << options;
  EXPECT_NE(options.find("--write /home/u/0,"), std::string::npos) << options;
  EXPECT_EQ(options.find("--write /etc,"), std::string::npos) << options;
  EXPECT_EQ(options.find("--write /home/u,"), std::string::npos) << options;
}

TEST_F(ProposalTest, NeverProposesRootHomeOrTheProtected) {
  world_.spec.filesystem.default_denies = true;
  world_.spec.filesystem.deny_names = policy::PolicyWorld::Entries({"*.key"}, "spec.json");
  Refuse(Action::kFileCreate, "/new");
  Refuse(Action::kFileCreate, "/home/u/new");
  Refuse(Action::kFileUnlink, "/home/u");
  Refuse(Action::kFileCreate, "/home/u/w/.git/hooks/a");
  Refuse(Action::kFileCreate, "/home/u/w/x/.git/hooks/a");
  Refuse(Action::kFileCreate, "/home/u/w/a.key");
  Refuse(Action::kFileRead, "/home/u/.ssh/id");
  Refuse(Action::kFileWrite, "/home/u/.bashrc");
  Refuse(Action::kUnixSocket, "/run/docker.sock", "connect");
  Refuse(Action::kExec, "/usr/bin/sudo", "execve");
  Refuse(Action::kSyscall, "mount", "mount");
  const Proposal proposal = Proposed();
  // Home is not writable here, so nothing protects its start files; one of them by name is small.
  EXPECT_EQ(Options(), "--write /home/u/.bashrc");
  EXPECT_EQ(proposal.left.size(), 10u);
  for (const auto& left : proposal.left) EXPECT_FALSE(left.why.empty()) << left.what;
  const std::string text = ProposalText(proposal);
  EXPECT_NE(text.find("a secret; if the command really needs it: --allow-read /home/u/.ssh/id"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("it acts for its callers outside the sandbox"), std::string::npos) << text;
}

TEST_F(ProposalTest, ReadsThatAreNotInTheView) {
  world_.spec.view = policy::View::kBound;
  for (int i = 0; i < 4; ++i) Refuse(Action::kFileRead, "/srv/lib/" + std::to_string(i));
  Refuse(Action::kFileRead, "/srv/one");
  EXPECT_EQ(Options(), "--allow-read /srv/lib, --allow-read /srv/one");
}

TEST_F(ProposalTest, AWritablePathIsReadableToo) {
  world_.spec.view = policy::View::kBound;
  Refuse(Action::kFileRead, "/srv/a");
  Refuse(Action::kFileWrite, "/srv/a");
  EXPECT_EQ(Options(), "--write /srv/a");
}

TEST_F(ProposalTest, TheBlockReadsBackAsASpec) {
  Refuse(Action::kFileWrite, "/data/a*b");
  Refuse(Action::kFileWrite, "/data/\x1b[2J");
  Refuse(Action::kFileWrite, "/data/\xff");
  const Proposal proposal = Proposed();
  const std::string json = ProposalJson(proposal);
  const std::string whole =
      "{\"sessionId\": \"s\", \"workspaceId\": \"w\"," + json.substr(json.find('{') + 1);
  const auto spec = policy::ParseSpec(whole, "test");
  ASSERT_TRUE(spec.ok()) << spec.error().ToString() << json;
  ASSERT_EQ(spec->filesystem.allow_write.size(), 2u);
  EXPECT_EQ(spec->filesystem.allow_write[0].text, "/data/\x1b[2J");
  EXPECT_EQ(spec->filesystem.allow_write[1].text, "/data/a*b");
  EXPECT_TRUE(spec->filesystem.allow_write[1].literal);
  const std::string text = ProposalText(proposal);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
  EXPECT_NE(text.find("not UTF-8"), std::string::npos);
}

TEST_F(ProposalTest, NothingRefused) {
  EXPECT_EQ(ProposalText(Proposed()),
            "cordon trace: nothing was refused; the policy is enough for this run\n");
  EXPECT_EQ(ProposalJson(Proposed()), "{}\n");
}

}  // namespace
}  // namespace cordon::cli
