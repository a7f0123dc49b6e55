#!/usr/bin/env python3
"""Children waited for ever on a standard input of the caller that stays open and says nothing."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position


class StandardInput(cordon_testing.CordonTest):
    FORMS = ("cat", "cat <<< a >/dev/null; cat", 'echo "a <b" && cat', "cat <<E >/dev/null\nx\nE\ncat", "cat </dev/null; cat",
             "python3 -c 'input()' 2>/dev/null; true", "read -r line; true", "cat <(cat)", "xargs echo", "git hash-object --stdin")

    def test_closed_when_the_caller_closes_it(self):
        for form in self.FORMS:
            for stdin in (cordon_testing.subprocess.DEVNULL, None):
                with self.subTest(form=form, stdin=stdin):
                    how = {"stdin": stdin} if stdin is not None else {"input": ""}
                    self.assertIn(self.run_cordon("bash", "-c", form, **how).returncode, (0, 1))

    def test_silent_pipe_does_not_keep_an_ended_command(self):
        read, write = os.pipe()
        try:
            self.assertEqual(self.run_cordon("bash", "-c", "cat & exec true", stdin=read).returncode, 0)
            self.assertEqual(self.run_cordon("bash", "-c", "sleep 1000 & read -t 0.01 x; exit 4", stdin=read).returncode, 4)
        finally:
            os.close(read)
            os.close(write)
        self.assert_nothing_left()

    def test_given_input_arrives_whole(self):
        for size in (0, 1, 4096, 65536, 65537, 3_000_000):
            self.assertEqual(self.output(self.run_cordon("wc", "-c", input="x" * size)).strip(), str(size))


if __name__ == "__main__":
    cordon_testing.main()
