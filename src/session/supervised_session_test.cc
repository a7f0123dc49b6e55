// Sessions with a supervisor as a host program meets them: refusals as events, what an Update
// changes, the end of the broker.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>

#include "session/session_test_support.h"
#include "session/supervision.h"
#include "session/violation.h"

namespace cordon::session {
namespace {

// Process id of the broker that the monitor forked first; 0 when there is none.
int BrokerOf(int monitor) {
  const std::string own = "/proc/" + std::to_string(monitor);
  std::ifstream children(own + "/task/" + std::to_string(monitor) + "/children");
  for (int pid = 0; children >> pid;) {
    std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    if (std::getline(comm, name) && name == "cordon-broker") return pid;
  }
  return 0;
}

class SupervisedSessionTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    if (IsSkipped()) return;
    if (const Status available = SupervisorAvailable(); !available.ok())
      GTEST_SKIP() << available.error().ToString();
  }
  policy::SandboxSpec Denying(const std::vector<std::string>& names) {
    policy::SandboxSpec spec = Spec();
    for (const auto& name : names)
      spec.filesystem.deny_names.push_back({name, false, {"test", 3, 4}});
    return spec;
  }
  LaunchOptions Listening() {
    LaunchOptions options;
    options.on_event = [this](const Event& event) { events_.push_back(event); };
    return options;
  }
  // Those of one type, in their order.
  std::vector<Event> EventsOf(const std::string& type) const {
    std::vector<Event> out;
    std::copy_if(events_.begin(), events_.end(), std::back_inserter(out),
                 [&](const Event& e) { return e.type == type; });
    return out;
  }
  // "target:count" of each refusal, the target from the test's directory.
  std::vector<std::string> Refusals(Session& session) {
    EXPECT_TRUE(session.FlushReports().ok());
    std::vector<std::string> out;
    for (const Violation& v : session.violations().all())
      out.push_back(v.target.substr(std::min(v.target.size(), directory_.size() + 1)) + ":" +
                    std::to_string(v.count));
    return out;
  }
  // A shell that makes each name that it reads and says "yes" or "no".
  struct Maker {
    Pipe in, out;
    ExecId id = 0;
    std::string Makes(const std::string& name) {
      const std::string line = name + "\n";
      EXPECT_EQ(::write(in.write.get(), line.data(), line.size()),
                static_cast<ssize_t>(line.size()));
      return ReadLine(out.read.get());
    }
  };
  std::unique_ptr<Maker> StartMaker(Session& session) {
    auto maker = std::make_unique<Maker>();
    ExecRequest request;
    request.argv = {"/bin/sh", "-c",
                    "while read x; do (: >$x) 2>/dev/null && echo yes || echo no; done"};
    request.input = {Stdio::Kind::kInherit, maker->in.read.get()};
    request.output = {Stdio::Kind::kInherit, maker->out.write.get()};
    maker->id = Start(session, std::move(request));
    maker->out.write.reset();
    return maker;
  }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(directory_ + "/" + name);
  }

  std::vector<Event> events_;
};

using Lines = std::vector<std::string>;

TEST_F(SupervisedSessionTest, ARefusedCreationIsAnEventAndAViolation) {
  auto session = Launch(Denying({"*.key"}), Listening());
  const ExecId id = Start(*session, Shell(": >a/x.key"));
  const auto result = session->Wait(id);
  ASSERT_TRUE(result.ok());
  EXPECT_NE(result->exit_code, 0);
  EXPECT_NE(result->stderr_data.find("Read-only file system"), std::string::npos);
  EXPECT_FALSE(Exists("a/x.key"));
  EXPECT_EQ(Refusals(*session), Lines{"a/x.key:1"});
  const Violation& violation = session->violations().all().front();
  EXPECT_EQ(violation.action, Action::kFileCreate);
  EXPECT_EQ(violation.target, directory_ + "/a/x.key");
  EXPECT_EQ(violation.raw, "a/x.key");
  EXPECT_EQ(violation.exec, id);
  EXPECT_EQ(violation.rule_text, "*.key");
  EXPECT_EQ(violation.source, "test:3:4");
  EXPECT_EQ(violation.error, EROFS);
  EXPECT_GT(violation.pid, 0u);
  EXPECT_GT(violation.host_pid, 0u);
  const std::vector<Event> said = EventsOf("violation");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].exec, id);
  EXPECT_EQ(said[0].text.at("target"), violation.target);
  EXPECT_EQ(said[0].numbers.at("count"), 1);
}

TEST_F(SupervisedSessionTest, AFlushCompletesTheCounts) {
  auto session = Launch(Denying({"*.key"}), Listening());
  Run(*session, Shell("i=0; while [ $i -lt 100 ]; do (: >a/x.key); i=$((i+1)); done"));
  EXPECT_EQ(Refusals(*session), Lines{"a/x.key:100"});
  const std::vector<Event> said = EventsOf("violation");
  ASSERT_FALSE(said.empty());
  EXPECT_LT(said.size(), 20u);
  EXPECT_EQ(said.back().numbers.at("count"), 100);
  EXPECT_EQ(said.back().numbers.at("number"), said.front().numbers.at("number"));
  EXPECT_TRUE(session->FlushReports().ok());
  EXPECT_EQ(EventsOf("violation").size(), said.size()) << "nothing new";
  EXPECT_EQ(Run(*session, Shell("echo going on")).stdout_data, "going on\n");
}

TEST_F(SupervisedSessionTest, CommandsSideBySideHaveReportsOfTheirOwn) {
  auto session = Launch(Denying({"*.key"}), Listening());
  Pipe gate;
  std::vector<ExecId> ids;
  for (int i = 0; i < 10; ++i) {
    ExecRequest request = Shell("read word; : >a/" + std::to_string(i) + ".key");
    request.input = {Stdio::Kind::kInherit, gate.read.get()};
    ids.push_back(Start(*session, std::move(request)));
  }
  ASSERT_EQ(::write(gate.write.get(), "\n\n\n\n\n\n\n\n\n\n", 10), 10);
  for (const ExecId id : ids) EXPECT_TRUE(session->Wait(id).ok());
  ASSERT_TRUE(session->FlushReports().ok());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::vector<Violation> own = session->violations().Of(ids[i]);
    ASSERT_EQ(own.size(), 1u);
    EXPECT_EQ(own[0].target, directory_ + "/a/" + std::to_string(i) + ".key");
  }
}

TEST_F(SupervisedSessionTest, ANewPolicyJudgesWhatStartsUnderIt) {
  auto session = Launch(Denying({"*.key"}));
  auto old = StartMaker(*session);
  EXPECT_EQ(old->Makes("a/1.key"), "no");
  EXPECT_EQ(old->Makes("a/1.pem"), "yes");
  const Status updated = session->Update(Denying({"*.pem"}));
  if (!updated.ok() && updated.error().code == ErrorCode::kUnsupported)
    GTEST_SKIP() << updated.error().ToString();
  ASSERT_TRUE(updated.ok()) << updated.error().ToString();
  EXPECT_EQ(Run(*session, Shell(": >a/2.key")).exit_code, 0);
  EXPECT_NE(Run(*session, Shell(": >a/2.pem")).exit_code, 0);
  EXPECT_EQ(old->Makes("a/3.key"), "no") << "what runs keeps what it started with";
  EXPECT_EQ(old->Makes("a/3.pem"), "yes");
  ASSERT_TRUE(session->FlushReports().ok());
  Lines rules;
  for (const Violation& v : session->violations().all())
    rules.push_back(std::filesystem::path(v.target).filename().string() + " by " + v.rule_text);
  EXPECT_EQ(rules, (Lines{"1.key by *.key", "2.pem by *.pem", "3.key by *.key"}));
  old->in.write.reset();
  EXPECT_TRUE(session->Wait(old->id).ok());
  EXPECT_EQ(session->state(), State::kWarm) << "the end of the first broker is no fault";
  EXPECT_NE(Run(*session, Shell(": >a/4.pem")).exit_code, 0);
}

TEST_F(SupervisedSessionTest, WhatIsIgnoredIsRefusedAllTheSame) {
  policy::SandboxSpec spec = Denying({"*.key"});
  spec.ignore_violations = {{"quiet", {"*.key"}}};
  auto session = Launch(spec, Listening());
  EXPECT_NE(Run(*session, Shell(": quiet; : >a/x.key")).exit_code, 0);
  EXPECT_NE(Run(*session, Shell(": >a/y.key")).exit_code, 0);
  EXPECT_EQ(Refusals(*session), Lines{"a/y.key:1"});
  EXPECT_EQ(session->violations().ignored(), 1u);
  EXPECT_EQ(EventsOf("violation").size(), 1u);
  spec.ignore_violations = {{"*", {"file-raed*"}}};
  const Status wrong = session->Update(spec);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("ignoreViolations \"*\""), std::string::npos);
  spec.ignore_violations.clear();
  const Status updated = session->Update(spec);
  if (!updated.ok() && updated.error().code == ErrorCode::kUnsupported) return;
  ASSERT_TRUE(updated.ok());
  EXPECT_NE(Run(*session, Shell(": quiet; : >a/z.key")).exit_code, 0);
  EXPECT_EQ(Refusals(*session), (Lines{"a/y.key:1", "a/z.key:1"})) << "and nothing is forgotten";
}

TEST_F(SupervisedSessionTest, TheEndOfTheBrokerEndsTheSession) {
  auto session = Launch(Denying({"*.key"}), Listening());
  auto maker = StartMaker(*session);
  EXPECT_EQ(maker->Makes("a/before"), "yes");
  const ExecId waiting = Start(*session, Shell("sleep 1000"));
  const int broker = BrokerOf(session->monitor_pid());
  ASSERT_GT(broker, 0);
  ASSERT_EQ(::kill(broker, SIGKILL), 0);
  for (const ExecId id : {maker->id, waiting}) {
    const auto result = session->Wait(id);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->exit_code, 125);
    EXPECT_FALSE(result->signal);
    EXPECT_EQ(result->killed_reason, "session-supervisor-died");
  }
  EXPECT_EQ(session->state(), State::kDestroyed);
  EXPECT_FALSE(session->Exec(Shell("true")).ok());
  EXPECT_TRUE(session->FlushReports().ok()) << "nobody is waited for";
  std::size_t killed = 0;
  for (const Event& event : EventsOf("killed"))
    killed += event.text.at("reason") == "session-supervisor-died";
  EXPECT_EQ(killed, 2u);
}

TEST_F(SupervisedSessionTest, ManySessionsAtOnce) {
  constexpr int kSessions = 50;
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<ExecId> ids;
  for (int i = 0; i < kSessions; ++i) {
    sessions.push_back(Launch(Denying({"*." + std::to_string(i)})));
    const std::string own = std::to_string(i), next = std::to_string((i + 1) % kSessions);
    ids.push_back(
        Start(*sessions.back(), Shell("for n in 1 2 3 4 5; do (: >a/" + own + "-$n." + own +
                                      ") 2>/dev/null; : >a/" + own + "-$n." + next + "; done")));
  }
  for (int i = 0; i < kSessions; ++i) {
    Session& session = *sessions[static_cast<std::size_t>(i)];
    const auto result = session.Wait(ids[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->exit_code, 0) << result->stderr_data;
    const std::string own = std::to_string(i);
    Lines expected;
    for (int n = 1; n <= 5; ++n)
      expected.push_back("a/" + own + "-" + std::to_string(n) + "." + own + ":1");
    EXPECT_EQ(Refusals(session), expected);
  }
  const auto made = std::filesystem::directory_iterator(directory_ + "/a");
  EXPECT_EQ(std::distance(begin(made), end(made)), kSessions * 5);
}

// Python is what tests have; a shell cannot connect.
TEST_F(SupervisedSessionTest, WithoutFileRulesSocketsOfTheHostAreStillRefused) {
  const std::string path = directory_ + "/s";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path || ::access("/usr/bin/python3", X_OK) != 0)
    GTEST_SKIP() << "no python3, or the path of the test's directory is too long for a socket";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd host(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(host.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(host.get(), 5), 0);
  const std::string connect =
      "import socket,sys\n"
      "try: socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('connected')\n"
      "except OSError as e: print(e.errno)\n";
  const auto connects = [&](Session& session) {
    return Run(session, Capture({"/usr/bin/python3", "-ISc", connect, path})).stdout_data;
  };
  policy::SandboxSpec spec = Denying({"*.key"});
  spec.filesystem.disabled = true;
  auto session = Launch(spec);
  EXPECT_EQ(Run(*session, Shell(": >any.key")).exit_code, 0) << "no rule for names";
  EXPECT_EQ(connects(*session), std::to_string(EACCES) + "\n");
  ASSERT_TRUE(session->FlushReports().ok());
  ASSERT_EQ(session->violations().all().size(), 1u);
  EXPECT_EQ(session->violations().all()[0].action, Action::kUnixSocket);
  EXPECT_EQ(session->violations().all()[0].target, path);
  spec.network.allow_unix_sockets.push_back({path, false, {"test"}});
  EXPECT_EQ(connects(*Launch(spec)), "connected\n");
}

}  // namespace
}  // namespace cordon::session
