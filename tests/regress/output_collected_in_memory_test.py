#!/usr/bin/env python3
"""The output of a command was collected whole before it was passed on or cut."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

MIB = 1 << 20
MEASURE = ("import resource, subprocess, sys\n"
           "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
           "import threading\n"
           "counts = [0, 0]\n"
           "def drain(i, f):\n"
           "    while True:\n"
           "        data = f.read1(1 << 20)\n"
           "        if not data: return\n"
           "        counts[i] += len(data)\n"
           "threads = [threading.Thread(target=drain, args=(i, f)) for i, f in enumerate((p.stdout, p.stderr))]\n"
           "[t.start() for t in threads]; [t.join() for t in threads]; p.wait()\n"
           "print(*counts, p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n")


class Output(cordon_testing.CordonTest):
    def measure(self, *argv, options=()):
        done = subprocess.run([sys.executable, "-c", MEASURE, *self.command(argv, options)], cwd=self.work, env=self.environment,
                              capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL, timeout=cordon_testing.SECONDS * 2)
        out, err, code, peak = map(int, done.stdout.split())
        self.assertLess(peak, 100 * 1024, "KiB at most in any process of the run")
        return out, err, code

    def test_one_stream(self):
        self.assertEqual(self.measure("head", "-c", str(600 * MIB), "/dev/zero"), (600 * MIB, 0, 0))

    def test_both_streams(self):
        line = f"head -c {150 * MIB} /dev/zero & head -c {150 * MIB} /dev/zero >&2; wait"
        self.assertEqual(self.measure("sh", "-c", line), (150 * MIB, 150 * MIB, 0))

    def test_terminal(self):
        out, _, code = self.measure("head", "-c", str(60 * MIB), "/dev/zero", options=["--tty"])
        self.assertEqual((out, code), (60 * MIB, 0))

    def test_reader_that_goes_away(self):
        done = subprocess.run(["bash", "-c", '"$0" run --quiet -- sh -c "yes; exit 3" | head -c 10 | wc -c; echo "${PIPESTATUS[0]}"',
                               cordon_testing.CORDON], cwd=self.work, env=self.environment, capture_output=True, text=True, check=True,
                              timeout=cordon_testing.SECONDS)
        self.assertEqual(done.stdout.split()[0], "10")
        self.assertIn(done.stdout.split()[1], ("3", "141"))  # yes ends by SIGPIPE or with an error of its own
        self.assert_nothing_left()


if __name__ == "__main__":
    cordon_testing.main()
