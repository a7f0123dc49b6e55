#!/usr/bin/env python3
"""Variables that were removed for the command still stood in the environment of the sandbox's pid 1 under /proc."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

READ_ALL = ("for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/task/*/environ /proc/[0-9]*/task/*/cmdline /proc/self/environ "
            "/proc/[0-9]*/stack /proc/[0-9]*/mem /proc/[0-9]*/maps; do echo \"== $f\"; head -c 100000 $f | tr '\\0' '\\n'; done 2>/dev/null; env")


class Environ(cordon_testing.CordonTest):
    SECRETS = {"API_TOKEN": "first-s3cr3t-value", "LD_LIBRARY_PATH": "/second/s3cr3t-value", "GIT_CONFIG_COUNT": "third-s3cr3t-value",
               "BASH_ENV": "/fourth/s3cr3t-value", "BASH_FUNC_x%%": "() { fifth-s3cr3t-value; }"}

    def said(self, options, **secrets):
        done = self.run_cordon("sh", "-c", READ_ALL, options=options, env={**self.environment, **secrets, "SHOWN": "ordinary-value"})
        self.assertIn("ordinary-value", done.stdout)
        self.assertIn("== /proc/1/environ", done.stdout)
        return done.stdout

    def test_dropped_and_cleaned_variables(self):
        spec = os.path.join(self.base, "spec.json")
        with open(spec, "w", encoding="ascii") as file:
            file.write('{"sessionId": "a", "workspaceId": "b", "view": "host", "guestWorkdir": "%s", "environment": {"drop": ["API_*"]}}'
                       % self.work)
        for options in ([], ["--tty"], ["--view", "host"]):
            self.assertNotIn("s3cr3t-value", self.said(["--spec", spec, *options], **self.SECRETS))

    def test_control(self):
        # A variable that stays is read, so the look is no empty one.
        said = self.said([], API_TOKEN="first-s3cr3t-value")
        self.assertIn("API_TOKEN=first-s3cr3t-value", said)

    def test_nothing_of_the_command_line_outside(self):
        # The caller's own arguments and environment are those of processes that do not exist inside.
        said = self.said(["--env", "OTHER=shown", "--deny-read", self.base + "/named-s3cr3t-value"])
        self.assertNotIn("named-s3cr3t-value", said)


if __name__ == "__main__":
    cordon_testing.main()
