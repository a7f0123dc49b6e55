"""What the tests of the kernel's surface share: probes built with cc, run inside and outside.

A probe lies in the working directory of the session, so that it is visible inside. Each trick runs
outside too where that is harmless (the positive control), and what it would have changed is looked
at from outside (the witness).
"""
import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
CORDON = os.environ.get("CORDON", "")
SECONDS = 60  # no single probe takes long; this only ends a run that hangs

_built = {}


def build(directory, name):
    """The probe `name`, compiled once a run, copied into `directory`."""
    if name not in _built:
        folder = tempfile.mkdtemp(prefix="cordon-probe-")
        atexit.register(shutil.rmtree, folder, True)
        program = os.path.join(folder, name)
        subprocess.run(["cc", "-O1", "-Wall", "-o", program, str(HERE / "probes" / (name + ".c"))],
                       check=True)
        _built[name] = program
    return shutil.copy(_built[name], directory)


class KernelTest(unittest.TestCase):
    """One working directory a test, with the probes named in PROBES."""
    PROBES = ()
    VIEW = "host"

    def setUp(self):
        # /var/tmp and not /tmp, which is the session's own; both must work as a working directory.
        self.work = tempfile.mkdtemp(prefix="cordon-kernel-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.work, True)
        for name in self.PROBES:
            build(self.work, name)

    def path(self, name):
        return os.path.join(self.work, name)

    def outside(self, *argv, **options):
        return self._run(list(argv), options)

    def inside(self, *argv, cordon=(), **options):
        command = [CORDON, "run", "--quiet", "--view", self.VIEW, *cordon, "--", *argv]
        return self._run(command, options)

    def _run(self, argv, options):
        return subprocess.run(argv, cwd=self.work, capture_output=True, text=True, timeout=SECONDS,
                              **{"stdin": subprocess.DEVNULL, **options})

    def output(self, result):
        """Standard output of a run that must have gone well."""
        self.assertEqual(result.returncode, 0, f"{result.args}: {result.stdout}{result.stderr}")
        return result.stdout.strip()

    def answers(self, result):
        """{name: answer} of a probe that prints "name answer" lines."""
        return dict(line.split(" ", 1) for line in self.output(result).splitlines())


def main():
    reason = ""
    if not CORDON or not os.access(CORDON, os.X_OK):
        reason = "CORDON does not name the program"
    elif shutil.which("cc") is None:
        reason = "no C compiler for the probes"
    if reason:
        print(reason)
        sys.exit(77)
    run = unittest.main(module="__main__", exit=False, verbosity=1).result
    for test, why in run.skipped:
        print(f"skipped {test.id()}: {why}")
    if run.wasSuccessful() and run.testsRun > 0 and len(run.skipped) == run.testsRun:
        print(run.skipped[-1][1])
        sys.exit(77)
    sys.exit(0 if run.wasSuccessful() else 1)
