// The server of masks as a host program meets it: reports by exec, and what an Update changes.
#include <algorithm>
#include <fstream>

#include "session/session_test_support.h"
#include "session/violation.h"

namespace cordon::session {
namespace {

class DeniedReadsTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    if (UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC)); !device.valid())
      GTEST_SKIP() << "/dev/fuse may not be opened here";
    std::ofstream(directory_ + "/other") << "s3cr3t\n";
  }
  policy::SandboxSpec Denying(const std::vector<std::string>& names) {
    policy::SandboxSpec spec = Spec();
    for (const auto& name : names)
      spec.filesystem.deny_read.push_back({directory_ + "/" + name, false, {"test"}});
    return spec;
  }
  // "exec:target:rule" of each denied read so far.
  static std::vector<std::string> Reads(Session& session) {
    EXPECT_TRUE(session.FlushReports().ok());
    std::vector<std::string> out;
    for (const Violation& v : session.violations().all())
      if (v.action == Action::kFileRead)
        out.push_back(std::to_string(v.exec) + ":" + v.target + ":" + v.rule_text);
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string Line(ExecId exec, const std::string& name) const {
    const std::string path = directory_ + "/" + name;
    return std::to_string(exec) + ":" + path + ":" + path;
  }
};

TEST_F(DeniedReadsTest, EachReportHasItsExec) {
  auto session = Launch(Denying({"secret"}));
  ExecRequest waiting = Shell("read line; cat secret");
  Pipe in;
  waiting.input.kind = Stdio::Kind::kInherit;
  waiting.input.fd = in.read.get();
  const ExecId first = Start(*session, std::move(waiting));
  const ExecId second = Start(*session, Shell("setsid -w cat secret"));
  EXPECT_TRUE(session->Wait(second).ok());
  EXPECT_EQ(Reads(*session), std::vector<std::string>{Line(second, "secret")});
  in.write.reset();
  EXPECT_TRUE(session->Wait(first).ok());
  EXPECT_EQ(Reads(*session),
            (std::vector<std::string>{Line(first, "secret"), Line(second, "secret")}));
}

TEST_F(DeniedReadsTest, AnUpdateHasMasksOfItsOwn) {
  auto session = Launch(Denying({"secret"}));
  ExecRequest waiting = Shell("read line; cat secret other");
  Pipe in;
  waiting.input.kind = Stdio::Kind::kInherit;
  waiting.input.fd = in.read.get();
  const ExecId old = Start(*session, std::move(waiting));
  ASSERT_TRUE(session->Update(Denying({"other", "secret"})).ok());
  const ExecResult now = Run(*session, Shell("cat other"));
  EXPECT_EQ(now.stdout_data, "");
  in.write.reset();
  const auto before = session->Wait(old);
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(before->stdout_data, "s3cr3t\n") << "what runs keeps the view that it started with";
  EXPECT_EQ(Reads(*session),
            (std::vector<std::string>{Line(old, "secret"), Line(old + 1, "other")}));
  EXPECT_EQ(session->state(), State::kWarm) << "the end of the first server is no fault";
}

TEST_F(DeniedReadsTest, ARefusedUpdateKeepsTheMasks) {
  auto session = Launch(Denying({"secret"}));
  policy::SandboxSpec wrong = Denying({"secret"});
  wrong.bind_mounts.push_back({directory_ + "/a", directory_ + "/missing", false, {"test"}});
  EXPECT_FALSE(session->Update(wrong).ok());
  const ExecId exec = Start(*session, Shell("cat secret"));
  EXPECT_TRUE(session->Wait(exec).ok());
  EXPECT_EQ(Reads(*session), std::vector<std::string>{Line(exec, "secret")});
}

}  // namespace
}  // namespace cordon::session
