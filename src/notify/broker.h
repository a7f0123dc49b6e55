// The broker: answers the notifications of one session's commands (docs/decisions/0003).
//
//   In the monitor, after fork(2):
//     BrokerOptions options{host_socket, init_socket, user_namespace, root};
//     notify::RunBroker(options);   // never returns
//
// Steps: keep the outer /proc, take the policy from the host, enter the session's user namespace,
// take the root of its view as its own, drop every capability but CAP_SYS_PTRACE of that user
// namespace, answer until init and all listeners are gone (exit 0).
//
// It stays in the host's mount namespace: the kernel refuses to rename over what is a mount point
// in the caller's own namespace, and a git config, on which a read-only mount stands, must be
// replaced. Every path starts at the session's root, at a descriptor of the caller's, or at the
// outer /proc by a name that the broker made. Exit 1: it could not start, or what it needs is gone;
// the monitor then ends the session.
//
// Single-threaded. Calls that block (opening a FIFO, connecting) go to a short-lived child.
#pragma once

namespace cordon::notify {

struct BrokerOptions {
  int host = -1;            // jail/wire_report.h
  int init = -1;            // kListener messages; end of file: init is gone
  int user_namespace = -1;  // descriptors of the session's
  int root = -1;            // O_PATH, the root directory of the session's view
  int monitor = -1;         // process id of the parent, without which the broker ends
};

[[noreturn]] void RunBroker(const BrokerOptions& options);

}  // namespace cordon::notify
