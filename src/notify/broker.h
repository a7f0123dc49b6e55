// The broker: answers the notifications of one session's commands (docs/decisions/0003).
//
//   In the monitor, after fork(2):
//     BrokerOptions options{host_socket, init_socket, user_namespace, mount_namespace};
//     notify::RunBroker(options);   // never returns
//
// Steps: keep the outer /proc, take the policy from the host, enter the session's user and mount
// namespaces, drop every capability but CAP_SYS_PTRACE of that user namespace, answer until init
// and all listeners are gone (exit 0). Exit 1: it could not start, or what it needs is gone; the
// monitor then ends the session.
//
// Single-threaded. Calls that block (opening a FIFO, connecting) go to a short-lived child.
#pragma once

namespace cordon::notify {

struct BrokerOptions {
  int host = -1;             // jail/wire_report.h
  int init = -1;             // kListener messages; end of file: init is gone
  int user_namespace = -1;   // descriptors of the session's
  int mount_namespace = -1;
  int monitor = -1;  // process id of the parent, without which the broker ends
};

[[noreturn]] void RunBroker(const BrokerOptions& options);

}  // namespace cordon::notify
