#!/usr/bin/env python3
"""A hidden folder was replaced by an empty writable one: writes reported success, and were lost."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

WRITES = ("echo x > {d}/new", "echo x >> {d}/id", "mkdir {d}/sub", "ln -s /etc {d}/link", "mv mine {d}/mine", "cp mine {d}/", "rm {d}/id",
          "mkfifo {d}/pipe", "ln mine {d}/hard", "touch {d}", "chmod 700 {d}", "rmdir {d}", "mv {d} away", "mktemp {d}/XXXXXX",
          "cd {d} && echo x > new")


class HiddenFolder(cordon_testing.CordonTest):
    def check(self, folder, options):
        os.makedirs(folder)
        self.write("mine", "mine\n")
        with open(os.path.join(folder, "id"), "w", encoding="ascii") as file:
            file.write("topsecret\n")
        before = cordon_testing.snapshot(folder)
        for write in WRITES:
            with self.subTest(write=write):
                done = self.run_cordon("sh", "-c", write.format(d=folder), options=options)
                self.assertNotEqual(done.returncode, 0)
                self.assertNotEqual(done.stderr, "")
        for read in ("ls {d}", "cat {d}/id", "find {d} -type f", "stat {d}/id", "test -e {d}/id", "ls {d}/*"):
            done = self.run_cordon("sh", "-c", read.format(d=folder), options=options)
            self.assertNotIn("topsecret", done.stdout)
            self.assertNotEqual(done.returncode, 0, read)
        self.assertEqual(cordon_testing.snapshot(folder), before)

    def test_outside_the_working_directory(self):
        self.check(os.path.join(self.base, "keys"), ["--deny-read", os.path.join(self.base, "keys")])

    def test_in_the_working_directory(self):
        self.check(self.path("keys"), ["--deny-read", "keys"])

    def test_default_secrets_in_a_writable_home(self):
        self.check(os.path.join(self.home, ".aws"), ["--write", self.home])

    def test_folder_with_an_opening(self):
        folder = self.path("keys")
        self.write("open/file", "x")
        self.check(folder, ["--deny-read", "keys", "--allow-read", "keys/not-there"])


if __name__ == "__main__":
    cordon_testing.main()
