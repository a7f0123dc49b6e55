// Commands in a session, against the real launcher (../libexec/cordon/cordon-launch beside this
// program): streams, results, time limits, signals, terminals.
#include "session/session.h"

#include <signal.h>

#include "session/session_test_support.h"

namespace cordon::session {
namespace {

using std::chrono::milliseconds;

TEST_F(SessionTest, RunsOneCommand) {
  auto session = Launch();
  EXPECT_EQ(session->state(), State::kWarm);
  ExecResult result = Run(*session, Shell("echo out; echo err >&2; exit 7"));
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_FALSE(result.signal);
  EXPECT_EQ(result.stdout_data, "out\n");
  EXPECT_EQ(result.stderr_data, "err\n");
  EXPECT_FALSE(result.stdout_truncated || result.stderr_truncated);
  EXPECT_GT(result.max_rss_kib, 0u);
  EXPECT_EQ(session->state(), State::kWarm);
  EXPECT_TRUE(session->Destroy().ok());
  EXPECT_EQ(session->state(), State::kDestroyed);
  EXPECT_TRUE(session->Destroy().ok());
}

TEST_F(SessionTest, RunsManyCommandsOneAfterAnother) {
  auto session = Launch();
  for (int i = 0; i < 200; ++i) {
    ExecResult result =
        Run(*session, Shell("echo " + std::to_string(i) + "; exit " + std::to_string(i)));
    ASSERT_EQ(result.exit_code, i);
    ASSERT_EQ(result.stdout_data, std::to_string(i) + "\n");
  }
}

TEST_F(SessionTest, RunsFiftyCommandsSideBySide) {
  auto session = Launch();
  Pipe gate;
  std::vector<ExecId> ids;
  for (int i = 0; i < 50; ++i) {
    ExecRequest request = Shell("read word; echo $word " + std::to_string(i));
    request.input = {Stdio::Kind::kInherit, gate.read.get()};
    ids.push_back(Start(*session, std::move(request)));
  }
  EXPECT_EQ(session->state(), State::kActive);
  // A shell reads byte by byte, so that lines of several readers may be mixed: one byte each.
  std::string words(50, '\n');
  ASSERT_EQ(::write(gate.write.get(), words.data(), words.size()), 50);
  for (int i = 49; i >= 0; --i) {
    auto result = session->Wait(ids[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->stdout_data, std::to_string(i) + "\n");
  }
  EXPECT_EQ(session->state(), State::kWarm);
}

TEST_F(SessionTest, CommandsShareTheSessionsFilesAndProcesses) {
  auto session = Launch();
  ExecResult first = Run(
      *session,
      Shell(
          "echo kept >/tmp/file; echo also >/dev/shm/file; sleep 1000 >/dev/null 2>&1 & echo $!"));
  ExecResult second =
      Run(*session, Shell("cat /tmp/file /dev/shm/file; kill -0 " + first.stdout_data));
  EXPECT_EQ(second.exit_code, 0) << second.stderr_data;
  EXPECT_EQ(second.stdout_data, "kept\nalso\n");
}

TEST_F(SessionTest, SaysThatCapturedOutputWasCut) {
  auto session = Launch();
  ExecRequest request = Shell("head -c 5000000 /dev/zero; echo whole >&2");
  request.capture_limit = 1000;
  ExecResult result = Run(*session, std::move(request));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.stdout_data, std::string(1000, '\0'));
  EXPECT_TRUE(result.stdout_truncated);
  EXPECT_EQ(result.stderr_data, "whole\n");
  EXPECT_FALSE(result.stderr_truncated);
  request = Shell("printf 1234");
  request.capture_limit = 4;
  result = Run(*session, std::move(request));
  EXPECT_EQ(result.stdout_data, "1234");
  EXPECT_FALSE(result.stdout_truncated);
}

TEST_F(SessionTest, CapturesTheWholeOfAQuickFlood) {
  auto session = Launch();
  ExecResult result = Run(*session, Shell("head -c 10000000 /dev/zero | tr '\\0' x"));
  EXPECT_EQ(result.stdout_data.size(), 10000000u);
  EXPECT_FALSE(result.stdout_truncated);
}

TEST_F(SessionTest, ABackgroundProcessDoesNotHoldUpTheResult) {
  auto session = Launch();
  ExecResult result = Run(*session, Shell("sleep 1000 & echo started; exit 3"));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.stdout_data, "started\n");
}

TEST_F(SessionTest, PassesDescriptors) {
  auto session = Launch();
  Pipe in, out;
  ExecRequest request;
  request.argv = {"cat"};
  request.input = {Stdio::Kind::kInherit, in.read.get()};
  request.output = {Stdio::Kind::kInherit, out.write.get()};
  ExecId id = Start(*session, std::move(request));
  in.read.reset();
  out.write.reset();
  ASSERT_EQ(::write(in.write.get(), "hello\n", 6), 6);
  EXPECT_EQ(ReadLine(out.read.get()), "hello");
  in.write.reset();
  EXPECT_EQ(session->Wait(id)->exit_code, 0);
  EXPECT_EQ(ReadLine(out.read.get()), "");
}

TEST_F(SessionTest, WithoutStandardStreamsTheyAreNull) {
  auto session = Launch();
  ExecRequest request;
  request.argv = {"/bin/sh", "-c",
                  "cat; echo x; echo y >&2; test $(readlink /proc/self/fd/0) = /dev/null"};
  EXPECT_EQ(Run(*session, std::move(request)).exit_code, 0);
}

TEST_F(SessionTest, RefusesARequestWithoutHarm) {
  auto session = Launch();
  EXPECT_EQ(session->Exec({}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(session->Exec(Capture({""})).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(session->Exec(Capture({std::string("a\0b", 3)})).error().code, ErrorCode::kInvalid);
  ExecRequest request = Shell("true");
  request.output.kind = Stdio::Kind::kTty;
  EXPECT_EQ(session->Exec(std::move(request)).error().code, ErrorCode::kInvalid);
  request = Shell("true");
  request.input = {Stdio::Kind::kInherit, 100000};
  EXPECT_FALSE(session->Exec(std::move(request)).ok());
  EXPECT_EQ(session->state(), State::kWarm);
  EXPECT_EQ(Run(*session, Shell("exit 4")).exit_code, 4);
}

TEST_F(SessionTest, TellsWhyACommandDidNotStart) {
  auto session = Launch();
  ExecResult result = Run(*session, Capture({"no-such-program"}));
  ASSERT_TRUE(result.start_error);
  EXPECT_EQ(result.start_error->code, ErrorCode::kNotFound);
  EXPECT_EQ(result.ShellStatus(), 127);
  std::ofstream(directory_ + "/a/plain") << "text";
  result = Run(*session, Capture({directory_ + "/a/plain"}));
  ASSERT_TRUE(result.start_error);
  EXPECT_EQ(result.ShellStatus(), 126);
  ExecRequest request = Shell("true");
  request.cwd = directory_ + "/none";
  result = Run(*session, std::move(request));
  ASSERT_TRUE(result.start_error);
  EXPECT_NE(result.start_error->message.find(directory_ + "/none"), std::string::npos);
  EXPECT_EQ(result.ShellStatus(), 125);
}

TEST_F(SessionTest, SetsEnvironmentAndDirectory) {
  auto session = Launch();
  ExecRequest request = Shell("echo $COLOUR $PWD; pwd");
  request.environment["COLOUR"] = "green";
  request.cwd = directory_ + "/a";
  EXPECT_EQ(Run(*session, std::move(request)).stdout_data,
            "green " + directory_ + "/a\n" + directory_ + "/a\n");
  EXPECT_EQ(Run(*session, Shell("echo $COLOUR")).stdout_data, "\n");
}

TEST_F(SessionTest, EndsAnExecAtItsTimeLimit) {
  auto session = Launch();
  for (const char* line : {"sleep 1000", "trap '' TERM; sleep 1000; sleep 1000", "kill -STOP $$",
                           "setsid sleep 1000 & trap '' TERM; wait; wait; sleep 1000"}) {
    ExecRequest request = Shell(std::string("echo begun; ") + line);
    request.timeout = milliseconds(150);
    request.grace = milliseconds(150);
    ExecResult result = Run(*session, std::move(request));
    EXPECT_TRUE(result.timed_out) << line;
    EXPECT_EQ(result.killed_reason, "time-limit");
    EXPECT_EQ(result.ShellStatus(), 124);
    EXPECT_EQ(result.stdout_data, "begun\n");
  }
  // The session itself goes on, and the trees are gone.
  EXPECT_EQ(Run(*session, Shell("ps -eo comm= | grep -c sleep")).stdout_data, "0\n");
}

TEST_F(SessionTest, ATimeLimitDoesNotTouchOtherExecs) {
  auto session = Launch();
  ExecRequest limited = Shell("sleep 1000");
  limited.timeout = milliseconds(50);
  Pipe gate;
  ExecRequest other = Shell("read word; exit 5");
  other.input = {Stdio::Kind::kInherit, gate.read.get()};
  ExecId quick = Start(*session, std::move(limited));
  ExecId patient = Start(*session, std::move(other));
  EXPECT_TRUE(session->Wait(quick)->timed_out);
  ASSERT_EQ(::write(gate.write.get(), "\n", 1), 1);
  EXPECT_EQ(session->Wait(patient)->exit_code, 5);
}

TEST_F(SessionTest, DeliversSignals) {
  auto session = Launch();
  for (auto scope : {Session::Scope::kLeader, Session::Scope::kGroup, Session::Scope::kTree}) {
    Pipe out;
    ExecRequest request;
    request.argv = {"/bin/sh", "-c", "setsid sh -c 'echo ready; exec sleep 1000' & wait"};
    request.output = {Stdio::Kind::kInherit, out.write.get()};
    ExecId id = Start(*session, std::move(request));
    out.write.reset();
    ASSERT_EQ(ReadLine(out.read.get()), "ready");
    ASSERT_TRUE(session->Signal(id, SIGTERM, scope).ok());
    auto result = session->Wait(id);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->signal, SIGTERM);
    EXPECT_EQ(result->ShellStatus(), 143);
    // The child that left the process group holds the pipe, unless the tree was meant.
    EXPECT_EQ(Readable(out.read.get(), scope == Session::Scope::kTree ? kPatienceMs : 0),
              scope == Session::Scope::kTree);
  }
  EXPECT_EQ(session->Signal(12345, SIGTERM).error().code, ErrorCode::kNotFound);
}

TEST_F(SessionTest, GivesATerminal) {
  auto session = Launch();
  ExecRequest request;
  request.argv = {"/bin/sh", "-c",
                  "stty size; read word; stty size; test -t 0 && test -t 1 && test -t 2 && tty"};
  request.input.kind = request.output.kind = request.error.kind = Stdio::Kind::kTty;
  request.new_terminal = true;
  request.window = {31, 97};
  ExecId id = Start(*session, std::move(request));
  int terminal = session->TerminalFd(id);
  ASSERT_GE(terminal, 0);
  EXPECT_EQ(ReadLine(terminal), "31 97\r");
  ASSERT_TRUE(session->Resize(id, {40, 132}).ok());
  ASSERT_EQ(::write(terminal, "\n", 1), 1);
  EXPECT_EQ(ReadLine(terminal), "\r");  // the echo
  EXPECT_EQ(ReadLine(terminal), "40 132\r");
  EXPECT_EQ(ReadLine(terminal), "/dev/pts/0\r");
  EXPECT_EQ(session->Wait(id)->exit_code, 0);
  EXPECT_EQ(session->TerminalFd(id), -1);
  EXPECT_FALSE(session->Resize(id, {1, 1}).ok());
}

}  // namespace
}  // namespace cordon::session
