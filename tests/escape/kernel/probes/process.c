// process VERB ARGUMENTS: attacks on other processes, and processes that will not go away.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static char canary[64] = "untouched";

static void Line(const char* name, long value) {
  printf("%s %s\n", name, value == -1 ? strerrorname_np(errno) : "ok");
  fflush(stdout);
}

// Prints its number and the address of its canary, waits for the end of its input, and prints the
// canary.
static int Victim(void) {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  printf("%d %lu\n", getpid(), (unsigned long)(uintptr_t)canary);
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  printf("%s\n", canary);
  return 0;
}

// Whether any of its descriptors can be followed; their mere numbers may be listed.
static long DescriptorOf(pid_t pid) {
  char path[64], target[256];
  long length = -1;
  for (int fd = 0; fd < 64 && length < 0; ++fd) {
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    const int before = errno;
    length = readlink(path, target, sizeof target);
    if (length < 0 && errno == ENOENT && fd > 0) errno = before;
  }
  return length;
}

static long OpenOf(pid_t pid, const char* name, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  return open(path, flags | O_CLOEXEC);
}

// Memory, descriptors and control of another process; no signal that ends it.
static int Attack(pid_t pid, unsigned long address) {
  char text[64] = "overwritten";
  struct iovec local = {text, sizeof text}, remote = {(void*)(uintptr_t)address, sizeof text};
  char read_text[64];
  struct iovec into = {read_text, sizeof read_text};
  Line("kill", kill(pid, 0));
  Line("process_vm_readv", process_vm_readv(pid, &into, 1, &remote, 1, 0));
  Line("process_vm_writev", process_vm_writev(pid, &local, 1, &remote, 1, 0));
  const long pidfd = syscall(SYS_pidfd_open, pid, 0);
  Line("pidfd_open", pidfd);
  if (pidfd >= 0) Line("pidfd_getfd", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
  Line("kcmp", syscall(SYS_kcmp, getpid(), pid, 1, 0, 0));
  Line("mem", OpenOf(pid, "mem", O_RDWR));
  Line("environ", OpenOf(pid, "environ", O_RDONLY));
  Line("maps", OpenOf(pid, "maps", O_RDONLY));
  Line("fd", DescriptorOf(pid));
  Line("root", OpenOf(pid, "root", O_PATH));
  Line("cwd", OpenOf(pid, "cwd", O_PATH));
  Line("exe", OpenOf(pid, "exe", O_RDONLY));
  const long seized = ptrace(PTRACE_SEIZE, pid, NULL, NULL);
  Line("ptrace", seized);
  if (seized == 0) {
    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
  }
  return 0;
}

static int KillAll(void) {
  Line("kill-all", kill(-1, SIGKILL));
  Line("kill-init", kill(1, SIGKILL));
  Line("stop-init", kill(1, SIGSTOP));
  printf("survived\n");
  return 0;
}

// Opens every program that runs for writing, without writing. The kernel itself answers ETXTBSY
// for a running program, so that only EROFS and EACCES show that something else stands before it.
static int WriteRunning(void) {
  DIR* proc = opendir("/proc");
  for (struct dirent* entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
    const pid_t pid = atoi(entry->d_name);
    if (pid > 0 && pid != getpid()) Line(entry->d_name, OpenOf(pid, "exe", O_WRONLY));
  }
  return 0;
}

static int Status(void) {
  FILE* status = fopen("/proc/self/status", "re");
  char line[256];
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "Seccomp:", 8) == 0 || strncmp(line, "NoNewPrivs:", 11) == 0 ||
        strncmp(line, "Cap", 3) == 0) {
      fputs(line, stdout);
    }
  }
  return 0;
}

// Runs itself out of memory, without a file.
static int FromMemory(void) {
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int to = memfd_create("copy", MFD_CLOEXEC);
  struct stat size;
  if (from < 0 || to < 0 || fstat(from, &size) != 0 ||
      sendfile(to, from, NULL, (size_t)size.st_size) != size.st_size) {
    Line("memfd", -1);
    return 0;
  }
  char* argv[] = {(char*)"process", (char*)"status", NULL};
  fexecve(to, argv, environ);
  Line("fexecve", -1);
  return 0;
}

static int Forks(int most) {
  int count = 0;
  const pid_t self = getpid();
  setpgid(0, 0);
  signal(SIGTERM, SIG_IGN);
  while (count < most) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      signal(SIGTERM, SIG_DFL);
      if (getppid() == self) pause();
      _exit(0);
    }
    ++count;
  }
  printf("%d\n", count);
  fflush(stdout);
  kill(0, SIGTERM);
  return 0;
}

static int Memory(long mebibytes) {
  for (long done = 0; done < mebibytes; ++done) {
    char* at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      printf("stopped at %ld\n", done);
      return 0;
    }
    memset(at, 1, 1 << 20);
  }
  printf("had all\n");
  return 0;
}

static int Files(int most) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  int count = 0;
  while (count < most && open("/dev/null", O_RDONLY) >= 0) ++count;
  printf("%d\n", count);
  return 0;
}

static void IgnoreEverything(void) {
  for (int number = 1; number < SIGRTMAX; ++number) signal(number, SIG_IGN);
}

// Locks FILE for as long as this process lives: whoever gets the lock later knows that it does not.
static int Hold(const char* file) {
  const int fd = open(file, O_RDWR | O_CREAT, 0600);
  return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -1;
}
static int Stubborn(const char* file) {
  IgnoreEverything();
  Line("hold", Hold(file));
  while (pause() == -1) continue;
  return 0;
}
// A daemon: two forks, a session of its own, no signal that it hears.
static int Survivor(const char* file) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    IgnoreEverything();
    const char held = Hold(file) == 0 ? 'y' : 'n';
    if (write(ends[1], &held, 1) != 1) _exit(1);
    // Not a reader of the command's output any more, as daemons do.
    for (int fd = 0; fd < 3; ++fd) close(fd);
    for (;;) pause();
  }
  char held = 'n';
  if (read(ends[0], &held, 1) != 1) return 1;
  printf("held %c\n", held);
  return 0;
}

int main(int argc, char** argv) {
  const char* verb = argc > 1 ? argv[1] : "";
  const char* a = argc > 2 ? argv[2] : "0";
  const char* b = argc > 3 ? argv[3] : "0";
#define VERB(name, expression) \
  if (strcmp(verb, name) == 0) return expression
  VERB("victim", Victim());
  VERB("attack", Attack(atoi(a), strtoul(b, NULL, 10)));
  VERB("kill-all", KillAll());
  VERB("write-running", WriteRunning());
  VERB("status", Status());
  VERB("from-memory", FromMemory());
  VERB("forks", Forks(atoi(a)));
  VERB("memory", Memory(atol(a)));
  VERB("files", Files(atoi(a)));
  VERB("stubborn", Stubborn(a));
  VERB("survivor", Survivor(a));
  fprintf(stderr, "process: no verb %s\n", verb);
  return 2;
}
