#!/usr/bin/env python3
"""The terminal of the person who runs the command (row 30)."""
import array
import fcntl
import os
import pty
import re
import select
import subprocess
import termios

import harness


class Terminal(harness.KernelTest):
    PROBES = ("reach",)

    def on_terminal(self, *argv):
        """Runs argv on a terminal of its own: (status, output, unread input, identity)."""
        master, slave = pty.openpty()
        state = os.fstat(slave)
        process = subprocess.Popen(argv, cwd=self.work, stdin=slave, stdout=slave, stderr=slave,
                                   start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        output = b""
        with process:
            # The slave stays open here, so that its input queue can be looked at afterwards; the
            # master is read until the process has ended and nothing is left.
            os.set_blocking(master, False)
            while True:
                ended = process.poll() is not None
                try:
                    chunk = os.read(master, 4096)
                except BlockingIOError:
                    chunk = b""
                output += chunk
                if ended and not chunk:
                    break
                if not ended and not chunk:
                    self.wait_for(master, process)
        # Typed characters wait in the queue of a terminal in raw mode.
        settings = termios.tcgetattr(slave)
        settings[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        waiting = array.array("i", [0])
        fcntl.ioctl(slave, termios.FIONREAD, waiting)
        os.close(slave)
        os.close(master)
        return process.returncode, output.decode(errors="replace"), waiting[0], state

    @staticmethod
    def wait_for(master, process):
        """Until output comes or the process ends, whichever is first."""
        pidfd = os.pidfd_open(process.pid)
        try:
            select.select([master, pidfd], [], [], harness.SECONDS)
        finally:
            os.close(pidfd)

    def answers_on_terminal(self, *argv):
        status, output, waiting, state = self.on_terminal(*argv)
        self.assertEqual(status, 0, output)
        # What is typed into a terminal is shown on it, in front of the probe's own lines.
        found = re.findall(r"([a-z-]+) ([\w ]+?)\s*$", output, re.MULTILINE)
        return dict(found), waiting, state

    def test_nothing_is_typed_into_the_terminal(self):
        control, waiting, _ = self.answers_on_terminal("./reach", "push")
        if control["sti"] == "ok":  # needs a privilege on hosts with dev.tty.legacy_tiocsti=0
            self.assertGreater(waiting, 0)
            self.assertEqual(control["sti-high"], "ok")
        for options in ((), ("--tty",)):
            with self.subTest(options=options):
                answers, waiting, _ = self.answers_on_terminal(
                    harness.CORDON, "run", "--quiet", *options, "--", "./reach", "push")
                for name in ("sti", "sti-high", "linux", "linux-high", "setd"):
                    self.assertEqual(answers[name], "EPERM", name)
                self.assertEqual(answers["size"], "ok")
                self.assertEqual(waiting, 0)

    def test_the_terminal_inside_is_another_one(self):
        answers, _, state = self.answers_on_terminal("./reach", "terminal")
        self.assertEqual(answers["input"], f"{state.st_dev} {state.st_ino}")
        self.assertEqual(answers["tty"], "ok")
        answers, _, state = self.answers_on_terminal(
            harness.CORDON, "run", "--quiet", "--tty", "--", "./reach", "terminal")
        self.assertRegex(answers["input"], r"^\d+ \d+$")
        self.assertNotEqual(answers["input"], f"{state.st_dev} {state.st_ino}")
        self.assertEqual(answers["tty"], "ok")

    def test_no_controlling_terminal_without_one(self):
        status, output, _, _ = self.on_terminal(
            "sh", "-c", '"$0" run --quiet --no-tty -- ./reach terminal < /dev/null > out 2>&1',
            harness.CORDON)
        with open(self.path("out"), encoding="ascii") as file:
            text = file.read()
        self.assertEqual(status, 0, output + text)
        self.assertIn(text, ("tty ENXIO\ninput none\n", "tty ENOENT\ninput none\n"))


if __name__ == "__main__":
    harness.main()
