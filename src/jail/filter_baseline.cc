// Why the default is to allow: builds, package managers and debuggers between them use almost
// every harmless call, and one that is missing from an allow-list fails in ways nobody can trace
// (a test suite that hangs, a build that silently skips a step). What confines a command are its
// namespaces, its mounts and its lack of capabilities; the filter takes away what those leave
// open, and everything that nobody has reviewed yet.
//
// Left open on purpose: ptrace, process_vm_*, pidfd_*, kcmp (the pid namespace holds no process
// of others); System V and POSIX IPC (own namespace); seccomp and Landlock (a program may confine
// itself further); adjtimex (reading the clock's state; setting it takes a capability of the host).
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <iterator>
#include <span>

#include "jail/filter_builder.h"

namespace cordon::jail {
namespace {

// Calls that are refused whatever their arguments.
struct Refusal {
  Call call;
  int error;
  const char* reason;
};

constexpr const char* kMounts = "the mount table is the boundary";
constexpr const char* kKeys =
    "keyrings of the host, and of the user outside, are not in any namespace";
constexpr const char* kModules = "loads code into the kernel";
constexpr const char* kTime = "sets the clock of the whole machine";
constexpr const char* kRings = "performs calls that no filter sees";
constexpr const char* kSwap = "changes the memory of the whole machine";
constexpr const char* kDead = "obsolete; kept closed so that nothing old answers";

constexpr Refusal kNesting[] = {
    {{"mount", 165, 40}, EPERM, kMounts},
    {{"umount2", 166, 39}, EPERM, kMounts},
    {{"pivot_root", 155, 41}, EPERM, kMounts},
    {{"chroot", 161, 51}, EPERM, "a changed root confuses rules that name paths"},
    {{"open_tree", 428, 428}, EPERM, kMounts},
    {{"move_mount", 429, 429}, EPERM, kMounts},
    {{"fsopen", 430, 430}, EPERM, kMounts},
    {{"fsconfig", 431, 431}, EPERM, kMounts},
    {{"fsmount", 432, 432}, EPERM, kMounts},
    {{"fspick", 433, 433}, EPERM, kMounts},
    {{"mount_setattr", 442, 442}, EPERM, kMounts},
    {{"open_tree_attr", 467, 467}, EPERM, kMounts},
    {{"setns", 308, 268}, EPERM, "enters other namespaces"},
    {{"clone3", 435, 435},
     ENOSYS,
     "its flags are behind a pointer; every C library then uses clone"},
};

constexpr Refusal kAlways[] = {
    {{"statmount", 457, 457}, ENOSYS, "tells about mounts beyond /proc/self/mountinfo"},
    {{"listmount", 458, 458}, ENOSYS, "tells about mounts beyond /proc/self/mountinfo"},
    {{"add_key", 248, 217}, ENOSYS, kKeys},
    {{"request_key", 249, 218}, ENOSYS, kKeys},
    {{"keyctl", 250, 219}, ENOSYS, kKeys},
    {{"bpf", 321, 280}, EPERM, "programs and maps inside the kernel"},
    {{"perf_event_open", 298, 241}, EACCES, "measures the kernel and other processes"},
    {{"userfaultfd", 323, 282},
     EPERM,
     "stops the kernel in the middle of a copy; a tool of exploits"},
    {{"memfd_secret", 447, 447}, ENOSYS, "memory that no debugger or monitor can read"},
    {{"kexec_load", 246, 104}, EPERM, "replaces the kernel"},
    {{"kexec_file_load", 320, 294}, EPERM, "replaces the kernel"},
    {{"init_module", 175, 105}, EPERM, kModules},
    {{"finit_module", 313, 273}, EPERM, kModules},
    {{"delete_module", 176, 106}, EPERM, kModules},
    {{"open_by_handle_at", 304, 265}, EPERM, "opens files past every path rule and mount"},
    {{"fanotify_init", 300, 262}, EPERM, "watches whole mounts; inotify remains"},
    {{"io_uring_setup", 425, 425}, ENOSYS, kRings},
    {{"io_uring_enter", 426, 426}, ENOSYS, kRings},
    {{"io_uring_register", 427, 427}, ENOSYS, kRings},
    {{"lsm_set_self_attr", 460, 460}, EPERM, "changes the security label"},
    {{"swapon", 167, 224}, EPERM, kSwap},
    {{"swapoff", 168, 225}, EPERM, kSwap},
    {{"reboot", 169, 142}, EPERM, "stops the machine"},
    {{"acct", 163, 89}, EPERM, "writes a log of every process of the machine"},
    {{"quotactl", 179, 60}, EPERM, "quotas of the host's users"},
    {{"quotactl_fd", 443, 443}, EPERM, "quotas of the host's users"},
    {{"settimeofday", 164, 170}, EPERM, kTime},
    {{"clock_settime", 227, 112}, EPERM, kTime},
    {{"syslog", 103, 116}, EPERM, "the kernel's log tells about the host"},
    {{"vhangup", 153, 58}, EPERM, "hangs up the terminal of others"},
    {{"iopl", 172, -1}, EPERM, "direct access to devices"},
    {{"ioperm", 173, -1}, EPERM, "direct access to devices"},
    {{"modify_ldt", 154, -1}, ENOSYS, "segments for 16-bit code; a source of kernel faults"},
    {{"uselib", 134, -1}, ENOSYS, kDead},
    {{"_sysctl", 156, -1}, ENOSYS, kDead},
    {{"create_module", 174, -1}, ENOSYS, kDead},
    {{"get_kernel_syms", 177, -1}, ENOSYS, kDead},
    {{"query_module", 178, -1}, ENOSYS, kDead},
    {{"nfsservctl", 180, 42}, ENOSYS, kDead},
    {{"lookup_dcookie", 212, 18}, ENOSYS, kDead},
};

constexpr Call kClone{"clone", 56, 220};
constexpr Call kUnshare{"unshare", 272, 97};
constexpr Call kOpenat2{"openat2", 437, 437};
constexpr Call kPersonality{"personality", 135, 92};
constexpr Call kIoctl{"ioctl", 16, 29};
constexpr Call kSocket{"socket", 41, 198};
constexpr Call kSocketpair{"socketpair", 53, 199};
constexpr Call kMknod{"mknod", 133, -1};
constexpr Call kMknodat{"mknodat", 259, 33};
constexpr Call kRenameat2{"renameat2", 316, 276};
constexpr Call kPrlimit64{"prlimit64", 302, 261};
constexpr Call kSetpriority{"setpriority", 141, 140};
constexpr Call kIoprioSet{"ioprio_set", 251, 30};
constexpr Call kScheduling[] = {{"sched_setparam", 142, 118},
                                {"sched_setscheduler", 144, 119},
                                {"sched_setaffinity", 203, 122},
                                {"sched_setattr", 314, 274}};

// Reviewed up to Linux 6.18. The holes are left out: calls are put into them (uprobe in 6.18).
constexpr CallRange kReviewedX86_64[] = {{0, 336}, {424, 469}};
constexpr CallRange kReviewedAarch64[] = {{0, 243}, {260, 294}, {424, 469}};

// Closed by construction: what nobody reviewed is unknown.
FilterSpec EmptySpec(Arch arch) {
  FilterSpec spec;
  spec.arch = AuditArch(arch);
  // A program of another machine whose every call fails spins or crashes without a word
  // (musl's exit loops until it works); SIGSYS says what happened.
  spec.foreign_action = SECCOMP_RET_KILL_PROCESS;
  spec.default_action = kAllow;
  spec.unknown_action = Refuse(ENOSYS);
  if (arch == Arch::kX86_64) {
    spec.reviewed.assign(std::begin(kReviewedX86_64), std::end(kReviewedX86_64));
  } else {
    spec.reviewed.assign(std::begin(kReviewedAarch64), std::end(kReviewedAarch64));
  }
  return spec;
}

using Builder = FilterBuilder;

void Add(Builder& b, std::span<const Refusal> refusals) {
  for (const Refusal& r : refusals) b.Add(r.call, {}, Refuse(r.error), "", r.reason);
}

void AddNamespaces(Builder& b) {
  constexpr std::uint64_t kNew = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  b.Add(kClone, {HasAny(0, kNew)}, Refuse(EPERM), "flags make a namespace",
        "a new user namespace has every capability over the kernel's entry points");
  // Named the other way round: a flag that is invented later is refused.
  constexpr std::uint64_t kHarmless =
      CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;
  b.Add(kUnshare, {HasAny(0, ~kHarmless)}, Refuse(EPERM), "flags other than those of threads",
        "a new user namespace has every capability over the kernel's entry points");
}

void AddPersonality(Builder& b) {
  const char* why = "address layout, or the query that changes nothing";
  b.Add(kPersonality, {Is(0, PER_LINUX)}, kAllow, "PER_LINUX", why);
  b.Add(kPersonality, {Is(0, 0xffffffff)}, kAllow, "query", why);
  b.Add(kPersonality, {Is(0, ADDR_NO_RANDOMIZE)}, kAllow, "ADDR_NO_RANDOMIZE",
        "debuggers start programs with it");
  b.Add(kPersonality, {}, Refuse(EPERM), "others",
        "emulation of other systems, executable data, a mapped page zero");
}

void AddTerminal(Builder& b) {
  struct Request {
    std::uint64_t number;
    const char* name;
    const char* reason;
  };
  constexpr Request kRequests[] = {
      {0x5412, "TIOCSTI", "types into the terminal on behalf of the user"},
      {0x541c, "TIOCLINUX", "selection and paste of the console"},
      {0x541d, "TIOCCONS", "takes the console's output"},
      {0x5423, "TIOCSETD", "loads line disciplines"},
  };
  for (const Request& r : kRequests) {
    b.Add(kIoctl, {Is(1, r.number)}, Refuse(EPERM), r.name, r.reason);
  }
}

// SOCK_CLOEXEC and SOCK_NONBLOCK stand above the type's four bits.
constexpr std::uint64_t kTypeMask = 0xf;
constexpr unsigned kDomain = 0, kType = 1, kProtocol = 2;

void AddUnixDatagram(Builder& b, const Call& call) {
  const char* why = "a datagram reaches any socket path by sendto, which a filter cannot read";
  b.Add(call, {Is(kDomain, AF_UNIX), Is(kType, SOCK_DGRAM, kTypeMask)}, Refuse(EACCES),
        "AF_UNIX SOCK_DGRAM", why);
  // The kernel makes a datagram socket of it (unix_create).
  b.Add(call, {Is(kDomain, AF_UNIX), Is(kType, SOCK_RAW, kTypeMask)}, Refuse(EACCES),
        "AF_UNIX SOCK_RAW", why);
}

void AddInternet(Builder& b, std::uint64_t domain, std::uint64_t ping, const char* name) {
  const char* tcp = "streams are TCP; MPTCP, SCTP, SMC would pass rules made for TCP";
  const char* udp = "datagrams are UDP; ping sockets and UDP-Lite are refused";
  const Checks stream{Is(kDomain, domain), Is(kType, SOCK_STREAM, kTypeMask)};
  const Checks datagram{Is(kDomain, domain), Is(kType, SOCK_DGRAM, kTypeMask)};
  auto with = [](Checks checks, std::uint64_t protocol) {
    checks.push_back(Is(kProtocol, protocol));
    return checks;
  };
  b.Add(kSocket, with(stream, 0), kAllow, name, tcp);
  b.Add(kSocket, with(stream, IPPROTO_TCP), kAllow, name, tcp);
  b.Add(kSocket, with(datagram, 0), kAllow, name, udp);
  b.Add(kSocket, with(datagram, IPPROTO_UDP), kAllow, name, udp);
  b.Add(kSocket, with(datagram, ping), Refuse(EPERM), name, udp);
  b.Add(kSocket, {Is(kDomain, domain), Is(kType, SOCK_RAW, kTypeMask)}, Refuse(EPERM), name,
        "raw sockets forge packets");
  b.Add(kSocket, {Is(kDomain, domain), Is(kType, SOCK_PACKET, kTypeMask)}, Refuse(EPERM), name,
        "the old spelling of a packet socket");
  b.Add(kSocket, {Is(kDomain, domain)}, Refuse(EPROTONOSUPPORT), name,
        "other protocols: SCTP, DCCP, MPTCP, SMC");
}

void AddSockets(Builder& b, const FilterOptions& options) {
  if (!options.allow_unix_datagram) AddUnixDatagram(b, kSocket);
  b.Add(kSocket, {Is(kDomain, AF_UNIX)}, kAllow, "AF_UNIX", "between processes of the session");
  AddInternet(b, AF_INET, IPPROTO_ICMP, "AF_INET");
  AddInternet(b, AF_INET6, IPPROTO_ICMPV6, "AF_INET6");
  b.Add(kSocket, {Is(kDomain, AF_NETLINK), Is(kProtocol, 0)}, kAllow, "AF_NETLINK, NETLINK_ROUTE",
        "resolvers ask for interfaces and addresses");
  b.Add(kSocket, {Is(kDomain, AF_NETLINK)}, Refuse(EPROTONOSUPPORT), "AF_NETLINK, other protocols",
        "device events, audit, firewall, crypto");
  b.Add(kSocket, {}, Refuse(EAFNOSUPPORT), "other families",
        "vsock leaves the virtual machine; packet, AF_ALG, Bluetooth, XDP reach kernel code");
  if (!options.allow_unix_datagram) AddUnixDatagram(b, kSocketpair);
  b.Add(kSocketpair, {Is(kDomain, AF_UNIX)}, kAllow, "AF_UNIX", "between processes of the session");
  b.Add(kSocketpair, {}, Refuse(EAFNOSUPPORT), "other families", "only TIPC has such pairs");
}

// init has the ids of the commands, and these calls ask for nothing more (capabilities, which the
// kernel compares for some of them, are the same where bubblewrap made the session). An init
// without descriptors, or one that never gets the processor, holds no time limit and ends no
// session.
void AddInit(Builder& b) {
  const char* why = "init ends the session and holds the time limit";
  constexpr std::uint64_t kInit = 1;
  b.Add(kPrlimit64, {Is(0, kInit), HasAny(2, ~0ull)}, Refuse(EPERM), "sets a limit of init", why);
  for (const Call& call : kScheduling) {
    b.Add(call, {Is(0, kInit)}, Refuse(EPERM), "names init", why);
  }
  const char* all = "init is a process of the same user";
  b.Add(kSetpriority, {Is(0, PRIO_PROCESS), Is(1, kInit)}, Refuse(EPERM), "names init", why);
  b.Add(kSetpriority, {Is(0, PRIO_USER)}, Refuse(EPERM), "PRIO_USER", all);
  // linux/ioprio.h: IOPRIO_WHO_PROCESS is 1, IOPRIO_WHO_USER is 3.
  b.Add(kIoprioSet, {Is(0, 1), Is(1, kInit)}, Refuse(EPERM), "names init", why);
  b.Add(kIoprioSet, {Is(0, 3)}, Refuse(EPERM), "IOPRIO_WHO_USER", all);
}

void AddDevices(Builder& b) {
  struct Form {
    Call call;
    unsigned mode;
  };
  constexpr Form kForms[] = {{kMknod, 1}, {kMknodat, 2}};
  for (const Form& f : kForms) {
    b.Add(f.call, {Is(f.mode, S_IFBLK, S_IFMT)}, Refuse(EPERM), "block device",
          "a disk behind every rule");
    b.Add(f.call, {Is(f.mode, S_IFCHR, S_IFMT)}, Refuse(EPERM), "character device",
          "devices, and the whiteouts of overlay file systems");
  }
  b.Add(kRenameat2, {HasAny(4, 1u << 2)}, Refuse(EINVAL), "RENAME_WHITEOUT",
        "makes a character device; file systems without whiteouts answer the same");
}

}  // namespace

FilterSpec BaselineSpec(const FilterOptions& options) {
  Builder b(options.arch, EmptySpec(options.arch));
  if (!options.allow_nested_sandbox) {
    AddNamespaces(b);
    Add(b, kNesting);
  }
  Add(b, kAlways);
  AddPersonality(b);
  AddTerminal(b);
  AddSockets(b, options);
  AddDevices(b);
  AddInit(b);
  AddSupervision(b, options.supervise);
  if (options.refuse_openat2 || options.supervise.names || options.supervise.reads) {
    b.Add(kOpenat2, {}, Refuse(ENOSYS), "", "its flags are behind a pointer; programs use openat");
  }
  return b.Take();
}

}  // namespace cordon::jail
