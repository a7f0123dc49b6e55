// memory: calls whose arguments lie in memory that is not there, ends early, or is odd (row 8).
//
// Makes its files in the working directory and prints "name answer" lines, which are the same
// inside and outside. With an argument, that word takes the place of the harmless ending of each
// name that would be made, and nothing of it may come into being.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static const char* ending = "kez";
static size_t page;

static void Say(const char* name, long result) {
  const int error = errno;
  printf("%s %s\n", name, result < 0 ? strerrorname_np(error) : "ok");
  fflush(stdout);
}
static long Make(const char* path) {
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (fd >= 0) close(fd);
  return fd < 0 ? -1 : 0;
}
// Two pages, the second of which is not there (or is, with `whole`); returns the first.
static char* Pages(int whole) {
  char* room = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!whole) munmap(room + page, page);
  return room;
}
// `text`, `bytes` of it, so that the last of them is the last of a page.
static char* AtEnd(const char* text, size_t bytes, int whole) {
  char* place = Pages(whole) + page - bytes;
  memcpy(place, text, bytes);
  return place;
}
static const char* Named(const char* stem) {
  static char name[PATH_MAX];
  snprintf(name, sizeof name, "./%s.%s", stem, ending);
  return name;
}

static void Paths(void) {
  const char* name = Named("page-end");
  Say("terminated-at-page-end", Make(AtEnd(name, strlen(name) + 1, 0)));
  name = Named("cut");
  Say("unterminated-at-page-end", Make(AtEnd(name, strlen(name), 0)));
  name = Named("two-pages");
  char* place = Pages(1) + page - 4;
  strcpy(place, name);
  Say("across-pages", Make(place));
  Say("null", Make(NULL));
  Say("low", Make((const char*)8));
  Say("kernel", Make((const char*)~0xfffffful));
  Say("not-canonical", Make((const char*)0x8000000000000000ul));
  char* closed = Pages(1);
  strcpy(closed, Named("closed"));
  mprotect(closed, page, PROT_NONE);
  Say("no-access", Make(closed));
  // A map of a file that is shorter than the map.
  const int file = memfd_create("paths", 0);
  char* beyond = mmap(NULL, page, PROT_READ, MAP_SHARED, file, 0);
  Say("beyond-the-file", Make(beyond));
  name = Named("in-a-file");
  if (ftruncate(file, (off_t)page) != 0 || pwrite(file, name, strlen(name) + 1, 0) < 0)
    Say("memfd", -1);
  Say("in-a-file", Make(beyond));
  Say("empty", Make(""));
  Say("root", Make("/"));
  Say("here", Make("."));
  Say("above", Make(".."));
  char wide[PATH_MAX + 64];
  snprintf(wide, sizeof wide, "%s/", Named("slash"));
  Say("trailing-slash", Make(wide));
  snprintf(wide, sizeof wide, "%s/.", Named("dot"));
  Say("trailing-dot", Make(wide));
  // Paths of 4095 bytes, which are the longest, of 4096 with the NUL missing, and of more.
  for (int total = PATH_MAX - 2; total <= PATH_MAX + 8; ++total) {
    char label[32], tail[64];
    snprintf(tail, sizeof tail, "long-%d.%s", total, ending);
    memset(wide, 0, sizeof wide);
    for (int i = 0; i < total - (int)strlen(tail); ++i) wide[i] = (i % 2) ? '/' : '.';
    if ((total - (int)strlen(tail)) % 2 == 1) wide[total - (int)strlen(tail) - 1] = '/';
    strcat(wide, tail);
    snprintf(label, sizeof label, "path-of-%d", total);
    Say(label, Make(wide));
  }
  memset(wide, 'n', 300);
  snprintf(wide + 251 - strlen(ending) + 3, 64, ".%s", ending);
  Say("name-of-255", Make(wide));
  memset(wide, 'n', 300);
  snprintf(wide + 252 - strlen(ending) + 3, 64, ".%s", ending);
  Say("name-of-256", Make(wide));
  static const char* const kOdd[] = {
      "\xff\xfe", "\xc3\x28", "\xed\xa0\x80", "new\nline", "tab\t", "\x01", "\x7f", "sp ace",
      "*",        "[a]",      "\\",           "\"",        "'",     "$(x)", "-rf",  "\xe2\x80\xae"};
  for (size_t i = 0; i < sizeof kOdd / sizeof *kOdd; ++i) {
    char label[32];
    snprintf(label, sizeof label, "odd-%zu", i);
    Say(label, Make(Named(kOdd[i])));
  }
}

static void TwoPaths(void) {
  char* gone = Pages(0) + page;
  close(open("source", O_CREAT | O_WRONLY, 0644));
  Say("rename-null-from", renameat(AT_FDCWD, gone, AT_FDCWD, Named("renamed")));
  Say("rename-null-to", renameat(AT_FDCWD, "source", AT_FDCWD, gone));
  Say("link-null-from", linkat(AT_FDCWD, gone, AT_FDCWD, Named("linked"), 0));
  Say("link-null-to", linkat(AT_FDCWD, "source", AT_FDCWD, gone, 0));
  Say("symlink-null-text", symlinkat(gone, AT_FDCWD, Named("symlink")));
  Say("symlink-null-to", symlinkat("x", AT_FDCWD, gone));
  Say("symlink-empty", symlinkat("", AT_FDCWD, Named("symlink-empty")));
  char text[PATH_MAX + 8];
  memset(text, 't', sizeof text - 1);
  text[sizeof text - 1] = 0;
  Say("symlink-too-long", symlinkat(text, AT_FDCWD, Named("symlink-long")));
  text[PATH_MAX - 1] = 0;
  Say("symlink-longest", symlinkat(text, AT_FDCWD, Named("symlink-4095")));
  Say("mkdir-null", mkdirat(AT_FDCWD, gone, 0755));
  Say("mknod-null", mknodat(AT_FDCWD, gone, S_IFREG | 0644, 0));
  Say("rmdir-null", unlinkat(AT_FDCWD, gone, AT_REMOVEDIR));
  Say("truncate-null", truncate(gone, 0));
  Say("rename-flags", syscall(SYS_renameat2, AT_FDCWD, "source", AT_FDCWD, Named("flags"), 0x80));
  Say("rename-two-flags", syscall(SYS_renameat2, AT_FDCWD, "source", AT_FDCWD, Named("flags"), 3));
  Say("link-flags", linkat(AT_FDCWD, "source", AT_FDCWD, Named("flags"), 0x1));
  Say("bad-folder", openat(77, "relative", O_CREAT | O_WRONLY, 0644));
  Say("folder-is-file", openat(open("source", O_RDONLY), "relative", O_CREAT | O_WRONLY, 0644));
  Say("temporary-in-file", open("source", O_TMPFILE | O_RDWR, 0644));
  Say("mknod-folder", mknodat(AT_FDCWD, Named("mknod-folder"), S_IFDIR | 0755, 0));
  Say("mknod-nonsense", mknodat(AT_FDCWD, Named("mknod-nonsense"), 0170000 | 0755, 0));
  Say("truncate-folder", truncate(".", 0));
  Say("truncate-negative", truncate("source", -1));
  Say("open-folder-to-write", open(".", O_WRONLY));
  Say("create-folder", open(".", O_CREAT | O_RDONLY, 0644));
}

static void Addresses(const char* call, int (*make)(int, const struct sockaddr*, socklen_t)) {
  struct {
    const char* name;
    const void* address;
    socklen_t length;
  } cases[16];
  int count = 0;
  char* gone = Pages(0) + page;
  struct sockaddr_un path = {.sun_family = AF_UNIX};
  snprintf(path.sun_path, sizeof path.sun_path, "%s", Named(call));
  const socklen_t exact =
      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path.sun_path));
  struct sockaddr_un other = path;
  other.sun_family = AF_INET;
#define CASE(...) \
  cases[count++] = (typeof(cases[0])) { __VA_ARGS__ }
  CASE("unmapped", gone, sizeof path);
  CASE("null", NULL, sizeof path);
  CASE("no-length", &path, 0);
  CASE("short", &path, 1);
  CASE("too-long", &path, sizeof path + 1);
  CASE("huge", &path, 0x7fffffff);
  CASE("negative", &path, (socklen_t)-1);
  CASE("other-family", &other, sizeof other);
  CASE("cut", AtEnd((const char*)&path, exact - 1, 0), sizeof path);
#undef CASE
  for (int i = 0; i < count; ++i) {
    char label[64];
    snprintf(label, sizeof label, "%s-%s", call, cases[i].name);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    Say(label, make(fd, cases[i].address, cases[i].length));
    close(fd);
  }
}
static int Bind(int fd, const struct sockaddr* address, socklen_t length) {
  return bind(fd, address, length);
}
static int Connect(int fd, const struct sockaddr* address, socklen_t length) {
  return connect(fd, address, length);
}

int main(int argc, char** argv) {
  page = (size_t)sysconf(_SC_PAGESIZE);
  if (argc > 1) ending = argv[1];
  Paths();
  TwoPaths();
  Addresses("bind", Bind);
  Addresses("connect", Connect);
  struct msghdr* unreadable = (struct msghdr*)(Pages(0) + page);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
  Say("sendmsg-unmapped", sendmsg(pair[0], unreadable, MSG_DONTWAIT));
  return 0;
}
