// reach VERB ARGUMENTS: sockets, terminals, descriptors and special files that lead outside.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int Line(const char* name, long value) {
  printf("%s %s\n", name, value == -1 ? strerrorname_np(errno) : "ok");
  fflush(stdout);
  return 0;
}

// A leading @ means an abstract name.
static socklen_t UnixAddress(const char* name, struct sockaddr_un* address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  strncpy(address->sun_path, name, sizeof address->sun_path - 1);
  if (name[0] == '@') address->sun_path[0] = 0;
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (name[0] != '@'));
}
static int UnixStream(const char* name) {
  struct sockaddr_un address;
  const socklen_t length = UnixAddress(name, &address);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  long done = connect(fd, (struct sockaddr*)&address, length);
  if (done == 0) done = write(fd, "escaped", 7);
  return Line("stream", done);
}
static int UnixDatagram(const char* name) {
  struct sockaddr_un address;
  const socklen_t length = UnixAddress(name, &address);
  struct iovec part = {(void*)"escaped", 7};
  const struct msghdr message = {
      .msg_name = &address, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
  int pair[2] = {-1, -1};
  Line("socket", sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "escaped", 7, MSG_DONTWAIT,
                        (struct sockaddr*)&address, length));
  Line("raw", sendto(socket(AF_UNIX, SOCK_RAW, 0), "escaped", 7, MSG_DONTWAIT,
                     (struct sockaddr*)&address, length));
  Line("pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
  Line("pair-sendto",
       sendto(pair[0], "escaped", 7, MSG_DONTWAIT, (struct sockaddr*)&address, length));
  Line("pair-sendmsg", sendmsg(pair[0], &message, MSG_DONTWAIT));
  // Connected pairs of the kinds that are allowed must not carry an address either.
  for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type += SOCK_SEQPACKET - SOCK_STREAM) {
    if (socketpair(AF_UNIX, type, 0, pair) != 0) continue;
    Line(type == SOCK_STREAM ? "stream-sendto" : "seqpacket-sendto",
         sendto(pair[0], "escaped", 7, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr*)&address,
                length));
  }
  return 0;
}
// Listens, connects and exchanges a byte within the session.
static int UnixOwn(const char* name) {
  struct sockaddr_un address;
  const socklen_t length = UnixAddress(name, &address);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
  char byte = 0;
  if (bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 1) != 0 ||
      connect(client, (struct sockaddr*)&address, length) != 0 || write(client, "x", 1) != 1 ||
      read(accept(listener, NULL, NULL), &byte, 1) != 1) {
    return Line("own", -1);
  }
  return Line("own", 0);
}
static int Inet(const char* host, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, host, &address.sin_addr);
  const struct sockaddr* to = (struct sockaddr*)&address;
  Line("tcp", connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), to, sizeof address) == 0 ||
                      errno == EINPROGRESS
                  ? 0
                  : -1);
  return Line("udp", sendto(socket(AF_INET, SOCK_DGRAM, 0), "escaped", 7, 0, to, sizeof address));
}
static int Interfaces(void) {
  struct if_nameindex* all = if_nameindex();
  if (all == NULL) return Line("interfaces", -1);
  for (; all->if_index != 0; ++all) printf("%s\n", all->if_name);
  return 0;
}

static int Terminal(void) {
  struct stat state;
  const int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
  Line("tty", tty);
  if (isatty(0) && fstat(0, &state) == 0) {
    printf("input %lu %lu\n", (unsigned long)state.st_dev, (unsigned long)state.st_ino);
  } else {
    printf("input none\n");
  }
  return 0;
}
// Types into the terminal on 0; the kernel drops the upper half of the request.
static int Push(void) {
  const unsigned long high = 0xdeadbeef00000000ul;
  char byte = 'Q', selection = 3;
  Line("sti", syscall(SYS_ioctl, 0, 0x5412ul, &byte));
  Line("sti-high", syscall(SYS_ioctl, 0, high | 0x5412, &byte));
  Line("linux", syscall(SYS_ioctl, 0, 0x541cul, &selection));
  Line("linux-high", syscall(SYS_ioctl, 0, high | 0x541c, &selection));
  int discipline = 0;
  Line("setd", syscall(SYS_ioctl, 0, 0x5423ul, &discipline));
  struct winsize size;
  return Line("size", ioctl(0, TIOCGWINSZ, &size));
}

static int Descriptors(void) {
  for (int fd = 0; fd < 65536; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) printf("%d\n", fd);
  }
  return 0;
}

// Regular files below a directory that can be opened for writing (nothing is written).
static int Writable(const char* path, const struct stat* state, int type, struct FTW* where) {
  (void)where;
  if (type == FTW_F && S_ISREG(state->st_mode)) {
    const int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
      printf("%s\n", path);
      close(fd);
    }
  }
  // Processes have their own files, which are another test's.
  const char* proc = "/proc/";
  if (strncmp(path, proc, 6) == 0 && path[6] >= '0' && path[6] <= '9') return FTW_SKIP_SUBTREE;
  return FTW_CONTINUE;
}
static int Device(const char* path, const struct stat* state, int type, struct FTW* where) {
  (void)where;
  (void)type;
  if (S_ISBLK(state->st_mode)) printf("block %s\n", path);
  if (S_ISCHR(state->st_mode)) printf("char %s\n", path);
  return FTW_CONTINUE;
}

int main(int argc, char** argv) {
  const char* verb = argc > 1 ? argv[1] : "";
  const char* a = argc > 2 ? argv[2] : "";
  const char* b = argc > 3 ? argv[3] : "0";
#define VERB(name, expression) \
  if (strcmp(verb, name) == 0) return expression
  VERB("unix-stream", UnixStream(a));
  VERB("unix-datagram", UnixDatagram(a));
  VERB("unix-own", UnixOwn(a));
  VERB("inet", Inet(a, atoi(b)));
  VERB("interfaces", Interfaces());
  VERB("terminal", Terminal());
  VERB("push", Push());
  VERB("descriptors", Descriptors());
  VERB("writable", nftw(a, Writable, 32, FTW_PHYS | FTW_ACTIONRETVAL));
  VERB("devices", nftw(a, Device, 32, FTW_PHYS | FTW_ACTIONRETVAL));
  fprintf(stderr, "reach: no verb %s\n", verb);
  return 2;
}
