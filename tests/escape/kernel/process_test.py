#!/usr/bin/env python3
"""Processes outside the session, its init and its programs (rows 29, 31)."""
import contextlib
import hashlib
import os
import pathlib
import subprocess
import unittest

import harness

ATTACKS = ("kill", "process_vm_readv", "process_vm_writev", "pidfd_open", "kcmp", "mem",
           "environ", "maps", "fd", "root", "cwd", "exe", "ptrace")


def tracing_is_closed():
    """Yama forbids ptrace altogether, or to all but root."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            scope = int(file.read())
    except OSError:
        return False
    return scope == 3 or (scope == 2 and os.geteuid() != 0)


class Processes(harness.KernelTest):
    PROBES = ("process",)

    @contextlib.contextmanager
    def victim(self):
        """A process outside: yields (pid, address), then checks that nothing happened to it."""
        with subprocess.Popen([self.path("process"), "victim"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            pid, address = process.stdout.readline().split()
            try:
                yield pid, address
            finally:
                rest, _ = process.communicate(timeout=harness.SECONDS)
            self.assertEqual((process.returncode, rest.strip()), (0, "untouched"))

    @unittest.skipIf(tracing_is_closed(), "kernel.yama.ptrace_scope closes ptrace on this host")
    def test_control_outside(self):
        with subprocess.Popen([self.path("process"), "victim"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            pid, address = process.stdout.readline().split()
            answers = self.answers(self.outside("./process", "attack", pid, address))
            rest, _ = process.communicate(timeout=harness.SECONDS)
        for name in ("kill", "process_vm_readv", "process_vm_writev", "pidfd_open", "mem", "fd",
                     "ptrace"):
            self.assertEqual(answers[name], "ok", name)
        self.assertEqual(rest.strip(), "overwritten")

    def test_process_outside_does_not_exist_inside(self):
        with self.victim() as (pid, address):
            answers = self.answers(self.inside("./process", "attack", pid, address))
        for name in ATTACKS:
            with self.subTest(attack=name):
                self.assertIn(answers[name], ("ESRCH", "ENOENT"))

    def test_killing_everybody_ends_nobody_outside(self):
        with self.victim():
            attack = self.inside("sh", "-c", "./process kill-all; echo status $?")
        self.assertEqual(attack.returncode, 137, attack.stdout + attack.stderr)  # the shell as well
        with self.victim():
            # The leader survives its own kill(-1); init does not hear it.
            alone = self.inside("./process", "kill-all")
        self.assertIn("survived", self.output(alone))

    def test_init_of_the_session_is_closed(self):
        answers = self.answers(self.inside("./process", "attack", "1", "4096"))
        for name in ATTACKS:
            if name in ("kill", "pidfd_open"):
                continue  # naming it is harmless; it hears no signal from inside
            with self.subTest(attack=name):
                # EROFS: as root, what belongs to init below /proc is read-only as well.
                self.assertIn(answers[name], ("EPERM", "EACCES", "EROFS"))
        self.assertIn(answers.get("pidfd_getfd", "EPERM"), ("EPERM", "EACCES"))

    def test_signals_of_the_session_stay_in_it(self):
        result = self.inside("sh", "-c",
                             "kill -9 1; kill -STOP 1; kill -TERM 1; kill -HUP 1; echo on")
        self.assertEqual(self.output(result), "on")

    @unittest.skipIf(tracing_is_closed(), "kernel.yama.ptrace_scope closes ptrace on this host")
    def test_own_processes_can_be_traced(self):
        result = self.inside("sh", "-c", 'mkfifo line; ./process victim > line < /dev/zero & '
                             'read pid address < line; ./process attack $pid $address; '
                             'kill -9 $pid')
        answers = self.answers(result)
        for name in ("kill", "process_vm_readv", "process_vm_writev", "pidfd_open", "ptrace"):
            self.assertEqual(answers[name], "ok", name)

    def programs(self):
        """Digests of Cordon's own programs, as the host has them."""
        tree = pathlib.Path(harness.CORDON).resolve().parent.parent
        files = [path for folder in ("bin", "libexec") for path in (tree / folder).rglob("*")
                 if path.is_file()]
        self.assertTrue(files)
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def test_programs_of_the_runner_cannot_be_overwritten(self):
        before = self.programs()
        # A script whose interpreter is the program that starts it: the runner, if it lets that be.
        script = self.path("again")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/proc/self/exe\n")
        os.chmod(script, 0o755)
        result = self.inside("sh", "-c",
                             "./again >/dev/null 2>&1 & ./process write-running; wait; true")
        for pid, answer in self.answers(result).items():
            self.assertIn(answer, ("EROFS", "EACCES", "EPERM", "ENOENT", "ETXTBSY"), pid)
        self.assertNotEqual(self.answers(result).get("1", "ok"), "ok")
        for path in before:
            shell = self.inside("sh", "-c", f'echo x >> "{path}"')
            self.assertNotEqual(shell.returncode, 0)
        self.assertEqual(self.programs(), before)

    def test_known_limitation_program_from_memory_runs_under_the_same_filter(self):
        # Exec rules hold names and mounts; a program in a memfd has neither. It stays confined.
        answers = dict(line.split() for line in
                       self.output(self.inside("./process", "from-memory")).splitlines())
        self.assertEqual(answers.pop("Seccomp:"), "2")
        self.assertEqual(answers.pop("NoNewPrivs:"), "1")
        self.assertEqual(set(answers), {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"})
        self.assertEqual({int(value, 16) for value in answers.values()}, {0})


class ProcessesOfTheBoundView(Processes):
    VIEW = "bound"


if __name__ == "__main__":
    harness.main()
