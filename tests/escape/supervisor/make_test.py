#!/usr/bin/env python3
"""Every call that makes a name, for every kind of rule on names (rows 2, 12).

probes/make.c knows the calls. Each gets a forbidden name of its own, so that the witness outside
says which of them came through.
"""
import os
import subprocess

import names

# What the filter answers before any name is looked at, or what needs a privilege.
BEFORE_NAMES = {
    "openat2": {"ENOSYS"}, "renameat2-whiteout": {"EINVAL"}, "bind-datagram": {"EACCES", "EBADF"},
    "by-handle": {"EPERM"},
    **{f"ring-{call}": {"ENOSYS"} for call in ("openat", "mkdirat", "renameat", "linkat", "symlinkat")},
    **{f"int80-{call}": {"SIGSYS"} for call in ("open", "creat", "mkdir", "rename", "socketcall")},
    "x32-open": {"ENOSYS"}, "x32-mkdir": {"ENOSYS"},
    # Giving an unnamed file a name by its descriptor alone takes a right that a session has not.
    "linkat-empty": {"ENOENT", "EROFS"}, "linkat-temporary-empty": {"ENOENT", "EROFS"},
}
# Not everywhere: switched off by hosts, or a privilege of root.
NOT_IN_CONTROL = {way for way in BEFORE_NAMES if way.startswith(("ring", "int80", "x32"))} | {
    "renameat2-whiteout", "by-handle", "linkat-empty", "linkat-temporary-empty"}


class Make(names.NameTest):
    PROBES = ("make",)

    def ways(self):
        return self.outside(self.tool("make"), "list", ".").stdout.split()

    def control(self, template, prepare):
        """What each way does outside; those that work there must be refused inside."""
        prepare()
        answers = {}
        for way in self.ways():  # each alone: an old entry may kill
            done = self.outside(self.tool("make"), template, ".", way)
            answers[way] = dict(line.split() for line in done.stdout.splitlines()).get(way, "killed")
        self.assertEqual({way for way, answer in answers.items() if answer != "ok"} - NOT_IN_CONTROL,
                         set(), answers)
        self.assertEqual([way for way in answers if answers[way] == "ok" and
                          not os.path.lexists(self.path(template % way))], [])
        self.fresh()
        return answers

    def attack(self, template, options=None, prepare=lambda: None, action="file-write-create"):
        """All ways, `template` of the working directory being what each of them makes."""
        self.control(template, prepare)
        prepare()
        before = {os.path.relpath(path, self.work) for path in names.cordon_testing.names_below(self.work)}
        ways = [way for way in self.ways() if not way.startswith("int80")]
        answers = self.said(self.inside(self.tool("make"), template, ".", *ways, options=options))
        self.assertEqual(sorted(answers), sorted(ways))
        for way, answer in answers.items():
            with self.subTest(template=template, way=way):
                self.assertIn(answer, BEFORE_NAMES.get(way, {"EROFS"}))
                self.assertFalse(os.path.lexists(self.path(template % way)))
        after = {os.path.relpath(path, self.work) for path in names.cordon_testing.names_below(self.work)}
        self.assertLessEqual(after - before, {"made-by-make", "folder-of-make", "link-of-make"})
        for way in set(ways) - set(BEFORE_NAMES):
            with self.subTest(report=way):
                target = os.path.normpath(self.path(template % way))
                self.assert_reported(target, "*" if way.startswith("bind") else action)
        # By the 32-bit entry nothing is answered: the program ends.
        for way in (way for way in self.ways() if way.startswith("int80")):
            self.inside(self.tool("make"), template, ".", way, options=options)
            self.assertFalse(os.path.lexists(self.path(template % way)), way)

    def test_denied_name(self):
        self.attack("./%s.key")

    def test_denied_name_by_an_absolute_path(self):
        self.attack(self.path("%s.key"))

    def test_denied_name_that_looks_allowed_up_to_the_end(self):
        self.attack("./.env.example/../.env.%s", prepare=lambda: os.mkdir(self.path(".env.example")))

    def test_denied_name_deep_below(self):
        self.attack("a/b/c/%s.pem", prepare=lambda: os.makedirs(self.path("a/b/c")))

    def test_denied_name_through_a_link(self):
        def prepare():
            os.makedirs(self.path("real/deep"))
            os.symlink("real/deep", self.path("link"))
        self.control("link/%s.pem", prepare)
        prepare()
        ways = [way for way in self.ways() if not way.startswith("int80")]
        answers = self.said(self.inside(self.tool("make"), "link/%s.pem", ".", *ways))
        for way, answer in answers.items():
            self.assertIn(answer, BEFORE_NAMES.get(way, {"EROFS"}), way)
        self.assertEqual(self.found("*.pem"), [])
        self.assert_reported(self.path("real/deep/openat.pem"))

    def test_denied_path_that_is_missing(self):
        self.attack("./later-%s", ["--deny-write", "later-*"])

    def test_denied_path_with_a_missing_folder(self):
        # Only the last component is missing here; names_test.py has the folders.
        rules = [word for way in self.ways() for word in ("--deny-write", f"there/{way}")]
        self.attack("there/%s", rules, prepare=lambda: os.mkdir(self.path("there")))

    def test_denied_path_of_a_pattern(self):
        self.attack("src/x/secrets/%s.cfg", ["--deny-write", "src/**/secrets/*.{cfg,ini}"],
                    prepare=lambda: os.makedirs(self.path("src/x/secrets")))

    def repositories(self):
        for way in self.ways():
            subprocess.run(["git", "init", "-q", "--template=", self.path("repo-" + way)], check=True,
                           capture_output=True, env=self.environment)
            os.mkdir(self.path("repo-" + way, ".git/hooks"))

    def test_hook_of_a_repository_below(self):
        self.attack("repo-%s/.git/hooks/post-checkout", [], prepare=self.repositories)

    def test_protected_file_of_a_repository_below(self):
        self.attack("repo-%s/.gitmodules", [], prepare=self.repositories)

    def test_names_of_git_that_stand_for_programs(self):
        for name in ("config.worktree", "commondir", "hooks"):
            def prepare():
                self.repositories()
                for way in self.ways():
                    os.rmdir(self.path("repo-" + way, ".git/hooks"))
            self.attack("repo-%s/.git/" + name, [], prepare=prepare)
            self.fresh()

    def test_neighbours_are_made(self):
        """The same calls, a name beside the rules: all of them do what they do outside."""
        works = self.control("./%s.keys", lambda: None)
        expected = {way: "ok" for way, answer in works.items() if answer == "ok" and way not in BEFORE_NAMES}
        self.assertGreater(len(expected), 30)
        for options in (None, []):
            answers = self.said(self.inside(self.tool("make"), "./%s.keys", ".", *expected, options=options))
            self.assertEqual(answers, expected)
            self.assertEqual([way for way in expected if not os.path.lexists(self.path(f"{way}.keys"))], [])
            self.assertEqual(self.violations(), [])
            self.fresh()

    def test_exceptions_are_made(self):
        for name in (".env.example", "node_modules/x.key"):
            os.mkdir(self.path("node_modules"))
            self.inside("sh", "-ec", f"echo x > {name}; cat {name}",
                        options=self.name_rules(*names.GLOBS, "!**/node_modules/**"))
            self.assertTrue(os.path.exists(self.path(name)), name)
            self.fresh()

    def test_names_in_the_sessions_own_temporary_folder(self):
        # Nothing there outlives the session, and nobody else reads it.
        done = self.inside("sh", "-ec", 'cd "$TMPDIR"; echo x > a.key; cat a.key')
        self.assertIn(done.returncode, (0, 2), done.stderr)


if __name__ == "__main__":
    names.main()
