#!/usr/bin/env python3
# ctest: TIMEOUT 300
"""SIGKILL of each process of a session, at random moments: nothing stays behind.

The test has a mount namespace of its own with an empty /tmp, /var/tmp, /dev/shm and /run, so that
whatever is found there afterwards was left by Cordon. CORDON_TEST_SEED repeats a run.
"""
import os
import pathlib
import random
import signal
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # noqa: E402
from cordon_testing import MARK, children_of, wait_for  # noqa: E402

MOMENTS = 50
LIFE = 0.04  # seconds from the start within which the moments lie; a session starts in about 0.01
SEED = int(os.environ.get("CORDON_TEST_SEED") or time.time_ns() & 0xFFFFFFFF)
SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/run")

# Writes files of known content as fast as it can, beside a child that has left its process group
# and one that ignores every signal that can be ignored.
WRITER = """
trap '' HUP INT TERM
(trap '' HUP INT QUIT TERM PIPE; exec sleep 1000) &
setsid sleep 1000 &
n=0
while :; do
  n=$((n + 1))
  echo "line $n" >"file.$n"
  echo "$n"
done
"""


class KillMatrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="cordon-kill-", dir=cordon_testing.lasting_folder())
        cls.addClassCleanup(shutil.rmtree, cls.base, True)
        # The program may lie below a folder that is covered next.
        built = os.path.dirname(os.path.dirname(cordon_testing.CORDON))
        for part in ("bin/cordon", "libexec/cordon/cordon-launch"):
            copy = os.path.join(cls.base, "prefix", part)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(os.path.join(built, part), copy)
        cls.cordon = os.path.join(cls.base, "prefix/bin/cordon")
        try:
            cordon_testing.own_mounts()
            for place in SHARED:
                if not cls.base.startswith(place + "/"):
                    cordon_testing.mount("tmpfs", place, "tmpfs", 0, "mode=1777")
        except OSError as error:
            raise unittest.SkipTest(f"no mount namespace for the test itself: {error}")
        cls.runtime = f"/run/user/{os.geteuid()}"
        os.makedirs(cls.runtime, 0o700)
        cordon_testing.become_subreaper()
        print(f"seed {SEED} (CORDON_TEST_SEED)", file=sys.stderr)

    def setUp(self):
        self.random = random.Random(f"{SEED} {self.id()}")
        self.home = tempfile.mkdtemp(prefix="home-", dir=self.base)
        pathlib.Path(self.home, ".netrc").write_text("machine example\n", encoding="ascii")

    def start(self, number):
        self.mark = f"kill-{os.getpid()}-{self._testMethodName}-{number}"
        self.work = tempfile.mkdtemp(prefix="work-", dir=self.base)
        environment = cordon_testing.bare_environment(self.home, XDG_RUNTIME_DIR=self.runtime,
                                                      **{MARK: self.mark})
        self.before = self.look_around()
        return subprocess.Popen([self.cordon, "run", "--quiet", "--", "/bin/sh", "-c", WRITER],
                                cwd=self.work, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def look_around(self):
        mounts = cordon_testing.read_file("/proc/self/mountinfo")
        return mounts, cordon_testing.names_below(*SHARED, self.home)

    def open_pidfds(self, pids):
        found = {}
        for pid in pids:
            try:
                found[pid] = os.pidfd_open(pid)
            except ProcessLookupError:
                pass
        return found

    def check_files(self, acknowledged):
        """Each file that was reported is whole; at most one more had been begun."""
        found = set(os.listdir(self.work))
        whole = {f"file.{n}" for n in range(1, acknowledged + 1)}
        self.assertLessEqual(whole, found)
        self.assertLessEqual(found, whole | {f"file.{acknowledged + 1}"})
        for name in found:
            line = f"line {name.partition('.')[2]}\n"
            text = pathlib.Path(self.work, name).read_text(encoding="ascii")
            if name in whole:
                self.assertEqual(text, line)
            else:
                self.assertIn(text, ("", line))

    def check_nothing_left(self, process, pidfds, namespace):
        alive = cordon_testing.wait_gone(pidfds, 5)
        for fd in pidfds.values():
            os.close(fd)
        self.assertEqual([(pid, cordon_testing.name_of(pid)) for pid in alive], [], "still running")
        process.wait(timeout=5)
        # End of file: nobody holds the pipe any more.
        lines = process.stdout.read().splitlines(keepends=True)
        process.stdout.close()
        while True:  # orphans that became this process's children
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        self.assertEqual(cordon_testing.marked(self.mark), [])
        if namespace:
            self.assertEqual(namespace.members(), [])
        self.assertEqual(self.look_around(), self.before)
        self.check_files(sum(line.endswith(b"\n") for line in lines))
        shutil.rmtree(self.work)

    def run_matrix(self, find_victim, want, find_stopped=None):
        """`find_victim(process)`: its pid, or None while there is none. `find_stopped`: the same for a
        process that gets SIGSTOP before."""
        for number in range(MOMENTS):
            process = self.start(number)
            delay = self.random.uniform(0, LIFE)
            cordon_testing.pause(delay)
            victim = wait_for(lambda: find_victim(process), "the process to kill")
            if find_stopped:
                os.kill(wait_for(lambda: find_stopped(process), "the process to stop"), signal.SIGSTOP)
                cordon_testing.pause(self.random.uniform(0, LIFE / 4))
            everyone = cordon_testing.descendants_of(process.pid)
            pidfds = self.open_pidfds([process.pid, *everyone])
            namespace = cordon_testing.foreign_namespace(everyone)
            try:
                os.kill(victim, signal.SIGKILL)
                with self.subTest(moment=number, delay=round(delay, 4)):
                    self.check_nothing_left(process, pidfds, namespace)
                    self.assertIn(process.returncode, want)
            finally:
                if namespace:
                    namespace.close()
                if process.poll() is None:
                    process.kill()
                    process.wait()

    @staticmethod
    def nth_child(process, depth):
        pids = [process.pid]
        for _ in range(depth):
            pids = children_of(pids[0])
            if not pids:
                return None
        return pids[0]

    def test_the_witnesses_see_a_running_session(self):
        process = self.start(0)
        try:
            command = wait_for(lambda: self.nth_child(process, 3), "the command")
            process.stdout.readline()
            namespace = cordon_testing.foreign_namespace([command])
            self.assertIn(command, namespace.members())
            namespace.close()
            self.assertIn(command, cordon_testing.marked(self.mark))
            pathlib.Path("/tmp/stray").touch()
            self.assertNotEqual(self.look_around(), self.before)
        finally:
            os.unlink("/tmp/stray")
            process.kill()
            process.wait()
            process.stdout.close()

    def test_cordon_run(self):
        self.run_matrix(lambda process: process.pid, [-signal.SIGKILL])

    def test_stopped_cordon_run(self):
        self.run_matrix(lambda process: process.pid, [-signal.SIGKILL], lambda process: process.pid)

    def test_cordon_run_with_a_stopped_init(self):
        self.run_matrix(lambda process: process.pid, [-signal.SIGKILL],
                        lambda process: self.nth_child(process, 2))

    def test_cordon_run_with_a_stopped_command(self):
        self.run_matrix(lambda process: process.pid, [-signal.SIGKILL],
                        lambda process: self.nth_child(process, 3))

    def test_monitor(self):
        self.run_matrix(lambda process: self.nth_child(process, 1), [125, 137])

    def test_init(self):
        self.run_matrix(lambda process: self.nth_child(process, 2), [125, 137])

    def test_command(self):
        self.run_matrix(lambda process: self.nth_child(process, 3), [137])


if __name__ == "__main__":
    cordon_testing.main()
