// What an opened file can do: offsets, locks, leases, mappings, events, execution.
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "probe.h"

namespace conformance {
namespace {

using std::string;

void Offsets() {
  {
    Case c("file/offsets");
    const int fd = c.Keep(open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    const int same = c.Keep(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    const int other = c.Keep(open("file", O_RDWR | O_CLOEXEC));
    c.Add(Outcome(write(fd, "12345", 5))).Add(Outcome(lseek(same, 0, SEEK_CUR)));
    c.Add(Outcome(lseek(other, 0, SEEK_CUR))).Add(Outcome(write(same, "67", 2)));
    c.Add(InChild([fd] { return Outcome(write(fd, "child", 5)); }));
    c.Add(Outcome(lseek(fd, 0, SEEK_CUR)));
    c.Add(Outcome(fcntl(fd, F_SETFL, O_APPEND))).Add(std::to_string(fcntl(same, F_GETFL)));
    c.Add(std::to_string(fcntl(other, F_GETFL)));
  }
  {
    Case c("file/append");
    const int one = c.Keep(open("file", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    const int two = c.Keep(open("file", O_WRONLY | O_APPEND | O_CLOEXEC));
    for (int i = 0; i < 3; ++i) c.Add(Outcome(write(one, "1", 1))).Add(Outcome(write(two, "2", 1)));
  }
  {
    Case c("file/basics");
    const int fd = c.Keep(open("file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    c.Add("truncate", Outcome(ftruncate(fd, 20)))
        .Add("allocate", Outcome(posix_fallocate(fd, 0, 30)));
    c.Add("mode", Outcome(fchmod(fd, 0600))).Add("sync", Outcome(fsync(fd)));
    void* map = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    c.Add("map", map == MAP_FAILED ? ErrnoName(errno) : "ok");
    if (map != MAP_FAILED) {
      memcpy(map, "mapped", 6);
      munmap(map, 4096);
    }
    const timespec times[2] = {{1, 0}, {2, 0}};
    c.Add("times", Outcome(futimens(fd, times)));
    const int copy = c.Keep(open("copy", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    c.Add("copy", Outcome(copy_file_range(fd, nullptr, copy, nullptr, 10, 0)));
    c.Add("reopen",
          DescriptorAndUse(open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR)));
    c.Add("as-directory", Outcome(mkdirat(fd, "x", 0700)));
  }
}

void TemporaryFiles() {
  for (const char* way : {"proc", "empty-path", "excl", "absolute", "dup"}) {
    Case c(string("file/temporary/") + way);
    MakeDirectory("d");
    const bool excl = string(way) == "excl";
    const int fd = c.Keep(open("d", O_TMPFILE | O_RDWR | O_CLOEXEC | (excl ? O_EXCL : 0), 0640));
    c.Add(Descriptor(fd)).Add(Outcome(write(fd, "temporary", 9)));
    string path = "/proc/self/fd/" + std::to_string(fd);
    if (string(way) == "dup") path = "/dev/fd/" + std::to_string(c.Keep(dup(fd)));
    const string target = string(way) == "absolute" ? options.top + "/c/new" : "new";
    const int result =
        string(way) == "empty-path"
            ? linkat(fd, "", AT_FDCWD, target.c_str(), AT_EMPTY_PATH)
            : linkat(AT_FDCWD, path.c_str(), AT_FDCWD, target.c_str(), AT_SYMLINK_FOLLOW);
    c.Add(Outcome(result));
    c.Add("again", Outcome(linkat(AT_FDCWD, path.c_str(), AT_FDCWD, "new2", AT_SYMLINK_FOLLOW)));
    c.Add("not-followed", Outcome(linkat(AT_FDCWD, path.c_str(), AT_FDCWD, "new3", 0)));
  }
  for (const int flags : {O_RDONLY, O_RDWR, O_PATH}) {
    for (const bool removed : {false, true}) {
      Case c("file/link-opened/" + std::to_string(flags) + (removed ? "/removed" : ""));
      MakeFile("file");
      const int fd = c.Keep(open("file", flags | O_CLOEXEC));
      if (removed) unlink("file");
      const string path = "/proc/self/fd/" + std::to_string(fd);
      c.Add(Outcome(linkat(AT_FDCWD, path.c_str(), AT_FDCWD, "new", AT_SYMLINK_FOLLOW)));
      c.Add(Outcome(linkat(fd, "", AT_FDCWD, "new2", AT_EMPTY_PATH)));
    }
  }
}

void Locks() {
  {
    Case c("file/flock-is-given-up-at-close");
    int late = 0;
    MakeFile("file");
    const int watcher = c.Keep(open("file", O_RDWR | O_CLOEXEC));
    for (int i = 0; i < 300; ++i) {
      const int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
      if (flock(fd, LOCK_EX | LOCK_NB) != 0) ++late;
      if (flock(watcher, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) c.Add("not-held");
      close(fd);
      if (flock(watcher, LOCK_EX | LOCK_NB) != 0) ++late;
      flock(watcher, LOCK_UN);
    }
    c.Add("late", std::to_string(late));
  }
  for (const int command : {F_SETLK, F_OFD_SETLK}) {
    Case c("file/lock/" + std::to_string(command));
    const int fd = c.Keep(open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    struct flock lock{};
    lock.l_type = F_WRLCK;
    c.Add(Outcome(fcntl(fd, command, &lock)));
    c.Add(InChild([command, pid = getppid()] {
      (void)pid;
      const int other = open("file", O_RDWR);
      struct flock asked{};
      asked.l_type = F_WRLCK;
      string text = Outcome(fcntl(other, command, &asked));
      fcntl(other, command == F_SETLK ? F_GETLK : F_OFD_GETLK, &asked);
      return text + " type=" + std::to_string(asked.l_type) +
             " holder=" + (asked.l_pid == getppid() ? "parent" : std::to_string(asked.l_pid));
    }));
    // A process's locks go when it closes any descriptor of the file.
    close(open("file", O_WRONLY));
    c.Add(InChild([command] {
      const int other = open("file", O_RDWR);
      struct flock asked{};
      asked.l_type = F_WRLCK;
      return Outcome(fcntl(other, command, &asked));
    }));
  }
  for (const int type : {F_RDLCK, F_WRLCK}) {
    Case c("file/lease/" + std::to_string(type));
    int refused = 0;
    MakeFile("file");
    for (int i = 0; i < 100; ++i) {
      const int writer = open("file", O_WRONLY | O_CLOEXEC);
      close(writer);
      const int fd = open("file", O_RDONLY | O_CLOEXEC);
      if (fcntl(fd, F_SETLEASE, type) != 0) ++refused;
      close(fd);
      const int both = open("file", O_RDWR | O_CLOEXEC);
      if (type == F_WRLCK && fcntl(both, F_SETLEASE, type) != 0) ++refused;
      close(both);
    }
    c.Add("refused", std::to_string(refused));
    const int fd = c.Keep(open("file", O_RDONLY | O_CLOEXEC));
    signal(SIGIO, SIG_IGN);
    c.Add(Outcome(fcntl(fd, F_SETLEASE, type)));
    c.Add(InChild([] { return Outcome(open("file", O_WRONLY | O_NONBLOCK) < 0 ? -1 : 0); }));
    c.Add("asked", std::to_string(fcntl(fd, F_GETLEASE)));
  }
}

int lease_fd = -1;
void GiveUpLease(int) { fcntl(lease_fd, F_SETLEASE, F_UNLCK); }

void LeaseBreak() {
  for (const int flags : {O_WRONLY, O_RDWR | O_CREAT, O_WRONLY | O_TRUNC}) {
    Case c("file/lease-break/" + std::to_string(flags));
    MakeFile("file");
    lease_fd = c.Keep(open("file", O_RDONLY | O_CLOEXEC));
    signal(SIGIO, GiveUpLease);
    c.Add(Outcome(fcntl(lease_fd, F_SETLEASE, F_RDLCK)));
    c.Add(InChild([flags] { return Outcome(open("file", flags, 0600) < 0 ? -1 : 0); }));
    c.Add(std::to_string(fcntl(lease_fd, F_GETLEASE)));
    signal(SIGIO, SIG_IGN);
  }
  Case c("file/lease-break/truncate");
  MakeFile("file");
  lease_fd = c.Keep(open("file", O_RDONLY | O_CLOEXEC));
  signal(SIGIO, GiveUpLease);
  c.Add(Outcome(fcntl(lease_fd, F_SETLEASE, F_RDLCK)));
  c.Add(InChild([] { return Outcome(truncate("file", 1)); }));
  signal(SIGIO, SIG_IGN);
}

void RunsAtOnce() {
  Case c("file/runs-as-soon-as-closed");
  const string program = ReadAll("/bin/true");
  int failed = 0;
  for (int i = 0; i < 150; ++i) {
    const int fd = open("program", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (write(fd, program.data(), program.size()) < 0) ++failed;
    close(fd);
    pid_t child = 0;
    char* argv[] = {const_cast<char*>("program"), nullptr};
    if (posix_spawn(&child, "./program", nullptr, nullptr, argv, environ) != 0) {
      ++failed;
      continue;
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) ++failed;
  }
  c.Add("failed", std::to_string(failed));
}

string Events(int fd) {
  alignas(inotify_event) std::array<char, 8192> buffer;
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  string text;
  for (ssize_t at = 0; at < n;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
    char mask[16];
    snprintf(mask, sizeof mask, "%x", event->mask);
    text += " " + std::to_string(event->wd) + ":" + mask +
            (event->len == 0         ? ""
             : event->name[0] == '#' ? ":#N"  // by inode
                                     : string(":") + event->name);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  return text.empty() ? "none" : text;
}

void Watched() {
  const std::vector<std::pair<string, std::function<void()>>> acts = {
      {"create", [] { close(open("d/new", O_WRONLY | O_CREAT, 0600)); }},
      {"create-write",
       [] {
         const int fd = open("d/new", O_WRONLY | O_CREAT | O_EXCL, 0600);
         (void)!write(fd, "x", 1);
         close(fd);
       }},
      {"open-write", [] { close(open("d/file", O_WRONLY)); }},
      {"open-truncate", [] { close(open("d/file", O_RDWR | O_TRUNC)); }},
      {"open-link", [] { close(open("d/link", O_WRONLY)); }},
      {"open-fails", [] { close(open("d/file", O_WRONLY | O_CREAT | O_EXCL, 0600)); }},
      {"temporary", [] { close(open("d", O_WRONLY | O_TMPFILE, 0600)); }},
      {"mkdir", [] { mkdir("d/new", 0700); }},
      {"rmdir", [] { rmdir("d/dir"); }},
      {"mknod", [] { mknod("d/new", S_IFIFO | 0600, 0); }},
      {"symlink", [] { (void)!symlink("x", "d/new"); }},
      {"link", [] { (void)!link("d/file", "d/new"); }},
      {"rename", [] { rename("d/file", "d/new"); }},
      {"rename-out", [] { rename("d/file", "new"); }},
      {"rename-over", [] { rename("d/file", "d/other"); }},
      {"exchange", [] { syscall(SYS_renameat2, AT_FDCWD, "d/file", AT_FDCWD, "d/other", 2); }},
      {"truncate", [] { (void)!truncate("d/file", 1); }},
      {"truncate-same", [] { (void)!truncate("d/file", 4); }},
  };
  for (const auto& [name, act] : acts) {
    Case c("file/events/" + name);
    MakeDirectory("d");
    MakeDirectory("d/dir");
    MakeFile("d/file");
    MakeFile("d/other");
    MakeLink("file", "d/link");
    const int fd = c.Keep(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    inotify_add_watch(fd, "d", IN_ALL_EVENTS);
    inotify_add_watch(fd, "d/file", IN_ALL_EVENTS);
    act();
    c.Add(Events(fd));
  }
}

// What a session answers ENOSYS; posix_test.py expects these lines to differ.
void NewerCalls() {
  {
    Case c("newer/openat2");
    open_how how{};
    how.flags = O_RDWR | O_CREAT;
    how.mode = 0644;
    c.Add(DescriptorAndUse(
        static_cast<int>(syscall(SYS_openat2, AT_FDCWD, "new", &how, sizeof how))));
  }
  {
    Case c("newer/io_uring");
    c.Add(Outcome(syscall(SYS_io_uring_setup, 0, nullptr)));
  }
}

}  // namespace

void FilesTable() {
  if (Wanted("file")) {
    Offsets();
    TemporaryFiles();
    Locks();
    LeaseBreak();
    RunsAtOnce();
    Watched();
  }
  if (Wanted("newer")) NewerCalls();
}

}  // namespace conformance
