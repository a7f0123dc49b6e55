// The session API against the real launcher (../libexec/cordon/cordon-launch beside this program).
#include "session/session.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

namespace cordon::session {
namespace {

using std::chrono::milliseconds;
using Argv = std::vector<std::string>;

constexpr int kPatienceMs = 20000;  // only ends a test that hangs

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  DIR* dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) ++count;
  ::closedir(dir);
  return count;
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  UniqueFd read, write;
};

bool Readable(int fd, int ms) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, ms) > 0;
}

// "" at the end of file, or when nothing comes.
std::string ReadLine(int fd) {
  std::string line;
  char c = 0;
  while (Readable(fd, kPatienceMs) && ::read(fd, &c, 1) == 1) {
    if (c == '\n') return line;
    line += c;
  }
  return "";
}

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Not below /tmp, which every session has for itself.
    const char* home = std::getenv("HOME");
    std::string parent = home != nullptr && home[0] == '/' && ::access(home, W_OK | X_OK) == 0 ? home : "/var/tmp";
    std::string pattern = parent + "/cordon-session-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = std::filesystem::canonical(pattern);
    for (const char* name : {"a", "b"}) ASSERT_EQ(::mkdir((directory_ + "/" + name).c_str(), 0755), 0);
    std::ofstream(directory_ + "/secret") << "s3cr3t\n";
    auto probe = Session::Launch(Spec(), {});
    if (!probe.ok() && probe.error().code == ErrorCode::kUnsupported) GTEST_SKIP() << probe.error().ToString();
    descriptors_ = OpenDescriptors();
    if (probe.ok()) probe->reset();
    descriptors_ = OpenDescriptors();
  }

  void TearDown() override {
    if (directory_.empty()) return;
    std::filesystem::remove_all(directory_);
    if (IsSkipped()) return;
    EXPECT_EQ(OpenDescriptors(), descriptors_);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
  }

  policy::SandboxSpec Spec(const std::vector<std::string>& writable = {"a", "b"}) {
    static std::atomic<int> number{0};
    policy::SandboxSpec spec;
    spec.session_id = "test-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    spec.workspace_id = "local";
    spec.view = policy::View::kHost;
    spec.guest_workdir = directory_;
    for (const auto& name : writable) spec.filesystem.allow_write.push_back({directory_ + "/" + name, true, {"test"}});
    return spec;
  }

  std::unique_ptr<Session> Launch(LaunchOptions options = {}) { return Launch(Spec(), std::move(options)); }
  std::unique_ptr<Session> Launch(const policy::SandboxSpec& spec, LaunchOptions options = {}) {
    auto session = Session::Launch(spec, std::move(options));
    if (!session.ok()) {
      ADD_FAILURE() << session.error().ToString();
      std::abort();
    }
    return *std::move(session);
  }

  static ExecRequest Capture(Argv argv) {
    ExecRequest request;
    request.argv = std::move(argv);
    request.output.kind = request.error.kind = Stdio::Kind::kCapture;
    return request;
  }
  static ExecRequest Shell(const std::string& line) { return Capture({"/bin/sh", "-c", line}); }

  static ExecId Start(Session& session, ExecRequest request) {
    auto id = session.Exec(std::move(request));
    EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().ToString());
    return id.ok() ? *id : 0;
  }
  static ExecResult Run(Session& session, ExecRequest request) {
    auto result = session.Wait(Start(session, std::move(request)));
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
    return result.ok() ? *std::move(result) : ExecResult{};
  }

  std::string directory_;
  std::size_t descriptors_ = 0;
};

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
    ExecResult result = Run(*session, Shell("echo " + std::to_string(i) + "; exit " + std::to_string(i)));
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
  ExecResult first = Run(*session, Shell("echo kept >/tmp/file; echo also >/dev/shm/file; sleep 1000 >/dev/null 2>&1 & echo $!"));
  ExecResult second = Run(*session, Shell("cat /tmp/file /dev/shm/file; kill -0 " + first.stdout_data));
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
  request.argv = {"/bin/sh", "-c", "cat; echo x; echo y >&2; test $(readlink /proc/self/fd/0) = /dev/null"};
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
  EXPECT_EQ(Run(*session, std::move(request)).stdout_data, "green " + directory_ + "/a\n" + directory_ + "/a\n");
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
    EXPECT_EQ(Readable(out.read.get(), scope == Session::Scope::kTree ? kPatienceMs : 0), scope == Session::Scope::kTree);
  }
  EXPECT_EQ(session->Signal(12345, SIGTERM).error().code, ErrorCode::kNotFound);
}

TEST_F(SessionTest, GivesATerminal) {
  auto session = Launch();
  ExecRequest request;
  request.argv = {"/bin/sh", "-c", "stty size; read word; stty size; test -t 0 && test -t 1 && test -t 2 && tty"};
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

TEST_F(SessionTest, ASuspendedCommandDoesNotAdvance) {
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

TEST_F(SessionTest, ASuspendedSessionCanBeDestroyed) {
  auto session = Launch();
  ExecId id = Start(*session, Shell("sleep 1000"));
  ASSERT_TRUE(session->Suspend().ok());
  EXPECT_TRUE(session->Destroy().ok());
  auto result = session->TakeResult(id);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->signal, SIGKILL);
}

// A shell that tells for each line "path" it reads whether it can write there.
constexpr const char* kWriter = "while read path; do if (: >$path) 2>/dev/null; then echo yes; else echo no; fi; done";

TEST_F(SessionTest, AChangedPolicyHoldsFromTheNextExec) {
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

TEST_F(SessionTest, ARefusedUpdateChangesNothing) {
  auto session = Launch(Spec({"a"}));
  policy::SandboxSpec wrong = Spec({"b"});
  wrong.filesystem.deny_read.push_back({"~nobody/x", false, {"test"}});
  EXPECT_FALSE(session->Update(wrong).ok());
  EXPECT_EQ(session->state(), State::kWarm);
  EXPECT_EQ(Run(*session, Shell("touch a/file && ! touch b/file")).exit_code, 0);
}

TEST_F(SessionTest, ManyUpdates) {
  auto session = Launch(Spec({"a"}));
  for (int i = 0; i < 50; ++i) {
    std::string name = i % 2 == 0 ? "b" : "a";
    ASSERT_TRUE(session->Update(Spec({name})).ok());
    ASSERT_EQ(Run(*session, Shell(": >" + name + "/file")).exit_code, 0);
  }
  // Old views are gone with the last process that was in them.
  EXPECT_EQ(Run(*session, Shell("readlink /proc/[0-9]*/ns/mnt | sort -u | wc -l")).stdout_data, "1\n");
}

TEST_F(SessionTest, ASinglePolicyCannotBeChanged) {
  LaunchOptions options;
  options.single_policy = true;
  auto session = Launch(std::move(options));
  EXPECT_EQ(session->Update(Spec()).error().code, ErrorCode::kUnsupported);
}

TEST_F(SessionTest, NothingCanBeDoneAfterTheEnd) {
  auto session = Launch();
  ExecId id = Start(*session, Shell("true"));
  ASSERT_TRUE(session->Destroy().ok());
  for (const Error& error : {session->Exec(Shell("true")).error(), session->Suspend().error(), session->Resume().error(),
                             session->Update(Spec()).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_NE(error.message.find("destroyed"), std::string::npos) << error.message;
  }
  EXPECT_TRUE(session->TakeResult(id));
  EXPECT_FALSE(session->TakeResult(id));
  EXPECT_EQ(session->Wait(id).error().code, ErrorCode::kNotFound);
}

TEST_F(SessionTest, DestroyEndsWhatRuns) {
  auto session = Launch();
  std::vector<ExecId> ids;
  Pipe out;
  for (int i = 0; i < 10; ++i) {
    ExecRequest request;
    request.argv = {"/bin/sh", "-c", "trap '' TERM HUP INT; setsid sleep 1000 & echo ready; sleep 1000"};
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

TEST_F(SessionTest, EndsWithItsMonitor) {
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

TEST_F(SessionTest, EndsWithItsHostProcess) {
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

TEST_F(SessionTest, OutlivesTheThreadThatLaunchedIt) {
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

TEST_F(SessionTest, LaunchesFromManyThreads) {
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

TEST_F(SessionTest, AHundredSessionsAtOnce) {
  std::vector<std::unique_ptr<Session>> sessions;
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    sessions.push_back(Launch());
    ids.insert(sessions.back()->id());
  }
  EXPECT_EQ(ids.size(), 100u);
  std::vector<ExecId> running;
  for (auto& session : sessions) running.push_back(Start(*session, Shell("set -- /proc/[0-9]*; echo $#; echo $CORDON_SESSION")));
  for (std::size_t i = 0; i < sessions.size(); ++i)
    EXPECT_EQ(sessions[i]->Wait(running[i])->stdout_data, "2\n" + sessions[i]->id() + "\n");
}

TEST_F(SessionTest, AFailedLaunchLeavesNothing) {
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

TEST_F(SessionTest, TellsItsStory) {
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

TEST_F(SessionTest, FitsIntoAPollLoop) {
  auto session = Launch();
  ExecRequest request = Shell("echo out");
  ExecId id = Start(*session, std::move(request));
  std::optional<ExecResult> result;
  while (!(result = session->TakeResult(id))) {
    ASSERT_TRUE(Readable(session->PollFd(), kPatienceMs));
    ASSERT_TRUE(session->Dispatch(milliseconds(0)).ok());
  }
  EXPECT_EQ(result->stdout_data, "out\n");
  EXPECT_TRUE(session->Dispatch(milliseconds(0)).ok());
}

}  // namespace
}  // namespace cordon::session
