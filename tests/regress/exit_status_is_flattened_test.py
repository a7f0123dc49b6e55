#!/usr/bin/env python3
"""Death by a signal and programs that cannot be started were all reported as 255 or 1."""
import os
import pathlib
import signal
import stat
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

# Signals that end a process by default.
DEADLY = [s for s in signal.Signals if s not in (signal.SIGCHLD, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN,
                                                 signal.SIGTTOU, signal.SIGURG, signal.SIGWINCH)]


class ExitStatus(cordon_testing.CordonTest):
    def code(self, *argv, **how):
        return self.run_cordon(*argv, **how).returncode

    def test_every_code(self):
        for code in (0, 1, 2, 37, 77, 99, 124, 125, 126, 127, 128, 129, 137, 200, 254, 255):
            self.assertEqual(self.code("sh", "-c", f"exit {code}"), code)

    def test_every_signal(self):
        for number in DEADLY:
            self.assertEqual(self.code("/usr/bin/python3", "-c", f"import os, signal; signal.signal({int(number)}, signal.SIG_DFL) if "
                                       f"{int(number)} not in (9,) else 0; os.kill(os.getpid(), {int(number)})"), 128 + number, number.name)

    def test_programs_that_are_not_there(self):
        for name in ("no-such-program-here", "./missing", "/missing/program", self.path("missing"), "x" * 300):
            done = self.run_cordon(name)
            self.assertEqual(done.returncode, 127, name[:40])
            self.assertTrue(done.stderr.startswith("cordon: "), done.stderr)

    def test_programs_that_cannot_be_run(self):
        self.write("plain", "#!/bin/sh\n")
        self.write("no-interpreter", "#!/missing/interpreter\n", 0o755)
        self.write("broken", b"\x7fELF\x02\x01\x01" + bytes(60), 0o755)
        os.mkdir(self.path("folder"))
        for name in ("./plain", self.path("plain"), "./folder", "/", "./no-interpreter", "./broken"):
            done = self.run_cordon(name)
            self.assertEqual(done.returncode, 126, name)
            self.assertTrue(done.stderr.startswith("cordon: "), done.stderr)

    def test_search_of_the_path(self):
        # As shells see it: what may not be searched holds nothing, and what is no program is passed over.
        closed = self.path("closed")
        os.makedirs(os.path.join(closed))
        self.write("closed/tool", "#!/bin/sh\nexit 5\n", 0o755)
        os.makedirs(self.path("first/tool"))
        self.write("second/tool", "#!/bin/sh\nexit 3\n")
        self.write("third/tool", "#!/bin/sh\nexit 4\n", 0o755)
        os.chmod(closed, 0 if not cordon_testing.IS_ROOT else stat.S_IRUSR)
        self.addCleanup(os.chmod, closed, 0o755)
        paths = [self.path(name) for name in ("first", "second", "third")]
        path = lambda *names: {**self.environment, "PATH": ":".join([closed, "/missing", self.path("third/tool"), *names])}  # pylint: disable=unnecessary-lambda-assignment
        self.assertEqual(self.code("tool", env=path(*paths)), 4)
        self.assertEqual(self.code("tool", env=path(paths[0])), 127)
        self.assertEqual(self.code("tool", env=path(*paths[:2])), 126)
        self.assertEqual(self.code("other", env=path(*paths)), 127)

    def test_script_without_a_first_line(self):
        self.write("script", "exit 9\n", 0o755)
        self.assertEqual(self.code("./script"), 9)
        self.assertEqual(self.code("script", env={**self.environment, "PATH": f"{self.work}:/usr/bin:/bin"}), 9)


if __name__ == "__main__":
    cordon_testing.main()
