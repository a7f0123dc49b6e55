#!/usr/bin/env python3
"""Terminals of `cordon run`, driven through ptys: job control, signals, sizes, modes, pipelines.

CORDON names the program. Every wait ends when what is waited for comes; DEADLINE only bounds a hang.
"""
import errno
import fcntl
import hashlib
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

CORDON = os.path.abspath(os.environ.get("CORDON", "build/release/bin/cordon"))
DEADLINE = 30.0
MODES = slice(0, 6)  # of tcgetattr: flags and speeds


class Terminal:
    """A child on a pty of its own, as its session leader."""

    def __init__(self, argv, rows=24, columns=80, **environment):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(self.slave)
        self.seen = b""
        environment = {**os.environ, "PS1": "$ ", "TERM": "xterm", **environment}

        def attach():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(argv, stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                      preexec_fn=attach, env=environment)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def read_some(self, timeout):
        ready, _, _ = select.select([self.master], [], [], timeout)
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""
        self.seen += data
        return bool(data)

    def expect(self, pattern):
        """Reads until `pattern` is in what came since the last match; returns the match."""
        end = time.monotonic() + DEADLINE
        while True:
            match = re.search(pattern.encode(), self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return match
            if time.monotonic() > end or not self.read_some(end - time.monotonic()):
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")

    def wait(self):
        """Exit code of the child, with the rest of its output in `seen`."""
        end = time.monotonic() + DEADLINE
        while self.child.poll() is None:
            self.read_some(0.05)
            if time.monotonic() > end:
                self.child.kill()
                raise AssertionError(f"did not end; output: {self.seen!r}")
        while self.read_some(0):
            pass
        return self.child.returncode

    def mode_flags(self):
        return termios.tcgetattr(self.slave)[MODES]

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.master)
        os.close(self.slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class TtyTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="cordon-tty-")
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.work)
        # Number 0 is the session's own terminal: the caller's must be another.
        taken = pty.openpty()
        self.addCleanup(lambda: [os.close(fd) for fd in taken])

    def cordon(self, *words, **options):
        terminal = Terminal([CORDON, "run", "--quiet", *words], **options)
        self.addCleanup(terminal.close)
        return terminal

    def shell(self, line, **options):
        terminal = Terminal(["bash", "--norc", "-c", line], **options)
        self.addCleanup(terminal.close)
        return terminal

    # What a command sees.

    def test_all_three_are_a_terminal_that_is_not_the_callers(self):
        t = self.cordon("-c", "test -t 0 && test -t 1 && test -t 2 && tty && ls -l /proc/self/fd")
        caller = os.ttyname(t.slave)
        self.assertEqual(t.wait(), 0, t.seen)
        self.assertNotIn(caller.encode() + b"\r", t.seen.split(b"total")[0])

    def test_programs_show_colours(self):
        os.mkdir("folder")
        t = self.cordon("--", "ls", "--color=auto")
        self.assertEqual(t.wait(), 0)
        self.assertIn(b"\x1b[", t.seen)

    def test_output_has_one_carriage_return_a_line(self):
        t = self.cordon("-c", "echo one; echo two")
        t.wait()
        self.assertEqual(t.seen, b"one\r\ntwo\r\n")

    def test_exit_code_passes(self):
        self.assertEqual(self.cordon("-c", "exit 42").wait(), 42)
        self.assertEqual(self.cordon("-c", "kill -9 $$").wait(), 137)

    def test_size_at_start_and_after_a_resize(self):
        t = self.cordon("-c", "stty size; trap 'stty size; exit' WINCH; echo ready; "
                              "while :; do read -t 1 x; done", rows=33, columns=101)
        t.expect(r"33 101\r\n")
        t.expect("ready")
        t.resize(44, 120)
        t.expect(r"44 120\r\n")
        self.assertEqual(t.wait(), 0)

    # Keys.

    def test_a_typed_line_arrives_and_is_echoed_once(self):
        t = self.cordon("-c", "echo ready; read x; echo got:$x")
        t.expect("ready\r\n")
        t.type("hello\n")
        t.expect("got:hello")
        t.wait()
        self.assertNotIn(b"hello", t.seen)

    def test_control_c_ends_the_command(self):
        t = self.cordon("-c", "echo ready; sleep 60")
        t.expect("ready")
        t.type("\x03")
        self.assertEqual(t.wait(), 130)

    def test_control_c_can_be_caught_inside(self):
        t = self.cordon("-c", "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.1; done")
        t.expect("ready")
        t.type("\x03")
        t.expect("caught")
        self.assertEqual(t.wait(), 3)

    def test_control_d_is_end_of_file(self):
        t = self.cordon("--", "cat")
        t.type("abc\n")
        t.expect(r"abc\r\nabc\r\n")
        t.type("\x04")
        self.assertEqual(t.wait(), 0)

    def test_a_password_is_not_echoed(self):
        t = self.cordon("-c", "read -s -p 'word: ' x; echo; echo length:${#x}")
        t.expect("word: ")
        t.type("secret\n")
        t.expect("length:6")
        t.wait()
        self.assertNotIn(b"secret", t.seen)

    def test_job_control_of_a_shell_inside(self):
        t = self.cordon("--", "bash", "--norc", "-i")
        t.expect(r"[$#] ")
        t.type("sh -c 'echo up-$((1+1)); exec sleep 61'\n")
        t.expect("up-2")
        t.type("\x1a")
        t.expect("Stopped")
        t.type("bg\n")
        t.expect("sleep 61' &")
        t.type("jobs\n")
        t.expect("Running")
        t.type("kill %1; wait; echo done-$((1+1))\n")
        t.expect("done-2")
        t.type("exit 5\n")
        self.assertEqual(t.wait(), 5)
        self.assertNotIn(b"no job control", t.seen)

    # What is left of the caller's terminal.

    def test_ty03_modes_and_foreground_are_as_before(self):
        t = self.shell(f"'{CORDON}' run --quiet -- bash --norc -i -c 'sleep 0.3; true'; "
                       "stty -a | grep -q ' echo ' && echo modes-ok; "
                       "read -r line; echo got:$line; "
                       "[ $(ps -o tpgid= -p $$) -eq $(ps -o pgid= -p $$) ] && echo group-ok")
        t.expect("modes-ok")
        t.type("hello\n")
        t.expect("got:hello")
        t.expect("group-ok")
        self.assertEqual(t.wait(), 0)

    def test_modes_are_restored_after_every_end(self):
        for words, code in ((("--", "true"), 0), (("--", "no-such-program"), 127),
                            (("-c", "kill -9 $$"), 137), (("-c", "stty raw -echo; exit 4"), 4),
                            (("--timeout", "200ms", "--", "sleep", "60"), 124)):
            with self.subTest(words=words):
                t = self.cordon(*words)
                self.assertEqual(t.wait(), code, t.seen)
                self.assertEqual(t.mode_flags(), t.modes[MODES])

    def test_modes_are_restored_after_signals(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(number=number):
                t = self.cordon("-c", "echo ready; exec sleep 60")
                t.expect("ready")
                t.child.send_signal(number)
                self.assertEqual(t.wait(), 128 + number)
                self.assertEqual(t.mode_flags(), t.modes[MODES])

    def test_stop_and_continue_give_the_terminal_back_and_take_it_again(self):
        t = self.shell(f"set -m; '{CORDON}' run --quiet -c "
                       "'echo ready; read x; echo got:$x'; "
                       "echo stopped; stty -a | grep -q ' icanon ' && echo modes-ok; "
                       "fg >/dev/null; echo code:$?")
        t.expect("ready")
        group = os.tcgetpgrp(t.master)
        os.kill(group, signal.SIGTSTP)
        t.expect("stopped")
        t.expect("modes-ok")
        t.type("line\n")
        t.expect("got:line")
        t.expect("code:0")
        t.wait()

    def test_nothing_hangs_on_a_background_process_that_keeps_the_terminal(self):
        t = self.cordon("-c", "sleep 60 & yes & echo last; exit 6")
        self.assertEqual(t.wait(), 6)

    def test_all_output_before_the_end_arrives(self):
        t = self.cordon("-c", "seq 1 20000; echo the-end")
        t.wait()
        lines = t.seen.split(b"\r\n")
        self.assertEqual(lines, [b"%d" % n for n in range(1, 20001)] + [b"the-end", b""])

    def test_a_terminal_that_nobody_reads_cannot_hold_it_back(self):
        t = self.cordon("-c", "trap '' TERM; echo ready; yes | head -c 10000000; echo done")
        t.expect("ready")
        t.child.send_signal(signal.SIGTERM)
        self.assertEqual(t.child.wait(DEADLINE), 143)

    def test_a_closed_terminal_ends_it(self):
        t = Terminal([CORDON, "run", "--quiet", "-c", "echo ready; sleep 60"])
        t.expect("ready")
        os.close(t.slave)
        os.close(t.master)
        self.assertEqual(t.child.wait(DEADLINE), 128 + signal.SIGHUP)

    def test_a_mebibyte_of_keys_arrives_whole(self):
        t = self.cordon("-c", "stty raw -echo; echo ready; head -c 1048576 | md5sum; stty sane")
        t.expect("ready")
        keys = os.urandom(1 << 20)
        writer = threading.Thread(target=self.write_all, args=(t.master, keys))
        writer.start()
        t.expect(hashlib.md5(keys).hexdigest())
        writer.join()
        self.assertEqual(t.wait(), 0)

    @staticmethod
    def write_all(fd, data):
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view[:4096]):]

    def test_a_terminal_inside_can_be_closed_and_opened_again(self):
        t = self.cordon("-c", "exec </dev/null >/dev/null 2>&1; sleep 0.3; echo back >/dev/tty; exit 8")
        t.expect("back")
        self.assertEqual(t.wait(), 8)

    # The background.

    def test_in_the_background_nobody_is_stopped_and_the_terminal_is_left_alone(self):
        t = self.shell(f"set -m; '{CORDON}' run --quiet -c 'echo from-inside; exit 7' & "
                       "wait $!; echo code:$?; stty -a | grep -q ' icanon ' && echo modes-ok; "
                       "read -r x; echo got:$x")
        t.expect("from-inside\r\n")
        t.expect("code:7")
        t.expect("modes-ok")
        t.type("mine\n")
        t.expect("got:mine")
        self.assertEqual(t.wait(), 0)

    def test_brought_to_the_foreground_it_reads(self):
        t = self.shell(f"set -m; '{CORDON}' run --quiet -c 'echo ready; read x; echo got:$x' & "
                       "read -r first; echo shell:$first; fg >/dev/null; echo code:$?")
        t.expect("ready")
        t.type("one\n")
        t.expect("shell:one")
        t.type("two\n")
        t.expect("got:two")
        t.expect("code:0")
        t.wait()

    # Pipelines.

    # Takes the keyboard as a pager does, and says which key came.
    PAGER = ("import os, sys, tty; f = os.open('/dev/tty', os.O_RDWR); old = tty.tcgetattr(f); "
             "tty.setraw(f); sys.stdin.read(1); os.write(1, b'ready'); k = os.read(f, 1); "
             "tty.tcsetattr(f, tty.TCSADRAIN, old); print('key', k)")

    def test_a_pager_outside_gets_its_keys(self):
        t = self.shell(f"'{CORDON}' run --quiet -c 'echo data; sleep 1' | "
                       f"python3 -c \"{self.PAGER}\"; stty -a | grep -q ' icanon ' && echo modes-ok")
        t.expect("ready")
        t.type("q")
        t.expect("key b'q'")
        t.expect("modes-ok")
        self.assertEqual(t.wait(), 0)

    def test_a_pager_inside_gets_its_keys(self):
        t = self.shell(f"echo data | '{CORDON}' run --quiet -- python3 -c \"{self.PAGER}\"; "
                       "stty -a | grep -q ' icanon ' && echo modes-ok")
        t.expect("ready")
        t.type("q")
        t.expect("key b'q'")
        t.expect("modes-ok")
        t.wait()

    def test_output_that_passes_two_terminals_keeps_its_line_ends(self):
        t = self.shell(f"echo x | '{CORDON}' run --quiet -c 'cat; echo y'")
        t.wait()
        self.assertEqual(t.seen, b"x\r\ny\r\n")

    # --no-tty and --tty.

    def test_no_tty_gives_pipes_and_lines(self):
        t = self.cordon("--no-tty", "-c", "test ! -t 0 && test ! -t 1 && test ! -t 2 && echo pipes; "
                                          "read x; echo got:$x; cat; exit 9")
        t.expect("pipes\r\n")
        t.type("line\n")
        t.expect("got:line\r\n")
        t.type("\x04")
        self.assertEqual(t.wait(), 9)

    def test_no_tty_control_c_ends_the_command(self):
        t = self.cordon("--no-tty", "-c", "echo ready; sleep 60")
        t.expect("ready")
        t.type("\x03")
        self.assertEqual(t.wait(), 130)

    def test_forced_terminal_on_pipes(self):
        done = subprocess.run([CORDON, "run", "--quiet", "--tty", "-c",
                               "test -t 0 && test -t 1 && test -t 2 && cat"],
                              input=b"a\nb", stdout=subprocess.PIPE, timeout=DEADLINE, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"a\r\nb"))

    # A command that attacks the terminal.

    def test_ty01_keystrokes_cannot_be_pushed_outside(self):
        inject = ("import fcntl, termios, sys\n"
                  "for f in (0, 1, 2):\n"
                  "  for c in 'touch escaped\\n':\n"
                  "    try: fcntl.ioctl(f, termios.TIOCSTI, c.encode())\n"
                  "    except OSError as e: print('refused', e.errno)\n")
        with open("inject.py", "w", encoding="utf-8") as file:
            file.write(inject)
        t = self.shell(f"'{CORDON}' run --quiet -- python3 inject.py; echo ended; read -t 0.5 x; "
                       "echo read:$x:")
        t.expect("ended")
        t.expect("read::")
        t.wait()
        self.assertFalse(os.path.exists("escaped"))

    def test_the_callers_terminal_cannot_be_found_inside(self):
        t = self.cordon("-c", "ls /dev/pts; stat -L -c %t:%T:%i /proc/[0-9]*/fd/* 2>/dev/null")
        caller = os.stat(t.slave)
        t.wait()
        listed = t.seen.decode().split()
        self.assertEqual([name for name in listed if name.isdigit()], ["0"], t.seen)
        self.assertIn("88:", t.seen.decode())  # the session's own is seen
        outside = f"{os.major(caller.st_rdev):x}:{os.minor(caller.st_rdev):x}:{caller.st_ino}"
        self.assertNotIn(outside, listed)

    # Streams.

    def test_100000_lines_on_two_pipes_stay_in_order(self):
        script = ("import sys\n"
                  "for i in range(100000):\n"
                  "  print('o', i)\n"
                  "  print('e', i, file=sys.stderr)\n")
        done = subprocess.run([CORDON, "run", "--quiet", "--", "python3", "-c", script],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, b"".join(b"o %d\n" % i for i in range(100000)))
        self.assertEqual(done.stderr, b"".join(b"e %d\n" % i for i in range(100000)))

    def test_a_gibibyte_on_stdin_arrives_whole(self):
        size = 1 << 30
        source = subprocess.Popen(["head", "-c", str(size), "/dev/zero"], stdout=subprocess.PIPE)
        done = subprocess.run([CORDON, "run", "--quiet", "--", "wc", "-c"], stdin=source.stdout,
                              stdout=subprocess.PIPE, timeout=240, check=False)
        source.stdout.close()
        self.assertEqual(source.wait(), 0)
        self.assertEqual(done.stdout.strip(), b"%d" % size)

    def test_an_open_stdin_pipe_does_not_keep_it_alive(self):
        read_end, write_end = os.pipe()
        try:
            done = subprocess.run([CORDON, "run", "--quiet", "--", "true"], stdin=read_end,
                                  timeout=DEADLINE, check=False)
        finally:
            os.close(read_end)
            os.close(write_end)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    if not os.access(CORDON, os.X_OK):
        sys.exit(f"CORDON={CORDON} is not a program")
    unittest.main()
