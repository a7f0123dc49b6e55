#!/usr/bin/env python3
"""Protecting names that do not exist put empty files into the workspace; after SIGKILL they stayed."""
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position


class Placeholders(cordon_testing.CordonTest):
    """Nothing new, neither for others to see during a run nor after it."""
    RULES = [word for rule in ("editor", ".toolrc", ".git/hooks", "a/b/c", "\u00fcml/x", "-x", "n\nl/y", ".claude/settings.json")
             for word in ("--deny-write", "./" + rule, "--deny-read", "./" + rule + "2")] + \
        ["--write", "out/put", "--allow-read", "none/such", "--write", "../elsewhere"]

    def run_and_kill(self, number):
        process = self.start_cordon("sh", "-c", "echo up; exec sleep 1000", options=self.RULES)
        self.read_line(process.stdout)
        during = cordon_testing.snapshot(self.base)
        process.send_signal(number)
        process.wait(cordon_testing.SECONDS)
        self.assert_nothing_left()
        return during

    def check(self):
        before = cordon_testing.snapshot(self.base)
        places = ("/tmp", "/var/tmp", "/dev/shm", "/run", f"/run/user/{os.getuid()}")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=number):
                self.assertEqual(self.run_and_kill(number), before)
                self.assertEqual(cordon_testing.snapshot(self.base), before)
        self.assertEqual(self.run_cordon("true", options=self.RULES).returncode, 0)
        self.assertEqual(cordon_testing.snapshot(self.base), before)
        left = [name for place in places if os.path.isdir(place) for name in os.listdir(place)
                if name.startswith("cordon-session")]
        self.assertEqual(left, [])

    def test_empty_workspace(self):
        self.check()

    def test_git_sees_nothing(self):
        subprocess.run(["git", "init", "-q", self.work], check=True, capture_output=True, env=self.environment)
        status = lambda: subprocess.run(["git", "status", "--ignored", "--porcelain"], cwd=self.work, check=True,  # pylint: disable=unnecessary-lambda-assignment
                                        capture_output=True, text=True, env=self.environment).stdout
        before = status()
        process = self.start_cordon("sh", "-c", "echo up; exec sleep 1000", options=self.RULES)
        self.read_line(process.stdout)
        self.assertEqual(status(), before)
        inside = self.run_cordon("git", "status", "--ignored", "--porcelain", options=self.RULES)
        self.assertEqual(self.output(inside), before)
        process.kill()
        process.wait()
        self.assertEqual(status(), before)

    def test_git_file_of_a_worktree(self):
        # A .git that is a file made "mkdir .git/hooks" fail.
        self.write("real/HEAD", "ref: refs/heads/main\n")
        for folder in ("real/objects", "real/refs"):
            os.makedirs(self.path(folder))
        self.write(".git", "gitdir: real\n")
        self.check()


if __name__ == "__main__":
    cordon_testing.main()
