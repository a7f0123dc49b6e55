#!/usr/bin/env python3
"""Stream sockets of the host that have a name in the file system (row 33).

A connection reaches a server with all the powers that it has outside, so names that listen when the
session starts are hidden in it. tests/escape/kernel has abstract and datagram sockets,
tests/escape/supervisor those that begin to listen later.
"""
import os
import socket
import tempfile

import canary

CONNECT = r"""
import socket
for path in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder, name_ = os.path.split(path)
    fd = os.open(folder or ".", os.O_PATH)
    # By the short way, so that no path is too long for sun_path.
    say(path, attempt(s.connect, f"/proc/self/fd/{fd}/{name_}"))
    try:
        s.send(b"reached")
    except OSError:
        pass
"""


class SocketTest(canary.CanaryTest):
    """A server outside counts who comes."""

    def listen(self, path, kind=socket.SOCK_STREAM):
        server = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(server.close)
        server.bind(path)
        server.listen(64)
        server.setblocking(False)
        return server

    def visits(self, server):
        count = 0
        while True:
            try:
                server.accept()[0].close()
                count += 1
            except BlockingIOError:
                return count

    def refused(self, server, paths, options=()):
        for path, answer in self.control(CONNECT, *paths).items():
            self.assertEqual(answer, "ok", path)
        self.assertEqual(self.visits(server), len(paths))
        for path, answer in self.probe(CONNECT, *paths, options=options).items():
            with self.subTest(path=path):
                self.assertIn(answer, ("EACCES", "ENOENT"))
        self.assertEqual(self.visits(server), 0)


class Sockets(SocketTest):
    """Every way to a name that listened at start."""

    def test_in_the_home(self):
        server = self.listen(os.path.join(self.home, "agent"))
        self.refused(server, [os.path.join(self.home, "agent")])
        self.refused(server, [os.path.join(self.home, "agent")], ["--write", self.home])

    def test_in_the_working_directory(self):
        self.refused(self.listen(self.path("agent")), [self.path("agent"), "agent"])

    def test_with_no_file_rules_of_its_own(self):
        self.refused(self.listen(self.path("agent")), [self.path("agent")], ["--no-default-denies", "--allow-read", "agent",
                                                                           "--write", "agent"])

    def test_by_links(self):
        server = self.listen(self.at("agent"))
        os.symlink(self.at("agent"), self.path("link"))
        os.symlink("link", self.path("chain"))
        os.symlink(self.base, self.path("folder"))
        self.refused(server, [self.path("link"), self.path("chain"), self.path("folder/agent"),
                              "/proc/self/root" + self.at("agent"), "/proc/self/cwd/../agent"])

    def test_by_a_link_made_inside(self):
        server = self.listen(self.path("agent"))
        code = "os.symlink('agent', 'new')\nsay('move', attempt(os.rename, 'agent', 'other'))\n" \
               "say('link', attempt(os.link, 'agent', 'hard'))\n" + CONNECT
        answers = self.probe(code, "new", "other", "hard")
        self.assertEqual(answers["move"], "EBUSY")
        self.assertIn(answers["link"], ("EXDEV", "EBUSY", "EROFS"))
        self.assertEqual(answers["new"], "EACCES")
        self.assertEqual(self.visits(server), 0)

    def test_folder_of_the_socket_moved_inside(self):
        os.mkdir(self.path("a"))
        server = self.listen(self.path("a/agent"))
        answers = self.probe("os.rename('a', 'b')\n" + CONNECT, "b/agent")
        self.assertEqual(answers["b/agent"], "EACCES")
        self.assertEqual(self.visits(server), 0)

    def test_below_a_mount(self):
        os.mkdir(self.at("other"))
        server = self.listen(self.at("other/agent"))
        self.refused(server, [self.at("other/agent")], ["--mount", self.at("other")])
        answers = self.probe(CONNECT, "/tmp/shown/agent", options=["--mount", self.at("other") + ":/tmp/shown"])
        self.assertEqual(answers["/tmp/shown/agent"], "EACCES")
        self.assertEqual(self.visits(server), 0)

    def test_in_the_temporary_directory(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            server = self.listen(folder + "/agent")
            code = CONNECT.replace("fd = os.open(folder or \".\", os.O_PATH)\n", "").replace(
                "s.connect, f\"/proc/self/fd/{fd}/{name_}\"", "s.connect, path")
            self.assertEqual(self.control(code, folder + "/agent")[folder + "/agent"], "ok")
            self.assertEqual(self.visits(server), 1)
            for options in ((), ("--workdir", folder), ("--mount", folder), ("--write", folder)):
                answer = self.probe(code, folder + "/agent", options=options)[folder + "/agent"]
                self.assertIn(answer, ("ENOENT", "EACCES"), options)
            self.assertEqual(self.visits(server), 0)

    def test_packet_sockets(self):
        server = self.listen(self.path("packets"), socket.SOCK_SEQPACKET)
        code = CONNECT.replace("SOCK_STREAM", "SOCK_SEQPACKET")
        self.assertEqual(self.control(code, "packets")["packets"], "ok")
        self.assertEqual(self.visits(server), 1)
        self.assertEqual(self.probe(code, "packets")["packets"], "EACCES")
        self.assertEqual(self.visits(server), 0)

    def test_odd_names(self):
        for name in ("sp ace", "tab\tx", "\u00fcml", "-x", "back\\slash", "*"):
            with self.subTest(name=name):
                server = self.listen(self.path(name))
                self.refused(server, [self.path(name)])

    def test_own_sockets_work(self):
        code = ("import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1]); s.listen(1)\n"
                "c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1])\n"
                "a, b = socket.socketpair()\n"
                "socket.send_fds(a, [b'x'], [s.fileno()])\n"
                "got = socket.recv_fds(b, 9, 9)\nsay('passed', str(len(got[1])))")
        for path in ("own", "/tmp/own", "/dev/shm/own"):
            self.assertEqual(self.probe(code, path), {"passed": "1"})


if __name__ == "__main__":
    canary.main()
