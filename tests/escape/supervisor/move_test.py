#!/usr/bin/env python3
"""Renames and links: both names are judged, and what a moved directory carries (rows 3, 15)."""
import os
import subprocess

import names

# attempts of moves: lines "how|from|to"; answers by line.
MOVES = r"""
import platform
RENAMEAT2 = 276 if platform.machine() == "aarch64" else 316
def renamed(source, to, flags):
    call(RENAMEAT2, -100, os.fsencode(source), -100, os.fsencode(to), flags)
def linked(source, to):
    if libc.linkat(-100, os.fsencode(source), -100, os.fsencode(to), 0x400) != 0:
        raise OSError(ctypes.get_errno(), "linkat")
how = {
    "rename": os.rename, "plain": lambda a, b: renamed(a, b, 0), "noreplace": lambda a, b: renamed(a, b, 1),
    "exchange": lambda a, b: renamed(a, b, 2), "link": os.link, "symlink": os.symlink,
    "linkfd": lambda a, b: linked(f"/proc/self/fd/{os.open(a, os.O_RDONLY)}", b),
    "mkdir": lambda a, b: os.makedirs(a), "write": lambda a, b: open(a, "w").write("evil\n") and None,
    "rmdir": lambda a, b: os.rmdir(a), "unlink": lambda a, b: os.unlink(a),
}
for line in sys.argv[1:]:
    what, a, b = line.split("|")
    say(line, attempt(how[what], a, b))
"""


class Steps(names.NameTest):
    """Steps outside work one and all; inside those marked "!" must not."""

    def steps(self, *steps, options=None, prepare=lambda: None):
        plain = [step.lstrip("!") for step in steps]
        done = []
        for step in [*steps, "!"]:
            if step.startswith("!"):  # a tree for each of them, with what precedes it
                prepare()
                control = self.control(MOVES, *done, *([step[1:]] if step[1:] else []))
                self.assertEqual({one: answer for one, answer in control.items() if answer != "ok"}, {})
                self.fresh()
            else:
                done.append(step)
        prepare()
        done = self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + MOVES, *plain, options=options)
        answers = self.answers(done)
        for step in steps:
            with self.subTest(step=step):
                if step.startswith("!"):
                    self.assertIn(answers[step[1:]], ("EROFS", "EBUSY", "EXDEV"))
                else:
                    self.assertEqual(answers[step], "ok")
        return answers


class Move(Steps):
    """Row 3: both names, and what is in a folder."""

    def test_new_name(self):
        for how in ("rename", "plain", "noreplace", "link", "linkfd"):
            self.steps(f"!{how}|made|.env", f"{how}|other|free",
                       prepare=lambda: (self.make("work/made"), self.make("work/other")))
            self.assertEqual(self.found(".env"), [])
            self.assert_reported(self.path(".env"), "file-write-create")
            self.fresh()

    def test_exchange_in_either_direction(self):
        # An exchange makes both names anew: neither side may be a forbidden one.
        def prepare():
            self.make("work/made", "made")
            self.make("work/.env", "secret")
        for step in ("exchange|made|.env", "exchange|.env|made"):
            self.steps("!" + step, prepare=prepare)
            self.assertEqual(names.cordon_testing.read_file(self.path(".env")), b"secret\n")
            self.assertEqual(names.cordon_testing.read_file(self.path("made")), b"made\n")
            self.assert_reported(self.path(".env"))
            self.fresh()

    def test_second_name_of_a_denied_one(self):
        # By the second name its content could be written.
        prepare = lambda: self.make("work/.env", "secret")  # noqa: E731
        for how in ("link", "linkfd"):
            self.steps(f"!{how}|.env|other", prepare=prepare)
            self.assertEqual(names.cordon_testing.read_file(self.path(".env")), b"secret\n")
            self.assertFalse(os.path.lexists(self.path("other")))
            self.fresh()

    def test_denied_name_may_be_removed_and_does_not_come_back(self):
        prepare = lambda: self.make("work/.env", "secret")  # noqa: E731
        self.steps("unlink|.env|", "write|made|", "!rename|made|.env", "!write|.env|", prepare=prepare)
        self.assertEqual(self.found(".env"), [])

    def test_protected_file_keeps_its_name(self):
        prepare = lambda: (self.make("work/.bashrc", "mine"), self.make("work/made", "made"))  # noqa: E731
        for step in ("rename|.bashrc|away", "exchange|.bashrc|made", "exchange|made|.bashrc", "rename|made|.bashrc",
                     "link|.bashrc|away", "linkfd|.bashrc|away", "unlink|.bashrc|"):
            self.steps("!" + step, options=[], prepare=prepare)
            self.assertEqual(names.cordon_testing.read_file(self.path(".bashrc")), b"mine\n", step)
            self.assertEqual(sorted(os.listdir(self.work)), [".bashrc", "made"])
            self.fresh()

    def test_contents_of_a_moved_folder(self):
        """What was harmless where it was made is a forbidden name where it goes."""
        rules = ["--deny-write", "p/q/kept", "--deny-write", "deploy/*/secret.cfg"]
        for source, name, goal in (("x", "q/kept", "p"), ("x/y", "kept", "p/q"), ("x", "any/secret.cfg", "deploy"),
                                   ("x/y", "secret.cfg", "deploy/any")):
            for how in ("rename", "plain", "noreplace"):
                make = [f"mkdir|{os.path.dirname(source + '/' + name)}|", f"write|{source}/{name}|"]
                if "/" in goal:
                    make.append(f"mkdir|{os.path.dirname(goal)}|")
                self.steps(*make, f"!{how}|{source}|{goal}", options=rules)
                self.assertFalse(os.path.lexists(self.path(goal)), (source, goal, how))
                self.assert_reported(self.path(goal) + "*")
                self.fresh()
            # Exchanged with an empty folder that may stand there.
            self.steps(*make[:2], f"mkdir|{goal}|", f"!exchange|{source}|{goal}", options=rules)
            self.assertEqual(os.listdir(self.path(goal)), [])
            self.fresh()

    def test_folder_that_carries_a_denied_name_out_of_an_exception(self):
        rules = self.name_rules(*names.GLOBS, "!**/node_modules/**")
        self.steps("mkdir|node_modules/p/deep|", "write|node_modules/p/deep/a.key|", "!rename|node_modules/p|p",
                   "!rename|node_modules/p/deep|deep", "!rename|node_modules/p/deep/a.key|a.key",
                   "!rename|node_modules|modules", "rename|node_modules/p|node_modules/o", options=rules)
        self.assertEqual(self.found("*.key"), [self.path("node_modules/o/deep/a.key")])

    def test_folder_that_becomes_a_git_directory(self):
        """A tree of git under another name is harmless; called .git it is what git runs."""
        lines = ["mkdir|g/hooks|", "mkdir|g/objects|", "write|g/hooks/post-checkout|", "write|g/config|"]
        self.steps(*lines, "!mkdir|g/refs|", "!rename|g|.git", options=[])
        self.assertFalse(os.path.lexists(self.path(".git")))
        self.fresh()
        self.steps("mkdir|sub|", *lines, "!rename|g|sub/.git", options=[])
        self.assertFalse(os.path.lexists(self.path("sub/.git")))
        self.fresh()
        # One level up: the folder that carries it moves into place whole.
        self.steps("mkdir|a/git/hooks|", "write|a/git/hooks/post-checkout|", "!rename|a/git|a/.git", options=[])
        self.assertFalse(os.path.lexists(self.path("a/.git")))

    def test_link_that_becomes_a_git_directory(self):
        lines = ["mkdir|g/hooks|", "mkdir|g/objects|", "write|g/hooks/post-checkout|", "write|g/config|"]
        self.steps(*lines, "!symlink|g|.git", options=[])
        self.assertFalse(os.path.lexists(self.path(".git")))
        self.fresh()
        self.steps(*lines, "symlink|g|link", "!rename|link|.git", options=[])
        self.assertFalse(os.path.lexists(self.path(".git")))
        self.fresh()
        self.steps(*lines, "symlink|g|link", "!link|link|.git", options=[])
        self.assertFalse(os.path.lexists(self.path(".git")))

    def test_settings_carried_into_a_repository(self):
        def prepare():
            subprocess.run(["git", "init", "-q", self.path("repo")], check=True, env=self.environment)
        self.steps("mkdir|x|", "write|x/tasks.json|", "!rename|x|repo/.vscode", "!symlink|../x|repo/.vscode", "mkdir|h|",
                   "write|h/pre-commit|",
                   "!rename|h/pre-commit|repo/.git/hooks/pre-commit",
                   options=[], prepare=prepare)
        self.assertFalse(os.path.lexists(self.path("repo/.vscode")))


class Ancestors(Steps):
    """Row 15: a rule is not walked around by moving what stands above it."""

    def held(self, *steps, options, prepare, kept):
        self.steps(*steps, options=options, prepare=prepare)
        self.assertEqual(names.cordon_testing.read_file(self.path(kept)), b"mine\n")

    def test_parent(self):
        prepare = lambda: self.make("work/a/b/kept", "mine")  # noqa: E731
        for step in ("rename|a|x", "plain|a|x", "noreplace|a|x", "rename|a/b|x", "rename|a/b|a/c"):
            self.held("!" + step, options=["--deny-write", "a/b/kept"], prepare=prepare, kept="a/b/kept")
            self.assert_reported(self.path(step.split("|")[1]))
            self.fresh()

    def test_exchange_of_a_parent(self):
        def prepare():
            self.make("work/a/b/kept", "mine")
            self.make("work/x/b/kept", "evil")
        for step in ("exchange|a|x", "exchange|x|a", "exchange|a/b|x/b", "exchange|x/b|a/b", "exchange|x|a/b"):
            self.held("!" + step, options=["--deny-write", "a/b/kept"], prepare=prepare, kept="a/b/kept")
            self.fresh()

    def test_parent_of_a_name_that_is_missing(self):
        # mv a x; echo > x/kept; mv x a
        prepare = lambda: os.makedirs(self.path("a/b"))  # noqa: E731
        for folder in ("a", "a/b"):
            rest = os.path.relpath("a/b/kept", folder)
            prepare()
            done = self.inside("sh", "-c", f"mv {folder} x; mkdir -p $(dirname x/{rest}); echo evil > x/{rest}; mv x {folder}; "
                               f"rm -rf {folder}; mv -T x {folder}; ln -s x {folder}; echo end",
                               options=["--deny-write", "a/b/kept"])
            self.assertTrue(done.stdout.endswith("end\n"), done.stderr)
            self.assertFalse(os.path.exists(self.path("a/b/kept")), folder)
            self.fresh()

    def test_shell_lines_outside(self):
        """The control of the one above: outside the line plants the name."""
        os.makedirs(self.path("a/b"))
        self.outside("sh", "-c", "mv a x; echo evil > x/b/kept; mv x a")
        self.assertTrue(os.path.exists(self.path("a/b/kept")))

    def test_removed_parent(self):
        # Removing what is empty and building a link in its place.
        prepare = lambda: os.makedirs(self.path("a/b"))  # noqa: E731
        prepare()
        done = self.inside("sh", "-c", "mkdir mine; echo evil > mine/kept; rmdir a/b; ln -s ../mine a/b; rmdir a; ln -s mine a; echo end",
                           options=["--deny-write", "a/b/kept"])
        self.assertTrue(done.stdout.endswith("end\n"), done.stderr)
        self.assertFalse(os.path.exists(self.path("a/b/kept")))

    def test_working_directory_itself(self):
        prepare = lambda: self.make("work/.bashrc", "mine")  # noqa: E731
        line = "cd ..; mv work away; mkdir work; echo evil > work/.bashrc; echo evil > work/.mcp.json; echo end"
        prepare()
        self.outside("sh", "-c", line)
        self.assertEqual(names.cordon_testing.read_file(self.path(".bashrc")), b"evil\n")
        names.cordon_testing.remove_tree(self.at("away"))
        self.fresh()
        prepare()
        done = self.inside("sh", "-c", line, options=["--write", self.base])
        self.assertTrue(done.stdout.endswith("end\n"), done.stderr)
        self.assertEqual(names.cordon_testing.read_file(self.path(".bashrc")), b"mine\n")
        self.assertFalse(os.path.exists(self.path(".mcp.json")))
        self.assertFalse(os.path.exists(self.at("away")))

    def test_grandparent_of_a_repository(self):
        def prepare():
            subprocess.run(["git", "init", "-q", self.path("p/q/repo")], check=True, env=self.environment)
        # A repository may move whole: what git would run in it cannot be changed on the way.
        prepare()
        done = self.inside("sh", "-c", "mv p x; echo evil > x/q/repo/.git/hooks/post-checkout; mv x/q/repo/.git x/g; "
                           "echo evil > x/g/hooks/post-checkout; mv x/g x/q/repo/.git; mv x/q/repo y; "
                           "echo evil > y/.git/hooks/post-checkout; echo end", options=[])
        self.assertTrue(done.stdout.endswith("end\n"), done.stderr)
        self.assertEqual(self.found("post-checkout"), [])
        self.fresh()
        prepare()
        self.inside("sh", "-c", "mv p x; mv x/q/repo y; mkdir y/.vscode; echo x > y/.gitmodules", options=[])
        self.assertEqual(sorted(os.listdir(self.path("y"))), [".git"])

    def test_through_another_name_of_the_folder(self):
        """A mount shows what lies above the rule at a second place."""
        def prepare():
            self.make("work/a/b/kept", "mine")
        for source, place, above in (("work/a", "/tmp/shown", "/tmp/shown/b"), ("work", "/tmp/shown", "/tmp/shown/a")):
            prepare()
            line = (f"mv {above} /tmp/shown/x; mkdir -p {above}; mv /tmp/shown /tmp/x; rmdir /tmp/shown; ln -s x {above}; "
                    f"echo evil > {above}/kept; echo evil > {above}/b/kept; echo evil > {above}/later; mkdir -p {above}/b; echo evil > {above}/b/later; echo end")
            done = self.inside("sh", "-c", line, options=["--mount", f"{self.at(source)}:{place}", "--deny-write", "a/b/kept", "--deny-write", "a/b/later"])
            self.assertTrue(done.stdout.endswith("end\n"), done.stderr)
            self.assertEqual(names.cordon_testing.read_file(self.path("a/b/kept")), b"mine\n")
            self.assertFalse(os.path.lexists(self.path("a/b/later")))
            self.assert_reported(above)
            self.fresh()

    def test_socket_that_moves(self):
        # The name that was bound is one thing, the name that it gets is another.
        code = ("import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('own')\n"
                "say('move', attempt(os.rename, 'own', '.env'))\nsay('free', attempt(os.rename, 'own', 'other'))")
        done = self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + code)
        self.assertEqual(self.answers(done), {"move": "EROFS", "free": "ok"})


if __name__ == "__main__":
    names.main()
