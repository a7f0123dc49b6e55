#!/usr/bin/env python3
"""Tricks against what the judge sees and remembers: closed directories, exchanges, old links, the host's own nodes.

Each shell line is run outside first, where it plants what it is after, and then inside in a tree that
was made the same way.
"""
import os
import pathlib
import shutil
import stat
import subprocess
import time
import unittest

import names

EXCHANGE = ("import ctypes, sys\n"
            "sys.exit(ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2) != 0)\n")


class Planted(names.NameTest):
    """Whether a shell line plants something below the working directory."""

    def setUp(self):
        super().setUp()
        self.environment["EXCHANGE"] = os.path.join(self.tools, "exchange.py")
        pathlib.Path(self.environment["EXCHANGE"]).write_text(EXCHANGE, encoding="ascii")

    def sh(self, line):
        return self.outside("sh", "-c", line)

    def attack(self, line, planted, setup=":", options=()):
        """`planted`: a shell line that says something when it is there. Returns what inside() did."""
        if "git" in line + setup and shutil.which("git") is None:
            self.skipTest("no git")
        self.assertEqual(self.sh(setup).returncode, 0)
        control = self.sh(line)
        self.assertNotEqual(self.sh(planted).stdout, "", f"the trick does nothing outside: {control}")
        self.fresh()
        self.assertEqual(self.sh(setup).returncode, 0)
        before = self.sh(planted).stdout
        done = self.inside("sh", "-c", line, options=options)
        self.assertEqual(self.sh(planted).stdout, before, f"{done.stdout}\n{done.stderr}")
        return done


class Closed(Planted):
    """A directory that its owner has closed (chmod 000) hides from the supervisor what is in it."""

    def test_hooks_in_a_directory_that_becomes_git(self):
        self.attack("mkdir -p z/hooks; echo evil > z/hooks/pre-commit; chmod 000 z; mv z .git; chmod 755 .git || chmod 755 z",
                    "ls .git/hooks/pre-commit")
        self.assert_reported(self.path(".git"))

    def test_config_in_a_directory_that_becomes_git(self):
        self.attack("mkdir z; echo evil > z/config; cd z; chmod 000 .; cd ..; mv z .git; chmod 755 .git || chmod 755 z",
                    "cat .git/config")

    def test_above_the_working_directory_of_the_command(self):
        self.attack("mkdir -p p/d/z/hooks; echo evil > p/d/z/hooks/pre-commit; exec 3<.; cd p/d; chmod 000 ..; mv z /proc/self/fd/3/.git;"
                    " mv z .git; chmod 755 /proc/self/fd/3/p", "ls .git/hooks/pre-commit p/d/.git/hooks/pre-commit 2>/dev/null")

    def test_names_of_a_repository_that_was_there(self):
        self.attack("cd p/sub; chmod 000 ..; mkdir .vscode; echo evil > .vscode/tasks.json; echo evil > .envrc; cd \"$OLDPWD\"; chmod 755 p",
                    "ls -d p/sub/.vscode p/sub/.envrc 2>/dev/null", setup="git init -q p/sub")
        self.assert_reported(self.path("p/sub/.envrc"))

    def test_bare_repository(self):
        self.attack("mkdir -p p/b; cd p/b; mkdir hooks objects; echo evil > config; echo ref: refs/heads/x > HEAD.x; chmod 000 ..;"
                    " mkdir refs; mv HEAD.x HEAD; cd \"$OLDPWD\"; chmod 755 p",
                    "test -e p/b/HEAD && test -e p/b/refs && test -e p/b/config && cat p/b/config")

    def test_missing_path_that_a_rule_names(self):
        for how in ("mv conf/x conf/sub", "cd conf; python3 $EXCHANGE x sub; cd .."):
            self.attack(f"mkdir conf/x; echo evil > conf/x/kept; chmod 000 conf/x; {how}; chmod 755 conf/x conf/sub", "cat conf/sub/kept 2>/dev/null",
                        setup="mkdir -p conf" + ("/sub" if "EXCHANGE" in how else ""), options=["--deny-write", "conf/sub/kept"])
            self.fresh()

    def test_old_hard_link(self):
        setup = "mkdir -p a/sub; echo secret > a/sub/kept; ln a/sub/kept other"
        self.attack("chmod 000 a; echo evil > other; chmod 755 a", "grep evil a/sub/kept", setup=setup, options=["--deny-write", "a/sub"])
        self.assert_reported(self.path("other"))

    def test_ordinary_work_below_a_closed_directory_goes_on(self):
        done = self.inside("sh", "-ec", "mkdir -p p/d; cd p/d; chmod 000 ..; echo x > main.c; mkdir src; mv main.c src; rm -r src; echo end")
        self.assertEqual(done.stdout, "end\n", done.stderr)


class OldLinks(Planted):
    """Another name of a protected file, opened again through /proc."""

    def test_through_a_descriptor(self):
        setup = "mkdir sub; echo secret > sub/kept; ln sub/kept other"
        for write in ("echo evil > /proc/self/fd/3", "echo evil > /dev/fd/3", ": > /dev/fd/3; echo evil >> /proc/self/fd/3"):
            self.attack(f"exec 3<other; {write}", "grep evil sub/kept", setup=setup, options=["--deny-write", "sub"])
            self.assert_reported(self.path("other"))
            self.fresh()


class Remembered(Planted):
    """What was there before the session is not made to look as if the session had made it."""
    EVIL = "mkdir -p .vscode && echo evil > .vscode/tasks.json; echo evil > .envrc"
    FOUND = "ls -d sub/.vscode sub/.envrc 2>/dev/null"

    def test_exchange_with_a_repository_of_the_session(self):
        self.attack(f"git init -q x; python3 $EXCHANGE x sub; (cd x; {self.EVIL}); python3 $EXCHANGE x sub", self.FOUND, setup="git init -q sub")

    def test_exchange_puts_no_other_config_in_place(self):
        self.attack("git init -q --bare x; mkdir y y/objects; printf '[core]\\n\\tfsmonitor = evil\\n' > y/config; cp x/HEAD y/H;"
                    " python3 $EXCHANGE x y; mkdir x/refs; cp x/H x/HEAD; mv x .git", "cat .git/config x/refs/../config 2>/dev/null | grep evil && ls x/refs .git")

    def test_repository_without_its_config(self):
        for change in ("mv .git/HEAD .git/H; mv .git/H .git/HEAD", "mv .git/refs r; mkdir .git/refs", "mv .git/objects o; mv o .git/objects"):
            self.attack(f"cd sub; rm -f .git/config; {change}; {self.EVIL}", self.FOUND, setup="git init -q sub")
            self.fresh()

    def test_commondir_of_a_worktree_that_was_there(self):
        setup = ("git init -q m; cd m; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; git worktree add -q ../wt")
        found = "grep evil m/.git/worktrees/*/commondir"
        for change in ("mkdir wt/refs", "mv wt w2; mv w2 wt", "mkdir wt/objects"):
            self.attack(f"cd m/.git/worktrees; {change}; rm -f wt/commondir; echo ../../../../evil > wt/commondir", found, setup=setup)
            self.fresh()

    def test_an_empty_directory_that_was_there_may_become_a_repository(self):
        os.mkdir(self.path("d"))
        done = self.inside("sh", "-ec", "git init -q d; git init -q --bare e; mkdir -p f; git init -q --bare f; ls d/.git/config e/config f/config")
        self.assertEqual(done.returncode, 0, done.stderr)


class ConfigText(Planted):
    """A section with an empty name is another section to git."""

    def test_key_of_the_user_is_not_moved_to_an_empty_subsection(self):
        setup = "git init -q sub; git -C sub config core.hooksPath /nowhere"
        self.attack("cd sub/.git; sed 's/\\[core\\]/[core \"\"]/' config > config.lock; mv config.lock config",
                    "git -C sub config core.hooksPath | grep -v nowhere; test -z \"$(git -C sub config core.hooksPath)\" && echo gone", setup=setup)


class Included(Planted):
    """What the repository's configuration includes is configuration, whatever it is called."""

    def test_included_file(self):
        for setup, line in (("echo '[user]' > team.conf", "echo evil >> team.conf"), ("echo '[user]' > team.conf", "rm team.conf; echo evil > team.conf"),
                            (":", "echo evil > team.conf"), (":", "mkdir d; echo evil > d/x; mv d/x team.conf")):
            self.attack(line, "grep evil team.conf", setup="git init -q . && git config include.path ../team.conf && " + setup)
            self.fresh()


class Host(names.NameTest):
    """Nodes of the host that a session has in its hands. Nothing is tried outside: it would change the machine."""
    CODE = ("import stat\n"
            "def change(what):\n"
            "    st = os.stat(what)\n"
            "    for key, how in ((\"chmod\", lambda: os.chmod(what, stat.S_IMODE(st.st_mode))), (\"chown\", lambda: os.chown(what, st.st_uid, st.st_gid)),\n"
            "                     (\"utime\", lambda: os.utime(what))):\n"
            "        say(f\"{what} {key}\", attempt(how))\n"
            "for what in sys.argv[1:]: change(what)\n"
            "change(0)\n"
            "say(\"write\", attempt(lambda: open('/dev/null', 'w').write('x') and None))\n")

    def test_device_nodes_keep_their_mode(self):
        devices = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"]
        before = {device: os.stat(device)[:9] for device in devices}
        answers = self.probe(self.CODE, *devices)
        self.assertEqual(answers.pop("write"), "ok")
        self.assertLessEqual(set(answers.values()), {"EROFS", "EPERM"}, answers)
        self.assertEqual({device: os.stat(device)[:2] for device in devices}, {device: st[:2] for device, st in before.items()})

    def test_passed_device_is_the_sessions_own(self):
        with open("/dev/null", "r+b", buffering=0) as null:
            answers = self.probe(self.CODE, "/dev/null", stdin=null)
        self.assertLessEqual({answer for key, answer in answers.items() if key.startswith("0 ")}, {"EROFS", "EPERM"}, answers)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))


class Broker(names.NameTest):
    """What a session can do to its broker."""
    TOGGLE = r"""
import fcntl, socket, struct, threading, time
listener = socket.socket(socket.AF_UNIX); listener.bind("s"); listener.listen(0)
full = []
while True:
    full.append(socket.socket(socket.AF_UNIX)); full[-1].setblocking(False)
    try: full[-1].connect("s")
    except BlockingIOError: break
end = time.monotonic() + float(sys.argv[1])
end_all = end + 20
address = struct.pack("H", socket.AF_UNIX) + b"s\0"
caught = full[-1].fileno()
def flip():
    while time.monotonic() < end:
        fcntl.fcntl(caught, fcntl.F_SETFL, os.O_NONBLOCK); fcntl.fcntl(caught, fcntl.F_SETFL, 0)
def connect():
    while time.monotonic() < end: libc.connect(caught, address, len(address))
for what in (flip, flip, connect, connect): threading.Thread(target=what, daemon=True).start()
worst = 0.0
number = 0
while time.monotonic() < end:
    start = time.monotonic(); os.mkdir(f"d{number}"); number += 1
    worst = max(worst, time.monotonic() - start)
say("worst", str(worst))
sys.stdout.flush()
os._exit(0)
"""

    def test_socket_that_becomes_blocking_between_the_look_and_the_call(self):
        seconds = min(names.STRESS, 6)
        started = time.monotonic()
        try:
            answers = self.probe(self.TOGGLE, str(seconds), timeout=60)
        except subprocess.TimeoutExpired:
            self.fail("the broker waits for a connection")
        self.assertLess(float(answers["worst"]), 2.0)
        self.assertLess(time.monotonic() - started, 40)


class KnownLimitation(Planted):
    """Accepted, with the reason."""

    @unittest.skipIf(shutil.which("git") is None, "no git")
    def test_repository_below_that_is_taken_away_and_made_anew(self):
        """unlink asks nobody: `.git` of a repository below can be removed, a new one is the session's, and its names are told, not refused."""
        self.assertEqual(self.sh("git init -q sub").returncode, 0)
        done = self.inside("sh", "-ec", "rm -rf sub/.git; git init -q sub; echo x > sub/.envrc")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue([event for event in self.events() if event.get("target") == self.path("sub/.envrc")], "it is not even told")


if __name__ == "__main__":
    names.main()
