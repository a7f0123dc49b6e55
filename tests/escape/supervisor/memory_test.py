#!/usr/bin/env python3
"""Arguments that cannot be read, or are odd, and tasks that share only a part of a process (rows 8, 9)."""
import os

import names

KILLS = r"""
import random, signal, time
end = time.monotonic() + float(sys.argv[1])
def child():
    # One of a pair whose numbers are given out again while its calls wait for an answer.
    free = random.random() < 0.5
    os.chdir("free" if free else "guarded")
    while True:
        try:
            os.close(os.open("planted", os.O_CREAT | os.O_WRONLY))
            if free:
                os.unlink("planted")
        except OSError:
            pass
count = 0
while time.monotonic() < end:
    pids = []
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            try:
                child()
            finally:
                os._exit(0)
        pids.append(pid)
    for _ in range(random.randrange(3000)):
        pass
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)
        count += 1
say("killed", str(count))
"""


class Memory(names.NameTest):
    PROBES = ("memory", "peers")

    def test_same_answers_as_outside(self):
        outside = self.said(self.outside(self.tool("memory")))
        made = sorted(os.listdir(os.fsencode(self.work)))
        self.assertGreater(list(outside.values()).count("ok"), 20)
        self.fresh()
        inside = self.said(self.inside(self.tool("memory")))
        self.assertEqual({name: inside[name] for name in outside if inside[name] != outside[name]}, {})
        self.assertEqual(sorted(os.listdir(os.fsencode(self.work))), made)
        self.assertEqual(self.violations(), [])

    def test_forbidden_name_is_never_let_through(self):
        outside = self.said(self.outside(self.tool("memory"), "key"))
        self.assertGreater(len(self.found("*.key")), 20)
        self.fresh()
        inside = self.said(self.inside(self.tool("memory"), "key"))
        self.assertEqual(self.found("*.key"), [])
        for case, answer in outside.items():
            with self.subTest(case=case):
                if answer == "ok":
                    # The one that makes nothing is not refused.
                    self.assertEqual(inside[case], "EROFS")
                else:
                    self.assertIn(inside[case], (answer, "EROFS"))
        self.assertGreater(len(self.violations(target="*.key")), 20)

    def test_odd_names_are_told_as_they_are(self):
        done = self.inside("sh", "-c", "echo x > 'new\nline.key'; echo x > 'tab\t.key'; printf x > \"$(printf 'b\\377d').key\"; echo x > 'q\"uote.key'")
        self.assertNotEqual(done.returncode, 0)
        told = [violation["target"] for violation in self.violations()]
        for name in ("new\nline.key", "tab\t.key", 'q"uote.key'):
            self.assertIn(self.path(name), told)
        self.assertEqual(len(told), 4)

    def test_tasks_that_share_a_part(self):
        outside = self.outside(self.tool("peers")).stdout
        self.assertEqual(outside.count("nowhere"), 0, outside)
        self.assertEqual(len(outside.splitlines()), 10)
        self.fresh()
        inside = self.inside(self.tool("peers"))
        self.assertEqual(inside.stdout, outside, inside.stderr)
        self.assertEqual(self.violations(), [])

    def test_tasks_that_share_a_part_make_no_forbidden_name(self):
        outside = self.outside(self.tool("peers"), "x.key").stdout
        self.assertEqual(outside.count("nowhere"), 0, outside)
        self.fresh()
        inside = self.inside(self.tool("peers"), "x.key").stdout
        self.assertEqual(inside.count("nowhere"), 10, inside)
        self.assertEqual(self.found("*.key"), [])
        for folder in ("a/", "b/", ""):
            self.assert_reported(self.path(folder + "x.key"), "file-write-create")

    def test_process_that_is_killed_while_its_call_is_judged(self):
        """Numbers of processes come back; the folder of one is not the folder of the next."""
        for folder in ("free", "guarded"):
            os.mkdir(self.path(folder))
        done = self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + KILLS, str(names.STRESS / 2),
                           options=["--deny-write", "guarded/planted"], timeout=names.STRESS + names.cordon_testing.SECONDS)
        self.assertGreater(int(self.answers(done)["killed"]), 50)
        self.assertEqual(os.listdir(self.path("guarded")), [])
        self.assert_reported(self.path("guarded/planted"))


if __name__ == "__main__":
    names.main()
