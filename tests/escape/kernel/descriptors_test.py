#!/usr/bin/env python3
"""Descriptors that the caller of `cordon run` holds open do not reach the command (row 22)."""
import os
import secrets
import shutil
import socket
import tempfile

import harness


class Descriptors(harness.KernelTest):
    PROBES = ("reach",)

    def held(self):
        """Descriptors of every kind, inheritable, some with high numbers."""
        secret = tempfile.mkdtemp(dir="/var/tmp")
        self.addCleanup(shutil.rmtree, secret, True)
        with open(os.path.join(secret, "canary"), "w", encoding="ascii") as file:
            file.write(self.canary)
        left, right = socket.socketpair()
        self.addCleanup(left.close)
        self.addCleanup(right.close)
        reader, writer = os.pipe()
        memory = os.memfd_create("canary")
        os.write(memory, self.canary.encode())
        opened = [os.open(secret, os.O_RDONLY | os.O_DIRECTORY),
                  os.open(os.path.join(secret, "canary"), os.O_RDWR),
                  os.open("/", os.O_RDONLY | os.O_DIRECTORY), reader, writer, memory]
        for number in (200, 1000):
            os.dup2(opened[0], number)
            opened.append(number)
        for fd in opened:
            self.addCleanup(os.close, fd)
        return tuple(opened) + (left.fileno(),)

    def setUp(self):
        super().setUp()
        self.canary = "canary-" + secrets.token_hex(8)

    def test_only_the_three_standard_ones_are_open(self):
        held = self.held()
        control = self.output(self.outside("./reach", "descriptors", pass_fds=held)).split()
        self.assertLessEqual({str(fd) for fd in held}, set(control))
        inside = self.output(self.inside("./reach", "descriptors", pass_fds=held)).split()
        self.assertEqual(inside, ["0", "1", "2"])

    def test_held_directory_and_memory_cannot_be_read(self):
        held = self.held()
        script = "for fd in $FDS; do cat /proc/self/fd/$fd/canary /proc/self/fd/$fd; done"
        environment = dict(os.environ, FDS=" ".join(map(str, held[:3] + held[5:8])))
        control = self.outside("sh", "-c", script, pass_fds=held, env=environment)
        self.assertIn(self.canary, control.stdout)
        inside = self.inside("sh", "-c", script, pass_fds=held, env=environment)
        self.assertNotIn(self.canary, inside.stdout)
        self.assertIn("/proc/self/fd/", inside.stderr)

    def test_closed_standard_descriptors_stay_harmless(self):
        # A file that the command opens must not become its error output by accident.
        result = self.inside("sh", "-c", 'exec 1>&- 2>&-; exec "$0" descriptors > fds', "./reach")
        self.output(result)
        with open(self.path("fds"), encoding="ascii") as file:
            self.assertLessEqual(set(file.read().split()), {"0", "1", "2"})
        bare = self.outside("sh", "-c", 'exec <&-; "$0" run --quiet -- ./reach descriptors',
                            harness.CORDON)
        self.assertEqual(self.output(bare).split(), ["0", "1", "2"])


if __name__ == "__main__":
    harness.main()
