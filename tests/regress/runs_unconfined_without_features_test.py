#!/usr/bin/env python3
"""Where a helper program or a feature of the kernel was missing, commands ran without any sandbox."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position


class MissingFeature(cordon_testing.CordonTest):
    """A non-zero status, a message, and the command did not run: told by a file that it would make."""

    def setUp(self):
        super().setUp()
        self.mark_file = os.path.join(self.base, "ran-unconfined")
        self.inside = self.path("ran")
        self.line = f"echo x > '{self.mark_file}'; echo x > '{self.inside}'; echo ran"

    def check(self, *wrap, says=()):
        done = subprocess.run([*wrap, *self.command(["/bin/sh", "-c", self.line])], cwd=self.work, env=self.environment, text=True,
                              capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=cordon_testing.SECONDS)
        self.assertFalse(os.path.exists(self.mark_file), "it ran unconfined")
        self.assert_refused(done, *says)
        self.assertFalse(os.path.exists(self.inside), "it ran although the run was refused")

    def test_control(self):
        subprocess.run(["/bin/sh", "-c", self.line], check=True, capture_output=True)
        self.assertTrue(os.path.exists(self.mark_file))

    def test_no_programs_on_the_path(self):
        os.mkdir(self.path("empty"))
        for path in (self.path("empty"), "", "/nowhere"):
            done = self.run_cordon("/bin/sh", "-c", self.line, env={**self.environment, "PATH": path})
            self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
            self.assertFalse(os.path.exists(self.mark_file))

    def test_no_namespaces_of_each_kind(self):
        for kind in ("user", "mnt", "pid", "net", "ipc", "uts"):
            with self.subTest(kind=kind):
                self.check("unshare", "-Ur", "sh", "-c", f'echo 0 > /proc/sys/user/max_{kind}_namespaces && exec "$@"', "sh",
                           says=("namespace",))

    def test_calls_that_a_filter_refuses(self):
        tool = self.path("enosys")
        subprocess.run(["cc", "-O1", "-w", "-o", tool, str(cordon_testing.ROOT / "tests/support/enosys.c")], check=True)
        for calls in ("userns", "mount", "open_tree,move_mount", "seccomp", "prctl", "clone"):
            for error in ("EPERM", "ENOSYS"):
                with self.subTest(calls=calls, error=error):
                    done = subprocess.run([tool, calls, "--errno", error, "--", *self.command(["/bin/sh", "-c", self.line])],
                                          cwd=self.work, env=self.environment, text=True, capture_output=True, check=False,
                                          stdin=subprocess.DEVNULL, timeout=cordon_testing.SECONDS)
                    self.assertFalse(os.path.exists(self.mark_file), "it ran unconfined")
                    if done.returncode != 0:
                        self.assertNotEqual(done.stderr, "")
                        self.assertNotEqual(done.stdout, "ran\n")


if __name__ == "__main__":
    cordon_testing.main()
