// The life of a session: suspend, change of policy, and every way to end.
#include <signal.h>

#include <set>
#include <thread>

#include "session/session.h"
#include "session/session_test_support.h"

namespace cordon::session {
namespace {

using SessionLifeTest = SessionTest;

TEST_F(SessionLifeTest, ASuspendedCommandDoesNotAdvance) {
  auto session = Launch();
  Pipe out;
  ExecRequest request;
  request.argv = {"/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo $i; done"};
  request.output = {Stdio::Kind::kInherit, out.write.get()};
  ExecId id = Start(*session, std::move(request));
  out.write.reset();
  ASSERT_EQ(ReadLine(out.read.get()), "1");
  ASSERT_TRUE(session->Suspend().ok());
  EXPECT_EQ(session->state(), State::kSuspended);
  ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  char buffer[65536];
  while (::read(out.read.get(), buffer, sizeof buffer) > 0) {
  }
  EXPECT_FALSE(Readable(out.read.get(), 200)) << "it went on";

  EXPECT_EQ(session->Exec(Shell("true")).error().message, "the session is suspended");
  EXPECT_NE(session->Suspend().error().message.find("suspended"), std::string::npos);
  EXPECT_NE(session->Update(Spec()).error().message.find("suspended"), std::string::npos);

  ASSERT_TRUE(session->Resume().ok());
  EXPECT_EQ(session->state(), State::kActive);
  EXPECT_TRUE(Readable(out.read.get(), kPatienceMs));
  ASSERT_TRUE(session->Signal(id, SIGKILL).ok());
  EXPECT_EQ(session->Wait(id)->signal, SIGKILL);
  EXPECT_EQ(session->state(), State::kWarm);
  EXPECT_NE(session->Resume().error().message.find("warm"), std::string::npos);
}

TEST_F(SessionLifeTest, ASuspendedSessionCanBeDestroyed) {
  auto session = Launch();
  ExecId id = Start(*session, Shell("sleep 1000"));
  ASSERT_TRUE(session->Suspend().ok());
  EXPECT_TRUE(session->Destroy().ok());
  auto result = session->TakeResult(id);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->signal, SIGKILL);
}

// A shell that tells for each line "path" it reads whether it can write there.
constexpr const char* kWriter =
    "while read path; do if (: >$path) 2>/dev/null; then echo yes; else echo no; fi; done";

TEST_F(SessionLifeTest, AChangedPolicyHoldsFromTheNextExec) {
  auto session = Launch(Spec({"a"}));
  Pipe in, out;
  ExecRequest request;
  request.argv = {"/bin/sh", "-c", kWriter};
  request.input = {Stdio::Kind::kInherit, in.read.get()};
  request.output = {Stdio::Kind::kInherit, out.write.get()};
  ExecId running = Start(*session, std::move(request));
  auto old_may_write = [&](const std::string& name) {
    std::string line = directory_ + "/" + name + "/old\n";
    EXPECT_EQ(::write(in.write.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    return ReadLine(out.read.get());
  };
  auto new_may_write = [&](const std::string& name) {
    return Run(*session, Shell(": >" + directory_ + "/" + name + "/new")).exit_code == 0;
  };
  EXPECT_EQ(old_may_write("a"), "yes");
  EXPECT_EQ(old_may_write("b"), "no");
  EXPECT_EQ(Run(*session, Shell("cat secret; echo text >/tmp/kept")).stdout_data, "s3cr3t\n");

  // Another place is writable, and a file is hidden.
  policy::SandboxSpec next = Spec({"b"});
  next.filesystem.deny_read.push_back({directory_ + "/secret", true, {"test"}});
  Status updated = session->Update(next);
  ASSERT_TRUE(updated.ok()) << updated.error().ToString();
  EXPECT_FALSE(new_may_write("a"));
  EXPECT_TRUE(new_may_write("b"));
  ExecResult hidden = Run(*session, Shell("cat secret"));
  EXPECT_NE(hidden.exit_code, 0);
  EXPECT_NE(hidden.stderr_data.find("Permission denied"), std::string::npos) << hidden.stderr_data;
  EXPECT_EQ(Run(*session, Shell("cat /tmp/kept")).stdout_data, "text\n");
  // What runs keeps what it started with.
  EXPECT_EQ(old_may_write("a"), "yes");
  EXPECT_EQ(old_may_write("b"), "no");

  // And back, wider than at first.
  ASSERT_TRUE(session->Update(Spec({"a", "b"})).ok());
  EXPECT_TRUE(new_may_write("a"));
  EXPECT_TRUE(new_may_write("b"));
  EXPECT_EQ(Run(*session, Shell("cat secret")).stdout_data, "s3cr3t\n");
  in.write.reset();
  EXPECT_EQ(session->Wait(running)->exit_code, 0);
}

TEST_F(SessionLifeTest, ARefusedUpdateChangesNothing) {
  auto session = Launch(Spec({"a"}));
  policy::SandboxSpec wrong = Spec({"b"});
  wrong.filesystem.deny_read.push_back({"~nobody/x", false, {"test"}});
  EXPECT_FALSE(session->Update(wrong).ok());
  EXPECT_EQ(session->state(), State::kWarm);
  EXPECT_EQ(Run(*session, Shell("touch a/file && ! touch b/file")).exit_code, 0);
}

TEST_F(SessionLifeTest, ManyUpdates) {
  auto session = Launch(Spec({"a"}));
  for (int i = 0; i < 50; ++i) {
    std::string name = i % 2 == 0 ? "b" : "a";
    ASSERT_TRUE(session->Update(Spec({name})).ok());
    ASSERT_EQ(Run(*session, Shell(": >" + name + "/file")).exit_code, 0);
  }
  // Old views are gone with the last process that was in them.
  EXPECT_EQ(Run(*session, Shell("readlink /proc/[0-9]*/ns/mnt | sort -u | wc -l")).stdout_data,
            "1\n");
}

TEST_F(SessionLifeTest, ASinglePolicyCannotBeChanged) {
  LaunchOptions options;
  options.single_policy = true;
  auto session = Launch(std::move(options));
  EXPECT_EQ(session->Update(Spec()).error().code, ErrorCode::kUnsupported);
}

TEST_F(SessionLifeTest, NothingCanBeDoneAfterTheEnd) {
  auto session = Launch();
  ExecId id = Start(*session, Shell("true"));
  ASSERT_TRUE(session->Destroy().ok());
  for (const Error& error : {session->Exec(Shell("true")).error(), session->Suspend().error(),
                             session->Resume().error(), session->Update(Spec()).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_NE(error.message.find("destroyed"), std::string::npos) << error.message;
  }
  EXPECT_TRUE(session->TakeResult(id));
  EXPECT_FALSE(session->TakeResult(id));
  EXPECT_EQ(session->Wait(id).error().code, ErrorCode::kNotFound);
}

TEST_F(SessionLifeTest, DestroyEndsWhatRuns) {
  auto session = Launch();
  std::vector<ExecId> ids;
  Pipe out;
  for (int i = 0; i < 10; ++i) {
    ExecRequest request;
    request.argv = {"/bin/sh", "-c",
                    "trap '' TERM HUP INT; setsid sleep 1000 & echo ready; sleep 1000"};
    request.output = {Stdio::Kind::kInherit, out.write.get()};
    ids.push_back(Start(*session, std::move(request)));
  }
  out.write.reset();
  for (int i = 0; i < 10; ++i) ASSERT_EQ(ReadLine(out.read.get()), "ready");
  ASSERT_TRUE(session->Destroy().ok());
  // Not soon but at once: nobody has the pipe any more.
  EXPECT_TRUE(Readable(out.read.get(), 0));
  EXPECT_EQ(ReadLine(out.read.get()), "");
  for (ExecId id : ids) {
    auto result = session->TakeResult(id);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->signal, SIGKILL);
    EXPECT_EQ(result->killed_reason, "manual");
  }
}

TEST_F(SessionLifeTest, EndsWithItsMonitor) {
  auto session = Launch();
  Pipe out;
  ExecRequest request;
  request.argv = {"/bin/sh", "-c", "echo ready; sleep 1000"};
  request.output = {Stdio::Kind::kInherit, out.write.get()};
  ExecId id = Start(*session, std::move(request));
  out.write.reset();
  ASSERT_EQ(ReadLine(out.read.get()), "ready");
  ASSERT_EQ(::kill(session->monitor_pid(), SIGKILL), 0);
  auto result = session->Wait(id);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->signal, SIGKILL);
  EXPECT_EQ(result->killed_reason, "session-monitor-died");
  EXPECT_EQ(session->state(), State::kDestroyed);
  EXPECT_TRUE(Readable(out.read.get(), kPatienceMs));
  EXPECT_FALSE(session->Exec(Shell("true")).ok());
}

TEST_F(SessionLifeTest, EndsWithItsHostProcess) {
  Pipe out;
  pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    auto session = Session::Launch(Spec(), {});
    ExecRequest request;
    request.argv = {"/bin/sh", "-c", "echo ready; sleep 1000"};
    request.output = {Stdio::Kind::kInherit, out.write.get()};
    if (session.ok()) (void)(*session)->Exec(std::move(request));
    out.write.reset();
    ::pause();
  }
  out.write.reset();
  EXPECT_EQ(ReadLine(out.read.get()), "ready");
  ::kill(host, SIGKILL);
  ASSERT_EQ(::waitpid(host, nullptr, 0), host);
  EXPECT_TRUE(Readable(out.read.get(), kPatienceMs));
  EXPECT_EQ(ReadLine(out.read.get()), "");
}

TEST_F(SessionLifeTest, OutlivesTheThreadThatLaunchedIt) {
  std::unique_ptr<Session> session;
  ExecId id = 0;
  Pipe gate;
  std::thread([&] {
    session = Launch();
    ExecRequest request = Shell("read word; exit 6");
    request.input = {Stdio::Kind::kInherit, gate.read.get()};
    id = Start(*session, std::move(request));
  }).join();
  ASSERT_EQ(::write(gate.write.get(), "\n", 1), 1);
  EXPECT_EQ(session->Wait(id)->exit_code, 6);
  EXPECT_EQ(Run(*session, Shell("exit 8")).exit_code, 8);
}

TEST_F(SessionLifeTest, LaunchesFromManyThreads) {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        auto session = Launch();
        good += Run(*session, Shell("echo inside")).stdout_data == "inside\n";
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 40);
}

TEST_F(SessionLifeTest, AHundredSessionsAtOnce) {
  std::vector<std::unique_ptr<Session>> sessions;
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    sessions.push_back(Launch());
    ids.insert(sessions.back()->id());
  }
  EXPECT_EQ(ids.size(), 100u);
  std::vector<ExecId> running;
  for (auto& session : sessions)
    running.push_back(Start(*session, Shell("set -- /proc/[0-9]*; echo $#; echo $CORDON_SESSION")));
  for (std::size_t i = 0; i < sessions.size(); ++i)
    EXPECT_EQ(sessions[i]->Wait(running[i])->stdout_data, "2\n" + sessions[i]->id() + "\n");
}

TEST_F(SessionLifeTest, AFailedLaunchLeavesNothing) {
  LaunchOptions options;
  options.launcher_path = directory_ + "/none";
  EXPECT_EQ(Session::Launch(Spec(), options).error().code, ErrorCode::kNotFound);
  options.launcher_path = "/bin/true";
  EXPECT_FALSE(Session::Launch(Spec(), options).ok());
  policy::SandboxSpec wrong = Spec();
  wrong.guest_workdir = "relative";
  EXPECT_EQ(Session::Launch(wrong, {}).error().code, ErrorCode::kInvalid);
  wrong = Spec();
  wrong.limits.cpus = 1.5;
  Error refused = Session::Launch(wrong, {}).error();
  EXPECT_EQ(refused.code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.message.find("limits.cpus"), std::string::npos);
  EXPECT_FALSE(refused.remedy.empty());
  // TearDown looks for children and descriptors.
}

TEST_F(SessionLifeTest, TellsItsStory) {
  std::vector<Event> events;
  LaunchOptions options;
  options.on_event = [&](const Event& event) { events.push_back(event); };
  auto session = Launch(std::move(options));
  Run(*session, Shell("echo out; echo err >&2"));
  ASSERT_TRUE(session->Suspend().ok());
  ASSERT_TRUE(session->Resume().ok());
  ASSERT_TRUE(session->Destroy().ok());
  std::string story, out, err;
  std::uint64_t sequence = 0;
  for (const Event& event : events) {
    EXPECT_EQ(event.sequence, ++sequence);
    EXPECT_EQ(event.session, session->id());
    if (event.type == "stdout") out += event.text.at("data");
    if (event.type == "stderr") err += event.text.at("data");
    if (event.type == "stdout" || event.type == "stderr") continue;
    story += event.type == "state" ? event.text.at("state") + " " : "(" + event.type + ") ";
  }
  EXPECT_EQ(story, "(starting) warm (ready) active (exit) warm suspended warm destroyed ");
  EXPECT_EQ(out, "out\n");
  EXPECT_EQ(err, "err\n");
}

TEST_F(SessionLifeTest, FitsIntoAPollLoop) {
  auto session = Launch();
  ExecRequest request = Shell("echo out");
  ExecId id = Start(*session, std::move(request));
  std::optional<ExecResult> result;
  while (!(result = session->TakeResult(id))) {
    ASSERT_TRUE(Readable(session->PollFd(), kPatienceMs));
    ASSERT_TRUE(session->Dispatch(std::chrono::milliseconds(0)).ok());
  }
  EXPECT_EQ(result->stdout_data, "out\n");
  EXPECT_TRUE(session->Dispatch(std::chrono::milliseconds(0)).ok());
}

}  // namespace
}  // namespace cordon::session
