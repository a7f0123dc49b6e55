#!/usr/bin/env python3
"""Sockets of the host that the user allows by path: --allow-unix-socket, network.allowUnixSockets."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

PYTHON = "/usr/bin/python3"
ALLOW = "--allow-unix-socket"

# For each path: what the server answers to "ping", or the name of the error.
TALK = r"""
import errno, json, socket, sys
found = {}
for path in sys.argv[2:]:
    s = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[1]))
    try:
        s.connect(path)
        s.sendall(b"ping")
        found[path] = s.recv(100).decode()
    except OSError as error:
        found[path] = errno.errorcode[error.errno]
print(json.dumps(found))
"""


class Server:
    """Answers each message with its own name, and counts who comes."""

    def __init__(self, test, path, kind=socket.SOCK_STREAM):
        self.path = path
        self.visits = 0
        self.socket = socket.socket(socket.AF_UNIX, kind)
        self.socket.bind(path)
        self.socket.listen(16)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        test.addCleanup(self.end)

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            self.visits += 1
            with peer:
                if peer.recv(100):
                    peer.sendall(os.path.basename(self.path).encode())

    def end(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


class UnixSocketTest(cordon_testing.CordonTest):
    """Servers run outside; a client inside asks them."""

    def at(self, *parts):
        return os.path.join(self.base, *parts)

    def folder_in(self, top):
        """A fresh folder below `top`, removed at the end."""
        folder = tempfile.mkdtemp(prefix="cordon-e2e-", dir=top)
        self.addCleanup(cordon_testing.remove_tree, folder)
        return folder

    def talk(self, *paths, options=(), kind="SOCK_STREAM", **how):
        done = self.run_cordon(PYTHON, "-ISc", TALK, kind, *paths, options=options, **how)
        return json.loads(self.output(done))

    def check(self, allowed, other, options=(), path=None):
        """Only `allowed` is reached, by `path` or its own; without the option neither is."""
        path = path or allowed.path
        outside = subprocess.run([PYTHON, "-ISc", TALK, "SOCK_STREAM", path, other.path], cwd=self.work, check=True,
                                 stdout=subprocess.PIPE)
        self.assertEqual(json.loads(outside.stdout), {path: os.path.basename(allowed.path),
                                                      other.path: os.path.basename(other.path)})
        before = allowed.visits, other.visits
        for answer in self.talk(path, other.path, options=options).values():
            self.assertIn(answer, ("EACCES", "ENOENT"))
        self.assertEqual((allowed.visits, other.visits), before)
        answers = self.talk(path, other.path, options=[*options, ALLOW, path])
        self.assertEqual(answers[path], os.path.basename(allowed.path))
        self.assertIn(answers[other.path], ("EACCES", "ENOENT"))
        self.assertEqual((allowed.visits, other.visits), (before[0] + 1, before[1]))

    def description(self, **fields):
        spec = {"sessionId": "sockets", "workspaceId": "local", "view": "host", **fields}
        return ["--spec", self.write("spec.json", json.dumps(spec))]

    def pair(self, folder):
        return Server(self, os.path.join(folder, "allowed")), Server(self, os.path.join(folder, "other"))


class Allowed(UnixSocketTest):
    """Where an allowed socket may stand."""

    def test_in_a_folder_that_is_read_only_inside(self):
        self.check(*self.pair(self.home))

    def test_in_the_working_directory(self):
        self.check(*self.pair(self.work))

    def test_by_a_relative_path(self):
        allowed, other = self.pair(self.work)
        self.check(allowed, other, path="allowed")

    def test_in_a_hidden_folder(self):
        folder = self.at("keys")
        os.mkdir(folder)
        allowed, other = self.pair(folder)
        pathlib.Path(folder, "id").write_text("secret", encoding="ascii")
        options = ["--deny-read", folder]
        self.check(allowed, other, options)
        done = self.run_cordon("cat", folder + "/id", options=[*options, ALLOW, allowed.path])
        self.assertEqual((done.returncode, done.stdout), (1, ""))

    def test_below_the_private_temporary_directory(self):
        self.check(*self.pair(self.folder_in("/tmp")))

    def test_below_run(self):
        tops = [f"/run/user/{os.geteuid()}", "/run"]
        top = next((t for t in tops if os.access(t, os.W_OK | os.X_OK)), None)
        if top is None:
            self.skipTest("no folder below /run may be written")
        self.check(*self.pair(self.folder_in(top)))

    def test_in_the_bound_view(self):
        self.check(*self.pair(self.folder_in(self.base)), options=["--view", "bound"])

    def test_below_a_mount(self):
        folder = self.folder_in(self.base)
        allowed, other = self.pair(folder)
        options = ["--mount", folder + ":/tmp/shown"]
        answers = self.talk("/tmp/shown/allowed", "/tmp/shown/other", options=[*options, ALLOW, allowed.path])
        self.assertEqual(answers, {"/tmp/shown/allowed": "allowed", "/tmp/shown/other": "EACCES"})
        self.assertEqual(other.visits, 0)

    def test_through_a_link_of_the_user(self):
        allowed, other = self.pair(self.folder_in("/tmp"))
        os.symlink(allowed.path, self.at("link"))
        self.check(allowed, other, path=self.at("link"))
        answers = self.talk(allowed.path, options=[ALLOW, self.at("link")])
        self.assertEqual(answers, {allowed.path: "allowed"})

    def test_through_a_folder_that_is_a_link(self):
        allowed, other = self.pair(self.home)
        os.symlink(self.home, self.at("folder"))
        self.check(allowed, other, path=self.at("folder/allowed"))

    def test_through_a_link_made_inside(self):
        allowed, other = self.pair(self.home)
        line = f'ln -s "{allowed.path}" a; ln -s "{other.path}" o; exec {PYTHON} -ISc "$0" SOCK_STREAM a o'
        answers = json.loads(self.shell(line.replace("$0", "$TALK"),
                                        options=["--env", "TALK=" + TALK, ALLOW, allowed.path]))
        self.assertEqual(answers, {"a": "allowed", "o": "EACCES"})
        self.assertEqual(other.visits, 0)

    def test_packet_socket(self):
        server = Server(self, self.path("packets"), socket.SOCK_SEQPACKET)
        self.assertEqual(self.talk(server.path, kind="SOCK_SEQPACKET"), {server.path: "EACCES"})
        self.assertEqual(self.talk(server.path, kind="SOCK_SEQPACKET", options=[ALLOW, server.path]),
                         {server.path: "packets"})

    def test_in_a_description(self):
        allowed, other = self.pair(self.home)
        options = self.description(filesystem={"allowWrite": ["."]}, network={"allowUnixSockets": ["~/allowed"]})
        answers = self.talk(allowed.path, other.path, options=options)
        self.assertEqual(answers, {allowed.path: "allowed", other.path: "EACCES"})

    def test_without_file_rules(self):
        allowed, other = self.pair(self.folder_in("/tmp"))
        options = self.description(filesystem={"disabled": True}, network={"allowUnixSockets": [allowed.path]})
        answers = self.talk(allowed.path, other.path, options=options)
        self.assertEqual(answers, {allowed.path: "allowed", other.path: "EACCES"})

    def test_sockets_made_inside_need_no_rule(self):
        code = "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('made')\ns.listen()\n" \
               "c = socket.socket(socket.AF_UNIX)\nc.connect('made')\ns.accept()[0].send(b'hello')\nprint(c.recv(9).decode())"
        self.assertEqual(self.output(self.run_cordon(PYTHON, "-ISc", code)), "hello\n")


class Refused(UnixSocketTest):
    """What cannot be allowed, and what an allowance does not give."""

    def test_a_pattern(self):
        Server(self, self.path("one"))
        self.assert_refused(self.run_cordon("true", options=[ALLOW, self.path("*")]), "pattern", ALLOW)

    def test_a_folder_or_a_file(self):
        self.assert_refused(self.run_cordon("true", options=[ALLOW, self.work]), "directory", "name the socket")
        self.assert_refused(self.run_cordon("true", options=[ALLOW, self.write("file", "")]), "no socket")

    def test_a_link_in_a_writable_folder(self):
        server = Server(self, os.path.join(self.home, "agent"))
        os.symlink(server.path, self.path("link"))
        self.assert_refused(self.run_cordon("true", options=[ALLOW, self.path("link")]), "link in a writable directory",
                            server.path)
        self.assertEqual(self.talk(self.path("link"), options=[ALLOW, self.path("link"), ALLOW, server.path]),
                         {self.path("link"): "agent"})

    def test_the_users_own_denial_stands(self):
        server = Server(self, os.path.join(self.home, "agent"))
        options = [ALLOW, server.path, "--deny-read", server.path]
        self.assertEqual(self.talk(server.path, options=options), {server.path: "EACCES"})
        self.assertEqual(server.visits, 0)

    def test_one_that_is_not_there_is_said(self):
        command = [cordon_testing.CORDON, "run", ALLOW, self.path("later"), "--", "true"]
        done = subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("is not there", done.stderr)
        self.assertIn(self.path("later"), done.stderr)


if __name__ == "__main__":
    cordon_testing.main()
