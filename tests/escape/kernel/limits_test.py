#!/usr/bin/env python3
"""A command that takes everything, or will not end (row 32)."""
import fcntl
import os
import subprocess

import harness


class Limits(harness.KernelTest):
    PROBES = ("process",)

    def assert_gone(self, name):
        """Whoever locked the file is gone: the lock goes only with the last of its processes."""
        with open(self.path(name), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_processes(self):
        self.assertEqual(self.output(self.outside("./process", "forks", "150")), "150")
        result = self.inside("./process", "forks", "150", cordon=("--pids", "40"))
        if result.returncode == 125 and os.geteuid() == 0:
            # No limit of the kernel's binds root without the pids controller: refused by name.
            self.assertIn("limits.pids", result.stderr)
            self.assertEqual(result.stdout, "")
        else:
            self.assertLess(int(self.output(result)), 40)

    def test_memory(self):
        self.assertEqual(self.output(self.outside("./process", "memory", "200")), "had all")
        result = self.inside("./process", "memory", "200", cordon=("--memory", "64M"))
        self.assertNotIn("had all", result.stdout)
        self.assertTrue(result.returncode == 137 or result.stdout.startswith("stopped at"),
                        result.stdout + result.stderr)

    def test_descriptors(self):
        # The session's own runner still works when the command has taken all that it may.
        result = self.inside("sh", "-c",
                             "./process files 100000 & ./process files 100000; wait; echo on")
        self.assertEqual(self.output(result).splitlines()[-1], "on")

    def test_output_flood_is_passed_on_whole(self):
        size = 64 << 20
        with subprocess.Popen([harness.CORDON, "run", "--quiet", "--", "sh", "-c",
                               f"head -c {size} /dev/zero; head -c {size} /dev/zero >&2"],
                              cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            got = 0
            while chunk := process.stdout.read(1 << 16):
                got += len(chunk)
        self.assertEqual((process.returncode, got), (0, 2 * size))

    def test_time_limit_ends_what_hears_no_signal(self):
        result = self.inside("./process", "stubborn", "lock", cordon=("--timeout", "1s"))
        self.assertEqual(result.returncode, 124, result.stderr)
        self.assertIn("hold ok", result.stdout)
        self.assert_gone("lock")

    def test_daemons_end_with_the_session(self):
        control = subprocess.Popen([self.path("process"), "stubborn", "control"],
                                   cwd=self.work, stdout=subprocess.PIPE)
        with control:
            control.stdout.readline()
            with self.assertRaises(BlockingIOError):
                self.assert_gone("control")
            control.kill()
        result = self.inside("./process", "survivor", "lock")
        self.assertEqual(self.output(result), "held y")
        self.assert_gone("lock")

    def test_killed_runner_leaves_nobody(self):
        with subprocess.Popen([harness.CORDON, "run", "--quiet", "--", "sh", "-c",
                               "./process survivor lock; exec ./process stubborn second"],
                              cwd=self.work, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"held y\n")
            self.assertEqual(process.stdout.readline(), b"hold ok\n")
            process.kill()
            # The end of the pipe comes when the last process that can write to it is gone.
            self.assertEqual(process.stdout.read(), b"")
        # Locks go a moment later than the pipe, and the daemon has no pipe.
        for name in ("lock", "second"):
            self.assertTrue(os.path.exists(self.path(name)))
            wait = self.outside("flock", "--exclusive", "--timeout", "20", name, "true")
            self.assertEqual(wait.returncode, 0, name)


if __name__ == "__main__":
    harness.main()
