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

    def old(self, words, options=()):
        """As on Linux 5.10 to 5.18, whose wait for a supervisor a signal interrupts."""
        argv = [self.tool, "wait_killable", "--errno", "EINVAL", "--", *self.command(words, options)]
        return subprocess.run(argv, cwd=self.work, env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=cordon_testing.SECONDS)

    def test_no_supervisor_no_name_rules(self):
        line = ["sh", "-c", "echo x > new.key; mkdir -p .vscode && echo x > .vscode/tasks.json; (echo x > fixed) 2>&1; "
                "cat hidden/key 2>&1; ls"]
        done = self.old(line, self.rules)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("new.key", done.stdout)
        self.assertTrue(os.path.exists(self.path(".vscode/tasks.json")))
        # What mounts hold is held.
        self.assertIn("Read-only file system", done.stdout)
        self.assertIn("Permission denied", done.stdout)
        self.assertNotIn("secret", done.stdout)
        self.assertEqual(cordon_testing.read_file(self.path("fixed")), b"fixed")

    def test_rules_for_names_are_refused_by_name(self):
        for options, name in ((["--deny-name", "*.key"], 'denyNames "*.key"'), (["--default-deny-names"], "defaultDenyNames"),
                              (["--deny-write", "**/*.key"], 'denyWrite "**/*.key"')):
            with self.subTest(options=options):
                done = self.old(["touch", "made"], options)
                self.assertEqual(done.returncode, 125, done.stdout)
                self.assertIn(name, done.stderr)
                self.assertIn("5.19", done.stderr)
                self.assertFalse(os.path.exists(self.path("made")))

    def test_dry_run_lists_what_is_not_held(self):
        here = subprocess.run(self.command(["true"], ["--dry-run"]), cwd=self.work, env=self.environment, capture_output=True,
                              text=True, check=False, timeout=cordon_testing.SECONDS)
        self.assertNotIn("not held", here.stdout)
        done = self.old(["true"], ["--dry-run"])
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in (".vscode", ".mcp.json"):
            lines = [line for line in done.stdout.splitlines() if f"{self.work}/{name} " in line and "not held" in line]
            self.assertTrue(lines, f"{name}:\n{done.stdout}")

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
