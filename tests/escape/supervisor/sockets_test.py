#!/usr/bin/env python3
"""Connections are judged when they are made: only sockets made inside, and those allowed by path (row 33).

tests/escape/files/sockets_test.py has the sockets that listen at start, tests/escape/kernel/sockets_test.py
the kinds that are refused as such, tests/e2e/unix_sockets_test.py those that the user allows.
"""
import os
import socket
import subprocess

import names

# Ways to a path that is given; the answer is that of connect.
WAYS = r"""
import socket
path = sys.argv[1]
kind = getattr(socket, sys.argv[2]) if len(sys.argv) > 2 else socket.SOCK_STREAM
def way(make):
    def connect():
        s = socket.socket(socket.AF_UNIX, kind)
        make(s)
        try:
            s.send(b"reached")
        except OSError:
            pass
    return connect
def exact(s):
    raw = struct_path(os.fsencode(path))
    if libc.connect(s.fileno(), raw, len(raw)) != 0:
        raise OSError(ctypes.get_errno(), "connect")
def struct_path(text):
    return b"\x01\x00" + text
def padded(s):
    raw = struct_path(os.fsencode(path)).ljust(110, b"\0")
    if libc.connect(s.fileno(), raw, len(raw)) != 0:
        raise OSError(ctypes.get_errno(), "connect")
def link(s):
    os.symlink(os.path.abspath(path), "new-link")
    try:
        s.connect("new-link")
    finally:
        os.unlink("new-link")
def folder(s):
    fd = os.open(os.path.dirname(os.path.abspath(path)), os.O_PATH)
    s.connect(f"/proc/self/fd/{fd}/{os.path.basename(path)}")
def descriptor(s):
    s.connect(f"/proc/self/fd/{os.open(path, os.O_PATH)}")
def hard(s):
    os.link(path, "hard")
    try:
        s.connect("hard")
    finally:
        os.unlink("hard")
def moved(s):
    os.rename(path, "moved")
    try:
        s.connect("moved")
    finally:
        os.rename("moved", path)
def again(s):
    # In place of one that the session made, whose name was judged before.
    mine = socket.socket(socket.AF_UNIX, kind)
    mine.bind("mine")
    mine.listen(1)
    socket.socket(socket.AF_UNIX, kind).connect("mine")
    os.rename("mine", "mine-away")
    os.symlink(os.path.abspath(path), "mine")
    try:
        s.connect("mine")
    finally:
        os.unlink("mine")
        os.unlink("mine-away")
def dots(s):
    os.makedirs("x", exist_ok=True)
    s.connect("./x/../x//../" + os.path.relpath(path))
def non_blocking(s):
    s.setblocking(False)
    s.connect(path)
def child(s):
    pid = os.fork()
    if pid == 0:
        try:
            s.connect(path)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, "connect")
for label, make in (("plain", lambda s: s.connect(path)), ("absolute", lambda s: s.connect(os.path.abspath(path))), ("exact", exact), ("padded", padded),
                    ("link", link), ("folder", folder), ("descriptor", descriptor), ("root", lambda s: s.connect("/proc/self/root" + os.path.abspath(path))),
                    ("cwd", lambda s: s.connect("/proc/self/cwd/" + os.path.relpath(path))), ("hard", hard), ("moved", moved), ("again", again),
                    ("non-blocking", non_blocking), ("child", child), ("dots", dots)):
    say(label, attempt(way(make)))
"""

OWN = r"""
import array, asyncio, multiprocessing, socket, subprocess, threading
kinds = {"stream": socket.SOCK_STREAM, "packets": socket.SOCK_SEQPACKET}
for place in ("own", os.getcwd() + "/absolute", f"/tmp/own{os.getpid()}", f"/dev/shm/own{os.getpid()}", "sub/own", f"\0own{os.getpid()}"):
    os.makedirs("sub", exist_ok=True)
    for kind, number in kinds.items():
        server, client = socket.socket(socket.AF_UNIX, number), socket.socket(socket.AF_UNIX, number)
        server.bind(place)
        server.listen(1)
        client.connect(place)
        peer, _ = server.accept()
        client.send(b"hello")
        say(f"{kind} {place.strip(chr(0))}".replace(f"own{os.getpid()}", "own"), peer.recv(9).decode())
        for s in (server, client, peer):
            s.close()
        if place[0] != "\0":
            os.unlink(place)
server = socket.socket(socket.AF_UNIX)
server.bind("first")
server.listen(8)
os.rename("first", "second")
os.link("second", "third")
os.symlink("third", "fourth")
for name_ in ("second", "third", "fourth"):
    client = socket.socket(socket.AF_UNIX)
    say("renamed " + name_, attempt(client.connect, name_))
say("first", attempt(socket.socket(socket.AF_UNIX).connect, "first"))
say("backlog", " ".join(attempt(lambda: (lambda s: (s.setblocking(False), s.connect("second"), kept.append(s)) and None)(socket.socket(socket.AF_UNIX)))
                        for kept in [[]] for _ in range(2)))
server.close()
say("closed", attempt(socket.socket(socket.AF_UNIX).connect, "second"))
open("plain", "w").close()
say("not a socket", attempt(socket.socket(socket.AF_UNIX).connect, "plain"))
say("nothing", attempt(socket.socket(socket.AF_UNIX).connect, "nothing"))
say("in use", attempt(socket.socket(socket.AF_UNIX).bind, "second"))
say("wrong type", attempt(lambda: [s := socket.socket(socket.AF_UNIX), s.bind("w"), s.listen(1), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect("w")] and None))
a, b = socket.socketpair()
socket.send_fds(a, [b"x"], [os.open("plain", os.O_RDONLY)])
message, fds, _, _ = socket.recv_fds(b, 1, 1)
say("passed", str(len(fds)))
parent, child = multiprocessing.Pipe()
say("pipe", attempt(lambda: parent.send(1)) + str(child.recv()))
# A blocking connect to a server whose backlog is full waits, and goes on when there is room.
full = socket.socket(socket.AF_UNIX)
full.bind("full")
full.listen(0)
kept = []
def fill():
    for _ in range(3):
        s = socket.socket(socket.AF_UNIX)
        s.connect("full")
        kept.append(s)
thread = threading.Thread(target=fill)
thread.start()
for _ in range(3):
    kept.append(full.accept()[0])
thread.join()
say("waited", "ok")
bound = socket.socket(socket.AF_UNIX)
bound.bind("")
say("autobind", str(len(bound.getsockname())))
say("umask", "%o" % (os.stat("full").st_mode & 0o777))
"""


class Later(names.NameTest):
    """A server of the host that begins after the session did."""

    def listen(self, path, kind=socket.SOCK_STREAM):
        server = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(server.close)
        server.bind(path)
        if kind != socket.SOCK_DGRAM:
            server.listen(64)
        server.setblocking(False)
        return server

    @staticmethod
    def visits(server):
        count = 0
        while True:
            try:
                if server.type == socket.SOCK_DGRAM:
                    server.recv(64)
                else:
                    server.accept()[0].close()
                count += 1
            except BlockingIOError:
                return count

    def later(self, make, *arguments, options=(), work=None):
        """Answers of WAYS after `make()` was called outside, in mid-session."""
        code = names.canary.PRELUDE + "print('up', flush=True)\nsys.stdin.read(1)\n" + WAYS
        process = self.start_cordon(names.canary.PYTHON, "-ISc", code, *arguments, stdin=subprocess.PIPE,
                                    options=[*options, "--events", self.at("events")], cwd=work or self.work)
        self.read_line(process.stdout)
        server = make()
        out, err = process.communicate(b"x", timeout=names.cordon_testing.SECONDS)
        self.assertEqual(process.returncode, 0, err)
        return server, {bytes.fromhex(key).decode(): answer for key, answer in
                        (line.split(" ", 1) for line in out.decode().splitlines())}

    def refused(self, path, kind=socket.SOCK_STREAM, options=()):
        server = self.listen(os.path.join(self.work, path), kind)
        control = self.control(WAYS, path, kind.name)
        self.assertEqual(set(control.values()), {"ok"}, control)
        self.assertEqual(self.visits(server), len(control))
        server.close()
        os.unlink(os.path.join(self.work, path))
        server, answers = self.later(lambda: self.listen(os.path.join(self.work, path), kind), path, kind.name, options=options)
        self.assertEqual({way: answer for way, answer in answers.items() if answer not in ("EACCES", "EROFS", "EXDEV")}, {})
        self.assertEqual(self.visits(server), 0)
        self.assert_reported(os.path.abspath(os.path.join(self.work, path)), "unix-socket")
        server.close()

    def test_in_the_working_directory(self):
        self.refused("late")
        self.refused(self.path("late2"))

    def test_packets(self):
        self.refused(self.path("late"), socket.SOCK_SEQPACKET)

    def test_outside_of_the_writable_area(self):
        path = self.at("late")
        server, answers = self.later(lambda: self.listen(path), path)
        self.assertEqual({way: answer for way, answer in answers.items() if answer not in ("EACCES", "EROFS", "EXDEV")}, {})
        self.assertEqual(self.visits(server), 0)
        self.assert_reported(path, "unix-socket")

    def test_bound_by_a_relative_path(self):
        def make():
            here = os.getcwd()
            os.chdir(self.work)
            try:
                return self.listen("late")
            finally:
                os.chdir(here)
        server, answers = self.later(make, "late")
        self.assertEqual(set(answers.values()) - {"EACCES", "EROFS", "EXDEV"}, set())
        self.assertEqual(self.visits(server), 0)

    def test_that_takes_the_name_of_an_own_one(self):
        """The host binds where the session had bound: another socket, whatever its name."""
        code = (names.canary.PRELUDE + "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('name')\ns.listen(1)\n"
                "say('own', attempt(socket.socket(socket.AF_UNIX).connect, 'name'))\nsys.stdin.read(1)\n"
                "say('host', attempt(socket.socket(socket.AF_UNIX).connect, 'name'))")
        process = self.start_cordon(names.canary.PYTHON, "-ISc", code, stdin=subprocess.PIPE)
        self.read_line(process.stdout)
        os.rename(self.path("name"), self.path("own"))
        server = self.listen(self.path("name"))
        out, _ = process.communicate(b"x", timeout=names.cordon_testing.SECONDS)
        self.assertTrue(out.decode().strip().endswith(" EACCES"), out)
        self.assertEqual(self.visits(server), 0)

    def test_number_of_an_own_one_that_was_removed(self):
        """The file system gives inode numbers out again; a name of the host's that gets one is not the session's."""
        code = (names.canary.PRELUDE + "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('name')\nprint(os.stat('name').st_ino, flush=True)\n"
                "os.unlink('name')\ns.close()\nsys.stdin.read(1)\n"
                "say('host', attempt(socket.socket(socket.AF_UNIX).connect, 'late'))")
        process = self.start_cordon(names.canary.PYTHON, "-ISc", code, stdin=subprocess.PIPE)
        inode = int(self.read_line(process.stdout))
        servers, reused = [], False
        for number in range(200):  # until the number comes back, if it does
            path = self.path("late" if not reused else "x")
            server = self.listen(path)
            servers.append(server)
            if os.stat(path).st_ino == inode:
                reused = True
                break
            os.rename(path, self.path(f"other{number}"))
        if not reused:
            os.rename(self.path("other0"), self.path("late"))
        out, _ = process.communicate(b"x", timeout=names.cordon_testing.SECONDS)
        self.assertTrue(out.decode().strip().endswith(" EACCES"), (out, reused))
        self.assertEqual(sum(self.visits(server) for server in servers), 0)

    def test_of_another_network_namespace(self):
        code = "import os, socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\nprint('up', flush=True)\nsys.stdin.read()"
        wrap = ["unshare", "-n"] if names.cordon_testing.IS_ROOT else ["unshare", "-Urn"]
        with subprocess.Popen([*wrap, names.canary.PYTHON, "-c", code, self.at("agent")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.read_line(process.stdout)
            ask = "import socket\nsay('connect', attempt(socket.socket(socket.AF_UNIX).connect, sys.argv[1]))"
            self.assertEqual(self.control(ask, self.at("agent"))["connect"], "ok")
            self.assertIn(self.probe(ask, self.at("agent"))["connect"], ("EACCES", "ECONNREFUSED"))
            process.stdin.close()

    def test_hard_link_of_a_socket(self):
        server = self.listen(self.at("agent"))
        os.link(self.at("agent"), self.path("other-name"))
        ask = "import socket\nsay('connect', attempt(socket.socket(socket.AF_UNIX).connect, sys.argv[1]))"
        self.assertEqual(self.control(ask, "other-name")["connect"], "ok")
        self.visits(server)
        self.assertEqual(self.probe(ask, "other-name")["connect"], "EACCES")
        self.assertEqual(self.visits(server), 0)

    def test_of_a_neighbouring_session(self):
        """One session's socket is nothing of the other's, in a directory that both may write."""
        code = names.canary.PRELUDE + "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('theirs')\ns.listen()\nprint('up', flush=True)\nsys.stdin.read(1)"
        process = self.start_cordon(names.canary.PYTHON, "-ISc", code, stdin=subprocess.PIPE)
        self.read_line(process.stdout)
        ask = "import socket\nsay('connect', attempt(socket.socket(socket.AF_UNIX).connect, 'theirs'))"
        self.assertEqual(self.control(ask)["connect"], "ok")
        self.assertEqual(self.probe(ask)["connect"], "EACCES")
        process.communicate(b"x", timeout=names.cordon_testing.SECONDS)

    def test_datagrams_have_no_way(self):
        for address in (self.path("datagrams"), "\0cordon-test-" + os.path.basename(self.base)):
            server = self.listen(address, socket.SOCK_DGRAM)
            code = ("import socket\naddress = bytes.fromhex(sys.argv[1])\n"
                    "say('socket', attempt(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', address)))\n"
                    "def pair(kind, how):\n  a, b = socket.socketpair(socket.AF_UNIX, kind)\n  return how(a)\n"
                    "for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n"
                    "  say(f'{kind.name} sendto', attempt(pair, kind, lambda a: a.sendto(b'x', address)))\n"
                    "  say(f'{kind.name} sendmsg', attempt(pair, kind, lambda a: a.sendmsg([b'x'], [], 0, address)))\n"
                    "  say(f'{kind.name} connect', attempt(pair, kind, lambda a: a.connect(address)))\n"
                    "say('unconnected', attempt(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).sendto(b'x', address)))\n")
            self.control(code, os.fsencode(address).hex())
            self.assertGreater(self.visits(server), 2)
            self.probe(code, os.fsencode(address).hex())
            self.assertEqual(self.visits(server), 0)
            server.close()

    def test_passed_descriptor_of_a_socket(self):
        """A socket that is connected outside does not come in by number; rights pass only within."""
        left, right = socket.socketpair()
        with left, right:
            done = self.run_cordon("sh", "-c", f"echo evil >&{right.fileno()}; echo evil > /proc/self/fd/{right.fileno()}", pass_fds=(right.fileno(),))
            self.assertNotEqual(done.returncode, 0)
            left.setblocking(False)
            with self.assertRaises(BlockingIOError):
                left.recv(9)

    def test_number_that_peers_see(self):
        """Peers see the broker for the connecting side (12.17), and never a process of the host's by accident."""
        code = ("import socket, struct\ns = socket.socket(socket.AF_UNIX)\ns.bind('own')\ns.listen(1)\nc = socket.socket(socket.AF_UNIX)\nc.connect('own')\n"
                "p, _ = s.accept()\npid, uid, gid = struct.unpack('3i', p.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))\n"
                "say('uid', str(uid == os.getuid()) + str(gid == os.getgid()))\nsay('pid', str(pid in (0, os.getpid())))")
        self.assertEqual(self.probe(code), {"uid": "TrueTrue", "pid": "True"})


class Own(names.NameTest):
    """Sockets made inside work, by every name, with the errors of outside."""

    def test_same_answers_as_outside(self):
        outside = self.control(OWN)
        self.assertGreater(len(outside), 20)
        self.fresh()
        for options in (self.name_rules(), []):
            self.assertEqual(self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + OWN, options=options)), outside)
            self.assertEqual(self.violations(), [])
            self.fresh()

    def test_language_runtimes(self):
        script = ("const net = require('net'), cp = require('child_process');"
                  "const s = net.createServer(c => c.end('hello')).listen('./node.sock', () => net.connect('./node.sock').on('data', d => { process.stdout.write(d); s.close(); "
                  "const k = cp.fork('./child.js'); k.on('message', m => { console.log(m); k.disconnect(); }); k.send('ping'); }));")
        self.write("main.js", script)
        self.write("child.js", "process.on('message', m => process.send(m + 'pong'));")
        if self.outside("node", "main.js").stdout != "hellopingpong\n":
            self.skipTest("no node here")
        done = self.inside("node", "main.js")
        self.assertEqual((done.returncode, done.stdout), (0, "hellopingpong\n"), done.stderr)


class KnownLimitation(names.NameTest):
    """What a peer can tell of a connection that the broker made (12.17)."""

    def test_peer_sees_the_broker(self):
        code = ("import socket, struct\ns = socket.socket(socket.AF_UNIX)\ns.bind('own')\ns.listen(1)\nc = socket.socket(socket.AF_UNIX)\nc.connect('own')\n"
                "p, _ = s.accept()\nsay('pid', str(struct.unpack('3i', p.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]))")
        self.assertEqual(self.control(code)["pid"] != "0", True)
        self.fresh()
        self.assertEqual(self.probe(code)["pid"], "0")


if __name__ == "__main__":
    names.main()
