#!/usr/bin/env python3
"""Rules for names that are not there at start: every pattern, every missing component (rows 12, 19)."""
import os
import subprocess

import names

# Programs that people and agents write files with; $1 is the path. Each is tried from a clean slate.
WRITERS = {
    "shell": 'echo evil > "$1"', "append": 'echo evil >> "$1"', "tee": 'echo evil | tee "$1" > /dev/null',
    "touch": 'touch "$1"', "cp": 'cp source "$1"', "mv": 'mv source "$1"', "install": 'install -m 600 source "$1"',
    "ln": 'ln source "$1"', "ln -s": 'ln -s source "$1"', "dd": 'dd if=source of="$1" status=none', "mkdir": 'mkdir "$1"',
    "mkfifo": 'mkfifo "$1"', "truncate": 'truncate -s 9 "$1"', "sed": 'cp source s2; sed -i s/a/b/ s2; mv -f s2 "$1"',
    "tar": 'mkdir -p t/"$(dirname "$1")"; cp source t/"$1"; tar cf t.tar -C t .; rm -rf t; tar xf t.tar',
    "git": 'git init -q g; mkdir -p g/"$(dirname "$1")"; cp source g/"$1"; git -C g add -f .; git -C g -c user.name=a -c user.email=b '
           'commit -qm x; rm -f g/"$1"; git -C g worktree list > /dev/null; git -C g checkout -q -- .; mv g/"$1" "$1"',
    "python": "/usr/bin/python3 -ISc 'import sys; open(sys.argv[1], \"w\").write(\"evil\")' \"$1\"",
    "atomic": "/usr/bin/python3 -ISc 'import os, sys; f = sys.argv[1]; open(\"tmp~\", \"w\").write(\"evil\"); os.replace(\"tmp~\", f)' \"$1\"",
    "perl": "perl -e 'open(F, \">\", $ARGV[0]) or die; print F \"evil\"' \"$1\"", "patch": 'printf "%s\\n" "--- /dev/null" "+++ $1" "@@ -0,0 +1 @@" "+evil" | '
    'git apply --unsafe-paths 2>/dev/null || printf "%s\\n" "--- /dev/null" "+++ $1" "@@ -0,0 +1 @@" "+evil" | patch -s -p0',
}
SOMETIMES = {"perl", "patch", "git"}  # not on every host; git makes nothing below .git


class Writers(names.NameTest):
    """What a refused program leaves is nothing; what it says is the error of a read-only place."""

    def attack(self, path, options=None, prepare=lambda: None):
        for name, line in WRITERS.items():
            full = 'echo evil-source > source; ' + line
            prepare()
            control = self.outside("sh", "-ec", full, "sh", path)
            made = os.path.lexists(self.path(path))
            self.fresh()
            if not made:
                self.assertIn(name, SOMETIMES, f"outside too {name} fails: {control.stderr}")
                continue
            prepare()
            done = self.inside("sh", "-ec", full, "sh", path, options=options)
            with self.subTest(path=path, writer=name):
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertFalse(os.path.lexists(self.path(path)))
                # Some work on a copy beside it first, which has the same name.
                self.assert_reported(self.work + "/*" + os.path.basename(path))
            self.fresh()

    def test_denied_name(self):
        self.attack(".env")

    def test_denied_name_in_a_folder(self):
        self.attack("sub/dir/server.key", prepare=lambda: os.makedirs(self.path("sub/dir")))

    def test_protected_file(self):
        self.attack(".bashrc", [])

    def test_protected_folder(self):
        self.attack(".vscode", [])

    def test_denied_path(self):
        self.attack("later", ["--deny-write", "later"])

    def test_hook(self):
        def prepare():
            subprocess.run(["git", "init", "-q", "--template=", self.work], check=True, env=self.environment)
        self.attack(".git/hooks", [], prepare=prepare)


class Missing(names.NameTest):
    """Row 12: whatever part of a protected path is missing, the path does not come into being."""
    CASES = {  # path: what exists of it at start
        ".bashrc": "", ".vscode/tasks.json": "", ".claude/settings.json": "", ".claude/settings.local.json": "", ".mcp.json": "",
        ".claude/hooks/x.sh": ".claude", ".config/fish/config.fish": "", "a/b/c/d/kept": "", "a/b/c/d/two": "a/b", "a/x/kept": "a/x",
    }
    RULES = ["--deny-write", "a/b/c/d/kept", "--deny-write", "a/b/c/d/two", "--deny-write", "a/x/kept"]
    # Ways to a path of which components are missing; $1 the path, $2 its first missing component, $3 the rest.
    WAYS = {
        "make each": 'mkdir -p "$(dirname "$1")"; echo evil > "$1"',
        "build beside and move": 'mkdir -p "x/$(dirname "$3")"; echo evil > "x/$3"; mkdir -p "$(dirname "$2")"; mv -T x "$2"',
        "link to it": 'mkdir -p "x/$(dirname "$3")"; echo evil > "x/$3"; mkdir -p "$(dirname "$2")"; ln -s "$PWD/x" "$2"',
        "relative link": 'mkdir -p "x/$(dirname "$3")" "$(dirname "$2")"; echo evil > "x/$3"; ln -s "$(realpath --relative-to="$(dirname "$2")" x)" "$2"',
        "link first": 'mkdir -p x "$(dirname "$2")"; ln -s "$PWD/x" "$2"; mkdir -p "$(dirname "$1")"; echo evil > "$1"',
        "link moved there": 'mkdir -p "x/$(dirname "$3")" "$(dirname "$2")"; echo evil > "x/$3"; ln -s "$PWD/x" l; mv -T l "$2"',
        "copy of a tree": 'mkdir -p "x/$(dirname "$3")" "$(dirname "$2")"; echo evil > "x/$3"; cp -rT x "$2"',
        "archive": 'mkdir -p "t/$(dirname "$1")"; echo evil > "t/$1"; tar cf t.tar -C t .; tar xf t.tar',
        "grandparent": 'mkdir -p "y/x/$(dirname "$3")"; echo evil > "y/x/$3"; mkdir -p "$(dirname "$2")"; mv -T y/x "$2"; mv -T y "$(dirname "$2")"',
    }

    def parts(self, path, there):
        """($2, $3): the first component that is missing, and what follows it."""
        words = path.split("/")
        count = len([word for word in there.split("/") if word]) + 1
        return "/".join(words[:count]), "/".join(words[count:])

    def test_every_way_to_every_missing_path(self):
        for path, there in self.CASES.items():
            first, rest = self.parts(path, there)
            for way, line in self.WAYS.items():
                if not rest and way not in ("make each", "archive"):
                    continue
                if there:
                    os.makedirs(self.path(there))
                self.outside("sh", "-c", line, "sh", path, first, rest)
                reached = os.path.exists(self.path(path))
                if not reached:
                    self.assertEqual(way, "grandparent", path)
                self.fresh()
                if there:
                    os.makedirs(self.path(there))
                self.inside("sh", "-c", line, "sh", path, first, rest, options=self.RULES)
                with self.subTest(path=path, way=way):
                    self.assertFalse(os.path.exists(self.path(path)))
                    if reached:
                        self.assertTrue(self.violations())
                self.fresh()

    def test_nothing_is_left_in_the_tree_for_a_rule(self):
        before = names.cordon_testing.snapshot(self.base)
        process = self.start_cordon("sh", "-c", "echo up; read -r line; exit 3", stdin=subprocess.PIPE,
                                    options=[*self.RULES, *(["--deny-name", ".env"] if names.knows("--deny-name") else [])])
        self.read_line(process.stdout)
        self.assertEqual(names.cordon_testing.snapshot(self.base), before)
        process.communicate(b"\n", timeout=names.cordon_testing.SECONDS)
        self.assertEqual(process.returncode, 3)
        self.assertEqual(names.cordon_testing.snapshot(self.base), before)


class Patterns(names.NameTest):
    """Row 19: what each pattern means for names to come, against its neighbours."""

    def check(self, options, denied, free):
        code = ("def make(p):\n  os.makedirs(os.path.dirname(p) or '.', exist_ok=True)\n  os.close(os.open(p, os.O_CREAT | os.O_WRONLY))\n"
                "for p in sys.argv[1:]: say(p, attempt(make, p))")
        self.assertEqual(set(self.control(code, *denied, *free).values()), {"ok"})
        self.fresh()
        answers = self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + code, *denied, *free, options=options))
        self.assertEqual({name: answers[name] for name in denied}, {name: "EROFS" for name in denied})
        self.assertEqual({name: answers[name] for name in free}, {name: "ok" for name in free})
        for name in denied:
            self.assertFalse(os.path.lexists(self.path(name)), name)
        for name in free:
            self.assertTrue(os.path.lexists(self.path(name)), name)
        self.fresh()

    def test_names(self):
        self.check(self.name_rules(), (".env", "a/.env", "a/b/c/.env", ".env.local", ".env.", "x.key", ".key", "a/.hidden/y.pem", "é.pem", "a b.key"),
                   ("env", ".envrc2", ".environment", "a/env", ".env.example", "a/.env.example", "x.keys", "x.key.txt", "key", "pem", "x.KEY", ".ENV"))

    def test_classes_braces_and_marks(self):
        self.check(self.name_rules("secret[0-9]", "{id_rsa,id_ed25519}{,.bak}", "?.p12", "[!a]x.cfg", "*[.]pfx"),
                   ("secret1", "d/secret9", "id_rsa", "id_rsa.bak", "d/id_ed25519", "k.p12", "bx.cfg", "deep/er/v.pfx"),
                   ("secret", "secret10", "secretx", "id_rsa.pub", "kk.p12", "ax.cfg", "pfx"))

    def test_exceptions(self):
        self.check(self.name_rules("*.pem", "!**/node_modules/**", "!public-*.pem"), ("a.pem", "lib/a.pem", "node_modules.pem"),
                   ("node_modules/a.pem", "x/node_modules/p/q/a.pem", "public-1.pem", "lib/public-2.pem"))

    def test_denied_paths(self):
        self.check(["--deny-write", "src/**/*.cfg", "--deny-write", "gen-?", "--deny-write", "{one,two}/x", "--deny-write", "**/deep/**/k"],
                   ("src/a.cfg", "src/x/y/a.cfg", "gen-1", "one/x", "two/x", "q/deep/k", "q/deep/r/s/k"),
                   ("a.cfg", "srcs/a.cfg", "gen-12", "three/x", "one/y", "q/deep/kk", "q/dee/k"))

    def test_a_pattern_that_names_a_folder(self):
        self.check(["--deny-write", "**/private/", "--deny-write", "out/**"], ("private/x", "a/private/b/c", "out/x", "out/y/z"),
                   ("privates/x", "a/publix/x", "outer/x"))

    def test_wherever_the_session_may_write(self):
        other = self.at("other")
        os.mkdir(other)
        for path in (os.path.join(other, "x.key"), os.path.join(other, "sub", ".env")):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            done = self.inside("sh", "-c", f"echo x > {path}", options=[*self.name_rules(), "--write", other])
            self.assertNotEqual(done.returncode, 0)
            self.assertFalse(os.path.exists(path))
            self.assert_reported(path)
        done = self.inside("sh", "-c", "echo x > /tmp/shown/x.key; echo x > /tmp/shown/free", options=[*self.name_rules(), "--mount", other + ":/tmp/shown"])
        self.assertFalse(os.path.exists(os.path.join(other, "x.key")))
        self.assertTrue(os.path.exists(os.path.join(other, "free")), done.stderr)

    def test_existing_matches_are_read_only(self):
        text = self.make("work/sub/.env", "mine")
        self.make("work/x.key", "mine")
        line = ("for f in sub/.env x.key; do echo evil > $f; echo evil >> $f; cp source $f; sed -i s/mine/evil/ $f; truncate -s0 $f; "
                "dd if=source of=$f; cat $f; done; ln sub/.env other; echo evil > other; ln -s sub/.env link; echo evil > link; echo end")
        done = self.inside("sh", "-c", "echo evil > source;" + line)
        self.assertIn("end", done.stdout)
        self.assertEqual(done.stdout.count(text), 2)
        for name in ("sub/.env", "x.key"):
            self.assertEqual(names.cordon_testing.read_file(self.path(name)), b"mine\n")
            self.assert_reported(self.path(name), "file-write*")


class Replaced(names.NameTest):
    """12.1: the host replaces a protected file, and the mount that lay on it is gone."""

    def during(self, line, change, options):
        process = self.start_cordon("sh", "-c", f"echo up; read -r go; {line}; echo end", stdin=subprocess.PIPE,
                                    options=[*options, "--events", self.at("events")])
        self.read_line(process.stdout)
        change()
        out, err = process.communicate(b"go\n", timeout=names.cordon_testing.SECONDS)
        self.assertTrue(out.endswith(b"end\n"), err)

    WRITES = ("echo evil > {0}; echo evil >> {0}; cp source {0}; dd if=source of={0}; truncate -s0 {0}; true > {0}; "
              "echo evil 1<> {0}; sed -i s/new/evil/ {0}; ln {0} second; echo evil > second; mv source {0}; ln -f source {0}")

    def test_protected_files_stay_unwritable(self):
        for name, options in (("kept", ["--deny-write", "kept"]), (".bashrc", []), (".git/config", []), (".git/hooks/pre-commit", []),
                              ("sub/.env", None)):
            if name.startswith(".git"):
                subprocess.run(["git", "init", "-q", self.work], check=True, env=self.environment)
            self.make("work/" + name, "old")
            self.make("work/new-of-host", "[core]\n\tnew = 1")
            self.write("source", "evil\n")
            line = self.WRITES.format(name)
            def change():
                os.rename(self.path("new-of-host"), self.path(name))
            self.during(line, change, self.name_rules() if options is None else options)
            with self.subTest(name=name):
                self.assertEqual(names.cordon_testing.read_file(self.path(name)), b"[core]\n\tnew = 1\n")
                self.assertEqual([path for path in self.found("second") if os.path.samefile(path, self.path(name))], [])
                self.assert_reported(self.path(name))
            self.fresh()

    def test_control(self):
        self.make("work/kept", "old")
        self.make("work/new-of-host", "new")
        self.write("source", "evil\n")
        self.outside("sh", "-c", self.WRITES.format("kept"))
        self.assertNotEqual(names.cordon_testing.read_file(self.path("kept")), b"old\n")

    def test_file_that_the_host_adds(self):
        # A name that matches and that the host makes while the session runs.
        self.write("source", "evil\n")
        self.during(self.WRITES.format("late.key"), lambda: self.make("work/late.key", "new"), self.name_rules())
        self.assertEqual(names.cordon_testing.read_file(self.path("late.key")), b"new\n")
        self.assert_reported(self.path("late.key"))

    def test_removed_by_the_host(self):
        self.make("work/kept", "old")
        self.write("source", "evil\n")
        self.during(self.WRITES.format("kept"), lambda: os.unlink(self.path("kept")), ["--deny-write", "kept"])
        self.assertFalse(os.path.lexists(self.path("kept")))

    def test_folder_that_the_host_replaces(self):
        self.make("work/.vscode/tasks.json", "old")
        self.make("work/v2/tasks.json", "new")
        self.write("source", "evil\n")
        def change():
            os.rename(self.path(".vscode"), self.path("v1"))
            os.rename(self.path("v2"), self.path(".vscode"))
        self.during(self.WRITES.format(".vscode/tasks.json") + "; echo evil > .vscode/launch.json; mkdir .vscode/d", change, [])
        self.assertEqual(os.listdir(self.path(".vscode")), ["tasks.json"])
        self.assertEqual(names.cordon_testing.read_file(self.path(".vscode/tasks.json")), b"new\n")


class OldLinks(names.NameTest):
    """12.19: a second name that was there before."""

    def test_write_through_an_old_hard_link(self):
        for name, options in (("kept", ["--deny-write", "kept"]), (".bashrc", []), ("sub/kept", ["--deny-write", "sub"])):
            self.make("work/" + name, "mine")
            os.link(self.path(name), self.path("other"))
            self.inside("sh", "-c", "echo evil > other; echo evil >> other; truncate -s0 other; echo evil 1<> other; ln other third; echo evil > third",
                        options=options)
            with self.subTest(name=name):
                self.assertEqual(names.cordon_testing.read_file(self.path(name)), b"mine\n")
                self.assert_reported(self.path("other"))
            self.fresh()

    def test_unrelated_hard_links_are_free(self):
        self.make("work/one", "mine")
        os.link(self.path("one"), self.path("two"))
        done = self.inside("sh", "-ec", "echo new > two; ln two three; echo newer >> three; cat one",
                           options=["--deny-write", "kept"])
        self.assertEqual((done.returncode, done.stdout), (0, "new\nnewer\n"), done.stderr)


class KnownLimitation(names.NameTest):
    """12.19: what is not held, and why; each test shows that it is so today."""

    def test_metadata_of_a_name_that_appears_later(self):
        # Content is judged when it is opened; chmod and utimes are not trapped.
        process = self.start_cordon("sh", "-c", "echo up; read -r go; chmod 600 late.key; touch -d @1 late.key", stdin=subprocess.PIPE,
                                    options=self.name_rules())
        self.read_line(process.stdout)
        self.make("work/late.key", "mine")
        process.communicate(b"go\n", timeout=names.cordon_testing.SECONDS)
        st = os.stat(self.path("late.key"))
        self.assertEqual((st.st_mode & 0o777, st.st_mtime), (0o600, 1.0))
        self.assertEqual(names.cordon_testing.read_file(self.path("late.key")), b"mine\n")

    def test_old_hard_link_of_a_denied_name(self):
        # Which files match is judged by name when one is used; another name of one, made before, is another name.
        self.make("work/.env", "mine")
        os.link(self.path(".env"), self.path("other"))
        self.inside("sh", "-c", "echo evil > other")
        self.assertEqual(names.cordon_testing.read_file(self.path(".env")), b"evil\n")

    def test_denied_name_can_be_removed(self):
        # 12.20: removal hides nothing and plants nothing.
        self.make("work/.env", "mine")
        self.inside("rm", "-f", ".env")
        self.assertFalse(os.path.exists(self.path(".env")))


if __name__ == "__main__":
    names.main()
