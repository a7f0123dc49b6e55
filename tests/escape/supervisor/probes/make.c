// make TEMPLATE SCRATCH [WAY...]: every way to make a name, one line "way answer" each.
//
// TEMPLATE is the path to make, with one %s for the name of the way, so that the ways do not stand
// in each other's way and a witness sees which of them came through. SCRATCH is a writable
// directory of the same file system for what the ways need. Without WAY all of them are tried.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/io_uring.h>
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

static char target[PATH_MAX], scratch[PATH_MAX], source[PATH_MAX + 64];

// A file of the scratch directory that every way may use up.
static const char* File(void) {
  snprintf(source, sizeof source, "%s/made-by-make", scratch);
  unlink(source);  // other ways may have left a second name of it
  const int fd = open(source, O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (fd < 0 || write(fd, "made\n", 5) != 5) perror(source);
  close(fd);
  return source;
}
static const char* Folder(void) {
  snprintf(source, sizeof source, "%s/folder-of-make", scratch);
  mkdir(source, 0755);
  return source;
}
static long Closed(long fd) {
  if (fd >= 0) close((int)fd);
  return fd < 0 ? -1 : 0;
}
// The directory of the target as a descriptor, and its last component.
static int Parent(const char** name) {
  static char folder[PATH_MAX];
  strcpy(folder, target);
  char* slash = strrchr(folder, '/');
  *name = strrchr(target, '/') + 1;
  *slash = 0;
  return open(folder, O_PATH | O_CLOEXEC);
}

static long Open(void) {
  return Closed(syscall(SYS_openat, AT_FDCWD, target, O_CREAT | O_WRONLY, 0644));
}
static long OpenToRead(void) { return Closed(openat(AT_FDCWD, target, O_CREAT | O_RDONLY, 0644)); }
static long OpenExclusive(void) {
  return Closed(openat(AT_FDCWD, target, O_CREAT | O_EXCL | O_RDWR, 0644));
}
static long OpenAppend(void) {
  return Closed(openat(AT_FDCWD, target, O_CREAT | O_APPEND | O_WRONLY, 0644));
}
static long OpenNoFollow(void) {
  return Closed(openat(AT_FDCWD, target, O_CREAT | O_NOFOLLOW | O_WRONLY, 0644));
}
static long OpenAtFolder(void) {
  const char* name;
  const int folder = Parent(&name);
  return Closed(openat(folder, name, O_CREAT | O_WRONLY, 0644));
}
static long OpenHighBits(void) {
  // The kernel takes an int: what stands above it changes nothing.
  return Closed(
      syscall(SYS_openat, AT_FDCWD, target, 0xdeadbeef00000000ul | O_CREAT | O_WRONLY, 0644));
}
static long OpenUnknownBits(void) {
  // open(2) ignores flags that it does not know.
  return Closed(syscall(SYS_openat, AT_FDCWD, target, 0x40000000ul | O_CREAT | O_WRONLY, 0644));
}
static long Openat2(void) {
  const uint64_t how[3] = {O_CREAT | O_WRONLY, 0644, 0};
  return Closed(syscall(SYS_openat2, AT_FDCWD, target, how, sizeof how));
}
static long Mkdirat(void) { return mkdirat(AT_FDCWD, target, 0755); }
static long MkdirSlash(void) {
  char path[PATH_MAX + 2];
  snprintf(path, sizeof path, "%s//", target);
  return mkdirat(AT_FDCWD, path, 0755);
}
static long MknodRegular(void) { return syscall(SYS_mknodat, AT_FDCWD, target, S_IFREG | 0644, 0); }
static long MknodNone(void) { return syscall(SYS_mknodat, AT_FDCWD, target, 0644, 0); }
static long MknodPipe(void) { return syscall(SYS_mknodat, AT_FDCWD, target, S_IFIFO | 0644, 0); }
static long MknodSocket(void) { return syscall(SYS_mknodat, AT_FDCWD, target, S_IFSOCK | 0644, 0); }
static long Renameat(void) { return syscall(SYS_renameat2, AT_FDCWD, File(), AT_FDCWD, target, 0); }
static long RenameFolder(void) { return renameat(AT_FDCWD, Folder(), AT_FDCWD, target); }
static long RenameNoReplace(void) {
  return syscall(SYS_renameat2, AT_FDCWD, File(), AT_FDCWD, target, 1);
}
static long RenameWhiteout(void) {
  return syscall(SYS_renameat2, AT_FDCWD, File(), AT_FDCWD, target, 4);
}
static long RenameAtFolder(void) {
  const char* name;
  const int folder = Parent(&name);
  return renameat(AT_FDCWD, File(), folder, name);
}
static long Linkat(void) { return linkat(AT_FDCWD, File(), AT_FDCWD, target, 0); }
static long LinkDescriptor(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", open(File(), O_RDWR));
  return linkat(AT_FDCWD, path, AT_FDCWD, target, AT_SYMLINK_FOLLOW);
}
static long LinkEmpty(void) {
  return linkat(open(File(), O_RDWR), "", AT_FDCWD, target, AT_EMPTY_PATH);
}
static long LinkTemporary(void) {
  char path[64];
  const int fd = open(scratch, O_TMPFILE | O_RDWR, 0644);
  if (fd < 0) return -1;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, path, AT_FDCWD, target, AT_SYMLINK_FOLLOW);
}
static long LinkTemporaryEmpty(void) {
  const int fd = open(scratch, O_TMPFILE | O_RDWR, 0644);
  return fd < 0 ? -1 : linkat(fd, "", AT_FDCWD, target, AT_EMPTY_PATH);
}
static long Symlinkat(void) { return symlinkat("made-by-make", AT_FDCWD, target); }
static long CreateThroughLink(void) {
  // A link that points to nothing: O_CREAT makes what it points to.
  char link[PATH_MAX + 64], real[PATH_MAX];
  snprintf(link, sizeof link, "%s/link-of-make", scratch);
  unlink(link);
  if (target[0] != '/') {
    char here[PATH_MAX];
    if (snprintf(real, sizeof real, "%s/%s", getcwd(here, sizeof here), target) < 0) return -1;
  } else {
    strcpy(real, target);
  }
  if (symlink(real, link) != 0) return -1;
  return Closed(openat(AT_FDCWD, link, O_CREAT | O_WRONLY, 0644));
}
static long CreateThroughCwd(void) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "/proc/%s%s", target[0] == '/' ? "self/root" : "thread-self/cwd/",
           target);
  return Closed(openat(AT_FDCWD, path, O_CREAT | O_WRONLY, 0644));
}
static long CreateThroughDescriptor(void) {
  const char* name;
  char path[PATH_MAX];
  const int folder = Parent(&name);
  snprintf(path, sizeof path, "/dev/fd/%d/%s", folder, name);
  return Closed(openat(AT_FDCWD, path, O_CREAT | O_WRONLY, 0644));
}
static long Bind(int type) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const char* name;
  const int folder = Parent(&name);
  // Shorter than sun_path, however deep the target lies.
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, name);
  return bind(socket(AF_UNIX, type, 0), (struct sockaddr*)&address, sizeof address);
}
static long BindStream(void) { return Bind(SOCK_STREAM); }
static long BindPackets(void) { return Bind(SOCK_SEQPACKET); }
static long BindDatagram(void) { return Bind(SOCK_DGRAM); }
static long BindUnterminated(void) {
  // The kernel adds the NUL that the length leaves out.
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const char* name;
  const int folder = Parent(&name);
  const int length =
      snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, name);
  memset(address.sun_path + length, 'x', sizeof address.sun_path - (size_t)length);
  return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr*)&address,
              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length));
}
static long ByHandle(void) {
  // Opens the target's directory by its handle, then makes the name below that.
  union {
    struct file_handle head;
    char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
  } handle = {.head.handle_bytes = MAX_HANDLE_SZ};
  const char* name;
  const int folder = Parent(&name);
  int mount;
  if (name_to_handle_at(folder, "", &handle.head, &mount, AT_EMPTY_PATH) != 0) return -1;
  const int again = open_by_handle_at(open(".", O_RDONLY), &handle.head, O_RDONLY);
  return again < 0 ? -1 : Closed(openat(again, name, O_CREAT | O_WRONLY, 0644));
}

// One submission on a ring of its own.
static long Ring(struct io_uring_sqe entry) {
  struct io_uring_params setup = {0};
  const int ring = (int)syscall(SYS_io_uring_setup, 4, &setup);
  if (ring < 0) return -1;
  char* sq = mmap(NULL, setup.sq_off.array + setup.sq_entries * 4, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
  char* cq = mmap(NULL, setup.cq_off.cqes + setup.cq_entries * sizeof(struct io_uring_cqe),
                  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
  struct io_uring_sqe* entries = mmap(NULL, setup.sq_entries * sizeof entry, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
  if (sq == MAP_FAILED || cq == MAP_FAILED || entries == MAP_FAILED) return -1;
  entries[0] = entry;
  *(unsigned*)(sq + setup.sq_off.array) = 0;
  __atomic_store_n((unsigned*)(sq + setup.sq_off.tail), 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) return -1;
  const int result = ((struct io_uring_cqe*)(cq + setup.cq_off.cqes))->res;
  close(ring);
  if (result >= 0) return 0;
  errno = -result;
  return -1;
}
static long RingOpen(void) {
  return Ring((struct io_uring_sqe){.opcode = IORING_OP_OPENAT,
                                    .fd = AT_FDCWD,
                                    .addr = (uintptr_t)target,
                                    .len = 0644,
                                    .open_flags = O_CREAT | O_WRONLY});
}
static long RingMkdir(void) {
  return Ring((struct io_uring_sqe){
      .opcode = IORING_OP_MKDIRAT, .fd = AT_FDCWD, .addr = (uintptr_t)target, .len = 0755});
}
static long RingRename(void) {
  return Ring((struct io_uring_sqe){.opcode = IORING_OP_RENAMEAT,
                                    .fd = AT_FDCWD,
                                    .addr = (uintptr_t)File(),
                                    .len = (unsigned)AT_FDCWD,
                                    .addr2 = (uintptr_t)target});
}
static long RingLink(void) {
  return Ring((struct io_uring_sqe){.opcode = IORING_OP_LINKAT,
                                    .fd = AT_FDCWD,
                                    .addr = (uintptr_t)File(),
                                    .len = (unsigned)AT_FDCWD,
                                    .addr2 = (uintptr_t)target});
}
static long RingSymlink(void) {
  return Ring((struct io_uring_sqe){.opcode = IORING_OP_SYMLINKAT,
                                    .fd = AT_FDCWD,
                                    .addr = (uintptr_t)"made-by-make",
                                    .addr2 = (uintptr_t)target});
}

#ifdef __x86_64__
static long OldOpen(void) { return Closed(syscall(SYS_open, target, O_CREAT | O_WRONLY, 0644)); }
static long Creat(void) { return Closed(syscall(SYS_creat, target, 0644)); }
static long OldMkdir(void) { return syscall(SYS_mkdir, target, 0755); }
static long OldMknod(void) { return syscall(SYS_mknod, target, S_IFREG | 0644, 0); }
static long OldRename(void) { return syscall(SYS_rename, File(), target); }
static long OldRenameat(void) { return syscall(SYS_renameat, AT_FDCWD, File(), AT_FDCWD, target); }
static long OldLink(void) { return syscall(SYS_link, File(), target); }
static long OldSymlink(void) { return syscall(SYS_symlink, "made-by-make", target); }

// By the 32-bit entry, with everything that it reads below 4 GiB.
static char* Low(const char* text) {
  char* room =
      mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  return room == MAP_FAILED ? NULL : strcpy(room, text);
}
static long Int80(long number, const void* a, long b, long c) {
  long result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(number), "b"(a), "c"(b), "d"(c)
                   : "r8", "r9", "r10", "r11", "memory");
  if ((int)result >= 0) return (int)result;
  errno = -(int)result;
  return -1;
}
static long Int80Open(void) { return Closed(Int80(5, Low(target), O_CREAT | O_WRONLY, 0644)); }
static long Int80Creat(void) { return Closed(Int80(8, Low(target), 0644, 0)); }
static long Int80Mkdir(void) { return Int80(39, Low(target), 0755, 0); }
static long Int80Rename(void) { return Int80(38, Low(File()), (long)Low(target), 0); }
static long Int80Socketcall(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(target) >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  strcpy(address.sun_path, target);
  char* low = Low("");
  memcpy(low, &address, sizeof address);
  uint32_t* arguments = (uint32_t*)(low + 512);
  arguments[0] = (uint32_t)socket(AF_UNIX, SOCK_STREAM, 0);
  arguments[1] = (uint32_t)(uintptr_t)low;
  arguments[2] = sizeof address;
  return Int80(102, (const void*)2, (long)arguments, 0);
}
static long X32Open(void) {
  return Closed(syscall(0x40000000 | SYS_open, target, O_CREAT | O_WRONLY, 0644));
}
static long X32Mkdir(void) { return syscall(0x40000000 | SYS_mkdir, target, 0755); }
#endif

static const struct {
  const char* name;
  long (*make)(void);
} kWays[] = {
    {"openat", Open},
    {"openat-to-read", OpenToRead},
    {"openat-exclusive", OpenExclusive},
    {"openat-append", OpenAppend},
    {"openat-no-follow", OpenNoFollow},
    {"openat-folder", OpenAtFolder},
    {"openat-high-bits", OpenHighBits},
    {"openat-unknown-bits", OpenUnknownBits},
    {"openat2", Openat2},
    {"mkdirat", Mkdirat},
    {"mkdirat-slash", MkdirSlash},
    {"mknodat-regular", MknodRegular},
    {"mknodat-none", MknodNone},
    {"mknodat-pipe", MknodPipe},
    {"mknodat-socket", MknodSocket},
    {"renameat2", Renameat},
    {"renameat-folder", RenameFolder},
    {"renameat2-no-replace", RenameNoReplace},
    {"renameat2-whiteout", RenameWhiteout},
    {"renameat-into", RenameAtFolder},
    {"linkat", Linkat},
    {"linkat-descriptor", LinkDescriptor},
    {"linkat-empty", LinkEmpty},
    {"linkat-temporary", LinkTemporary},
    {"linkat-temporary-empty", LinkTemporaryEmpty},
    {"symlinkat", Symlinkat},
    {"create-through-link", CreateThroughLink},
    {"create-through-cwd", CreateThroughCwd},
    {"create-through-descriptor", CreateThroughDescriptor},
    {"bind-stream", BindStream},
    {"bind-packets", BindPackets},
    {"bind-datagram", BindDatagram},
    {"bind-unterminated", BindUnterminated},
    {"by-handle", ByHandle},
    {"ring-openat", RingOpen},
    {"ring-mkdirat", RingMkdir},
    {"ring-renameat", RingRename},
    {"ring-linkat", RingLink},
    {"ring-symlinkat", RingSymlink},
#ifdef __x86_64__
    {"open", OldOpen},
    {"creat", Creat},
    {"mkdir", OldMkdir},
    {"mknod", OldMknod},
    {"rename", OldRename},
    {"renameat", OldRenameat},
    {"link", OldLink},
    {"symlink", OldSymlink},
    {"x32-open", X32Open},
    {"x32-mkdir", X32Mkdir},
    {"int80-open", Int80Open},
    {"int80-creat", Int80Creat},
    {"int80-mkdir", Int80Mkdir},
    {"int80-rename", Int80Rename},
    {"int80-socketcall", Int80Socketcall},
#endif
};

static int Wanted(const char* name, int argc, char** argv) {
  for (int i = 3; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return 1;
  }
  return argc == 3;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[1], "list") == 0) {
    for (size_t i = 0; i < sizeof kWays / sizeof *kWays; ++i) puts(kWays[i].name);
    return 0;
  }
  snprintf(scratch, sizeof scratch, "%s", argv[2]);
  for (size_t i = 0; i < sizeof kWays / sizeof *kWays; ++i) {
    if (!Wanted(kWays[i].name, argc, argv)) continue;
    const char* mark = strstr(argv[1], "%s");
    if (mark == NULL) return 2;
    snprintf(target, sizeof target, "%.*s%s%s", (int)(mark - argv[1]), argv[1], kWays[i].name,
             mark + 2);
    const long done = kWays[i].make();
    const int error = errno;
    printf("%s %s\n", kWays[i].name, done < 0 ? strerrorname_np(error) : "ok");
    fflush(stdout);
  }
  return 0;
}
