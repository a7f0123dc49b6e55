#!/usr/bin/env python3
"""What people see of refusals: events, the summary, cordon explain and cordon trace.

The table is what agents get wrong most: each row must name the exact path, the rule and its source.
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from cordon_testing import CORDON, SECONDS, CordonTest, main

PROTECTED = "built-in protected set"
NAMES = "built-in name list"
NO_RULE = None

# What goes wrong, the action, its target ({w} the working directory, {h} home, {b} beside them), a
# part of the rule and its source.
MISTAKES = [
    ("echo x > .env", "file-write-create", "{w}/.env", "denyNames .env", NAMES),
    ("cp readme deploy.key", "file-write-create", "{w}/deploy.key", "denyNames *.key", NAMES),
    ("mv readme cert.pem", "file-write-create", "{w}/cert.pem", "denyNames *.pem", NAMES),
    ("ln readme a.p12", "file-write-create", "{w}/a.p12", "denyNames *.p12", NAMES),
    ("ln -s readme .env.local", "file-write-create", "{w}/.env.local", "denyNames .env.*", NAMES),
    ("echo x >> old.pem", "file-write*", "{w}/old.pem", "denyNames *.pem", NAMES),
    ("echo x > .git/hooks/pre-commit", "file-write-create", "{w}/.git/hooks/pre-commit",
     "protected", PROTECTED),
    ("mv .git .git2", "file-write-unlink", "{w}/.git", "protected", PROTECTED),
    ("mkdir .vscode", "file-write-create", "{w}/.vscode", "protected", PROTECTED),
    ("echo x > .mcp.json", "file-write-create", "{w}/.mcp.json", "protected", PROTECTED),
    ("echo x > .bashrc", "file-write-create", "{w}/.bashrc", "protected", PROTECTED),
    ("mkdir -p sub && cd sub && mkdir -p .git && mkdir .git/hooks", "file-write-create",
     "{w}/sub/.git/hooks", "protected", PROTECTED),
    ("echo x > {b}/beside", "file-write*", "{b}/beside", NO_RULE, ""),
    ("echo x > {b}/new", "file-write-create", "{b}/new", NO_RULE, ""),
    ("mkdir {b}/dir", "file-write-create", "{b}/dir", NO_RULE, ""),
    ("rmdir {b}/empty", "file-write-unlink", "{b}/empty", NO_RULE, ""),
    ("mv readme {b}/readme", "file-write-create", "{b}/readme", NO_RULE, ""),
    ("echo x > {h}/.profile", "file-write-create", "{h}/.profile", NO_RULE, ""),
    ("echo x > keep", "file-write*", "{w}/keep", "denyWrite keep", "command line: --deny-write"),
    ("cat secret", "file-read*", "{w}/secret", "denyRead secret", "command line: --deny-read"),
]
OPTIONS = ("--default-deny-names", "--deny-write", "keep", "--deny-read", "secret",
           "--strict-reads")


class Refusals(CordonTest):
    def setUp(self):
        super().setUp()
        for name in ("readme", "keep", "secret", "old.pem"):
            self.write(name, "text\n")
        for name in (".git/hooks", ".git/objects", ".git/refs"):
            os.makedirs(self.path(name))
        self.write(".git/HEAD", "ref: refs/heads/main\n")
        self.write("../beside", "text\n")
        os.mkdir(self.path("../empty"))

    def places(self, text):
        return text.format(w=self.work, h=self.home, b=self.base)

    def cordon(self, *words):
        return subprocess.run([CORDON, *words], cwd=self.work, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=SECONDS, check=False)

    def events(self, line, options=OPTIONS):
        """The violations of a shell line, the last one of each number."""
        log = os.path.join(self.base, "events")
        done = self.run_cordon("/bin/sh", "-c", line, options=(*options, "--events", log))
        with open(log, encoding="utf-8") as file:
            all_events = [json.loads(text) for text in file]
        latest = {e["number"]: e for e in all_events if e["type"] == "violation"}
        return done, list(latest.values())

    def test_typical_mistakes_name_path_and_rule(self):
        for line, action, target, rule, source in MISTAKES:
            with self.subTest(line=line):
                done, found = self.events(self.places(line))
                self.assertNotEqual(done.returncode, 0, done)
                where = self.places(target)
                hits = [e for e in found if e["target"] == where and e["action"] == action]
                self.assertEqual(len(hits), 1, found)
                event = hits[0]
                if rule is NO_RULE:
                    self.assertNotIn("rule", event)
                    self.assertIn("no rule makes it writable", event["reason"])
                else:
                    self.assertIn(rule, event["rule"])
                    self.assertEqual(event["source"], source)
                self.assertGreater(event["pid"], 0)
                self.assertGreater(event["errno"], 0)
                self.assertTrue(event["program"].startswith("/"), event)

    def test_a_storm_is_one_violation_with_a_count(self):
        _, found = self.events("i=0; while [ $i -lt 300 ]; do true > .env; i=$((i + 1)); done")
        self.assertEqual([e["count"] for e in found if e["target"] == self.path(".env")], [300])

    def test_summary_is_short_and_quiet_has_none(self):
        line = "for i in 1 2 3 4 5 6 7 8 9; do true > ../out/$i; done; echo > ../out/$(printf 'a\\033b')"
        os.mkdir(self.path("../out"))
        done = self.cordon("run", "--", "/bin/sh", "-c", line)
        self.assertIn("cordon: the sandbox refused 10 calls:", done.stderr)
        self.assertIn(f"create {self.base}/out/1 (", done.stderr)
        self.assertIn(f"no rule makes it writable; --write {self.base}/out\n", done.stderr)
        self.assertIn("and 4 more (--events FILE has all)", done.stderr)
        ours = done.stderr[done.stderr.index("cordon: the sandbox"):]
        self.assertLessEqual(ours.count("\n"), 14)
        self.assertNotIn("\033", ours)
        quiet = self.cordon("run", "--quiet", "--", "/bin/sh", "-c", "true > ../new")
        self.assertNotIn("cordon", quiet.stderr)
        self.assertNotIn("cordon:", self.cordon("run", "--", "/bin/true").stderr)

    def test_the_option_in_the_summary_lets_the_call_through(self):
        done = self.cordon("run", "--", "/bin/sh", "-c", "echo x >> ../beside")
        option = f"--write {self.base}/beside"
        self.assertIn(option, done.stderr)
        done = self.cordon("run", *option.split(), "--", "/bin/sh", "-c", "echo x >> ../beside")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_ignored_violations_are_refused_and_not_said(self):
        log = os.path.join(self.base, "events")
        spec = os.path.join(self.base, "spec.json")

        def run(ignored, line):
            with open(spec, "w", encoding="utf-8") as file:
                json.dump({"sessionId": "s", "workspaceId": "w", "view": "host",
                           "guestWorkdir": self.work, "filesystem": {"allowWrite": [self.work]},
                           "ignoreViolations": ignored}, file)
            done = self.cordon("run", "--spec", spec, "--events", log, "--", "/bin/sh", "-c", line)
            with open(log, encoding="utf-8") as file:
                found = [json.loads(text) for text in file]
            return done, [e["target"] for e in found if e["type"] == "violation"]

        line = "true > ../new; true > .git/hooks/x; mkdir ../dir; rmdir ../empty"
        everything = [self.path("../new"), self.path(".git/hooks/x"), self.path("../dir"),
                      self.path("../empty")]
        everything = [os.path.normpath(path) for path in everything]
        _, told = run({"another command": ["file-write*"]}, line)
        self.assertEqual(told, everything)
        for ignored, left in [
                ({"*": ["file-write*"]}, []),
                ({"rmdir ../empty": ["file-write*"]}, []),
                ({"bin/mkdir": ["file-write-create"]}, [0, 1, 3]),
                ({"*": [".git/hooks", f"{self.base}/n*"]}, [2, 3]),
                ({"*": ["./.git"], "another command": [self.base]}, [0, 2, 3]),
                ({"*": [self.base]}, [])]:
            with self.subTest(ignored=ignored):
                done, told = run(ignored, line)
                self.assertEqual(told, [everything[i] for i in left])
                self.assertEqual("cordon: the sandbox refused" in done.stderr, bool(left))
                self.assertFalse(os.path.lexists(self.path("../new")))
                self.assertEqual(os.listdir(self.path(".git/hooks")), [])
                self.assertTrue(os.path.isdir(self.path("../empty")))
        done, _ = run({"make": ["file-raed*"]}, "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn('ignoreViolations "make", "file-raed*"', done.stderr)
        self.assertIn("file-read*", done.stderr)
        done, _ = run({"": ["/x"]}, "true")
        self.assertRegex(done.stderr, r"spec.json:1:[0-9]+: ignoreViolations has an empty command")

    def test_debug_says_each_as_it_comes(self):
        done = self.cordon("run", "--debug", "--", "/bin/sh", "-c", "true > ../new")
        said = done.stderr.index(f"refused: file-write-create {self.base}/new")
        self.assertLess(said, done.stderr.index("the sandbox refused"))

    def test_files_that_run_later_are_listed(self):
        done = self.cordon("run", "--", "/bin/sh", "-c", "echo all: > Makefile")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(f"run later outside (look before you run them):\n  {self.work}/Makefile\n",
                      done.stderr)

    def test_explain_answers_as_the_session_does(self):
        for words, code, parts in [
                (["readme"], 0, ["read ", "allowed", "writable bind mount"]),
                (["--create", ".git/hooks/x"], 1, ["refused", PROTECTED, "read-only bind mount"]),
                (["--default-deny-names", "--create", ".env"], 1, ["denyNames .env", "supervisor"]),
                (["--change", "../beside"], 1, ["no rule", f"--write {self.base}/beside"]),
                (["--write", "../beside", "--change", "../beside"], 0, ["allowWrite"]),
                (["--remove", ".git"], 1, ["above a path held by protected"]),
                (["--rename", ".git", "g"], 1, ["rename"]),
                (["--connect", "/run/docker.sock"], 1, ["--allow-unix-socket /run/docker.sock"]),
                (["--create", "a", "b"], 125, ["one path"]),
                ([], 125, ["name a path"]),
        ]:
            with self.subTest(words=words):
                done = self.cordon("explain", *words)
                self.assertEqual(done.returncode, code, done)
                for part in parts:
                    self.assertIn(part, done.stdout + done.stderr)
        answer = json.loads(self.cordon("explain", "--json", "--create", ".git/hooks/x").stdout)
        self.assertIs(answer["allowed"], False)
        self.assertEqual(answer["answers"][0]["source"], PROTECTED)

    def test_trace_opens_nothing_and_its_proposal_works(self):
        line = "for i in 1 2 3; do true > ../out/$i; done; echo x >> ../beside; true > .git/hooks/x"
        os.mkdir(self.path("../out"))
        block = os.path.join(self.base, "block.json")
        done = self.cordon("trace", "--output", block, "--", "/bin/sh", "-c", line)
        self.assertEqual(os.listdir(self.path("../out")), [])
        self.assertIn(f"--write {self.base}/beside --write {self.base}/out\n", done.stderr)
        self.assertIn("not proposed:", done.stderr)
        self.assertIn(f"create {self.work}/.git/hooks/x", done.stderr)
        with open(block, encoding="utf-8") as file:
            proposed = json.load(file)
        self.assertEqual(proposed, {"filesystem": {
            "allowWrite": [f"{self.base}/beside", f"{self.base}/out"]}})
        spec = {"sessionId": "s", "workspaceId": "w", "view": "host", "guestWorkdir": self.work,
                **proposed}
        path = os.path.join(self.base, "spec.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(spec, file)
        self.cordon("run", "--spec", path, "--", "/bin/sh", "-c", line)
        self.assertEqual(sorted(os.listdir(self.path("../out"))), ["1", "2", "3"])
        self.assertEqual(os.listdir(self.path(".git/hooks")), [])

    def test_trace_of_a_clean_run_says_so(self):
        done = self.cordon("trace", "--", "/bin/true")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("nothing was refused", done.stderr)


if __name__ == "__main__":
    main()
