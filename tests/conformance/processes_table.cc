// Waiting opens, signals, threads, shared memory, processes that cannot be looked at.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "probe.h"

namespace conformance {
namespace {

using std::string;

string Path(int fd) { return fd < 0 ? ErrnoName(errno) : "opened"; }

// ---- fifos

void FifoWaits() {
  for (const int flags : {O_RDONLY, O_WRONLY}) {
    for (const int more : {0, O_CREAT, O_CLOEXEC | O_APPEND, O_TRUNC}) {
      Case c("fifo/waits/" + std::to_string(flags | more));
      MakeFifo("fifo");
      c.Add(InChild([&] {
        const pid_t peer = fork();
        if (peer == 0) {
          const int fd = open("fifo", flags == O_RDONLY ? O_WRONLY : O_RDONLY);
          char byte = 'p';
          const ssize_t n = flags == O_RDONLY ? write(fd, &byte, 1) : read(fd, &byte, 1);
          _exit(n == 1 ? 0 : 1);
        }
        const int fd = open("fifo", flags | more, 0600);
        string text = Path(fd) + " fl=" + std::to_string(fcntl(fd, F_GETFL));
        char byte = 'q';
        text += " " + Outcome(flags == O_RDONLY ? read(fd, &byte, 1) : write(fd, &byte, 1));
        close(fd);
        int status = 0;
        waitpid(peer, &status, 0);
        return text + " peer=" + std::to_string(status);
      }));
    }
  }
  {
    Case c("fifo/end-of-file-at-close");
    MakeFifo("fifo");
    c.Add(InChild([] {
      string text;
      for (int i = 0; i < 50; ++i) {
        const int reader = open("fifo", O_RDONLY | O_NONBLOCK);
        const int writer = open("fifo", O_WRONLY);
        char byte = 'x';
        if (write(writer, &byte, 1) != 1 || read(reader, &byte, 1) != 1) text += " no-byte";
        if (read(reader, &byte, 1) != -1) text += " early-end";
        close(writer);
        if (read(reader, &byte, 1) != 0) text += " late-end";
        close(reader);
        const int nobody = open("fifo", O_WRONLY | O_NONBLOCK);
        if (nobody != -1 || errno != ENXIO) text += " still-a-reader";
      }
      return text + "done";
    }));
  }
}

volatile sig_atomic_t ticks = 0;
void CountTick(int) { ticks = ticks + 1; }
// Opens the other end, so that the waiting open goes on.
void OpenOtherEnd(int) {
  ticks = ticks + 1;
  if (ticks == 3) (void)open("fifo", O_RDWR | O_NONBLOCK);
}

void Every(int milliseconds, void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval timer{{0, milliseconds * 1000}, {0, milliseconds * 1000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void FifoSignals() {
  {
    Case c("fifo/interrupted");
    MakeFifo("fifo");
    c.Add(InChild([] {
      Every(20, CountTick, 0);
      return Path(open("fifo", O_WRONLY)) + " ticks=" + (ticks > 0 ? "some" : "none");
    }));
    c.Add(InChild([] {
      Every(20, CountTick, 0);
      return Path(open("fifo", O_RDONLY)) + " ticks=" + (ticks > 0 ? "some" : "none");
    }));
  }
  {
    Case c("fifo/restarted");
    MakeFifo("fifo");
    c.Add(InChild([] {
      Every(20, OpenOtherEnd, SA_RESTART);
      return Path(open("fifo", O_WRONLY)) + " ticks=" + (ticks > 2 ? "some" : "none");
    }));
  }
  {
    Case c("fifo/killed-while-waiting");
    MakeFifo("fifo");
    c.Add(InChild([] {
      const pid_t child = fork();
      if (child == 0) _exit(open("fifo", O_WRONLY) < 0 ? 1 : 0);
      kill(child, SIGKILL);
      int status = 0;
      waitpid(child, &status, 0);
      // Nobody may hold the end that the dead one asked for.
      const int reader = open("fifo", O_RDONLY | O_NONBLOCK);
      char byte;
      return std::to_string(status) + " " + Outcome(read(reader, &byte, 1));
    }));
  }
}

// ---- signals during many creations

// Calls until it is not interrupted: EINTR must mean that nothing was done.
template <typename Call>
long Again(int& interrupted, Call call) {
  long result;
  while ((result = call()) < 0 && errno == EINTR) ++interrupted;
  return result;
}

void SignalStorm() {
  for (const int flags : {0, SA_RESTART}) {
    const string name = flags ? "restarting" : "interrupting";
    int ends[2];
    if (pipe(ends) != 0) return;
    {
      Case c("signals/exclusive/" + name);
      c.Add(InChild([&] {
        Every(1, CountTick, flags);
        std::map<string, int> seen;
        int interrupted = 0;
        for (int i = 0; i < 500; ++i) {
          const auto open_new = [] { return open("new", O_WRONLY | O_CREAT | O_EXCL, 0600); };
          const int fd = static_cast<int>(Again(interrupted, open_new));
          ++seen[Path(fd)];
          close(fd);
          ++seen[Outcome(unlink("new"))];
          ++seen[Outcome(Again(interrupted, [] { return mkdir("dir", 0700); }))];
          ++seen[Outcome(Again(interrupted, [] { return rename("dir", "moved"); }))];
          ++seen[Outcome(Again(interrupted, [] { return rmdir("moved"); }))];
        }
        (void)!write(ends[1], interrupted > 0 ? "y" : "n", 1);
        string text;
        for (const auto& [what, count] : seen) text += what + "*" + std::to_string(count) + " ";
        return text;
      }));
    }
    Case c("signals/any-interrupted/" + name);
    close(ends[1]);
    char any = '?';
    (void)!read(ends[0], &any, 1);
    close(ends[0]);
    c.Add({&any, 1});
  }
}

// ---- threads

void InThread(const std::function<void()>& work) { std::thread(work).join(); }

void Threads() {
  {
    Case c("threads/shared-cwd");
    MakeDirectory("d");
    string text;
    InThread([] { (void)!chdir("d"); });
    c.Add(Path(c.Keep(open("new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600))));
    c.Add(Outcome(mkdir("dir", 0700)));
  }
  {
    Case c("threads/own-cwd");
    MakeDirectory("d");
    InThread([&] {
      c.Add(Outcome(unshare(CLONE_FS))).Add(Outcome(chdir("d")));
      c.Add(Path(c.Keep(open("in-thread", O_WRONLY | O_CREAT | O_CLOEXEC, 0600))));
      c.Add(Outcome(mkdir("dir-in-thread", 0777)));
      c.Add(
          Path(c.Keep(open("/proc/thread-self/cwd/thread", O_WRONLY | O_CREAT | O_CLOEXEC, 0600))));
      c.Add(Path(c.Keep(open("/proc/self/cwd/process", O_WRONLY | O_CREAT | O_CLOEXEC, 0600))));
    });
    c.Add(Path(c.Keep(open("in-main", O_WRONLY | O_CREAT | O_CLOEXEC, 0600))));
  }
  {
    Case c("threads/own-umask");
    InThread([&] {
      c.Add(Outcome(unshare(CLONE_FS)));
      umask(077);
      c.Keep(open("in-thread", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    });
    c.Keep(open("in-main", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  }
  {
    Case c("threads/shared-umask");
    InThread([&] { umask(077); });
    c.Keep(open("in-main", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  }
  {
    Case c("threads/own-descriptors");
    MakeDirectory("d");
    MakeFile("d/file");
    InThread([&] {
      c.Add(Outcome(unshare(CLONE_FILES)));
      const int fd = open("in-thread", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
      c.Add(Descriptor(fd));
      const int directory = open("d", O_PATH | O_CLOEXEC);
      c.Add(Descriptor(openat(directory, "below", O_WRONLY | O_CREAT | O_CLOEXEC, 0666)));
      const string by_thread = "/proc/thread-self/fd/" + std::to_string(directory) + "/by-thread";
      c.Add(Path(open(by_thread.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)));
      const string by_self = "/proc/self/fd/" + std::to_string(directory) + "/by-self";
      c.Add(Path(open(by_self.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)));
    });
    c.Add(Descriptor(c.Keep(open("in-main", O_WRONLY | O_CREAT | O_CLOEXEC, 0666))));
  }
  {
    Case c("threads/own-name");
    InThread([&] {
      const int fd = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC);
      c.Add(Outcome(write(fd, "of-thread", 9)));
      close(fd);
      c.Add(Printable(ReadAll("/proc/thread-self/comm")))
          .Add(Printable(ReadAll("/proc/self/comm")));
    });
  }
  {
    Case c("threads/leader-gone");
    c.Add(InChild([] {
      static string text;
      static int out;
      out = memfd_create("out", 0);
      const pid_t child = fork();
      if (child == 0) {
        std::thread([] {
          // The leader is a zombie then.
          while (ReadAll("/proc/self/stat").find(") Z") == string::npos) sched_yield();
          text = Path(open("new", O_WRONLY | O_CREAT, 0600)) + " " + Outcome(mkdir("dir", 0700)) +
                 " " + Path(open("/proc/thread-self/cwd/by-thread", O_WRONLY | O_CREAT, 0600));
          (void)!write(out, text.data(), text.size());
          _exit(0);
        }).detach();
        syscall(SYS_exit, 0);
      }
      waitpid(child, nullptr, 0);
      return ReadAll("/proc/self/fd/" + std::to_string(out));
    }));
  }
  {
    Case c("threads/many");
    c.HideTree();
    std::atomic<int> failed{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 8; ++t) {
      all.emplace_back([t, &failed] {
        for (int i = 0; i < 100; ++i) {
          const string name = std::to_string(t) + "-" + std::to_string(i);
          const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
          if (fd < 0 || write(fd, "x", 1) != 1) ++failed;
          close(fd);
          if (rename(name.c_str(), (name + "-moved").c_str()) != 0) ++failed;
        }
      });
    }
    for (std::thread& one : all) one.join();
    c.Add("failed", std::to_string(failed)).Add(std::to_string(Tree(".").size()));
  }
  {
    // Of all that ask for one name at once, one gets it.
    Case c("threads/one-winner");
    std::atomic<int> winners{0}, wrong{0};
    for (int round = 0; round < 100; ++round) {
      std::vector<std::thread> all;
      std::atomic<int> now{0};
      for (int t = 0; t < 4; ++t) {
        all.emplace_back([&] {
          const int fd = open("new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
          if (fd >= 0) ++now;
          if (fd < 0 && errno != EEXIST) ++wrong;
          close(fd);
        });
      }
      for (std::thread& one : all) one.join();
      winners += now;
      unlink("new");
    }
    c.Add(std::to_string(winners)).Add(std::to_string(wrong));
  }
}

// ---- processes that share memory

alignas(16) char child_stack[65536];

int CloneChild(void*) {
  const int fd = open("by-child", O_WRONLY | O_CREAT, 0644);
  const bool made = fd >= 0 && mkdir("dir-by-child", 0755) == 0;
  (void)!chdir("d");
  const int below = open("after-chdir", O_WRONLY | O_CREAT, 0644);
  umask(0);
  _exit(made && below >= 0 ? fd : 255);
}

void Cloned() {
  struct Kind {
    const char* name;
    int flags;
  };
  for (const Kind& kind : {Kind{"memory", CLONE_VM}, Kind{"memory-files", CLONE_VM | CLONE_FILES},
                           Kind{"memory-fs", CLONE_VM | CLONE_FS}, Kind{"fs", CLONE_FS},
                           Kind{"files", CLONE_FILES}, Kind{"vfork", CLONE_VM | CLONE_VFORK}}) {
    Case c(string("clone/") + kind.name);
    MakeDirectory("d");
    const pid_t child =
        clone(CloneChild, child_stack + sizeof child_stack, kind.flags | SIGCHLD, nullptr);
    int status = 0;
    waitpid(child, &status, 0);
    const int fd = WEXITSTATUS(status);
    // Whether the child's descriptor is this process's too.
    c.Add("made", fd != 255 ? "yes" : "no")
        .Add("open-here", fcntl(fd, F_GETFD) >= 0 ? "yes" : "no");
    if (kind.flags & CLONE_FILES) {
      close(fd);
      close(fd + 1);
    }
    c.Keep(open("after", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  }
  {
    Case c("clone/vfork-call");
    static volatile int result;
    const pid_t child = vfork();
    if (child == 0) {
      result = open("by-child", O_RDWR | O_CREAT | O_EXCL, 0644);
      _exit(result < 0 ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    c.Add(std::to_string(status)).Add(result >= 0 ? "opened" : "not");
  }
  {
    Case c("clone/spawn-with-files");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "out", O_WRONLY | O_CREAT | O_TRUNC, 0640);
    pid_t child = 0;
    char* argv[] = {const_cast<char*>("echo"), const_cast<char*>("text"), nullptr};
    char* environment[] = {nullptr};
    c.Add(Outcome(posix_spawn(&child, "/bin/echo", &actions, nullptr, argv, environment)));
    int status = 0;
    waitpid(child, &status, 0);
    c.Add(std::to_string(status));
    posix_spawn_file_actions_destroy(&actions);
  }
  {
    Case c("clone3");
    c.Add(Outcome(syscall(SYS_clone3, nullptr, 0)));
  }
}

// ---- a process that may not be looked at

void NotDumpable() {
  Case c("not-dumpable/basics");
  c.Add(InChild([] {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    string text = Descriptor(open("new", O_RDWR | O_CREAT | O_TRUNC, 0644));
    MakeDirectory("d");
    const int directory = open("d", O_RDONLY);
    text += " at=" + Path(openat(directory, "below", O_WRONLY | O_CREAT, 0600));
    text += " mkdirat=" + Outcome(mkdirat(directory, "dir", 0700));
    text += " rename=" + Outcome(rename("new", "moved"));
    text += " link=" + Outcome(link("moved", "hard"));
    text += " symlink=" + Outcome(symlink("moved", "link"));
    text += " open-link=" + Path(open("link", O_WRONLY | O_TRUNC));
    text += " truncate=" + Outcome(truncate("link", 3));
    text += " mknod=" + Outcome(mknod("fifo", S_IFIFO | 0600, 0));
    text += " rmdir=" + Outcome(unlinkat(directory, "dir", AT_REMOVEDIR));
    umask(077);
    text += " private=" + Path(open("private", O_WRONLY | O_CREAT, 0666));
    text += " tmpfile=" + Path(open("d", O_TMPFILE | O_RDWR, 0600));
    text += " null=" + Path(open("/dev/null", O_WRONLY));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, "socket");
    const int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    const auto* any = reinterpret_cast<const sockaddr*>(&address);
    text += " bind=" + Outcome(bind(server, any, sizeof address));
    text += " listen=" + Outcome(listen(server, 2));
    text += " connect=" + Outcome(connect(client, any, sizeof address));
    if (chdir("d") != 0) text += " SETUP";
    return text + " after-chdir=" + Path(open("../by-dots", O_WRONLY | O_CREAT, 0600));
  }));
}

void NotDumpablePlaces() {
  Case c("not-dumpable/proc");
  c.Add(InChild([] {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    string text;
    for (const char* path : {"/proc/self/cwd/new", "/proc/self/fd/1", "/proc/self/comm",
                             "/dev/stderr", "/proc/thread-self/comm", "/dev/full"}) {
      text += string(" ") + path + "=" + Path(open(path, O_WRONLY | O_CREAT, 0600));
    }
    return text;
  }));
}

}  // namespace

void ProcessesTable() {
  if (Wanted("fifo")) {
    FifoWaits();
    FifoSignals();
  }
  if (Wanted("signals")) SignalStorm();
  if (Wanted("threads")) Threads();
  if (Wanted("clone")) Cloned();
  if (Wanted("not-dumpable")) {
    NotDumpable();
    NotDumpablePlaces();
  }
}

}  // namespace conformance
