#!/usr/bin/env python3
"""Sockets of the host (rows 33, 34): abstract, datagram, internet.

Stream sockets by path in places that the session sees are held by the supervisor's judgement of
connect, and tested with it.
"""
import os
import secrets
import socket

import harness


class Sockets(harness.KernelTest):
    PROBES = ("reach",)

    def listener(self, family, kind, address):
        server = socket.socket(family, kind)
        self.addCleanup(server.close)
        server.bind(address)
        if kind == socket.SOCK_STREAM:
            server.listen(8)
        server.setblocking(False)
        return server

    def heard(self, server):
        """What arrived: bytes, b"" for a connection without data, None for nothing."""
        try:
            if server.type & 0xf == socket.SOCK_STREAM:
                peer, _ = server.accept()
                with peer:
                    peer.settimeout(harness.SECONDS)
                    return peer.recv(64)
            return server.recv(64)
        except BlockingIOError:
            return None

    def test_abstract_stream(self):
        name = "cordon-" + secrets.token_hex(8)
        server = self.listener(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + name)
        self.assertEqual(self.answers(self.outside("./reach", "unix-stream", "@" + name)),
                         {"stream": "ok"})
        self.assertEqual(self.heard(server), b"escaped")
        self.assertEqual(self.answers(self.inside("./reach", "unix-stream", "@" + name)),
                         {"stream": "ECONNREFUSED"})
        self.assertIsNone(self.heard(server))

    def test_services_below_run(self):
        # Container engines, D-Bus and agents listen here, each with powers outside the session.
        places = [folder for folder in ("/run", f"/run/user/{os.getuid()}", "/var/run")
                  if os.access(folder, os.W_OK)]
        if not places:
            self.skipTest("this user has no directory below /run")
        for folder in places:
            name = os.path.join(folder, "cordon-" + secrets.token_hex(8))
            server = self.listener(socket.AF_UNIX, socket.SOCK_STREAM, name)
            self.addCleanup(os.unlink, name)
            self.assertEqual(self.answers(self.outside("./reach", "unix-stream", name)),
                             {"stream": "ok"})
            self.assertEqual(self.heard(server), b"escaped")
            inside = self.answers(self.inside("./reach", "unix-stream", name))
            self.assertIn(inside["stream"], ("EACCES", "ENOENT"), name)
            self.assertIsNone(self.heard(server))

    def datagrams(self, bound, name):
        server = self.listener(socket.AF_UNIX, socket.SOCK_DGRAM, bound)
        control = self.answers(self.outside("./reach", "unix-datagram", name))
        for way in ("socket", "raw", "pair-sendto", "pair-sendmsg"):
            self.assertEqual(control[way], "ok", way)
            self.assertEqual(self.heard(server), b"escaped", way)
        self.assertIsNone(self.heard(server))
        inside = self.answers(self.inside("./reach", "unix-datagram", name))
        self.assertEqual(inside["pair"], "EACCES")
        # A pair of packets takes the address and drops it: the bytes go to its own other end.
        self.assertEqual({way for way, answer in inside.items() if answer == "ok"} -
                         {"seqpacket-sendto"}, set())
        self.assertIsNone(self.heard(server))

    def test_datagram_by_path(self):
        # In the working directory, where the session may do everything with files.
        self.datagrams(self.path("socket"), "./socket")

    def test_datagram_by_link(self):
        os.symlink(self.path("socket"), self.path("link"))
        self.datagrams(self.path("socket"), "./link")

    def test_datagram_abstract(self):
        name = "cordon-" + secrets.token_hex(8)
        self.datagrams("\0" + name, "@" + name)

    def test_own_sockets_work(self):
        for name in ("./own", "@own"):
            self.assertEqual(self.answers(self.inside("./reach", "unix-own", name)), {"own": "ok"})

    def test_loopback_of_the_host(self):
        stream = self.listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        port = stream.getsockname()[1]
        datagram = self.listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port))
        self.outside("./reach", "inet", "127.0.0.1", str(port))
        self.assertEqual(self.heard(stream), b"")
        self.assertEqual(self.heard(datagram), b"escaped")
        for address in ("127.0.0.1", "127.0.0.2", "0.0.0.0"):
            self.inside("./reach", "inet", address, str(port))
        self.assertIsNone(self.heard(stream))
        self.assertIsNone(self.heard(datagram))

    def test_no_way_to_other_hosts(self):
        # A neighbour, a multicast group, the broadcast address, the cloud's metadata service.
        for address in ("192.0.2.1", "224.0.0.1", "255.255.255.255", "169.254.169.254"):
            with self.subTest(address=address):
                answers = self.answers(self.inside("./reach", "inet", address, "80"))
                self.assertIn(answers["tcp"], ("ENETUNREACH", "EACCES", "EPERM"))
                self.assertIn(answers["udp"], ("ENETUNREACH", "EACCES", "EPERM"))

    def test_no_interface_of_the_host_is_seen(self):
        inside = self.output(self.inside("./reach", "interfaces")).split()
        self.assertLessEqual(set(inside), {"lo"})
        listed = self.output(self.inside("cat", "/proc/net/dev")).splitlines()[2:]
        self.assertLessEqual({line.split(":")[0].strip() for line in listed}, {"lo"})
        links = self.inside("ls", "/sys/class/net")
        self.assertLessEqual(set(links.stdout.split()), {"lo"})


class SocketsOfTheBoundView(Sockets):
    VIEW = "bound"


if __name__ == "__main__":
    harness.main()
