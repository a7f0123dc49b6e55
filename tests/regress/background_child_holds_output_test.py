#!/usr/bin/env python3
"""A background child that kept the output pipe open made the call hang; or the tail of the output was cut."""
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

SOON = 10  # far below what the children live for, far above what an end takes


class BackgroundChild(cordon_testing.CordonTest):
    def check(self, argv, code, out):
        for output in (subprocess.PIPE, "file"):
            file = open(self.path("output"), "w+b")  # pylint: disable=consider-using-with
            self.addCleanup(file.close)
            start = time.monotonic()
            done = self.run_cordon(*argv, stdout=file if output == "file" else output, text=False)
            self.assertLess(time.monotonic() - start, SOON)
            file.seek(0)
            said = file.read() if output == "file" else done.stdout
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(said[-200:], out.encode()[-200:])
            self.assertEqual(len(said), len(out))
        self.assert_nothing_left()

    def test_children_that_keep_the_pipe(self):
        for child in ("sleep 1000 &", "(sleep 1000 &) &", "setsid sleep 1000 &", "nohup sleep 1000 &", "sh -c 'trap \"\" TERM HUP; sleep 1000' &",
                      "sleep 1000 | sleep 1000 &", "setsid sh -c 'sleep 1000 & sleep 1000' &"):
            with self.subTest(child=child):
                self.check(["sh", "-c", child + " echo started"], 0, "started\n")

    def test_whole_output_and_status(self):
        numbers = "".join(f"{n}\n" for n in range(1, 200001))
        self.check(["bash", "-c", "sleep 1000 & (exit 3); exec bash -c 'seq 1 200000; exit 3'"], 3, numbers)

    def test_what_is_in_the_pipe_when_the_command_is_killed(self):
        self.check(["sh", "-c", "sleep 1000 & seq 1 1000; kill -9 $$"], 137, "".join(f"{n}\n" for n in range(1, 1001)))


if __name__ == "__main__":
    cordon_testing.main()
