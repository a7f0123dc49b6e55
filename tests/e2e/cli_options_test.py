#!/usr/bin/env python3
"""The command line of cordon: options, exit codes, signals, messages, events, ps and kill.

CORDON names the program. Every wait ends when what is waited for comes; DEADLINE only bounds a hang.
"""
import json
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

CORDON = os.path.abspath(os.environ.get("CORDON", "build/release/bin/cordon"))
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEADLINE = 30.0


def cordon(*words, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([CORDON, *words], timeout=DEADLINE, check=False, **options)


class Case(unittest.TestCase):
    def setUp(self):
        self.work = os.path.realpath(tempfile.mkdtemp(prefix="cordon-cli-"))
        # Beside the working directory: a directory above the home is not writable by itself.
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="cordon-home-"))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.work)

    def environment(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": self.home, **more}

    def run_cordon(self, *words, **options):
        options.setdefault("env", self.environment())
        return cordon("run", *words, **options)

    def out(self, *words, **options):
        done = self.run_cordon(*words, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def assert_error(self, done, what, remedy=None, code=125):
        self.assertEqual(done.returncode, code, done)
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines and lines[0].startswith("cordon: "), lines)
        self.assertIn(what, lines[0])
        self.assertLessEqual(len(lines), 2, lines)
        if remedy is not None:
            self.assertEqual(len(lines), 2, lines)
            self.assertTrue(lines[1].startswith("  try: "), lines)
            self.assertIn(remedy, lines[1])

    def start(self, *words, **options):
        """A running session; `ready` was read from its output."""
        child = subprocess.Popen([CORDON, "run", *words], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=self.environment(), **options)
        self.addCleanup(self.finish, child)
        ready, _, _ = select.select([child.stdout], [], [], DEADLINE)
        self.assertTrue(ready)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        return child

    @staticmethod
    def finish(child):
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()


class ProgramTest(Case):
    def test_help_names_the_commands_and_only_them(self):
        text = cordon("--help").stdout.decode()
        listed = re.findall(r"^  ([a-z]+)  ", text, re.M)
        self.assertEqual(listed, ["run", "trace", "explain", "doctor", "ps", "kill",
                                  "completion", "schema", "help"])
        self.assertEqual(cordon("help").stdout.decode(), text)
        for name in listed:
            one = cordon("help", name)
            self.assertEqual(one.returncode, 0)
            self.assertEqual(one.stdout, cordon(name, "--help").stdout)

    def test_version(self):
        done = cordon("--version")
        self.assertRegex(done.stdout.decode(), r"^cordon \d+\.\d+\.\d+\n$")

    def test_wrong_use(self):
        self.assert_error(cordon(), "no command is given", "cordon run")
        self.assert_error(cordon("rnu"), "unknown command 'rnu'", "cordon run")
        self.assert_error(cordon("--frob"), "unknown option --frob", "")
        self.assert_error(cordon("run", "--deny-raed", "x", "true"), "unknown option --deny-raed",
                          "--deny-read")
        self.assert_error(cordon("run"), "no command to run", "cordon run -- COMMAND")
        self.assert_error(cordon("ps", "extra"), "'extra' is not expected", "cordon help ps")
        self.assert_error(cordon("help", "nothing"), "unknown command 'nothing'", "")

    def test_schema_is_json(self):
        self.assertIn("sessionId", json.loads(cordon("schema").stdout)["properties"])

    def test_doctor_speaks_json(self):
        report = json.loads(cordon("doctor", "--json").stdout)
        self.assertIn("capabilities", report)

    def test_a_closed_standard_output_is_said(self):
        for words in (("--help",), ("ps",), ("schema",), ("run", "--dry-run", "--", "true")):
            done = subprocess.run(["sh", "-c", '"$0" "$@" >&-', CORDON, *words],
                                  stderr=subprocess.PIPE, timeout=DEADLINE, check=False)
            self.assert_error(done, "standard output")

    def test_a_full_standard_output_is_said(self):
        with open("/dev/full", "wb") as full:
            self.assert_error(cordon("--help", stdout=full), "No space left")

    def test_completions_are_those_in_the_repository(self):
        for shell, name in (("bash", "cordon.bash"), ("zsh", "_cordon"), ("fish", "cordon.fish")):
            with open(os.path.join(SOURCE, "completions", name), "rb") as file:
                self.assertEqual(cordon("completion", shell).stdout, file.read())
        self.assert_error(cordon("completion", "tcsh"), "no completion for 'tcsh'", "bash")

    def complete(self, *words):
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  "compopt() { :; }; _cordon; printf '%s\\n' \"${COMPREPLY[@]}\"")
        path = os.path.join(SOURCE, "completions", "cordon.bash")
        return subprocess.run(["bash", "--norc", "-c", script, "x", path, "cordon", *words],
                              stdout=subprocess.PIPE, check=True, timeout=DEADLINE,
                              env=self.environment()).stdout.decode().split()

    def test_bash_completion_works(self):
        self.assertEqual(self.complete("doc"), ["doctor"])
        self.assertEqual(self.complete("run", "--deny-"),
                         ["--deny-write", "--deny-name", "--deny-read"])
        self.assertEqual(self.complete("run", "--view", ""), ["bound", "host"])
        self.assertEqual(self.complete("run", "--write", "/x", "--quie"), ["--quiet"])
        self.assertEqual(self.complete("completion", "z"), ["zsh"])
        open("some-file", "w", encoding="utf-8").close()
        self.assertEqual(self.complete("run", "--", "cat", "some-"), ["some-file"])
        self.assertEqual(self.complete("run", "cat", "--deny-"), [])
        os.makedirs(os.path.join(self.home, ".config/cordon/profiles"))
        open(os.path.join(self.home, ".config/cordon/profiles/agent.json"), "w",
             encoding="utf-8").close()
        self.assertEqual(self.complete("run", "--profile", "a"), ["agent"])

    def test_the_man_page_has_no_faults(self):
        page = os.path.join(SOURCE, "docs/man/cordon.1")
        if shutil.which("man") is None:
            self.skipTest("man is not installed")
        done = subprocess.run(["man", "--warnings", "-l", page], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b"--no-default-denies", done.stdout)


class RunTest(Case):
    def test_exit_codes(self):
        for code in (0, 1, 42, 255):
            self.assertEqual(self.run_cordon("-c", f"exit {code}").returncode, code)
        self.assertEqual(self.run_cordon("-c", "kill -TERM $$").returncode, 143)
        self.assertEqual(self.run_cordon("-c", "kill -KILL $$").returncode, 137)
        self.assertEqual(self.run_cordon("--timeout", "100ms", "sleep", "60").returncode, 124)

    def test_commands_that_cannot_be_started(self):
        self.assert_error(self.run_cordon("no-such-program"), "no-such-program", code=127)
        self.assert_error(self.run_cordon("./missing"), "./missing", code=127)
        with open("plain", "w", encoding="utf-8") as file:
            file.write("text")
        self.assert_error(self.run_cordon("./plain"), "./plain", code=126)
        self.assert_error(self.run_cordon("./"), "./", code=126)

    def test_success_says_nothing(self):
        done = self.run_cordon("true")
        self.assertEqual((done.stdout, done.stderr), (b"", b""))

    def test_shell_lines(self):
        self.assertEqual(self.out("-c", "echo $0 $2", "zero", "one", "two"), "zero two\n")
        self.assertEqual(self.out("-c", "echo $((6 * 7))", "--quiet"), "42\n")

    def test_options_after_the_command_are_its_own(self):
        self.assertEqual(self.out("echo", "--view", "x", "--"), "--view x --\n")
        self.assertEqual(self.out("--", "echo", "-c"), "-c\n")

    def test_the_working_directory_is_writable_and_nothing_beside_it(self):
        os.mkdir("project")
        os.chdir("project")
        self.run_cordon("-c", f"echo in > a; echo out > ../b; echo out > {self.home}/c")
        self.assertTrue(os.path.exists("a"))
        self.assertFalse(os.path.exists("../b"))
        self.assertFalse(os.path.exists(f"{self.home}/c"))

    def test_workdir(self):
        os.mkdir("other")
        self.assertEqual(self.out("--workdir", "other", "-c", "pwd; echo $PWD; touch made"),
                         f"{self.work}/other\n" * 2)
        self.assertTrue(os.path.exists("other/made"))
        self.assert_error(self.run_cordon("--workdir", "missing", "true"), "missing does not exist",
                          "--workdir")
        self.assert_error(self.run_cordon("--workdir", "/etc/passwd", "true"), "not a directory", "")
        self.assertEqual(self.out("--mount", "other:/tmp/in", "--workdir", "/tmp/in", "ls"), "made\n")

    def test_write_deny_write_and_deny_read(self):
        os.makedirs("p")
        os.makedirs("q/kept")
        with open("secret", "w", encoding="utf-8") as file:
            file.write("secret")
        done = self.run_cordon("--workdir", "p", "--write", "q", "--deny-write", "q/kept",
                               "--deny-read", "secret", "-c",
                               "touch ../q/a; touch ../q/kept/b; cat ../secret")
        self.assertNotIn(b"secret\n", done.stdout)
        self.assertNotEqual(done.returncode, 0)
        self.assertTrue(os.path.exists("q/a"))
        self.assertFalse(os.path.exists("q/kept/b"))

    def test_allow_read_below_a_denied_directory(self):
        os.makedirs("hidden/open")
        for name in ("hidden/no", "hidden/open/yes"):
            with open(name, "w", encoding="utf-8") as file:
                file.write(name)
        done = self.run_cordon("--deny-read", "hidden", "--allow-read", "hidden/open", "-c",
                               "cat hidden/no hidden/open/yes")
        self.assertEqual(done.stdout, b"hidden/open/yes")

    def test_default_denies(self):
        os.mkdir(f"{self.home}/.ssh")
        with open(f"{self.home}/.ssh/id_rsa", "w", encoding="utf-8") as file:
            file.write("key")
        words = ("--allow-read", self.home, "cat", f"{self.home}/.ssh/id_rsa")
        self.assertIn(b"Permission denied", self.run_cordon(*words).stderr)
        self.assertEqual(self.out("--no-default-denies", *words), "key")

    def test_mounts(self):
        os.makedirs("data")
        os.makedirs("with:colon")
        os.mkdir("work")
        os.chdir("work")
        with open("../data/file", "w", encoding="utf-8") as file:
            file.write("text")
        self.assertEqual(self.out("--mount", "../data:/tmp/seen:ro", "cat", "/tmp/seen/file"), "text")
        self.run_cordon("--mount", "../data", "--mount", f"{self.work}/with\\:colon", "-c",
                        "touch ../data/new; touch ../with:colon/new")
        self.assertTrue(os.path.exists("../data/new"))
        self.assertTrue(os.path.exists("../with:colon/new"))
        self.run_cordon("--mount", "../data:ro", "-c", "touch ../data/other")
        self.assertFalse(os.path.exists("../data/other"))

    def test_modes(self):
        self.run_cordon("--mode", "review", "-c", "touch made")
        self.assertFalse(os.path.exists("made"))
        self.assert_error(self.run_cordon("--mode", "write", "true"), "'write' is not known",
                          "chat|review|plan|orchestrate")

    def test_environment(self):
        env = self.environment(LD_PRELOAD="/x.so", PLAIN="p", NODE_OPTIONS="--x")
        text = self.out("--env", "A=1=2", "--env", "PLAIN", "--keep-env", "NODE_OPTIONS", "env",
                        env=env)
        lines = text.splitlines()
        self.assertIn("A=1=2", lines)
        self.assertIn("PLAIN=p", lines)
        self.assertIn("NODE_OPTIONS=--x", lines)
        self.assertNotIn("LD_PRELOAD=/x.so", lines)
        done = self.run_cordon("--debug", "true", env=env)
        self.assertIn(b"removed LD_PRELOAD", done.stderr)
        done = self.run_cordon("--env", "NOT_SET", "true")
        self.assertIn(b"warning: --env NOT_SET", done.stderr)
        self.assertEqual(self.run_cordon("--quiet", "--env", "NOT_SET", "true").stderr, b"")

    def test_uid(self):
        self.assertEqual(self.out("--uid", "1234", "id", "-u"), "1234\n")

    def test_limits_that_are_no_numbers(self):
        self.assert_error(self.run_cordon("--timeout", "soon", "true"), "'soon' is not a duration",
                          "30s")
        self.assert_error(self.run_cordon("--memory", "lots", "true"), "'lots' is not a size", "512M")
        self.assert_error(self.run_cordon("--pids", "-1", "true"), "--pids", "whole number")

    def test_spec_files(self):
        with open("spec.json", "w", encoding="utf-8") as file:
            json.dump({"sessionId": "s-1", "workspaceId": "w", "view": "host",
                       "filesystem": {"allowWrite": ["out"]}}, file)
        os.mkdir("out")
        self.run_cordon("--spec", "spec.json", "-c", "touch here out/there")
        self.assertFalse(os.path.exists("here"))
        self.assertTrue(os.path.exists("out/there"))
        self.run_cordon("--spec", "spec.json", "--write", self.work, "-c", "touch here")
        self.assertTrue(os.path.exists("here"))
        with open("wrong.json", "w", encoding="utf-8") as file:
            file.write('{"sessionId": "s",\n "workspaceId": "w", "veiw": "host"}')
        self.assert_error(self.run_cordon("--spec", "wrong.json", "true"), "wrong.json:2:", "view")
        self.assert_error(self.run_cordon("--spec", "none.json", "true"), "none.json")

    def test_profiles(self):
        folder = f"{self.home}/.config/cordon/profiles"
        os.makedirs(folder)
        with open(f"{folder}/agent.json", "w", encoding="utf-8") as file:
            json.dump({"view": "host", "environment": {"set": {"FROM_PROFILE": "yes"}}}, file)
        self.assertEqual(self.out("--profile", "agent", "-c", "echo $FROM_PROFILE; touch made"),
                         "yes\n")
        self.assertTrue(os.path.exists("made"))
        self.assert_error(self.run_cordon("--profile", "agnet", "true"), "no profile 'agnet'",
                          "agent")
        self.assert_error(self.run_cordon("--profile", "../agent", "true"), "no name of a profile", "")
        self.assert_error(self.run_cordon("--profile", "agent", "true", env={"PATH": "/bin:/usr/bin"}),
                          "neither HOME nor XDG_CONFIG_HOME", "--spec")

    def test_directories_that_are_gone(self):
        os.mkdir("gone")
        script = 'cd gone && rmdir ../gone && exec "$0" "$@"'
        done = subprocess.run(["sh", "-c", script, CORDON, "run", "true"], stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, check=False, timeout=DEADLINE)
        self.assert_error(done, "does not exist any more", "--workdir")
        os.mkdir("gone")
        done = subprocess.run(["sh", "-c", script, CORDON, "run", "--workdir", self.work, "pwd"],
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False,
                              timeout=DEADLINE)
        self.assertEqual(done.stdout.decode(), self.work + "\n")

    def test_strange_directory_names(self):
        for name in ("with\nnewline", "with space", "a*b[c]{d}?", "quote'\"\\", "-c", "\udcff\udcfe"):
            os.mkdir(name)
            os.mkdir(f"{name}/sub")
            done = self.run_cordon("--write", "sub", "-c", "touch made sub/made; pwd", cwd=name)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.exists(f"{name}/made"), name)
            self.assertTrue(os.path.exists(f"{name}/sub/made"), name)

    def test_messages_do_not_drive_the_terminal(self):
        done = self.run_cordon("--workdir", "x\x1b[2Jy", "true")
        self.assertNotIn(b"\x1b", done.stderr)

    def test_dry_run(self):
        text = self.out("--dry-run", "--deny-read", "x", "--timeout", "5s", "--", "make", "-j2")
        self.assertIn("make -j2", text)
        self.assertIn("wallTime", text)
        report = json.loads(self.out("--dry-run", "--json", "touch", "made"))
        self.assertEqual(report["command"], ["touch", "made"])
        self.assertEqual(report["view"], "host")
        self.assertEqual(report["workdir"], self.work)
        self.assertTrue(any(r["path"] == self.work and r["held"] for r in report["rules"]), report)
        self.assertFalse(os.path.exists("made"))


class DescriptorTest(Case):
    def test_descriptors_are_passed_as_they_are(self):
        with open("in", "w+", encoding="utf-8") as file:
            file.write("12345")
            file.flush()
            file.seek(2)
            done = self.run_cordon("--", "head", "-c1", stdin=file)
            self.assertEqual(done.stdout, b"3")
            done = self.run_cordon("-c", "readlink /proc/self/fd/0", stdin=file)
            self.assertEqual(done.stdout.decode(), f"{self.work}/in\n")

    def test_closed_descriptors_become_dev_null(self):
        script = '"$0" run -c "cat; echo x; echo y >&2; exit 5" <&- >&- 2>&-; echo code:$?; exit 0'
        done = subprocess.run(["sh", "-c", script, CORDON], stdout=subprocess.PIPE, check=False,
                              timeout=DEADLINE)
        self.assertEqual(done.stdout, b"code:5\n")

    def test_no_other_descriptor_enters(self):
        with open("/etc/hostname", "rb") as file:
            os.set_inheritable(file.fileno(), True)
            text = self.out("--events", "events", "-c", "ls /proc/self/fd", pass_fds=[file.fileno()])
        # 3 is the directory that ls reads.
        self.assertEqual(text.split(), ["0", "1", "2", "3"])

    def test_sigpipe_ends_the_command_inside(self):
        script = "set -o pipefail; yes | head -1 >/dev/null; echo ${PIPESTATUS[0]}"
        self.assertEqual(self.out("--", "bash", "-c", script), "141\n")
        script = '"$0" run -- yes | head -1; exit ${PIPESTATUS[0]}'
        done = subprocess.run(["bash", "-c", script, CORDON], stdout=subprocess.PIPE, check=False,
                              timeout=DEADLINE, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (141, b"y\n"))

    def test_signals_have_their_default_inside(self):
        text = self.out("--", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
        # 32 and 33 are the C library's own.
        self.assertEqual([int(n, 16) & 0x7fffffff for n in re.findall(r"\t(\w+)", text)], [0, 0])


class SignalTest(Case):
    def test_terminating_signals_end_the_command(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number=number):
                child = self.start("-c", "echo ready; exec sleep 60")
                child.send_signal(number)
                self.assertEqual(child.wait(DEADLINE), 128 + number)

    def test_the_command_hears_of_it(self):
        child = self.start("-c", "trap 'echo heard; exit 3' TERM; echo ready; "
                                 "while :; do sleep 0.05; done")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.stdout.read(), b"heard\n")
        self.assertEqual(child.wait(DEADLINE), 143)

    def test_a_deaf_command_is_killed_after_the_grace(self):
        child = self.start("-c", "trap '' TERM INT; echo ready; while :; do sleep 0.05; done")
        begin = time.monotonic()
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(DEADLINE), 143)
        self.assertGreaterEqual(time.monotonic() - begin, 1.9)

    def test_a_second_signal_kills_at_once(self):
        child = self.start("-c", "trap 'echo heard' TERM; trap '' INT; echo ready; "
                                 "while :; do sleep 0.05; done")
        begin = time.monotonic()
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.stdout.readline(), b"heard\n")
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(DEADLINE), 143)
        self.assertLess(time.monotonic() - begin, 1.9)

    def test_user_signals_are_forwarded(self):
        child = self.start("-c", "trap 'echo one' USR1; trap 'echo two; exit 4' USR2; echo ready; "
                                 "while :; do sleep 0.05; done")
        child.send_signal(signal.SIGUSR1)
        self.assertEqual(child.stdout.readline(), b"one\n")
        child.send_signal(signal.SIGUSR2)
        self.assertEqual(child.wait(DEADLINE), 4)

    def test_stop_and_continue_reach_the_command(self):
        child = self.start("-c", "echo ready; while :; do echo tick; sleep 0.02; done")
        child.send_signal(signal.SIGTSTP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        while select.select([child.stdout], [], [], 0.3)[0]:
            os.read(child.stdout.fileno(), 65536)  # what was written before the stop
        child.send_signal(signal.SIGCONT)
        self.assertTrue(select.select([child.stdout], [], [], DEADLINE)[0])
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(DEADLINE), 143)

    def test_nohup_is_respected(self):
        child = self.start("-c", "echo ready; sleep 0.5; exit 6",
                           preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        child.send_signal(signal.SIGHUP)
        self.assertEqual(child.wait(DEADLINE), 6)

    def test_background_processes_end_with_the_command(self):
        begin = time.monotonic()
        done = self.run_cordon("-c", "sleep 60 >/dev/null 2>&1 & exit 0")
        self.assertEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - begin, 10)


class EventsTest(Case):
    def events(self, text):
        events = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([e["sequence"] for e in events], list(range(1, len(events) + 1)))
        return events

    def test_to_a_file(self):
        self.run_cordon("--events", "events", "-c", "exit 3")
        self.assertEqual(stat.S_IMODE(os.stat("events").st_mode), 0o600)
        with open("events", encoding="utf-8") as file:
            events = self.events(file.read())
        types = [e["type"] for e in events]
        self.assertEqual(types[0], "starting")
        self.assertIn("ready", types)
        self.assertEqual([e["exitCode"] for e in events if e["type"] == "exit"], [3])
        self.run_cordon("--events", "events", "true")
        with open("events", encoding="utf-8") as file:
            self.assertEqual(len({e["session"] for e in self.events(file.read())}), 1)

    def test_to_a_descriptor(self):
        read_end, write_end = os.pipe()
        done = self.run_cordon("--events", str(write_end), "true", pass_fds=[write_end])
        os.close(write_end)
        with os.fdopen(read_end, encoding="utf-8") as file:
            self.assertIn("exit", [e["type"] for e in self.events(file.read())])
        self.assertEqual(done.returncode, 0)

    def test_refusals(self):
        self.assert_error(self.run_cordon("--events", "77", "true"), "descriptor 77", "3>")
        self.assert_error(self.run_cordon("--events", "0", "true"), "descriptor 0", "")
        os.symlink("target", "link")
        self.assert_error(self.run_cordon("--events", "link", "true"), "link", "symbolic link")
        self.assertFalse(os.path.exists("target"))
        self.assert_error(self.run_cordon("--events", "no/such/file", "true"), "no/such/file", "")

    def test_a_failing_reader_does_not_end_the_command(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = self.run_cordon("--events", str(write_end), "-c", "exit 3", pass_fds=[write_end])
        os.close(write_end)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr.count(b"rest of the events is lost"), 1)

    def test_a_reader_that_does_not_read_cannot_block_the_end(self):
        read_end, write_end = os.pipe()
        child = subprocess.Popen([CORDON, "run", "--events", str(write_end), "sleep", "60"],
                                 pass_fds=[write_end], stderr=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL)
        self.assertTrue(select.select([read_end], [], [], DEADLINE)[0])  # the first event
        os.set_blocking(write_end, False)
        try:
            while True:
                os.write(write_end, b"x")
        except BlockingIOError:
            pass
        os.set_blocking(write_end, True)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(DEADLINE), 143)
        child.stderr.close()
        os.close(read_end)
        os.close(write_end)


class SessionsTest(Case):
    def sessions(self):
        return json.loads(cordon("ps", "--json").stdout)

    def test_ps_and_kill(self):
        child = self.start("-c", "echo ready; exec sleep 60")
        mine = [s for s in self.sessions() if s["hostPid"] == child.pid]
        self.assertEqual(len(mine), 1)
        self.assertEqual(mine[0]["workdir"], self.work)
        self.assertLess(mine[0]["ageSeconds"], 60)
        name = mine[0]["session"]
        line = [l for l in cordon("ps").stdout.decode().splitlines() if l.startswith(name)]
        self.assertEqual(len(line), 1)
        self.assertIn(str(mine[0]["pid"]), line[0].split())
        done = cordon("kill", name)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(child.wait(DEADLINE), 137)
        self.assertFalse([s for s in self.sessions() if s["session"] == name])
        self.assertEqual(cordon("kill", name).returncode, 1)

    def spec(self, name):
        with open(f"{name}.json", "w", encoding="utf-8") as file:
            json.dump({"sessionId": name, "workspaceId": "w", "view": "host"}, file)
        return f"{name}.json"

    def test_kill_by_a_unique_beginning(self):
        tag = f"k{os.getpid()}"
        one = self.start("--spec", self.spec(f"{tag}-one"), "-c", "echo ready; exec sleep 60")
        two = self.start("--spec", self.spec(f"{tag}-two"), "-c", "echo ready; exec sleep 60")
        done = cordon("kill", tag)
        self.assert_error(done, "several sessions", f"{tag}-one {tag}-two", code=1)
        self.assertIsNone(one.poll())
        self.assertEqual(cordon("kill", f"{tag}-o").returncode, 0)
        self.assertEqual(one.wait(DEADLINE), 137)
        self.assertIsNone(two.poll())
        self.assertEqual(cordon("kill", f"{tag}-two", f"{tag}-none").returncode, 1)
        self.assertEqual(two.wait(DEADLINE), 137)

    def test_wrong_use_of_kill(self):
        self.assert_error(cordon("kill"), "no session is named", "--all")
        self.assert_error(cordon("kill", "--all", "x"), "together", "")
        self.assert_error(cordon("kill", "no-such-session"), "no session 'no-such-session'",
                          "cordon ps", code=1)

    def test_a_process_inside_cannot_pose_as_a_session(self):
        child = self.start("-c", "(exec -a cordon-session sleep posing 1 2 b w 60 2>/dev/null) & "
                                 "exec -a cordon-session bash -c 'echo ready; exec -a cordon-session "
                                 "bash -c \"while :; do sleep 1; done\" 1 2 native /w posing'")
        self.assertFalse([s for s in self.sessions() if s["command"] == "posing"])
        child.send_signal(signal.SIGTERM)
        child.wait(DEADLINE)


if __name__ == "__main__":
    if not os.access(CORDON, os.X_OK):
        sys.exit(f"CORDON={CORDON} is not a program")
    unittest.main()
