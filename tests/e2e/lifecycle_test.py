#!/usr/bin/env python3
"""How a session ends, what it says about itself, and what it takes over from its caller."""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # noqa: E402
from cordon_testing import CORDON, CordonTest, read_file, wait_for  # noqa: E402

# Says "ready" when its traps are set; a child of its own stays behind whatever it does.
PATIENT = "trap '{trap}' INT TERM HUP QUIT; sleep 1000 & echo ready; wait; {after}"
STUBBORN = "trap '' INT TERM HUP QUIT; sleep 1000 & echo ready; while :; do wait; done"


class Ends(CordonTest):
    def start_ready(self, line, **how):
        process = self.start_cordon("/bin/sh", "-c", line, **how)
        self.assertEqual(self.read_line(process.stdout), "ready")
        return process

    def assert_ended(self, process, code, seconds=10):
        self.assertEqual(process.wait(timeout=seconds), code)
        # At once, not soon: the session is gone when cordon run returns.
        self.assertEqual(cordon_testing.marked(self.mark), [])

    def test_each_signal_ends_the_command(self):
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
            number = getattr(signal, name)
            with self.subTest(name):
                process = self.start_ready("sleep 1000 & echo ready; wait")
                process.send_signal(number)
                self.assert_ended(process, 128 + number)

    def test_the_command_may_tidy_up(self):
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
            number = getattr(signal, name)
            with self.subTest(name):
                process = self.start_ready(PATIENT.format(trap="echo tidy; exit 9", after=""))
                process.send_signal(number)
                self.assertEqual(self.read_line(process.stdout), "tidy")
                self.assert_ended(process, 128 + number)  # whatever the command made of it

    def test_a_command_that_ignores_signals(self):
        process = self.start_ready(STUBBORN)
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.assert_ended(process, 143)
        self.assertGreater(time.monotonic() - begun, 1)  # it had its time

    def test_the_second_signal_ends_it_at_once(self):
        process = self.start_ready(STUBBORN)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        self.assertIn(process.wait(timeout=10), (130, 143))
        self.assertLess(time.monotonic() - begun, 1.9)
        self.assertEqual(cordon_testing.marked(self.mark), [])

    def test_a_signal_at_any_time_of_the_start(self):
        for n in range(40):
            process = self.start_cordon("sleep", "1000")
            # Before it catches signals, the signal itself ends it.
            cordon_testing.pause(0.0007 * n)
            process.send_signal(signal.SIGTERM)
            self.assertIn(process.wait(timeout=10), (143, -signal.SIGTERM))
        self.assert_nothing_left()

    def test_user_signals_are_passed_on(self):
        process = self.start_ready("trap 'echo one' USR1; trap 'echo two; exit 5' USR2; echo ready; "
                                   "while :; do sleep 1000 & wait $!; done")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(self.read_line(process.stdout), "one")
        process.send_signal(signal.SIGUSR2)
        self.assertEqual(self.read_line(process.stdout), "two")
        self.assert_ended(process, 5)

    def test_stop_and_continue(self):
        process = self.start_ready("echo ready; while :; do :; done")
        init = self.session_of(process)[1]
        command = wait_for(lambda: cordon_testing.children_of(init), "the command")[0]
        process.send_signal(signal.SIGTSTP)
        wait_for(lambda: cordon_testing.state_of(process.pid) == "T", "cordon stopped")
        wait_for(lambda: cordon_testing.state_of(command) == "T", "the command stopped")
        process.send_signal(signal.SIGCONT)
        wait_for(lambda: cordon_testing.state_of(command) == "R", "the command running")
        process.send_signal(signal.SIGTERM)
        self.assert_ended(process, 143)

    def test_time_limit(self):
        for line in ("sleep 1000 & echo ready; wait", STUBBORN,
                     "echo ready; kill -STOP $$", "setsid sh -c 'trap \"\" TERM; sleep 1000' & echo ready; wait"):
            with self.subTest(line):
                process = self.start_ready(line, options=["--timeout", "300ms"])
                self.assert_ended(process, 124)

    def test_time_limit_counts_from_the_start_and_not_for_quick_commands(self):
        begun = time.monotonic()
        self.assertEqual(self.run_cordon("true", options=["--timeout", "50s"]).returncode, 0)
        self.assertLess(time.monotonic() - begun, 20)

    def test_daemons_are_gone_when_it_returns(self):
        self.write("daemon.py", """
import os, signal
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
open("began", "w").close()
os.write(1, b"began\\n")
signal.pause()
""")
        done = self.run_cordon("/bin/sh", "-c", "python3 daemon.py | head -n1; exit 3")
        self.assertEqual((done.returncode, done.stdout), (3, "began\n"))
        self.assertEqual(cordon_testing.marked(self.mark), [])


class Listed(CordonTest):
    def sessions(self):
        done = subprocess.run([CORDON, "ps", "--json"], env=self.environment, capture_output=True,
                              text=True, check=True)
        return {row["session"]: row for row in json.loads(done.stdout) if row["workdir"] == self.work}

    def kill(self, *words):
        return subprocess.run([CORDON, "kill", *words], env=self.environment, capture_output=True,
                              text=True, timeout=30, check=False)

    def start_listed(self, line="echo ready; exec sleep 1000"):
        before = set(self.sessions())
        process = self.start_cordon("/bin/sh", "-c", line)
        self.assertEqual(self.read_line(process.stdout), "ready")
        (name,) = set(self.sessions()) - before
        return process, name

    def test_ps_and_kill(self):
        self.assertEqual(self.sessions(), {})
        first, first_id = self.start_listed()
        second, second_id = self.start_listed(STUBBORN)
        row = self.sessions()[first_id]
        self.assertEqual((row["hostPid"], row["uid"], row["command"], row["backend"]),
                         (first.pid, os.geteuid(), "sh", "native"))
        self.assertEqual(row["pid"], self.session_of(first)[0])
        text = subprocess.run([CORDON, "ps"], env=self.environment, capture_output=True, text=True,
                              check=True).stdout
        self.assertRegex(text, rf"(?m)^{re.escape(first_id)} +{row['pid']} .*{re.escape(self.work)}$")

        self.assertEqual(self.kill(second_id).returncode, 0)
        self.assertNotEqual(second.wait(timeout=10), 0)
        self.assertEqual(set(self.sessions()), {first_id})
        self.assertIsNone(first.poll())
        self.assertEqual(self.kill(first_id[:-1]).returncode, 0)
        self.assertEqual(first.wait(timeout=10), 137)
        self.assertEqual(self.sessions(), {})
        self.assertEqual(cordon_testing.marked(self.mark), [])

    def test_kill_what_is_not_there(self):
        done = self.kill("run-no-such-session")
        self.assertEqual(done.returncode, 1)
        self.assertIn("run-no-such-session", done.stderr)

    def test_a_look_alike_is_not_listed_from_inside(self):
        # A process inside a session may call itself what it likes.
        process = self.start_cordon("bash", "-c", "echo ready; exec -a cordon-session sleep 1000")
        self.assertEqual(self.read_line(process.stdout), "ready")
        self.assertEqual(len(self.sessions()), 1)


class Events(CordonTest):
    def events(self, name):
        lines = pathlib.Path(self.base, name).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        self.assertEqual([row["sequence"] for row in rows], list(range(1, len(rows) + 1)))
        self.assertEqual(len({row["session"] for row in rows}), 1)
        self.assertEqual([row["time"] for row in rows], sorted(row["time"] for row in rows))
        for row in rows:
            self.assertRegex(row["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        return rows

    def run_for_events(self, *argv, options=()):
        name = os.path.join(self.base, "events")
        done = self.run_cordon(*argv, options=["--events", name, *options])
        return done, self.events("events")

    @staticmethod
    def story(rows):
        return [row["type"] + (":" + row["state"] if row["type"] == "state" else "") for row in rows]

    def test_a_plain_run(self):
        done, rows = self.run_for_events("sh", "-c", "exit 5")
        self.assertEqual(done.returncode, 5)
        self.assertEqual(self.story(rows), ["starting", "state:warm", "ready", "state:active", "exit",
                                            "state:warm", "state:destroyed"])
        (end,) = [row for row in rows if row["type"] == "exit"]
        self.assertEqual((end["exitCode"], end["exec"]), (5, 1))
        self.assertNotIn("signal", end)
        self.assertGreater(end["maxRssKiB"], 0)
        self.assertEqual(os.stat(os.path.join(self.base, "events")).st_mode & 0o777, 0o600)

    def test_an_end_by_signal(self):
        _, rows = self.run_for_events("sh", "-c", "kill -9 $$")
        (end,) = [row for row in rows if row["type"] == "exit"]
        self.assertEqual(end["signal"], 9)
        self.assertNotIn("exitCode", end)

    def test_a_time_limit(self):
        _, rows = self.run_for_events("sleep", "1000", options=["--timeout", "100ms"])
        story = self.story(rows)
        self.assertEqual(story[story.index("killed"):][:2], ["killed", "exit"])
        self.assertEqual(rows[story.index("killed")]["reason"], "time-limit")

    def test_a_killed_session(self):
        name = os.path.join(self.base, "events")
        process = self.start_cordon("sh", "-c", "echo ready; exec sleep 1000", options=["--events", name])
        self.read_line(process.stdout)
        session = self.events("events")[0]["session"]
        subprocess.run([CORDON, "kill", session], env=self.environment, check=True)
        self.assertEqual(process.wait(timeout=10), 137)
        (row,) = [row for row in self.events("events") if row["type"] == "killed"]
        self.assertEqual(row["reason"], "manual")

    def test_a_program_that_is_not_there(self):
        done, rows = self.run_for_events("no-such-program")
        self.assertEqual(done.returncode, 127)
        (end,) = [row for row in rows if row["type"] == "exit"]
        self.assertEqual(end["exitCode"], 127)
        self.assertIn("no-such-program", end["error"])

    def test_on_a_descriptor(self):
        read, write = os.pipe()
        with open(read, "rb") as stream:
            done = self.run_cordon("sh", "-c", f"echo to it >&{write}", options=["--events", str(write)],
                                   pass_fds=[write])
            os.close(write)
            rows = [json.loads(line) for line in stream]
        self.assertNotEqual(done.returncode, 0, "the descriptor is open inside")
        self.assertEqual([row["sequence"] for row in rows], list(range(1, len(rows) + 1)))
        self.assertEqual(rows[-1]["state"], "destroyed")


class Inherited(CordonTest):
    def test_environment_is_cleaned_everywhere(self):
        secret = "s3cr3t-7f1e"
        self.environment.update({"LD_PRELOAD": "/" + secret, "BASH_ENV": "/" + secret,
                                 "NODE_OPTIONS": "--require=/" + secret, "DROPPED": secret})
        spec = self.write("spec.json", json.dumps({
            "sessionId": "cleaned", "workspaceId": "local", "view": "host", "guestWorkdir": self.work, "environment": {"drop": ["DROPPED"]}}))
        look = ("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/task/*/environ 2>/dev/null"
                " | tr '\\0' '\\n'; env; echo the end")
        out = self.shell(look, options=["--spec", spec])
        self.assertTrue(out.endswith("the end\n"))
        self.assertIn(f"{cordon_testing.MARK}={self.mark}", out)
        self.assertNotIn(secret, out)
        # The positive control.
        self.assertIn(secret, self.shell("env", options=["--keep-env", "LD_PRELOAD", "--env", f"A={secret}"]))

    def test_the_launchers_environment_is_empty(self):
        process = self.start_cordon("sh", "-c", "echo ready; exec sleep 1000")
        self.read_line(process.stdout)
        for pid in self.session_of(process):
            self.assertEqual(read_file(f"/proc/{pid}/environ"), b"")

    def test_descriptors_are_closed(self):
        directory = os.open("/", os.O_RDONLY)
        mine, theirs = socket.socketpair()
        memory = os.memfd_create("leak")
        file = os.open(self.write("leak", "leak"), os.O_RDWR)
        try:
            script = ("import os, subprocess, sys\n"
                      "kinds = list(map(int, sys.argv[1:5]))\n"
                      "high = [os.dup2(fd, 100 + i) for i, fd in enumerate(kinds)]\n"
                      "for number in range(3, 51):\n"
                      "    os.dup2(high[number % 4], number)\n"
                      "os.execv(sys.argv[5], sys.argv[5:])\n")
            list_them = "import os; print(sorted(os.listdir('/proc/self/fd'), key=int))"
            argv = [sys.executable, "-c", script, str(directory), str(theirs.fileno()), str(memory), str(file)]
            fds = [directory, theirs.fileno(), memory, file]
            inside = subprocess.run([*argv, *self.command(["python3", "-c", list_them])], cwd=self.work,
                                    env=self.environment, pass_fds=fds, capture_output=True, text=True,
                                    stdin=subprocess.DEVNULL, check=False)
            outside = subprocess.run([*argv, shutil.which("python3"), "-c", list_them], cwd=self.work,
                                     env=self.environment, pass_fds=fds, capture_output=True, text=True,
                                     stdin=subprocess.DEVNULL, check=True)
        finally:
            for fd in (directory, memory, file):
                os.close(fd)
            mine.close()
            theirs.close()
        self.assertIn("'50'", outside.stdout)
        # 3 is the listing's own.
        self.assertEqual(self.output(inside), "['0', '1', '2', '3']\n")

    def test_umask_niceness_and_limits(self):
        def change():
            os.umask(0o027)
            os.nice(3)
            for what, value in ((resource.RLIMIT_NOFILE, 333), (resource.RLIMIT_FSIZE, 1 << 24),
                                (resource.RLIMIT_CORE, 0), (resource.RLIMIT_STACK, 4 << 20)):
                resource.setrlimit(what, (value, value))
            resource.setrlimit(resource.RLIMIT_CPU, (500, 600))
        line = "umask; nice; ulimit -n; ulimit -Hn; ulimit -f; ulimit -c; ulimit -s; ulimit -t; ulimit -Ht"
        argv = ["bash", "-c", line]
        outside = subprocess.run(argv, capture_output=True, text=True, preexec_fn=change, check=True)
        self.assertEqual(self.output(self.run_cordon(*argv, preexec_fn=change)), outside.stdout)
        # Where nothing was changed, nothing is.
        outside = subprocess.run(["bash", "-c", "ulimit -a; ulimit -Ha; umask; nice"], capture_output=True,
                                 text=True, check=True)
        self.assertEqual(self.shell("exec bash -c 'ulimit -a; ulimit -Ha; umask; nice'"), outside.stdout)

    def test_signal_dispositions(self):
        def change():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        done = self.run_cordon("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", preexec_fn=change)
        # 32 and 33 belong to the C library, whose posix_spawn leaves them ignored everywhere.
        sets = [int(word, 16) & ~(3 << 31) for word in re.findall(r"\t(\w+)", self.output(done))]
        self.assertEqual(sets, [0, 0])


class WorkingTree(CordonTest):
    def make_tree(self):
        self.write("a/b/c.txt", "text\n")
        self.write("a/run.sh", "#!/bin/sh\n", 0o755)
        self.write(".env", "KEY=value\n", 0o600)
        self.write("package.json", "{}\n")
        self.write(".gitignore", "out/\n")
        self.write("out/thing", b"\0\1\2")
        os.symlink("a/b", self.path("link"))
        os.symlink("nowhere", self.path("dangling"))
        os.link(self.path("a/b/c.txt"), self.path("hard"))
        os.mkfifo(self.path("fifo"))
        os.mkdir(self.path("empty"))
        if shutil.which("git"):
            for arguments in (["init", "-q"], ["add", "-A"]):
                subprocess.run(["git", *arguments], cwd=self.work, env=self.environment, check=True)

    def git_status(self):
        if not shutil.which("git"):
            return ""
        # No refresh of the index: that would be a change of the tree.
        return subprocess.run(["git", "--no-optional-locks", "status", "--ignored", "--porcelain=v2"],
                              cwd=self.work, env=self.environment, check=True, capture_output=True).stdout

    def test_a_run_that_writes_nothing_changes_nothing(self):
        self.make_tree()
        rules = ["--deny-read", ".env", "--deny-read", "not-there", "--deny-read", "**/*.key",
                 "--deny-write", "a/run.sh", "--deny-write", "not/there", "--write", "elsewhere"]
        before, status = cordon_testing.snapshot(self.work), self.git_status()
        for options in ([], rules, ["--mode", "plan"], ["--view", "bound"]):
            with self.subTest(options=options):
                out = self.shell("find . -type f -exec cat {} + >/dev/null 2>&1 || true; find . | wc -l; "
                                 "cat .env 2>/dev/null || true", options=options)
                self.assertGreater(int(out.split()[0]), 10)
                # While it runs there is nothing to be seen either.
                process = self.start_cordon("sh", "-c", "echo ready; exec sleep 1000", options=options)
                self.read_line(process.stdout)
                self.assertEqual(cordon_testing.snapshot(self.work), before)
                process.terminate()
                process.wait()
                self.assertEqual(cordon_testing.snapshot(self.work), before)
                self.assertEqual(self.git_status(), status)
        self.assertEqual(os.listdir(self.home), [])

    def test_what_the_command_wrote_stays_and_nothing_else(self):
        self.make_tree()
        before = cordon_testing.snapshot(self.work)
        self.shell("umask 022; printf new >empty/new; rm a/b/c.txt; mv out out2; chmod 700 a/run.sh; ln -s x sym")
        after = cordon_testing.snapshot(self.work)
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        self.assertEqual(changed, {".", "a/b", "a/b/c.txt", "a/run.sh", "empty", "empty/new", "hard", "out",
                                   "out/thing", "out2", "out2/thing", "sym"})
        self.assertEqual((after["empty/new"][0] & 0o7777, after["empty/new"][3], after["empty/new"][8]),
                         (0o644, os.geteuid(), b"new"))


if __name__ == "__main__":
    cordon_testing.main()
