// What a filter and a notification cost by themselves: no path is read, nothing is decided.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "bench/measure.h"
#include "bench/work.h"

namespace cordon::bench {
namespace {

constexpr unsigned kWaitKillable = 1u << 5;  // Linux 5.19
constexpr unsigned long kSetFlags = _IOW('!', 4, std::uint64_t);
constexpr unsigned long kSyncWakeUp = 1;

void Check(bool ok, const char* what) {
  if (!ok) Die(std::string(what) + ": " + std::strerror(errno));
}

int Install(std::vector<sock_filter> code, unsigned flags) {
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  Check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  const long fd = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  Check(fd >= 0, "seccomp");
  return static_cast<int>(fd);
}

std::vector<sock_filter> TrappingProgram() {
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  for (const int nr : {
#ifdef SYS_mkdir
           SYS_mkdir, SYS_rename,
#endif
           SYS_mkdirat, SYS_renameat2, SYS_execve}) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(nr), 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return code;
}

void Send(int socket, int fd) {
  char byte = 0;
  iovec iov{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  Check(::sendmsg(socket, &message, 0) == 1, "sendmsg");
}

int Receive(int socket) {
  char byte;
  iovec iov{&byte, 1};
  int fd = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  Check(::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1, "recvmsg");
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

[[noreturn]] void Answer(int listener) {
  (void)::ioctl(listener, kSetFlags, kSyncWakeUp);  // as Cordon does; from Linux 6.6
  union {
    seccomp_notif call;
    char bytes[512];
  } received;
  for (;;) {
    std::memset(&received, 0, sizeof received);
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &received) != 0) continue;
    seccomp_notif_resp response{};
    response.id = received.call.id;
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    (void)::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
  }
}

}  // namespace

void AllowEverything() { (void)Install({BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}, 0); }

void TrapAndContinue() {
  int pair[2];
  Check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
  // Only the worker is a child of this process: its end is this one's.
  ::signal(SIGCHLD, [](int) { ::_exit(0); });
  const pid_t child = ::fork();
  Check(child >= 0, "fork");
  if (child == 0) {
    ::signal(SIGCHLD, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    const int listener =
        Install(TrappingProgram(),
                SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW | kWaitKillable);
    Send(pair[0], listener);
    ::close(listener);
    return;
  }
  Answer(Receive(pair[1]));
}

}  // namespace cordon::bench
