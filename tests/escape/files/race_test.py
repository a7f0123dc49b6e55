#!/usr/bin/env python3
"""A link that is swapped while the launch resolves its rules (row 16)."""
# ctest: TIMEOUT 600
import contextlib
import os
import subprocess

import canary

LAUNCHES = int(os.environ.get("CORDON_RACE_LAUNCHES", "100"))

# Exchanges the two names as fast as it can, until it is killed.
SWAP = r"""
import platform
number = 276 if platform.machine() == "aarch64" else 316
a, b = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2])
print("swapping", flush=True)
while True:
    call(number, -100, a, -100, b, 2)
"""


class Race(canary.CanaryTest):
    """A component of a rule's path is now a folder, now a link to the secret one."""

    def setUp(self):
        super().setUp()
        self.text = self.make("secret/key")
        self.make("work/area/sub/key", "harmless")
        os.symlink(self.at("secret"), self.path("area/other"))
        self.before = canary.cordon_testing.snapshot(self.at("secret"))

    @contextlib.contextmanager
    def swapping(self, one="area/sub", other="area/other"):
        with subprocess.Popen([canary.PYTHON, "-ISc", canary.PRELUDE + SWAP, self.path(one), self.path(other)],
                              stdout=subprocess.PIPE) as attacker:
            try:
                self.read_line(attacker.stdout)
                yield
            finally:
                attacker.kill()

    def launches(self, line, options, work=None):
        """Runs `line` again and again; what the runs printed, and how many were refused."""
        outputs, refused = [], 0
        for _ in range(LAUNCHES):
            done = self.run_cordon("/bin/sh", "-c", line, options=options, cwd=work or self.work)
            if done.returncode == 125:
                self.assertTrue(done.stderr.startswith("cordon: "), done.stderr)
                refused += 1
            outputs.append(done.stdout)
        self.assertLess(refused, LAUNCHES, "no launch came through, so this shows nothing")
        return "".join(outputs), refused

    def test_control(self):
        with self.swapping():
            said = self.outside("/bin/sh", "-c", "for i in $(seq 2000); do cat area/sub/key; echo evil > area/sub/new; done").stdout
        self.assertIn(self.text, said)
        self.assertIn("harmless", said)
        self.assertTrue(os.path.exists(self.at("secret/new")))

    def test_writable_folder_that_becomes_a_link(self):
        # Where the link is resolved in time its target is read-only by a rule of its own.
        options = ["--mode", "chat", "--workdir", self.home, "--write", self.path("area/sub"), "--deny-write", self.at("secret")]
        place = self.path("area")
        line = f"cd {place}; echo evil > sub/new; echo evil >> sub/key; rm -f sub/key; mkdir sub/dir; echo evil > other/new; echo ran"
        with self.swapping():
            said, refused = self.launches(line, options)
        self.assertIn("ran", said)
        self.assertEqual(canary.cordon_testing.snapshot(self.at("secret")), self.before, f"{refused} refused")

    def test_readable_folder_that_becomes_a_link(self):
        options = ["--workdir", self.home, "--deny-read", self.work, "--allow-read", self.path("area/sub"),
                   "--deny-read", self.at("secret")]
        line = f"cat {self.path('area/sub/key')} {self.path('area/other/key')} {self.at('secret/key')} 2>/dev/null; echo ran"
        with self.swapping():
            said, refused = self.launches(line, options)
        self.assertIn("ran", said)
        self.assertNotIn(self.text, said, f"{refused} refused")

    def test_mount_source_that_becomes_a_link(self):
        options = ["--workdir", self.home, "--mount", self.path("area/sub") + ":/tmp/place", "--deny-read", self.at("secret"),
                   "--deny-write", self.at("secret")]
        line = "cat /tmp/place/key; echo evil > /tmp/place/new; echo ran"
        with self.swapping():
            said, refused = self.launches(line, options)
        self.assertNotIn(self.text, said, f"{refused} refused")
        self.assertEqual(canary.cordon_testing.snapshot(self.at("secret")), self.before)

    def test_mount_point_of_a_mask_below_a_swapped_name(self):
        # What a rule names is what stood there when it was resolved: now the one, now the other. Where
        # the mask is then to be put, the name may lead elsewhere; what has a rule of its own stays hidden.
        self.make("work/area/sub/deep/key")
        hidden = self.make("secret/deep/key")
        before = canary.cordon_testing.snapshot(self.at("secret"))
        options = ["--deny-read", "area/sub/deep", "--deny-write", "area/sub/key", "--deny-read", self.at("secret")]
        line = "cat area/sub/deep/key area/other/deep/key area/*/key; echo evil > area/other/key; echo ran"
        with self.swapping():
            said, refused = self.launches(line, options)
        self.assertIn("ran", said)
        for text in (self.text, hidden):
            self.assertNotIn(text, said, f"{refused} refused")
        self.assertEqual(canary.cordon_testing.snapshot(self.at("secret")), before)

    def test_working_directory_that_becomes_a_link(self):
        # The secret folder is nothing that a session may change; being moved into it is no way to do so.
        options = ["--workdir", self.path("area/sub"), "--deny-write", self.at("secret")]
        with self.swapping():
            said, refused = self.launches("echo evil > new; echo evil >> key; rm -f key; pwd", options)
        self.assertEqual(canary.cordon_testing.snapshot(self.at("secret")), self.before, f"{refused} refused")
        # The folder may have its other name by the time that it is asked for.
        self.assertLessEqual(set(said.split()), {self.path("area/sub"), self.path("area/other"), self.at("secret")})


if __name__ == "__main__":
    canary.main()
