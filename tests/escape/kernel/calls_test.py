#!/usr/bin/env python3
"""System calls that a command must not make (rows 2, 23, 29, 34): each is made inside for real."""
import platform

import harness

REFUSED = {
    # New namespaces, and ways into others.
    "clone_user": "EPERM", "clone_user_mount": "EPERM", "clone_pid": "EPERM", "clone3": "ENOSYS",
    "unshare_user": "EPERM", "unshare_mount": "EPERM", "unshare_net": "EPERM",
    "unshare_ipc": "EPERM", "unshare_uts": "EPERM", "unshare_pid": "EPERM",
    "unshare_cgroup": "EPERM", "unshare_time": "EPERM", "setns_uts": "EPERM",
    "setns_user": "EPERM",
    # Mounts.
    "mount": "EPERM", "remount_root": "EPERM", "umount2": "EPERM", "pivot_root": "EPERM",
    "chroot": "EPERM", "open_tree": "EPERM", "move_mount": "EPERM", "fsopen": "EPERM",
    "fspick": "EPERM", "mount_setattr": "EPERM", "open_tree_attr": "EPERM", "listmount": "ENOSYS",
    # The kernel itself.
    "bpf": "EPERM", "perf_event_open": "EACCES", "userfaultfd": "EPERM", "memfd_secret": "ENOSYS",
    "io_uring_setup": "ENOSYS", "keyctl": "ENOSYS", "add_key": "ENOSYS", "request_key": "ENOSYS",
    "kexec_load": "EPERM", "init_module": "EPERM", "finit_module": "EPERM",
    "delete_module": "EPERM", "open_by_handle_at": "EPERM", "fanotify_init": "EPERM",
    "syslog": "EPERM", "swapoff": "EPERM", "acct": "EPERM", "quotactl": "EPERM",
    "reboot": "EPERM", "clock_settime": "EPERM", "personality_exec_data": "EPERM",
    "personality_page_zero": "EPERM", "unreviewed": "ENOSYS",
    # Device nodes.
    "mknod_block": "EPERM", "mknod_character": "EPERM", "mknod_whiteout": "EPERM",
    "rename_whiteout": "EINVAL",
    # Sockets.
    "unix_datagram": "EACCES", "unix_raw": "EACCES", "pair_datagram": "EACCES",
    "pair_raw": "EACCES", "mptcp": "EPROTONOSUPPORT", "sctp": "EPROTONOSUPPORT",
    "sctp_packets": "EPROTONOSUPPORT", "dccp": "EPROTONOSUPPORT", "udplite": "EPROTONOSUPPORT",
    "icmp_raw": "EPERM", "icmp_ping": "EPERM", "icmp6_raw": "EPERM", "packet": "EAFNOSUPPORT",
    "packet_old": "EPERM", "vsock": "EAFNOSUPPORT", "alg": "EAFNOSUPPORT",
    "bluetooth": "EAFNOSUPPORT", "xdp": "EAFNOSUPPORT", "netlink_uevent": "EPROTONOSUPPORT",
    "netlink_audit": "EPROTONOSUPPORT", "netlink_netfilter": "EPROTONOSUPPORT",
}
REFUSED_X86 = {"iopl": "EPERM", "ioperm": "EPERM", "modify_ldt": "ENOSYS", "int80": "SIGSYS",
               "x32": "ENOSYS"}

# Neighbours of the above that programs need.
ALLOWED = ("clone_plain", "unshare_files", "memfd_create", "personality_query",
           "personality_no_randomize", "ptrace_traceme", "process_vm_readv_self", "mknod_fifo",
           "unix_stream", "unix_seqpacket", "pair_stream", "tcp", "udp", "netlink_route")

# Of the refused ones, those that would do harm outside or need a namespace of their own there.
NOT_OUTSIDE = {"mount", "remount_root", "umount2", "pivot_root", "move_mount", "kexec_load",
               "reboot", "init_module", "finit_module", "delete_module"}

# Any user can make these outside, so that the control shows the boundary and not a mere lack of
# privilege. Left out: what hosts switch off (io_uring, userfaultfd, user namespaces, int 0x80).
WORKS_OUTSIDE = {"clone3", "unix_datagram", "unix_raw", "pair_datagram", "pair_raw",
                 "personality_exec_data", "netlink_uevent", "rename_whiteout"}


class Calls(harness.KernelTest):
    PROBES = ("calls",)

    def setUp(self):
        super().setUp()
        self.refused = dict(REFUSED)
        if platform.machine() == "x86_64":
            self.refused.update(REFUSED_X86)

    def test_refused_inside_and_possible_outside(self):
        outside = self.answers(self.outside("./calls", *(set(self.refused) - NOT_OUTSIDE)))
        inside = self.answers(self.inside("./calls", *self.refused))
        if outside.get("int80") != "ok":  # no 32-bit entry point in this kernel
            self.refused.pop("int80", None)
        for name, expected in self.refused.items():
            with self.subTest(call=name, outside=outside.get(name)):
                self.assertEqual(inside[name], expected)
        possible = {name for name, answer in outside.items() if answer == "ok"}
        self.assertGreaterEqual(possible, WORKS_OUTSIDE - {"rename_whiteout"})

    def test_neighbours_work_inside(self):
        inside = self.answers(self.inside("./calls", *ALLOWED))
        self.assertEqual(inside, {name: "ok" for name in ALLOWED})

    def test_every_program_of_the_session_is_filtered(self):
        # Also a child of a child, and a program that a shell starts in the background.
        result = self.inside("sh", "-c", "(./calls keyctl & wait) | cat; sh -c './calls bpf'")
        self.assertEqual(self.output(result), "keyctl ENOSYS\nbpf EPERM")


if __name__ == "__main__":
    harness.main()
