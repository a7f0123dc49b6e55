#!/usr/bin/env python3
"""A protected path that is a link out of the tree, dangling, or in a loop, made the start fail."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position


class LinkedPath(cordon_testing.CordonTest):
    """The built-in protected names as links of every kind."""

    def setUp(self):
        super().setUp()
        self.dots = os.path.join(self.base, "dots")
        os.makedirs(os.path.join(self.dots, "folder"))
        self.file = os.path.join(self.dots, "file")
        with open(self.file, "w", encoding="ascii") as file:
            file.write("orig\n")
        self.kinds = {"to a file": self.file, "relative": os.path.relpath(self.file, self.work), "to a folder": self.dots + "/folder",
                      "dangling": self.base + "/nowhere/rc", "dangling in the tree": "not-there", "to the root": "/", "to its folder": ".", "through a file": self.file + "/x", "empty-looking": "./"}

    def attack(self, name, options=()):
        return self.run_cordon("sh", "-c", f'echo up; echo evil >> "{name}"; echo evil > "{name}"; rm -f "{name}"; mv evil "{name}"; '
                               f'ln -sfn evil "{name}"; echo evil > "{name}/x"; true', options=options)

    def one(self, name, target):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.write("evil", "evil\n")
        os.symlink(target, path)
        before = cordon_testing.snapshot(self.dots)
        try:
            done = self.attack(name, ["--deny-write", "mine"] if name == "mine" else [])
            self.assertEqual(cordon_testing.snapshot(self.dots), before)
            self.assertEqual(os.readlink(path), target)
            self.assertFalse(os.path.exists(self.base + "/nowhere"))
        finally:
            os.unlink(path)
        return done

    def test_links_of_every_kind(self):
        for name in (".bashrc", ".vscode", ".mcp.json", ".git/hooks", ".claude/commands", "mine"):
            for kind, target in self.kinds.items():
                with self.subTest(name=name, kind=kind):
                    done = self.one(name, target)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertTrue(done.stdout.startswith("up\n"), done.stderr)

    def test_loops(self):
        # Nothing can be reached through a loop, and what it may become is open: refused by name.
        self.assert_refused(self.one(".bashrc", ".bashrc"), self.path(".bashrc"), "loop")
        os.symlink("mine", self.path("other"))
        self.assert_refused(self.one("mine", "other"), "--deny-write", "loop")

    def test_target_in_another_writable_place(self):
        # The link protects what it points to, although that is writable by a rule of its own.
        os.symlink(self.file, self.path(".bashrc"))
        done = self.run_cordon("sh", "-c", f"echo evil > .bashrc; echo evil > {self.file}; echo fine > {self.dots}/other",
                               options=["--write", self.dots])
        self.assertEqual(cordon_testing.read_file(self.file), b"orig\n", done.stderr)
        self.assertEqual(cordon_testing.read_file(self.dots + "/other"), b"fine\n", done.stderr)

    def test_hidden_links(self):
        for kind, target in self.kinds.items():
            if kind in ("to the root", "to its folder", "empty-looking"):
                continue  # hides the place where the command is to run, which is refused
            with self.subTest(kind=kind):
                os.symlink(target, self.path("link"))
                done = self.run_cordon("sh", "-c", "echo up; cat link; ls link/; true", options=["--deny-read", "link"])
                self.assertTrue(done.stdout.startswith("up\n") or done.returncode == 125, done.stderr)
                self.assertNotIn("orig", done.stdout)
                os.unlink(self.path("link"))


if __name__ == "__main__":
    cordon_testing.main()
