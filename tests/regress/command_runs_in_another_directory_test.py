#!/usr/bin/env python3
"""Hiding a folder above the working directory made the command run silently somewhere else."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position


class WorkingDirectory(cordon_testing.CordonTest):
    """It is kept and readable, or the run is refused with a message."""

    def setUp(self):
        super().setUp()
        self.write("a/b/c/f", "here\n")
        self.deep = self.path("a/b/c")

    def check(self, options, refused=False):
        done = self.run_cordon("sh", "-c", "pwd; pwd -P; cat f; echo new > made; cd .. && pwd", options=options, cwd=self.deep)
        if refused:
            self.assert_refused(done, self.deep)
            return
        self.assertEqual(done.stdout, f"{self.deep}\n{self.deep}\nhere\n{self.path('a/b')}\n", done.stderr)
        self.assertEqual(cordon_testing.read_file(self.path("a/b/c/made")), b"new\n")

    def test_hidden_parents(self):
        for rules in (["."], [".", ".."], ["..", "../.."], ["../../.."], [self.work], [self.base], ["/"], [self.home, self.path("a")]):
            options = []
            for rule in rules:
                options += ["--deny-read", rule]
            with self.subTest(rules=rules):
                if "/" in rules:
                    options += ["--allow-read", "/usr", "--allow-read", "/bin", "--allow-read", "/lib", "--allow-read", "/lib64"]
                self.check(options, refused="." in rules)

    def test_globs_that_match_parents(self):
        for rule in (self.work + "/*", self.base + "/**", self.work + "/**/b", self.work + "/[a-c]"):
            with self.subTest(rule=rule):
                done = self.run_cordon("sh", "-c", "pwd; cat f", options=["--deny-read", rule], cwd=self.deep)
                if done.returncode == 125:
                    self.assert_refused(done, self.deep)
                else:
                    self.assertEqual(done.stdout, f"{self.deep}\nhere\n", done.stderr)

    def test_opened_explicitly(self):
        self.check(["--deny-read", self.work, "--allow-read", self.deep, "--write", self.deep])

    def test_directory_that_may_not_be_entered(self):
        if cordon_testing.IS_ROOT:
            self.skipTest("root may enter every directory")
        os.chmod(self.deep, 0)
        self.addCleanup(os.chmod, self.deep, 0o755)
        self.assert_refused(self.run_cordon("pwd", options=["--workdir", self.deep]), self.deep)

    def test_directory_that_is_gone(self):
        os.makedirs(self.path("gone"))
        line = f'cd "{self.path("gone")}" && rmdir "{self.path("gone")}" && exec "$0" run -- pwd'
        done = cordon_testing.subprocess.run(["sh", "-c", line, cordon_testing.CORDON], env=self.environment, capture_output=True,
                                             text=True, check=False)
        self.assert_refused(done, "does not exist")

    def test_system_directories_do_not_become_writable(self):
        # Starting a command in a directory of the system is no wish to change it.
        for folder in ("/", "/usr", "/usr/local", "/etc", "/opt", "/var", "/home"):
            if os.path.isdir(folder):
                done = self.run_cordon("sh", "-c", "pwd; : > cordon-was-here", cwd=folder)
                self.assertEqual(done.stdout, folder + "\n")
                self.assertNotEqual(done.returncode, 0)
                self.assertFalse(os.path.exists(os.path.join(folder, "cordon-was-here")), folder)


if __name__ == "__main__":
    cordon_testing.main()
