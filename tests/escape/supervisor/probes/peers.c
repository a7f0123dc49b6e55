// peers: calls of tasks that share some of what a process has (row 9).
//
// Each case makes the file "planted" relative to the folder a, b or . and says where it is found:
// what counts is the cwd, the descriptors and the umask of the very task that calls. With an
// argument that is the name that is made, and it is a forbidden one.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* name = "planted";
static int home, shared;

static void Where(const char* label) {
  static const char* const kFolders[] = {"a", "b", "."};
  printf("%s", label);
  struct stat state;
  int found = 0;
  for (int i = 0; i < 3; ++i) {
    const int folder = openat(home, kFolders[i], O_PATH);
    if (fstatat(folder, name, &state, AT_SYMLINK_NOFOLLOW) == 0) {
      printf("%s%s:%o", found++ ? "," : " ", kFolders[i], state.st_mode & 0777);
      unlinkat(folder, name, 0);
    }
    close(folder);
  }
  printf("%s\n", found ? "" : " nowhere");
  fflush(stdout);
}
static int Plant(void) {
  const int fd = open(name, O_CREAT | O_WRONLY, 0666);
  if (fd >= 0) close(fd);
  return fd < 0;
}

static int InA(void* unused) {
  (void)unused;
  if (chdir("a") != 0) return 1;
  umask(0);
  return Plant();
}
static int ByNumber(void* unused) {
  (void)unused;
  // The same number, another folder, in this task alone.
  const int b = openat(home, "b", O_PATH);
  dup2(b, shared);
  const int fd = openat(shared, name, O_CREAT | O_WRONLY, 0666);
  if (fd >= 0) close(fd);
  return fd < 0;
}
static void Cloned(const char* label, int flags, int (*work)(void*)) {
  char* stack = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int pid = clone(work, stack + (1 << 16), flags | SIGCHLD, NULL);
  if (pid < 0) printf("%s %s\n", label, strerrorname_np(errno));
  waitpid(pid, NULL, 0);
  if (fchdir(home) != 0) exit(1);
  umask(022);
  Where(label);
  dup2(openat(home, "a", O_PATH), shared);
}

static void* InThread(void* flags) {
  if (unshare((int)(long)flags) != 0) return NULL;
  if ((long)flags & CLONE_FS) {
    InA(NULL);
  } else {
    ByNumber(NULL);
  }
  return NULL;
}
static void Threaded(const char* label, long flags) {
  pthread_t thread;
  pthread_create(&thread, NULL, InThread, (void*)flags);
  pthread_join(thread, NULL);
  Where(label);
}

int main(int argc, char** argv) {
  if (argc > 1) name = argv[1];
  umask(022);
  mkdir("a", 0755);
  mkdir("b", 0755);
  home = open(".", O_PATH);
  shared = open("a", O_PATH);
  Cloned("memory", CLONE_VM, InA);
  Cloned("memory-and-files", CLONE_VM | CLONE_FILES, InA);
  Cloned("memory-own-files", CLONE_VM, ByNumber);
  Cloned("shared-files", CLONE_FILES, ByNumber);
  Cloned("cwd", CLONE_FS, InA);
  Cloned("vfork", CLONE_VM | CLONE_VFORK, InA);
  Threaded("thread-own-cwd", CLONE_FS);
  Threaded("thread-own-files", CLONE_FILES);
  // Its memory cannot be read by others of the same user.
  if (fork() == 0) {
    prctl(PR_SET_DUMPABLE, 0);
    exit(Plant());
  }
  wait(NULL);
  Where("not-dumpable");
  if (fork() == 0) {
    prctl(PR_SET_DUMPABLE, 0);
    if (chdir("b") != 0) exit(1);
    umask(077);
    exit(Plant());
  }
  wait(NULL);
  Where("not-dumpable-elsewhere");
  return 0;
}
