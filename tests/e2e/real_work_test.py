#!/usr/bin/env python3
# ctest: TIMEOUT 600
"""Everyday work inside a session: git, npm, CMake, Python, make, pipes, terminals, sockets."""
import fcntl
import json
import os
import pathlib
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tarfile
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # noqa: E402
from cordon_testing import CordonTest  # noqa: E402

PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
PROMPT = rb"bash-[0-9.]+[$#] "
IDENTITY = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"]


def need(*programs):
    """Skips a test where one of the programs is not installed."""
    missing = [name for name in programs if not shutil.which(name)]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Tools(CordonTest):
    def git(self, *arguments, **how):
        return self.run_cordon("git", *IDENTITY, *arguments, **how)

    @need("git")
    def test_git_clone_commit_status(self):
        origin = self.path("origin")
        for arguments in (["init", "-q", origin], ["-C", origin, "commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run(["git", *IDENTITY, *arguments], check=True, env=self.environment)
        self.output(self.git("clone", "-q", "origin", "copy"))
        self.write("copy/a file", "text\n")
        status = self.output(self.git("-C", "copy", "status", "--porcelain"))
        self.assertEqual(status, '?? "a file"\n')
        self.output(self.git("-C", "copy", "add", "."))
        self.output(self.git("-C", "copy", "commit", "-q", "-m", "second"))
        self.assertEqual(self.output(self.git("-C", "copy", "status", "--porcelain")), "")
        # What was made inside is whole for git outside.
        log = subprocess.run(["git", "-C", self.path("copy"), "log", "--format=%s"], check=True,
                             env=self.environment, capture_output=True, text=True).stdout
        self.assertEqual(log, "second\nfirst\n")
        subprocess.run(["git", "-C", self.path("copy"), "fsck", "--strict"], check=True,
                       env=self.environment, capture_output=True)

    @need("git")
    def test_git_in_the_repository_that_one_works_in(self):
        origin = os.path.join(self.base, "origin")
        self.write("one.txt", "one\n")

        def outside(*words):
            return subprocess.run(["git", *IDENTITY, *words], cwd=self.work, check=True, env=self.environment,
                                  capture_output=True, text=True).stdout
        outside("init", "-q", "-b", "main")
        outside("add", ".")
        outside("commit", "-q", "-m", "first")
        outside("clone", "-q", "--bare", ".", origin)
        outside("remote", "add", "origin", origin)
        outside("fetch", "-q")
        config = pathlib.Path(self.path(".git/config")).read_bytes()
        git = "git " + " ".join(f"'{word}'" for word in IDENTITY)
        self.shell(f"""
{git} checkout -q -b topic
echo two >two.txt
{git} add two.txt
{git} commit -q -m second
{git} checkout -q main
echo three >>one.txt
{git} stash -q
{git} stash pop -q
{git} commit -q -am third
{git} rebase -q main topic
{git} checkout -q main
{git} merge -q --ff-only topic
{git} tag -m tagged v1
{git} fetch -q origin
{git} worktree add -q tree topic
{git} -C tree log --oneline >/dev/null
{git} gc -q
{git} fsck --strict
{git} clone -q {origin} copy
test -f copy/one.txt
""")
        self.assertEqual(outside("log", "--format=%s"), "second\nthird\nfirst\n")
        self.assertEqual(outside("status", "--porcelain", "--", "one.txt", "two.txt"), "")
        # A hook or a changed setting would run outside, later.
        for line in ("echo 'echo bad' >.git/hooks/pre-commit", "git config core.fsmonitor ./bad", "echo >>.git/config",
                     "mv .git/hooks .git/other"):
            self.assertNotEqual(self.run_cordon("sh", "-c", line).returncode, 0, line)
        self.assertEqual(pathlib.Path(self.path(".git/config")).read_bytes(), config)
        self.assertFalse(os.path.exists(self.path(".git/hooks/pre-commit")))

    def npm_project(self):
        package = self.path("tiny.tgz")
        with tarfile.open(package, "w:gz") as archive:
            for name, text in (("package.json", '{"name":"tiny","version":"1.2.3"}'),
                               ("index.js", "module.exports = () => 42;\n")):
                outside = self.write("made/" + name, text)
                archive.add(outside, "package/" + name)
        shutil.rmtree(self.path("made"))
        self.write("package.json", json.dumps({
            "name": "project", "version": "1.0.0",
            "scripts": {"test": "node test.js", "postinstall": "node -e 'require(\"fs\").writeFileSync(\"hook\", \"ran\")'"}}))
        self.write("test.js", "if (require('tiny')() !== 42) process.exit(1);\nconsole.log('tested');\n")

    @need("node", "npm")
    def test_npm_install_and_test(self):
        self.npm_project()
        self.output(self.run_cordon("npm", "install", "--no-audit", "--no-fund", "./tiny.tgz"))
        self.assertTrue(os.path.exists(self.path("node_modules/tiny/index.js")))
        self.output(self.run_cordon("npm", "install", "--no-audit", "--no-fund"))
        self.assertEqual(pathlib.Path(self.path("hook")).read_text(encoding="ascii"), "ran")
        self.assertIn("tested", self.output(self.run_cordon("npm", "test")))
        self.assertEqual(os.listdir(self.home), [])

    @need("node", "npm")
    def test_npm_with_a_token_in_its_settings(self):
        # Denied to the command, but npm refuses to start when it cannot open it.
        self.npm_project()
        settings = pathlib.Path(self.home, ".npmrc")
        settings.write_text("//registry.example/:_authToken=s3cr3t\n", encoding="ascii")
        self.output(self.run_cordon("npm", "install", "--no-audit", "--no-fund", "./tiny.tgz"))
        self.assertNotIn("s3cr3t", self.run_cordon("cat", str(settings)).stdout)

    @need("cmake", "c++")
    def test_cmake_configure_build_ctest(self):
        self.write("CMakeLists.txt", """
cmake_minimum_required(VERSION 3.16)
project(small CXX)
enable_testing()
add_library(half STATIC half.cc)
add_executable(half_test half_test.cc)
target_link_libraries(half_test half)
add_test(NAME half COMMAND half_test)
""")
        self.write("half.cc", "int Half(int n) { return n / 2; }\n")
        self.write("half_test.cc", "int Half(int);\nint main() { return Half(84) == 42 ? 0 : 1; }\n")
        self.shell("cmake -S . -B out && cmake --build out -j2 && cd out && ctest --output-on-failure")
        self.assertEqual(subprocess.run([self.path("out/half_test")], check=False).returncode, 0)

    @need("make", "cc")
    def test_parallel_make(self):
        names = [f"unit{i}" for i in range(12)]
        for name in names:
            self.write(f"{name}.c", f"int {name}(void) {{ return 1; }}\n")
        self.write("main.c", "".join(f"int {n}(void);\n" for n in names) +
                   "int main(void) { return " + " + ".join(f"{n}()" for n in names) + "; }\n")
        self.write("Makefile", "all: main\nmain: main.o " + " ".join(f"{n}.o" for n in names) + "\n\tcc -o $@ $^\n")
        self.shell("make -s -j4")
        self.assertEqual(subprocess.run([self.path("main")], check=False).returncode, 12)

    @need("ccache", "cc")
    def test_compiler_cache_in_a_home_that_is_read_only(self):
        self.write("a.c", "int main(void) { return 0; }\n")
        self.shell("ccache cc -c a.c && ccache cc -c a.c")
        self.assertEqual(os.listdir(self.home), [])

    def test_python_virtual_environment(self):
        pip = subprocess.run([PYTHON, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0
        self.output(self.run_cordon(PYTHON, "-m", "venv", *([] if pip else ["--without-pip"]), ".venv"))
        self.write("small/__init__.py", "def half(n):\n    return n // 2\n")
        self.write("small/half_test.py", "import sys, unittest, small\n\n\nclass Half(unittest.TestCase):\n"
                   "    def test_half(self):\n        self.assertEqual(small.half(84), 42)\n"
                   "        self.assertIn('.venv', sys.prefix)\n")
        done = self.run_cordon(".venv/bin/python", "-m", "unittest", "-v", "small.half_test")
        self.output(done)
        self.assertIn("test_half", done.stderr)
        if pip:
            self.write("pyproject.toml", '[build-system]\nrequires = []\nbuild-backend = "made"\nbackend-path = ["."]\n')
            self.assertIn("pip ", self.shell(".venv/bin/pip --version"))


class Streams(CordonTest):
    def test_a_gibibyte_through_standard_input(self):
        size = 1 << 30
        with subprocess.Popen(["head", "-c", str(size), "/dev/zero"], stdout=subprocess.PIPE) as source:
            self.assertEqual(int(self.output(self.run_cordon("wc", "-c", stdin=source.stdout))), size)

    def test_a_hundred_thousand_lines_in_order_per_stream(self):
        script = ("import os\n"
                  "for n in range(100000):\n"
                  "    os.write(1, b'out %d\\n' % n)\n"
                  "    os.write(2, b'err %d\\n' % n)\n")
        out, err = self.path("out"), self.path("err")
        for way in ("files", "pipes"):
            if way == "files":
                with open(out, "wb") as o, open(err, "wb") as e:
                    done = self.run_cordon(PYTHON, "-c", script, stdout=o, stderr=e)
                self.assertEqual(done.returncode, 0)
                streams = (pathlib.Path(out).read_text("ascii"), pathlib.Path(err).read_text("ascii"))
            else:
                done = self.run_cordon(PYTHON, "-c", script)
                self.output(done)
                streams = (done.stdout, done.stderr)
            for name, text in zip(("out", "err"), streams):
                # assertTrue: a difference of this size takes minutes to print.
                self.assertTrue(text == "".join(f"{name} {n}\n" for n in range(100000)), f"{way}: {name}")

    def test_little_memory_for_much_output(self):
        process = self.start_cordon("sh", "-c", "head -c 1500000000 /dev/zero | tr '\\0' x",
                                    stderr=subprocess.DEVNULL)
        size = 0
        peak = 0
        while block := os.read(process.stdout.fileno(), 1 << 20):
            size += len(block)
            text = cordon_testing.read_file(f"/proc/{process.pid}/status").decode()
            if found := re.search(r"VmHWM:\s+(\d+) kB", text):
                peak = max(peak, int(found[1]))
        self.assertEqual(process.wait(), 0)
        self.assertEqual(size, 1500000000)
        self.assertGreater(peak, 0)
        self.assertLess(peak, 50 * 1024)

    def test_a_background_child_that_holds_the_pipe(self):
        begun = time.monotonic()
        self.assertEqual(self.shell("sleep 30 & echo started"), "started\n")
        done = self.run_cordon("sh", "-c", "sleep 30 & seq 1 200000; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertTrue(done.stdout.endswith("\n200000\n"))
        self.assertLess(time.monotonic() - begun, 15)
        self.assert_nothing_left()

    def test_exit_codes(self):
        plain = self.write("plain", "#!/bin/sh\n")
        no_loader = self.write("no-loader", "#!/no/such/interpreter\n", 0o755)
        script = self.write("script", "exit 11\n", 0o755)  # no #! line: a shell's script
        # A shell that kills itself stands for a program that a signal ends.
        for want, argv in [(0, ["true"]), (1, ["false"]), (37, ["sh", "-c", "exit 37"]),
                           (124, ["sh", "-c", "exit 124"]), (125, ["sh", "-c", "exit 125"]),
                           (255, ["sh", "-c", "exit 255"]), (127, ["no-such-program-here"]),
                           (127, ["/no/such/program"]), (126, [plain]), (126, ["/"]),
                           (126, [no_loader]), (11, [script]), (11, ["./script"]),
                           *((128 + n, ["sh", "-c", f"kill -{n} $$"])
                             for n in (1, 2, 3, 6, 8, 9, 10, 11, 13, 14, 15))]:
            with self.subTest(argv=argv):
                done = self.run_cordon(*argv, timeout=20)
                self.assertEqual(done.returncode, want, done.stderr)

    def test_a_silent_standard_input_does_not_hold_up(self):
        silent, other = os.pipe()  # stays open and says nothing
        self.addCleanup(os.close, silent)
        self.addCleanup(os.close, other)
        done = self.run_cordon("sh", "-c", "echo done", stdin=silent, timeout=20)
        self.assertEqual(self.output(done), "done\n")
        for line in ("cat", "cat <<< a >/dev/null; cat", 'echo "a <b" >&2 && cat',
                     "cat <<E >/dev/null\nx\nE\ncat", "cat </dev/null"):
            done = self.run_cordon("bash", "-c", line, timeout=20)  # standard input is /dev/null
            self.assertEqual((done.returncode, done.stdout), (0, ""), line)

    def test_standard_input_of_every_form(self):
        listing = self.write("input", "from a file\n")
        with open(listing, "rb") as file:
            self.assertEqual(self.output(self.run_cordon("cat", stdin=file)), "from a file\n")
            # The file position moves as it does without a sandbox.
            self.assertEqual(file.tell(), os.path.getsize(listing))
        self.assertEqual(self.output(self.run_cordon("cat", input="from a pipe\n")), "from a pipe\n")
        mine, theirs = socket.socketpair()
        with mine, theirs:
            mine.sendall(b"from a socket\n")
            mine.shutdown(socket.SHUT_WR)
            self.assertEqual(self.output(self.run_cordon("cat", stdin=theirs)), "from a socket\n")

    def test_a_reader_that_goes_away(self):
        process = self.start_cordon("sh", "-c", "yes; echo $? >status", stderr=subprocess.DEVNULL)
        self.read_line(process.stdout)
        process.stdout.close()
        process.wait(timeout=20)
        # The descriptor is the pipe itself, so `yes` meets SIGPIPE as it would outside.
        self.assertEqual(pathlib.Path(self.path("status")).read_text("ascii"), "141\n")

    @need("script")
    def test_terminal_by_script(self):
        line = " ".join([cordon_testing.CORDON, "run", "--quiet", "--", "sh", "-c",
                         "'test -t 0 && test -t 1 && test -t 2 && tty && stty size && echo all terminals'"])
        done = subprocess.run(["script", "-qec", "stty rows 31 cols 97; " + line, "/dev/null"], cwd=self.work,
                              env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("/dev/pts/0", done.stdout)  # the session's own first terminal
        self.assertIn("31 97", done.stdout)
        self.assertIn("all terminals", done.stdout)

    @need("script")
    def test_interrupt_key_resize_and_job_control_by_script(self):
        run = " ".join([cordon_testing.CORDON, "run", "--quiet", "--", "bash", "--norc", "-i"])
        master, slave = os.openpty()
        process = subprocess.Popen(["script", "-qec", run, "/dev/null"], cwd=self.work, stdin=slave,
                                   stdout=slave, stderr=slave, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                   env={**self.environment, "TERM": "dumb"})
        os.close(slave)
        self.addCleanup(os.close, master)
        self.addCleanup(self._end, process)
        seen = bytearray()

        def expect(pattern):
            deadline = time.monotonic() + 20
            while not (found := re.search(pattern, bytes(seen))):
                ready, _, _ = select.select([master], [], [], max(0, deadline - time.monotonic()))
                if not ready:
                    self.fail(f"no {pattern!r} in {bytes(seen)!r}")
                seen.extend(os.read(master, 4096))
            del seen[:found.end()]
            return found

        def send(text):
            os.write(master, text)

        expect(PROMPT)
        # What is typed while readline still has the terminal is not echoed: only sed's answer counts.
        loop = b"sed -u s/^/got:/"
        send(loop + b"\none\n")
        expect(rb"got:one\r\n")
        send(b"\x03")
        expect(PROMPT)
        send(b"echo code $?\n")
        expect(rb"code 130\r\n")
        send(loop + b"\ntwo\n")
        expect(rb"got:two\r\n")
        send(b"\x1a")
        expect(rb"Stopped")
        send(b"jobs\n")
        expect(rb"Stopped\s+sed")
        send(b"fg\nthree\n")
        expect(rb"got:three\r\n")
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
        send(b"\x04")
        expect(PROMPT)
        # The new size has gone through two more terminals: ask until it has come.
        for _ in range(200):
            send(b"stty size\n")
            if expect(rb"(\d+) (\d+)\r\n").groups() == (b"31", b"97"):
                break
        else:
            self.fail("the command never saw the new window size")
        send(b"exit 7\n")
        process.wait(timeout=20)
        self.assertEqual(process.returncode, 7)


class Places(CordonTest):
    def test_temporary_files(self):
        out = self.shell('f=$(mktemp); echo text >"$f"; cat "$f"; echo "$TMPDIR"; d=$(mktemp -d); '
                         'echo x >/dev/shm/x; cat /dev/shm/x; echo y >/var/tmp/y; cat /var/tmp/y')
        self.assertEqual(out, "text\n/tmp\nx\ny\n")
        self.assertFalse(os.path.exists("/dev/shm/x") and
                         pathlib.Path("/dev/shm/x").read_text("ascii") == "x\n")

    def test_multiprocessing(self):
        self.write("many.py", """
import multiprocessing, multiprocessing.shared_memory

def half(n):
    return n // 2

if __name__ == "__main__":
    lock = multiprocessing.Semaphore(2)
    with lock:
        pass
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    memory.buf[0] = 42
    again = multiprocessing.shared_memory.SharedMemory(memory.name)
    assert again.buf[0] == 42
    again.close()
    memory.close()
    memory.unlink()
    with multiprocessing.Pool(3) as pool:
        print(sum(pool.map(half, range(100))))
""")
        self.assertEqual(self.output(self.run_cordon(PYTHON, "many.py")), "2450\n")

    @need("ps")
    def test_ps_shows_the_session_only(self):
        names = self.shell("ps -eo comm=").split()
        self.assertEqual(sorted(names), sorted(["cordon-init", "sh", "ps"]), names)

    def test_loopback_inside(self):
        self.write("talk.py", """
import socket, threading
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "localhost")):
    try:
        server = socket.create_server((host, 0), family=family)
    except OSError as e:
        if family == socket.AF_INET6:
            print("none", end=" ")
            continue
        raise
    threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True).start()
    with socket.create_connection(server.getsockname()[:2], 10) as client:
        print(client.recv(5).decode(), end=" ")
""")
        words = self.output(self.run_cordon(PYTHON, "talk.py")).split()
        self.assertEqual([word for word in words if word != "none"], ["hello"] * (3 - words.count("none")))

    def test_no_way_to_the_network(self):
        # A server of the host on loopback: the positive control is a client outside.
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), 5):
            server.accept()[0].close()
        self.write("reach.py", f"""
import errno, socket, time
begun = time.monotonic()
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for address in ("127.0.0.1", "192.0.2.1", "10.0.0.1", "2001:db8::1"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        s = socket.socket(family, kind)
        s.settimeout(20)
        try:
            s.connect((address, {port}))
            s.send(b"x")
            print(address, kind, "sent" if kind == socket.SOCK_STREAM or address != "127.0.0.1" else "nobody")
        except OSError as e:
            print(address, kind, errno.errorcode[e.errno])
try:
    socket.getaddrinfo("name.example", 80)
    print("resolved")
except socket.gaierror:
    print("no name")
print("slow" if time.monotonic() - begun > 10 else "quick")
""")
        out = self.output(self.run_cordon(PYTHON, "reach.py"))
        self.assertNotIn("sent", out)
        self.assertNotIn("ETIMEDOUT", out)
        self.assertIn("127.0.0.1 1 ECONNREFUSED", out.replace("SocketKind.SOCK_STREAM", "1"))
        self.assertIn("192.0.2.1 1 ENETUNREACH", out.replace("SocketKind.SOCK_STREAM", "1"))
        self.assertIn("no name\nquick\n", out)
        server.setblocking(False)
        with self.assertRaises(BlockingIOError):
            server.accept()
        self.assertEqual(self.shell("ls /sys/class/net 2>/dev/null || true; "
                                    "sed 's/:.*//;1,2d;s/ //g' /proc/net/dev").split()[-1:], ["lo"])


if __name__ == "__main__":
    cordon_testing.main()
