#!/usr/bin/env python3
"""Limits of a session: held as the details say, and refused where this version cannot hold them."""
import json
import os
import subprocess
import sys
import pathlib
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # noqa: E402
from cordon_testing import IS_ROOT, CordonTest  # noqa: E402

EAT = "data = bytearray(int(__import__('sys').argv[1]) << 20); print(len(data) >> 20)"


class Limits(CordonTest):
    def spec(self, **limits):
        return self.write("spec.json", json.dumps({
            "sessionId": "limits", "workspaceId": "local", "view": "host", "limits": limits,
            "filesystem": {"allowWrite": [self.work]}}))

    def details(self, *options):
        done = self.run_cordon("true", options=["--debug", *options])
        self.output(done)
        return done.stderr

    def test_memory(self):
        self.assertEqual(self.output(self.run_cordon("python3", "-c", EAT, "50", options=["--memory", "200M"])), "50\n")
        done = self.run_cordon("python3", "-c", EAT, "300", options=["--memory", "200M"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("MemoryError", done.stderr)
        # The same without the limit.
        self.assertEqual(self.output(self.run_cordon("python3", "-c", EAT, "300")), "300\n")
        self.assertIn("limits.memory", self.details("--memory", "200M"))

    @unittest.skipUnless(IS_ROOT, "for root only: RLIMIT_NPROC binds the ordinary user")
    def test_processes_cannot_be_held_for_root(self):
        self.assert_refused(self.run_cordon("echo", "ran", options=["--pids", "20"]), "limits.pids", "root", "try:")

    @unittest.skipIf(IS_ROOT, "RLIMIT_NPROC does not bind root")
    def test_processes(self):
        bomb = ("import os, sys\n"
                "n = 0\n"
                "try:\n"
                "    while n < 200:\n"
                "        if os.fork() == 0:\n"
                "            import signal; signal.pause()\n"
                "        n += 1\n"
                "except BlockingIOError:\n"
                "    pass\n"
                "print(n)\n")
        begun = int(self.output(self.run_cordon("python3", "-c", bomb, options=["--pids", "20"])))
        # The limit counts every process of the session: init and the command among them.
        self.assertIn(begun, range(15, 20))
        self.assertEqual(int(self.output(self.run_cordon("python3", "-c", bomb))), 200)
        self.assertEqual(cordon_testing.marked(self.mark), [])

    @unittest.skipIf(IS_ROOT, "RLIMIT_NPROC does not bind root")
    def test_a_fork_bomb_ends_with_its_time(self):
        begun = time.monotonic()
        done = self.run_cordon("bash", "-c", "f() { f | f & }; f; sleep 1000",
                               options=["--pids", "100", "--timeout", "500ms"], stderr=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 124)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertEqual(cordon_testing.marked(self.mark), [])

    def test_open_files(self):
        options = ["--spec", self.spec(openFiles=33)]
        self.assertEqual(self.shell("ulimit -n; ulimit -Hn", options=options), "33\n33\n")

    def test_file_size(self):
        options = ["--spec", self.spec(fileSize="1M")]
        done = self.run_cordon("sh", "-c", "head -c 2000000 /dev/zero >big", options=options)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(os.path.getsize(self.path("big")), 1 << 20)

    def test_a_limit_above_the_callers_own(self):
        def lower():
            import resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        done = self.run_cordon("sh", "-c", "ulimit -n", options=["--spec", self.spec(openFiles=5000)], preexec_fn=lower)
        if done.returncode != 0:
            self.assert_refused(done, "limit", "ulimit")
        else:  # root may raise it
            self.assertEqual(done.stdout, "5000\n")

    def test_wall_time(self):
        for options in (["--timeout", "200ms"], ["--spec", self.spec(wallTime="200ms")]):
            begun = time.monotonic()
            done = self.run_cordon("sleep", "1000", options=options)
            self.assertEqual(done.returncode, 124)
            self.assertGreaterEqual(time.monotonic() - begun, 0.2)
            self.assertEqual(cordon_testing.marked(self.mark), [])

    def test_the_time_limit_is_said(self):
        done = subprocess.run([cordon_testing.CORDON, "run", "--timeout", "100ms", "sleep", "1000"], cwd=self.work,
                              env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 124)
        self.assertIn("time limit of 100ms", done.stderr)

    def test_what_the_command_wrote_before_the_limit_is_kept(self):
        done = self.run_cordon("sh", "-c", "seq 1 50000; sleep 1000", options=["--timeout", "1s"])
        self.assertEqual(done.returncode, 124)
        self.assertTrue(done.stdout.endswith("\n50000\n"))

    def test_bad_values(self):
        for option, value in (("--memory", "lots"), ("--memory", "-1"), ("--pids", "0"), ("--timeout", "soon"),
                              ("--timeout", "-5s"), ("--uid", "-1"), ("--uid", "4294967295")):
            with self.subTest(option=option, value=value):
                self.assert_refused(self.run_cordon("echo", "ran", options=[f"{option}={value}"]), option)

    def test_user_id(self):
        for uid in (1234, 0):
            with self.subTest(uid=uid):
                out = self.shell("id -u; touch made; stat -c %u made; cat /proc/self/status | grep ^CapEff",
                                 options=["--uid", str(uid)])
                self.assertEqual(out, f"{uid}\n{uid}\nCapEff:\t0000000000000000\n")
                self.assertEqual(os.stat(self.path("made")).st_uid, os.geteuid())
                os.unlink(self.path("made"))


if __name__ == "__main__":
    cordon_testing.main()
