// race TRICK SECONDS PIN: ten threads that change a call's arguments while it is judged (row 1).
//
// Half of the threads write two names in turn over the place that the other half makes calls with:
// one may be made, the other may not. PIN is "pinned" (all threads on one processor), else not.
// Prints "good N" and "bad N": how often the permitted and the forbidden name were there after a
// call (the forbidden one is left where it is, for the witness).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { kPairs = 5 };
static const char* trick;
static double seconds;
static int pinned;
static atomic_long good, bad;
static atomic_int over;

// What one caller and its attacker share. The names have the same length.
typedef struct {
  int id;
  char permitted[64], forbidden[64];
  char path[64];  // what the call is made with: now the one, now the other
  struct sockaddr_un address;
  int server, folder, permitted_folder, forbidden_folder;
  atomic_long turn;
} Pair;

static void Settle(void) {
  if (!pinned) return;
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all)) {
      CPU_SET(i, &one);
      break;
    }
  }
  sched_setaffinity(0, sizeof one, &one);
}
static int Is(const char* name) { return strcmp(trick, name) == 0; }

// Exchanges two names of the file system, as fast as it can.
static void Swap(const char* a, const char* b) {
  syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2);
}

static void* Attack(void* data) {
  Pair* p = data;
  Settle();
  char a[80], b[80];
  snprintf(a, sizeof a, "swap-%d", p->id);
  snprintf(b, sizeof b, "paws-%d", p->id);
  for (unsigned long n = 0; !atomic_load_explicit(&over, memory_order_relaxed); ++n) {
    if (Is("descriptor") || Is("proc-descriptor")) {
      dup2(n & 1 ? p->forbidden_folder : p->permitted_folder, p->folder);
    } else if (Is("cwd") || Is("proc-cwd")) {
      if (fchdir(n & 1 ? p->forbidden_folder : p->permitted_folder) != 0) perror("fchdir");
    } else if (Is("link")) {
      Swap(a, b);
    } else if (Is("pipe")) {
      // A pipe without a name rule, and an old second name of a protected file.
      snprintf(a, sizeof a, "pipe-%d", p->id);
      snprintf(b, sizeof b, "old-%d", p->id);
      Swap(a, b);
    } else if (Is("folder")) {
      // x-ID-TURN/kept is free, slot-ID-TURN/kept is not: the caller makes the one, this moves it.
      char from[80], to[80];
      const long turn = atomic_load(&p->turn);
      snprintf(from, sizeof from, "x-%d-%ld", p->id, turn);
      snprintf(to, sizeof to, "slot-%d-%ld", p->id, turn);
      for (unsigned long i = n % 97 * 400; i > 0; --i) __asm__ volatile("" ::: "memory");
      rename(from, to);
    } else if (Is("bind") || Is("connect")) {
      memcpy(p->address.sun_path, n & 1 ? p->forbidden : p->permitted, sizeof p->permitted);
    } else {
      // Byte by byte too, so that every mixture of the two is met.
      const char* now = n & 1 ? p->forbidden : p->permitted;
      for (size_t i = 0; now[i] != 0; ++i) ((volatile char*)p->path)[i] = now[i];
    }
    if (pinned && n % 61 == 0) sched_yield();
  }
  return NULL;
}

static void Look(const char* permitted, const char* forbidden) {
  struct stat state;
  if (fstatat(AT_FDCWD, permitted, &state, AT_SYMLINK_NOFOLLOW) == 0) {
    atomic_fetch_add(&good, 1);
    if (S_ISDIR(state.st_mode)) {
      rmdir(permitted);
    } else {
      unlink(permitted);
    }
  }
  if (fstatat(AT_FDCWD, forbidden, &state, AT_SYMLINK_NOFOLLOW) == 0) atomic_fetch_add(&bad, 1);
}

static void Call(Pair* p) {
  char mine[80];
  snprintf(mine, sizeof mine, "mine-%d", p->id);
  if (Is("open")) {
    close(open(p->path, O_CREAT | O_WRONLY, 0644));
  } else if (Is("mkdir")) {
    mkdir(p->path, 0755);
  } else if (Is("mknod")) {
    mknod(p->path, S_IFIFO | 0644, 0);
  } else if (Is("symlink")) {
    if (symlink("nowhere", p->path) != 0) return;
  } else if (Is("rename") || Is("link")) {
    close(open(mine, O_CREAT | O_WRONLY, 0644));
    if (Is("rename")) rename(mine, p->path);
  } else if (Is("hard")) {
    close(open(mine, O_CREAT | O_WRONLY, 0644));
    if (link(mine, p->path) != 0) return;
  } else if (Is("temporary")) {
    char unnamed[64];
    const int fd = open(".", O_TMPFILE | O_RDWR, 0644);
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", fd);
    linkat(AT_FDCWD, unnamed, AT_FDCWD, p->path, AT_SYMLINK_FOLLOW);
    close(fd);
  } else if (Is("bind") || Is("connect")) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (Is("bind")) {
      bind(fd, (struct sockaddr*)&p->address, sizeof p->address);
    } else if (connect(fd, (struct sockaddr*)&p->address, sizeof p->address) == 0) {
      // The servers outside count the others.
      const int peer = accept(p->server, NULL, NULL);
      if (peer >= 0) atomic_fetch_add(&good, 1);
      close(peer);
    }
    close(fd);
  } else if (Is("descriptor")) {
    close(openat(p->folder, "planted", O_CREAT | O_WRONLY, 0644));
  } else if (Is("cwd")) {
    close(open("planted", O_CREAT | O_WRONLY, 0644));
  } else if (Is("proc-cwd") || Is("proc-descriptor")) {
    // Through another process's eyes: what its link leads to changes between two looks.
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (Is("proc-cwd")) {
      snprintf(address.sun_path, sizeof address.sun_path, "/proc/%d/cwd/planted", getpid());
    } else {
      snprintf(address.sun_path, sizeof address.sun_path, "/proc/%d/fd/%d/planted", getpid(),
               p->folder);
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(fd, (struct sockaddr*)&address, sizeof address);
    close(fd);
  } else if (Is("pipe")) {
    snprintf(mine, sizeof mine, "pipe-%d", p->id);
    const int fd = open(mine, O_WRONLY);
    if (fd >= 0 && write(fd, "evil\n", 5) == 5) atomic_fetch_add(&good, 1);
    close(fd);
    char drain[64];
    while (read(p->folder, drain, sizeof drain) > 0) {
    }
  }
  if (Is("link")) {
    char through[100];
    snprintf(through, sizeof through, "swap-%d/planted", p->id);
    close(open(through, O_CREAT | O_WRONLY, 0644));
    mkdir(through, 0755);
    rename(mine, through);
  }
}
static void* Caller(void* data) {
  Pair* p = data;
  Settle();
  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    if (Is("folder")) {
      char from[80], inside[100], forbidden[100];
      const long turn = atomic_load(&p->turn);
      snprintf(from, sizeof from, "x-%d-%ld", p->id, turn);
      snprintf(inside, sizeof inside, "x-%d-%ld/kept", p->id, turn);
      snprintf(forbidden, sizeof forbidden, "slot-%d-%ld/kept", p->id, turn);
      mkdir(from, 0755);
      close(open(inside, O_CREAT | O_WRONLY, 0644));
      sched_yield();
      Look(inside, forbidden);
      if (rmdir(from) != 0) {
        snprintf(from, sizeof from, "slot-%d-%ld", p->id, turn);
        rmdir(from);
      }
      atomic_store(&p->turn, turn + 1);
      continue;
    }
    Call(p);
    if (Is("pipe")) continue;
    if (Is("descriptor") || Is("cwd") || Is("link") || Is("proc-cwd") || Is("proc-descriptor")) {
      char place[80];
      snprintf(place, sizeof place, "plain-%d/planted", p->id);
      if (!Is("cwd") && !Is("proc-cwd")) {
        Look(place, "guarded/planted");
      } else if (faccessat(p->permitted_folder, "planted", F_OK, 0) == 0) {
        atomic_fetch_add(&good, 1);
        unlinkat(p->permitted_folder, "planted", 0);
      }
    } else if (!Is("connect")) {
      Look(p->permitted, p->forbidden);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  trick = argv[1];
  seconds = atof(argv[2]);
  pinned = strcmp(argv[3], "pinned") == 0;
  static Pair pairs[kPairs];
  pthread_t threads[2 * kPairs];
  for (int i = 0; i < kPairs; ++i) {
    Pair* p = &pairs[i];
    char name[80], other[80];
    p->id = i;
    snprintf(p->permitted, sizeof p->permitted, "./name-%d.kez", i);
    snprintf(p->forbidden, sizeof p->forbidden, Is("connect") ? "./host-%d.sok" : "./name-%d.key",
             i);
    if (Is("connect")) snprintf(p->permitted, sizeof p->permitted, "./mine-%d.sok", i);
    strcpy(p->path, p->permitted);
    p->address.sun_family = AF_UNIX;
    memcpy(p->address.sun_path, p->permitted, sizeof p->permitted);
    snprintf(name, sizeof name, "plain-%d", i);
    mkdir(name, 0755);
    p->permitted_folder = open(name, O_PATH);
    p->forbidden_folder = open("guarded", O_PATH);
    p->folder = dup(p->permitted_folder);
    if (Is("pipe")) {
      char pipe[80];
      snprintf(pipe, sizeof pipe, "pipe-%d", i);
      p->folder = open(pipe, O_RDWR | O_NONBLOCK);  // so that no writer waits
    }
    snprintf(name, sizeof name, "swap-%d", i);
    snprintf(other, sizeof other, "plain-%d", i);
    if (Is("link") && symlink(other, name) != 0) return 2;
    snprintf(name, sizeof name, "paws-%d", i);
    if (Is("link") && symlink("guarded", name) != 0) return 2;
    if (Is("connect")) {
      p->server = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
      if (bind(p->server, (struct sockaddr*)&p->address, sizeof p->address) != 0 ||
          listen(p->server, 64) != 0)
        return 2;
    }
  }
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, NULL);
  if (Is("connect")) {  // the sockets of the host appear now
    printf("up\n");
    fflush(stdout);
    getchar();
  }
  for (int i = 0; i < 2 * kPairs; ++i) {
    pthread_create(&threads[i], NULL, i < kPairs ? Attack : Caller, &pairs[i % kPairs]);
  }
  const struct itimerval end = {
      .it_value = {(time_t)seconds, (suseconds_t)(seconds * 1e6) % 1000000}};
  setitimer(ITIMER_REAL, &end, NULL);
  int number;
  sigwait(&alarm, &number);
  atomic_store(&over, 1);
  for (int i = 0; i < 2 * kPairs; ++i) pthread_join(threads[i], NULL);
  printf("good %ld\nbad %ld\n", atomic_load(&good), atomic_load(&bad));
  return 0;
}
