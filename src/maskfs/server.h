// The server of one view's masks: answers what the kernel asks about them, and reports each attempt
// to read what they hide (docs/decisions/0004-denied-reads.md).
//
//   In the monitor, after fork(2):
//     maskfs::ServerOptions options{host, init, device, monitor};
//     maskfs::RunServer(options);   // never returns
//
// It stays in the host's mount namespace: a process that walks into a mask that it serves itself
// would wait for itself. It opens no file but those of the session's /proc, and holds no
// capability. Single-threaded; it waits for nothing but requests. Ends with the session, or when
// the last mount of the view is gone (exit 0). Exit 1: it could not start, or what it needs is
// gone; the monitor then ends the session.
#pragma once

namespace cordon::maskfs {

struct ServerOptions {
  int host = -1;     // jail/wire_report.h: kPolicy has the table of jail::EncodeMasks
  int init = -1;     // kSessionProc and kExecLeader messages
  int device = -1;   // /dev/fuse, mounted
  int monitor = -1;  // process id of the parent, without which the server ends
};

[[noreturn]] void RunServer(const ServerOptions& options);

}  // namespace cordon::maskfs
