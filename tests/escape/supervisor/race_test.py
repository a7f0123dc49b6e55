#!/usr/bin/env python3
# ctest: TIMEOUT 1800
"""Other threads rewrite a call's arguments while it is judged (row 1).

Ten threads for CORDON_STRESS_SECONDS (6) a trick, half of them with all threads on one processor.
"""
import os
import socket
import subprocess

import names

TRICKS = ("open", "mkdir", "mknod", "symlink", "rename", "hard", "temporary", "bind", "descriptor", "cwd", "link", "folder", "proc-cwd",
          "proc-descriptor")
RULES = ["--deny-write", "guarded/planted", "--deny-write", "slot-*/kept"]


class Race(names.NameTest):
    PROBES = ("race",)

    def seen(self):
        """Forbidden names that stand there."""
        found = self.found("*.key")
        found += [path for path in names.cordon_testing.names_below(self.work)
                  if os.path.relpath(path, self.work) == "guarded/planted" or
                  (os.path.basename(path) == "kept" and "/slot-" in path)]
        return found

    def race(self, trick):
        os.mkdir(self.path("guarded"))
        done = self.outside(self.tool("race"), trick, "0.5", "free")
        control = {name: int(count) for name, count in self.said(done).items()}
        self.assertNotEqual(self.seen(), [], f"outside too nothing came of it: {control}")
        for pin in ("pinned", "free"):
            with self.subTest(pin=pin):
                self.fresh()
                os.mkdir(self.path("guarded"))
                done = self.inside(self.tool("race"), trick, str(names.STRESS / 2), pin,
                                   options=[*self.name_rules(), *RULES], timeout=names.STRESS + names.cordon_testing.SECONDS)
                counts = {name: int(count) for name, count in self.said(done).items()}
                self.assertEqual((self.seen(), counts["bad"]), ([], 0))
                if trick == "folder":
                    continue  # the mover nearly always wins: how often which call fails says nothing
                self.assertGreater(counts["good"], 3)  # it does not hold by refusing everything
                self.assertTrue(self.violations())

    def test_pipe_that_is_exchanged_while_it_is_opened(self):
        """What was a pipe when it was judged is then an old second name of a protected file."""
        def prepare():
            self.fresh()
            self.make("work/kept", "mine")
            for number in range(5):
                os.mkfifo(self.path(f"pipe-{number}"))
                os.link(self.path("kept"), self.path(f"old-{number}"))
        prepare()
        self.said(self.outside(self.tool("race"), "pipe", "0.5", "free"))
        self.assertNotEqual(names.cordon_testing.read_file(self.path("kept")), b"mine\n")
        for pin in ("pinned", "free"):
            with self.subTest(pin=pin):
                prepare()
                done = self.inside(self.tool("race"), "pipe", str(names.STRESS / 2), pin, options=["--deny-write", "kept"],
                                   timeout=names.STRESS + names.cordon_testing.SECONDS)
                self.assertGreater(int(self.said(done)["good"]), 20)
                self.assertEqual(names.cordon_testing.read_file(self.path("kept")), b"mine\n")

    def test_connect(self):
        """Addresses of sockets: now one that the session made, now one of the host's."""
        for pin in ("pinned", "free"):
            self.fresh()
            process = self.start_cordon(self.tool("race"), "connect", str(names.STRESS / 2), pin, stdin=subprocess.PIPE)
            self.assertEqual(self.read_line(process.stdout), "up")
            servers = []
            for number in range(5):
                server = socket.socket(socket.AF_UNIX)
                self.addCleanup(server.close)
                server.bind(self.path(f"host-{number}.sok"))
                server.listen(4096)
                server.setblocking(False)
                servers.append(server)
            with socket.socket(socket.AF_UNIX) as client:  # the control
                client.connect(self.path("host-0.sok"))
                servers[0].accept()[0].close()
            out, err = process.communicate(b"\n", timeout=names.STRESS + names.cordon_testing.SECONDS)
            self.assertEqual(process.returncode, 0, err)
            for server in servers:
                with self.assertRaises(BlockingIOError):
                    server.accept()
            self.assertGreater(int(out.split()[1]), 20)


for name in TRICKS:
    setattr(Race, f"test_{name.replace('-', '_')}", lambda self, trick=name: self.race(trick))


if __name__ == "__main__":
    names.main()
