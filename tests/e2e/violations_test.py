#!/usr/bin/env python3
"""Typical mistakes of an agent: each is refused, and told with its exact path and rule (spec 05)."""
import fnmatch
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

NO_RULE = ""  # nothing in the policy opens the place

# name: (line, action, target, rule, further options). In the line, the target and the rule {work}, {home},
# {base} and {other} (another project) stand for their paths. A rule is a glob of the event's "rule".
MISTAKES = {
    "edit a file of the system": ("echo '127.0.0.1 x' >> {base}/etc/hosts", "file-write*", "{base}/etc/hosts", NO_RULE),
    "add to the shell's start file": ("echo 'export PATH=x' >> ~/.bashrc", "file-write*", "{home}/.bashrc", NO_RULE),
    "the same in a writable home": ("echo 'export PATH=x' >> ~/.bashrc", "file-write*", "{home}/.bashrc", "protected *.bashrc", "--write", "{home}"),
    "make a start file that was missing": ("echo x > ~/.zshenv", "file-write-create", "{home}/.zshenv", "protected *.zshenv", "--write", "{home}"),
    "install a hook": ("echo '#!/bin/sh' > .git/hooks/pre-commit", "file-write-create", "{work}/.git/hooks/pre-commit", "protected *hooks*"),
    "install a hook of a dependency": ("echo x > lib/.git/hooks/pre-commit", "file-write-create", "{work}/lib/.git/hooks/pre-commit", "protected *hooks*"),
    "change git's configuration by hand": ("printf '[core]\\n\\teditor = x\\n' >> .git/config", "file-write*", "{work}/.git/config", "protected *config*"),
    "change git's configuration": ("git config core.editor x", "file-write*", "{work}/.git/config", "protected *config*"),
    "set the name of the user for a project": ("git config user.name x", "file-write*", "{work}/.git/config", "protected *config*"),
    "write secrets into the project": ("echo KEY=1 > .env", "file-write-create", "{work}/.env", "denyNames .env"),
    "write secrets deep in the project": ("mkdir -p srv/a; cp source srv/a/tls.key", "file-write-create", "{work}/srv/a/tls.key", "denyNames [*].key"),
    "change secrets that are there": ("sed -i s/a/b/ conf/.env", "file-write-create", "{work}/conf/.env", "denyNames .env"),
    "append to secrets that are there": ("echo x >> conf/.env", "file-write*", "{work}/conf/.env", "denyNames .env"),
    "write beside the project": ("echo x > ../notes.txt", "file-write-create", "{base}/notes.txt", NO_RULE),
    "make a folder in the system": ("mkdir {base}/usr/local/tool", "file-write-create", "{base}/usr/local/tool", NO_RULE),
    "install a program for everybody": ("install -m 755 source {base}/usr/local/bin/tool", "file-write-create", "{base}/usr/local/bin/tool", NO_RULE),
    "install modules for the user": ("mkdir -p ~/.local/lib/python3/site-packages", "file-write-create", "{home}/.local", NO_RULE),
    "touch another project": ("touch {other}/new", "file-write-create", "{other}/new", NO_RULE),
    "change another project": ("echo x >> {other}/README", "file-write*", "{other}/README", NO_RULE),
    "replace a kept file": ("mv source kept", "file-write-create", "{work}/kept", "denyWrite kept"),
    "make a kept file": ("echo x > later", "file-write-create", "{work}/later", "denyWrite later"),
    "move a folder with a kept file": ("mv folder away", "file-write-unlink", "{work}/folder", "denyWrite folder/kept"),
    "give secrets a second name": ("ln conf/.env plain", "file-write*", "{work}/conf/.env", "denyNames .env"),
    "edit tasks of the editor": ("mkdir -p .vscode; echo {{}} > .vscode/tasks.json", "file-write-create", "{work}/.vscode", "protected *.vscode"),
    "add a server to the agent": ("echo {{}} > .mcp.json", "file-write-create", "{work}/.mcp.json", "protected *.mcp.json"),
    "widen the agent's permissions": ("mkdir -p .claude; echo {{}} > .claude/settings.json", "file-write-create", "{work}/.claude/settings.json", "protected *.claude/settings*"),
    "start the container engine": ("{python} -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{base}/docker.sock\")'", "unix-socket",
                                   "{base}/docker.sock", NO_RULE),
    "fetch something": ("curl -s http://192.0.2.7/", "network-outbound", "192.0.2.7:80", NO_RULE),
    "become root": ("sudo true", "process-exec", "{sudo}", NO_RULE),
    "edit the table of jobs": ("crontab -l", "process-exec", "{crontab}", NO_RULE),
    "remove another project": ("rmdir {other}/empty", "file-write-unlink", "{other}/empty", NO_RULE),
    "link to a place for programs": ("ln -s {work}/source {base}/usr/local/bin/tool", "file-write-create", "{base}/usr/local/bin/tool", NO_RULE),
}
STRICT = {
    "read the private key": ("cat ~/.ssh/id_rsa", "file-read*", "{home}/.ssh/id_rsa", "denyRead *.ssh"),
    "read the tokens of a cloud": ("cat ~/.aws/credentials", "file-read*", "{home}/.aws/credentials", "denyRead *.aws"),
    "read what was hidden": ("cat hidden/file", "file-read*", "{work}/hidden/file", "denyRead hidden", "--deny-read", "hidden"),
}
# What each line would do to a program that is not there, or what this host or user does not have.
NEEDS = {"become root": "sudo", "edit the table of jobs": "crontab", "fetch something": "curl"}


class Violations(cordon_testing.CordonTest):
    OPTIONS = ("--deny-name", ".env", "--deny-name", "*.key", "--deny-write", "kept", "--deny-write", "later", "--deny-write", "folder/kept")

    def setUp(self):
        super().setUp()
        self.other = os.path.join(self.base, "other")
        for folder in (self.other, self.other + "/empty", self.path("conf"), self.path("hidden"), self.path("folder"), self.home + "/.ssh", self.home + "/.aws",
                       self.base + "/etc", self.base + "/usr/local/bin"):
            os.makedirs(folder)
        for file in ("source", "kept", "conf/.env", "hidden/file", "folder/kept", "../other/README", "../home/.bashrc", "../home/.ssh/id_rsa",
                     "../home/.aws/credentials", "../etc/hosts"):
            self.write(file, "a line\n")
        for place in (self.work, self.path("lib")):
            subprocess.run(["git", "init", "-q", place], check=True, env=self.environment)
        self.server = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.server.close)
        self.server.bind(self.base + "/docker.sock")
        self.server.listen(8)
        self.names = {"work": self.work, "home": self.home, "base": self.base, "other": self.other, "python": "/usr/bin/python3",
                      "sudo": shutil.which("sudo") or "", "crontab": shutil.which("crontab") or ""}

    def tree(self):
        found = cordon_testing.snapshot(self.base)
        for top in ("work", "work/.git", "work/srv", "events", "work/lib"):  # what a mistake may leave beside what it was refused
            found = {path: what for path, what in found.items() if path != top and not path.startswith((top + "/srv", "work/srv/", "work/.claude"))}
        return {path: what[-1] for path, what in found.items()}

    def run_mistake(self, line, options, quiet=False):
        events = os.path.join(self.base, "events")
        pathlib.Path(events).unlink(missing_ok=True)
        command = [cordon_testing.CORDON, "run", *(["--quiet"] if quiet else []), *self.OPTIONS, "--events", events, *options, "--", "/bin/sh", "-c", line]
        done = subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              timeout=cordon_testing.SECONDS)
        return done, [json.loads(text) for text in pathlib.Path(events).read_text(encoding="utf-8").splitlines()]

    def check(self, name, line, action, target, rule, *options):
        line, target = line.format(**self.names), target.format(**self.names)
        options = [option.format(**self.names) for option in options]
        before = self.tree()
        done, events = self.run_mistake(line, options)
        self.assertNotIn(done.returncode, (0, 125), f"{name}: {done.stderr}")
        self.assertEqual(self.tree(), before, name)
        found = [event for event in events if event["type"] == "violation"]
        matching = [event for event in found if event["target"] == target and event["action"] == action]
        self.assertTrue(matching, f"{name}: {found}")
        event = matching[0]
        if rule == NO_RULE:
            self.assertTrue(event["reason"], event)
        else:
            self.assertTrue(fnmatch.fnmatchcase(event.get("rule", ""), rule), event)
            self.assertTrue(event["source"], event)
        self.assertTrue(event["program"], event)
        self.assertGreaterEqual(event["count"], 1)
        self.assertGreater(event["pid"], 0)
        self.assertEqual(event["exec"], 1)
        # A line of the summary names it, and what would allow it or that nothing does.
        self.assertIn("cordon: the sandbox refused ", done.stderr)
        heads = [number for number, text in enumerate(done.stderr.splitlines()) if target in text and text.startswith("  ")]
        self.assertTrue(heads, done.stderr)
        why = done.stderr.splitlines()[heads[0] + 1]
        self.assertTrue(why.startswith("      ") and "; " in why, done.stderr)
        if rule != NO_RULE:
            self.assertIn(event["rule"], why)
        quiet, _ = self.run_mistake(line, options, quiet=True)
        self.assertNotIn("the sandbox refused", quiet.stderr)

    def test_mistakes_that_change_something(self):
        for name, row in MISTAKES.items():
            if name in NEEDS and not shutil.which(NEEDS[name]):
                continue
            with self.subTest(mistake=name):
                self.check(name, *row)
        self.assertGreaterEqual(len(MISTAKES) - len(NEEDS), 20)

    def test_mistakes_that_read(self):
        for name, (line, action, target, rule, *options) in STRICT.items():
            with self.subTest(mistake=name):
                self.check(name, line, action, target, rule, "--strict-reads", *options)

    def test_reads_without_trapping_every_open(self):
        """By the mask, where /dev/fuse may be opened. KnownLimitation: else not at all, which the details say."""
        done, events = self.run_mistake("cat ~/.ssh/id_rsa", [])
        self.assertEqual(done.returncode, 1)
        found = [event["target"] for event in events if event["type"] == "violation" and event["action"] == "file-read*"]
        said = self.run_cordon("true", options=["--debug"]).stderr
        if "denied reads are not reported by path" in said:
            self.assertFalse(os.access("/dev/fuse", os.R_OK | os.W_OK) and found)
            return
        self.assertEqual(found, [self.home + "/.ssh/id_rsa"])
        self.assertIn(self.home + "/.ssh/id_rsa", done.stderr)

    def test_the_same_lines_outside(self):
        """The control: most mistakes would have worked."""
        worked = 0
        for name, (line, *_) in MISTAKES.items():
            if name in NEEDS or "docker" in line:
                continue
            done = subprocess.run(["/bin/sh", "-c", line.format(**self.names)], cwd=self.work, env=self.environment, capture_output=True, text=True, check=False)
            worked += done.returncode == 0
        self.assertGreater(worked, 20)

    def test_nothing_to_say(self):
        done, events = self.run_mistake("echo x > free; mkdir d; mv free d; cat d/free; git status > /dev/null; ls / > /dev/null", [])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "x\n", ""))
        self.assertEqual([event for event in events if event["type"] in ("violation", "changed", "gap")], [])

    def test_distinct_mistakes_are_told_once_each_with_a_count(self):
        done, events = self.run_mistake("for i in 1 2 3 4 5; do echo x > .env; echo x > kept; done", [])
        latest = {event["target"]: event["count"] for event in events if event["type"] == "violation"}
        self.assertEqual(latest, {self.path(".env"): 5, self.path("kept"): 5})
        self.assertIn("refused 10 calls", done.stderr)
        self.assertEqual(done.stderr.count(self.path(".env") + " (5 times"), 1, done.stderr)

    def test_names_that_drive_a_terminal_are_made_printable(self):
        done, events = self.run_mistake("printf x > \"$(printf 'a\\033[31m\\nb.key')\"", [])
        self.assertIn(self.path("a\x1b[31m\nb.key"), [event.get("target") for event in events])
        self.assertNotIn("\x1b", done.stderr.split("the sandbox refused", 1)[1])

    def test_exit_code_and_output_stay_the_commands(self):
        done, _ = self.run_mistake("echo out; echo x > .env; exit 7", [])
        self.assertEqual((done.returncode, done.stdout), (7, "out\n"))


if __name__ == "__main__":
    cordon_testing.main()
