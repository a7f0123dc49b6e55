#!/usr/bin/env python3
"""A command that works against its own session: its init, its time limit, sockets that stand in its view."""
import os
import pathlib
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

SYSTEM_PYTHON = "/usr/bin/python3"  # a bound view shows the system's directories only

# Each of these, done to init, once made the time limit void or kept init from ending the session.
AGAINST_INIT = r"""
import os, resource, signal
def attempt(name, action):
    try:
        action()
        print("done", name, flush=True)
    except OSError:
        pass
for limit in ("NOFILE", "NPROC", "AS", "DATA", "STACK", "CPU", "FSIZE"):
    attempt("limit " + limit, lambda: resource.prlimit(1, getattr(resource, "RLIMIT_" + limit), (0, 0)))
attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt("nice of the user", lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt("idle", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
attempt("affinity", lambda: os.sched_setaffinity(1, {min(os.sched_getaffinity(0))}))
def write(path, text):
    file = os.open(path, os.O_WRONLY)
    os.write(file, text)
attempt("autogroup", lambda: write("/proc/1/autogroup", b"19"))
attempt("memory killer", lambda: write("/proc/1/oom_score_adj", b"1000"))
# Its own are its own affair.
resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (50, 50))
os.setpriority(os.PRIO_PROCESS, 0, 1)
print("ready", flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    signal.pause()
"""


class HostileRun(cordon_testing.CordonTest):
    def test_time_limit_against_a_command_that_attacks_init(self):
        begun = time.monotonic()
        done = subprocess.run([cordon_testing.CORDON, "run", "--timeout", "1s", "--", sys.executable, "-c", AGAINST_INIT],
                              cwd=self.work, env=self.environment, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=cordon_testing.SECONDS)
        self.assertEqual((done.returncode, done.stdout), (124, "ready\n"), done.stderr)
        self.assertLess(time.monotonic() - begun, 20)

    @unittest.skipUnless(os.access(SYSTEM_PYTHON, os.X_OK), "no python in the system's directories")
    def test_sockets_of_the_host_in_a_bound_view(self):
        shared = os.path.join(self.base, "shared")
        os.mkdir(shared)
        path = os.path.join(shared, "host.sock")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen(8)
            ask = ("import socket, sys\ns = socket.socket(socket.AF_UNIX)\n"
                   "try:\n    s.connect(sys.argv[1])\n    print('reached')\nexcept OSError as e:\n    print(e.errno)\n")
            control = subprocess.run([sys.executable, "-c", ask, path], capture_output=True, text=True, check=True)
            self.assertEqual(control.stdout, "reached\n")
            for options in (("--view", "host"), ("--view", "bound", "--allow-read", shared), ("--view", "bound", "--write", shared),
                            ("--view", "bound", "--mount", f"{shared}:/tmp/there")):
                where = "/tmp/there/host.sock" if "--mount" in options else path
                with self.subTest(options=options):
                    done = subprocess.run([cordon_testing.CORDON, "run", *options, "--", SYSTEM_PYTHON, "-c", ask, where],
                                          cwd=self.work, env=self.environment, capture_output=True, text=True, check=False,
                                          stdin=subprocess.DEVNULL, timeout=cordon_testing.SECONDS)
                    self.assertEqual((done.returncode, done.stdout), (0, "13\n"), done.stderr)


if __name__ == "__main__":
    cordon_testing.main()
