#include "launcher/masks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/channel.h"

namespace cordon::launcher {

using jail::wire::Type;

// allow_other: else only processes with all of init's ids may look. What is not of the session's
// user namespace still may not.
int MountServedMasks() {
  int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return -1;
  char options[128];
  ::snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other",
             device, ::geteuid(), ::getegid());
  if (::mount("cordon-masks", kServedMasks, "fuse", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0)
    return device;
  int error = errno;
  ::close(device);
  errno = error;
  return -1;
}

void LearnServedMasks() {
  int fd = ::open(kServedMasks, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  alignas(8) static char buffer[16 * 1024];
  while (::syscall(SYS_getdents64, fd, buffer, sizeof buffer) > 0) {
  }
  ::close(fd);
}

void TellSession(int server) {
  int fds[2] = {::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
                ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)};
  if (fds[0] >= 0 && fds[1] >= 0) SendTo(server, Type::kSessionProc, 0, nullptr, 0, fds, 2);
  for (int fd : fds)
    if (fd >= 0) ::close(fd);
}

void TellLeader(int server, std::uint32_t exec) {
  if (server < 0) return;
  auto pid = static_cast<std::uint32_t>(::getpid());
  SendTo(server, Type::kExecLeader, exec, &pid, sizeof pid, nullptr, 0);
}

}  // namespace cordon::launcher
