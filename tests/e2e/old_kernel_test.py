#!/usr/bin/env python3
"""Kernels that lack newer calls (5.10 to today), made by a filter that answers ENOSYS: the same rules hold, or
the start is refused with the reason."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # noqa: E402
from cordon_testing import CordonTest  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "support/enosys.c"
LINE = ("cat hidden/key 2>&1; cat masked 2>&1; (echo x > fixed) 2>&1; (echo x > tree/f) 2>&1; (echo x > /etc/x) 2>&1; echo new > made; "
        "echo t > /tmp/t && echo shm > /dev/shm/s && cat made /tmp/t; ls -A /run/user /sys | wc -l; touch /proc/sys/x 2>&1 | wc -l")


class OldKernels(CordonTest):
    def setUp(self):
        super().setUp()
        self.tool = self.path("..", "enosys")
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", self.tool, str(SOURCE)], check=True)
        self.write("hidden/key", "secret")
        self.write("masked", "secret")
        self.write("fixed", "fixed")
        self.write("tree/f", "kept")
        self.rules = ["--quiet", "--deny-read", "hidden", "--deny-read", "masked", "--deny-write", "fixed", "--deny-write", "tree"]

    def under(self, calls, options=()):
        argv = [self.tool, calls, "--", *self.command(["sh", "-c", LINE], [*self.rules, *options])]
        done = subprocess.run(argv, cwd=self.work, env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=cordon_testing.SECONDS)
        if os.path.exists(self.path("made")):
            os.unlink(self.path("made"))
        return done

    def test_same_rules_without_the_call(self):
        expected = self.under("none")
        self.assertEqual(expected.returncode, 0, expected.stderr)
        self.assertNotIn("secret", expected.stdout)
        self.assertEqual(expected.stdout.count("Permission denied"), 2, expected.stdout)
        self.assertEqual(expected.stdout.count("Read-only file system"), 3, expected.stdout)
        for calls in ("mount_setattr", "landlock_create_ruleset", "mount_setattr,landlock_create_ruleset,keyctl", "pidfd_open",
                      "fsopen,fsmount"):
            for view in ((), ("--view", "bound")):
                with self.subTest(calls=calls, view=view):
                    plain = self.under("none", view)
                    done = self.under(calls, view)
                    self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)
        self.assertEqual(cordon_testing.read_file(self.path("fixed")), b"fixed")

    def test_refused_without_what_it_cannot_do_without(self):
        for calls in ("open_tree", "move_mount", "openat2", "seccomp"):
            with self.subTest(calls=calls):
                done = self.under(calls)
                self.assertEqual(done.returncode, 125, done.stdout)
                self.assertNotIn("new", done.stdout)
                self.assertIn("cordon:", done.stderr)
                self.assertFalse(os.path.exists(self.path("made")))


if __name__ == "__main__":
    cordon_testing.main()
