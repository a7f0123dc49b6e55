// Masks that fall off are put back, in the view of the present policy.
#include <cstdio>

#include "session/session_impl.h"
#include "session/session_test_support.h"

namespace cordon::session {
namespace {

class WatchingTest : public SessionTest {
 protected:
  policy::SandboxSpec Denying(const std::string& name) {
    policy::SandboxSpec spec = Spec();
    spec.filesystem.deny_read.push_back({directory_ + "/" + name, true, {"test"}});
    return spec;
  }
  void Replace(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path + ".new") << text << "\n";
    ASSERT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
  }
  // Looks until the name cannot be read any more; what it said before that does not count.
  static constexpr const char* kUntilHidden =
      "while cat $0 >/dev/null 2>&1; do :; done; echo hidden";
  bool ComesToBeHidden(Session& session, const std::string& name) {
    ExecRequest request = Capture({"/bin/sh", "-c", kUntilHidden, directory_ + "/" + name});
    request.timeout = std::chrono::milliseconds(kPatienceMs);
    return Run(session, std::move(request)).stdout_data == "hidden\n";
  }
};

TEST_F(WatchingTest, AfterAReplacement) {
  auto session = Launch(Denying("secret"));
  Replace("secret", "new");
  EXPECT_TRUE(ComesToBeHidden(*session, "secret"));
}

TEST_F(WatchingTest, AfterAnUpdateWhatTheNewPolicyDenies) {
  std::ofstream(directory_ + "/other") << "other\n";
  auto session = Launch(Denying("secret"));
  ASSERT_TRUE(session->Update(Denying("other")).ok());
  Replace("other", "new");
  EXPECT_TRUE(ComesToBeHidden(*session, "other"));
  Replace("secret", "allowed now");
  EXPECT_EQ(Run(*session, Shell("cat secret")).stdout_data, "allowed now\n");
}

TEST_F(WatchingTest, NotAfterAnUpdateThatLeavesNothingToWatch) {
  auto session = Launch(Denying("secret"));
  policy::SandboxSpec open = Spec();
  open.filesystem.default_denies = false;
  ASSERT_TRUE(session->Update(open).ok());
  Replace("secret", "open");
  EXPECT_EQ(Run(*session, Shell("cat secret")).stdout_data, "open\n");
}

// Each directory that is watched takes a descriptor of init.
TEST_F(WatchingTest, SaysWhatIsWeakerWhenDescriptorsRunOut) {
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(::mkdir((directory_ + "/a/" + std::to_string(i)).c_str(), 0755), 0);
  const std::string launcher = directory_ + "/launcher";
  std::ofstream(launcher) << "#!/bin/sh\nulimit -n 200 && exec '" << LauncherPath({})
                          << "' \"$@\"\n";
  ASSERT_EQ(::chmod(launcher.c_str(), 0755), 0);
  LaunchOptions options;
  options.launcher_path = launcher;
  policy::SandboxSpec spec = Spec();
  spec.filesystem.deny_read.push_back({directory_ + "/a/**/*.pem", false, {"test"}});
  spec.limits.open_files = 100;  // else that of this process, which is more
  auto session = Launch(spec, options);
  std::string said;
  for (int i = 0; i < 1000 && said.empty(); ++i) {
    EXPECT_EQ(Run(*session, Shell("true")).exit_code, 0);
    for (const std::string& line : session->details())
      if (line.find("ulimit -Hn") != std::string::npos) said = line;
  }
  EXPECT_EQ(said.rfind("weaker: ", 0), 0u) << said;
}

// A command that started under an earlier policy keeps its view, whose masks nobody watches.
TEST_F(WatchingTest, KnownLimitationTheViewOfAnEarlierPolicy) {
  auto session = Launch(Denying("secret"));
  Pipe in, out;
  ExecRequest request;
  request.argv = {"/bin/sh", "-c", "while read x; do cat secret 2>/dev/null || echo denied; done"};
  request.input = {Stdio::Kind::kInherit, in.read.get()};
  request.output = {Stdio::Kind::kInherit, out.write.get()};
  ExecId id = Start(*session, std::move(request));
  ASSERT_EQ(::write(in.write.get(), "x\n", 2), 2);
  ASSERT_EQ(ReadLine(out.read.get()), "denied");
  ASSERT_TRUE(session->Update(Denying("secret")).ok());
  Replace("secret", "new");
  EXPECT_TRUE(ComesToBeHidden(*session, "secret"));
  ASSERT_EQ(::write(in.write.get(), "x\n", 2), 2);
  EXPECT_EQ(ReadLine(out.read.get()), "new");
  ASSERT_TRUE(session->Signal(id, SIGKILL).ok());
}

}  // namespace
}  // namespace cordon::session
