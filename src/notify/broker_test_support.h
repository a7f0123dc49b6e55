// A session in small for the tests of the broker: a process in namespaces of its own, under a
// filter that asks, and the real broker that answers it (RunBroker).
#pragma once

#include <linux/filter.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <vector>

#include "jail/wire_report.h"
#include "notify/broker.h"
#include "notify/notify_test_support.h"
#include "policy/policy.h"
#include "policy/policy_codec.h"
#include "sys/host_file_system.h"

namespace cordon::notify {

// A report whose text is its own.
struct Said {
  explicit Said(std::string bytes) : bytes_(std::make_unique<std::string>(std::move(bytes))) {
    bool ok = false;
    report = jail::wire::ReadReport(*bytes_, ok);
    EXPECT_TRUE(ok);
  }
  jail::wire::Report report;

 private:
  std::unique_ptr<std::string> bytes_;
};

inline const char* ErrnoName(long result) { return result < 0 ? ::strerrorname_np(errno) : "0"; }

class BrokerTest : public NotifyTest {
 protected:
  using Body = std::function<std::string()>;

  void SetUp() override {
    NotifyTest::SetUp();
    work_ = Path("work");
    MakeDirectory("work");
    MakeDirectory("home");
    if (const std::string said = Run([] { return std::string("ready"); }); said != "ready") {
      GTEST_SKIP() << "no session can be made here: " << said;
    }
  }

  // What `body` says, which runs in the session in the directory `work` with umask 022. Its
  // reports are in `said_`.
  std::string Run(const Body& body) {
    said_.clear();
    SocketPair host, init, control;
    int release[2], output[2];
    if (::pipe2(release, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) std::abort();
    UniqueFd go_read(release[0]), go_write(release[1]), out_read(output[0]), out_write(output[1]);
    const pid_t inner = StartInit(body, go_read.get(), go_write, control, out_write.get());
    if (inner < 0) return std::string("clone: ") + ErrnoName(-1);
    control.far.reset();
    out_write.reset();
    go_read.reset();
    // While it waits: what it does may be done before the broker is started.
    const std::string proc = std::to_string(inner) + "/";
    user_.reset(::open((proc + "ns/user").c_str(), O_RDONLY | O_CLOEXEC));
    root_.reset(::open((proc + "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::string said =
        user_.valid() && root_.valid() && MapIds(inner) && ::write(go_write.get(), "g", 1) == 1
            ? Answer(host, init, control, out_read.get())
            : "id maps";
    go_write.reset();
    int status = 0;
    EXPECT_EQ(::waitpid(inner, &status, 0), inner);
    if (said.empty()) said = "status " + std::to_string(status);
    EndBroker(host, init);
    return said;
  }
  std::string WorkPath(const std::string& name) const { return work_ + "/" + name; }
  // The target of each report, from the working directory.
  std::vector<std::string> Targets() const {
    std::vector<std::string> out;
    for (const Said& said : said_) {
      std::string target(said.report.target);
      if (target.starts_with(work_ + "/")) target.erase(0, work_.size() + 1);
      out.push_back(std::move(target));
    }
    return out;
  }

  std::string work_;
  policy::SandboxSpec spec_;
  std::vector<Said> said_;

 private:
  static constexpr std::uint32_t kExec = 7;

  static int LoadFilter() {
    static constexpr std::uint32_t kAsks[] = {
        SYS_mkdirat,   SYS_mknodat, SYS_linkat,  SYS_symlinkat, SYS_renameat,
        SYS_renameat2, SYS_umask,   SYS_connect, SYS_bind,      SYS_truncate,
#ifdef SYS_open
        SYS_creat,     SYS_mkdir,   SYS_mknod,   SYS_link,      SYS_symlink,
        SYS_rename,    SYS_rmdir,
#endif
    };
    constexpr std::uint32_t kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
    std::vector<sock_filter> program = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kWrites, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    for (const std::uint32_t nr : kAsks) {
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1));
      program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog form{static_cast<unsigned short>(program.size()), program.data()};
    constexpr unsigned kWaitKillable = 1u << 5;
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                      SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillable, &form));
  }

  pid_t StartInit(const Body& body, int go, UniqueFd& go_write, SocketPair& control, int out) {
    const auto pid = static_cast<pid_t>(::syscall(
        SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, nullptr, nullptr, 0));
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    go_write.reset();
    control.near.reset();
    char byte = 0;
    if (::read(go, &byte, 1) != 1) ::_exit(90);
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("proc", "/proc", "proc", 0, nullptr) != 0)
      ::_exit(91);
    const pid_t caller = ::fork();
    if (caller == 0) {
      ::umask(022);
      const int listener = ::chdir(work_.c_str()) == 0 ? LoadFilter() : -1;
      if (listener < 0 ||
          !SendLink(control.far.get(), jail::wire::Type::kListener, 0, {}, {listener}))
        ::_exit(92);
      ::close(listener);
      const std::string text = body();
      ::_exit(::write(out, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 93);
    }
    int status = 0;
    while (::waitpid(caller, &status, 0) < 0 && errno == EINTR) {
    }
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 94);
  }

  static bool MapIds(pid_t pid) {
    const auto put = [pid](const char* file, const std::string& text) {
      const std::string path = std::to_string(pid) + "/" + file;
      const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      return ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    };
    const std::string user = std::to_string(::geteuid()), group = std::to_string(::getegid());
    return put("setgroups", "deny") && put("uid_map", user + " " + user + " 1\n") &&
           put("gid_map", group + " " + group + " 1\n");
  }

  std::string EncodedPolicy() {
    spec_.view = policy::View::kHost;
    spec_.guest_workdir = work_;
    spec_.filesystem.default_denies = false;
    policy::Context context;
    context.home = Path("home");
    context.workdir = work_;
    context.workdir_writable = context.supervised = true;
    const auto policy = policy::Compile(spec_, context, sys::HostFileSystem());
    EXPECT_TRUE(policy.ok()) << (policy.ok() ? "" : policy.error().ToString());
    const std::string bytes = policy.ok() ? policy::EncodePolicy(*policy) : "";
    const auto size = static_cast<std::uint32_t>(bytes.size());
    const std::uint32_t programs = 0;
    std::string out(reinterpret_cast<const char*>(&size), sizeof size);
    out += bytes;
    out += '\0';
    out.append(reinterpret_cast<const char*>(&programs), sizeof programs);
    return out;
  }

  void StartBroker(SocketPair& host, SocketPair& init) {
    const pid_t monitor = ::getpid();
    broker_ = ::fork();
    if (broker_ != 0) return;
    constexpr int kAside = 200;
    const int ours[] = {host.far.get(), init.far.get(), user_.get(), root_.get()};
    for (int i = 0; i < 4; ++i) ::dup2(ours[i], kAside + i);
    ::syscall(SYS_close_range, 3, kAside - 1, 0);
    ::syscall(SYS_close_range, kAside + 4, ~0u, 0);
    RunBroker({kAside, kAside + 1, kAside + 2, kAside + 3, monitor});
  }

  // The listener comes from the command as init would pass it on.
  std::string Answer(SocketPair& host, SocketPair& init, SocketPair& control, int out) {
    using jail::wire::Type;
    LinkMessage message;
    if (ReceiveLink(control.near.get(), message, true) != LinkResult::kMessage) return "";
    const LinkMessage listener = std::move(message);
    StartBroker(host, init);
    host.far.reset();
    init.far.reset();
    EXPECT_TRUE(SendLink(host.near.get(), Type::kPolicy, 0, EncodedPolicy()));
    if (ReceiveLink(host.near.get(), message, true) != LinkResult::kMessage ||
        message.header.type != Type::kBrokerReady)
      return "the broker did not start";
    const std::uint32_t umask = 022;
    EXPECT_TRUE(SendLink(init.near.get(), Type::kListener, kExec,
                         {reinterpret_cast<const char*>(&umask), sizeof umask},
                         {listener.fds.at(0).get()}));
    std::string said;
    char text[4096];
    for (ssize_t n; (n = ::read(out, text, sizeof text)) > 0;)
      said.append(text, static_cast<std::size_t>(n));
    return said;
  }

  void EndBroker(SocketPair& host, SocketPair& init) {
    using jail::wire::Type;
    if (broker_ <= 0) return;
    SendLink(host.near.get(), Type::kFlush, 5, {});
    LinkMessage message;
    while (ReceiveLink(host.near.get(), message, true) == LinkResult::kMessage &&
           message.header.type != Type::kFlushed) {
      if (message.header.type == Type::kReport) said_.emplace_back(std::move(message.payload));
    }
    EXPECT_EQ(message.header.exec, 5u) << "the number of the flush";
    init.near.reset();
    int status = -1;
    EXPECT_EQ(::waitpid(broker_, &status, 0), broker_);
    EXPECT_EQ(status, 0) << "a broker ends when init and its listeners are gone";
    broker_ = -1;
  }

  UniqueFd user_, root_;  // of the session
  pid_t broker_ = -1;
};

}  // namespace cordon::notify
