"""What the end-to-end tests share: running cordon, waiting, and looking for what stayed behind.

A test file begins with

  sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
  import cordon_testing

and ends with cordon_testing.main(). Nothing here sleeps for a fixed time: wait_for() looks at a
condition until it holds or its deadline passes, and processes are waited for by their pidfd.
"""
import ctypes
import os
import pathlib
import pwd
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 60  # only ends a run that hangs
MARK = "CORDON_TEST_MARK"
IS_ROOT = os.geteuid() == 0

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def _program():
    named = os.environ.get("CORDON")
    if named:
        return os.path.abspath(named)
    built = sorted(ROOT.glob("build/*/bin/cordon"), key=lambda path: path.stat().st_mtime)
    return str(built[-1]) if built else ""


CORDON = _program()


def _checked(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def mount(source, target, kind, flags=0, options=""):
    _checked(_libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()),
             f"mount {target}")


def own_mounts():
    """Gives this process a mount namespace of its own, where it may mount; the user id stays.

    An ordinary user gets a user namespace with it. REQUIRES: one thread. Raises OSError.
    """
    uid, gid = os.geteuid(), os.getegid()
    # A process that was started by changing its ids is not dumpable, and then may not write maps.
    _libc.prctl(4, 1, 0, 0, 0)
    _checked(_libc.unshare(CLONE_NEWNS | (0 if uid == 0 else CLONE_NEWUSER)), "unshare")
    if uid != 0:
        pathlib.Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        pathlib.Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        pathlib.Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    mount("none", "/", "none", MS_REC | MS_PRIVATE)


def become_subreaper():
    """Orphans of what this process starts become its children, so that they can be reaped."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def pause(seconds):
    """Between two looks at a condition, and for moments drawn by chance; never to wait for an event."""
    select.select([], [], [], seconds)


def wait_for(condition, what, seconds=10):
    """Returns condition() as soon as it is true; fails when it is not within `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        pause(0.002)


def wait_gone(pidfds, seconds=5):
    """Waits until every process of `pidfds` ({pid: pidfd}) has ended; returns the pids of the rest."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    left = dict(pidfds)
    for fd in left.values():
        poll.register(fd, select.POLLIN)
    while left and time.monotonic() < deadline:
        for fd, _ in poll.poll(max(0, deadline - time.monotonic()) * 1000):
            poll.unregister(fd)
            left = {pid: other for pid, other in left.items() if other != fd}
    return sorted(left)


def read_file(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def state_of(pid):
    """The letter of the process state, "" when there is none."""
    text = read_file(f"/proc/{pid}/stat")
    return text.rpartition(b") ")[2][:1].decode()


def alive(pid):
    return state_of(pid) not in ("", "Z", "X")


def children_of(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(word) for word in read_file(task).split()]
    return found


def descendants_of(pid):
    found = []
    for child in children_of(pid):
        found += [child, *descendants_of(child)]
    return found


def name_of(pid):
    return read_file(f"/proc/{pid}/comm").strip().decode(errors="replace")


def marked(mark):
    """Living processes whose environment or arguments hold `mark`, but for this one."""
    needle = mark.encode()
    return [pid for pid in pids() if pid != os.getpid() and alive(pid) and
            (needle in read_file(f"/proc/{pid}/environ") or
             needle in read_file(f"/proc/{pid}/cmdline"))]


class PidNamespace:
    """The pid namespace of a process, held open: the kernel gives numbers of ended ones out again."""

    def __init__(self, pid):
        self.fd = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def close(self):
        os.close(self.fd)

    def __eq__(self, other):
        return os.fstat(self.fd)[1:3] == os.fstat(other.fd)[1:3]

    def members(self):
        found = []
        for pid in pids():
            try:
                same = os.stat(f"/proc/{pid}/ns/pid")[1:3] == os.fstat(self.fd)[1:3]
            except OSError:
                continue
            if same and alive(pid):
                found.append(pid)
        return found


def foreign_namespace(pids_to_ask):
    """The first PidNamespace among those of `pids_to_ask` that is not this process's, or None."""
    own = PidNamespace(os.getpid())
    try:
        for pid in pids_to_ask:
            try:
                namespace = PidNamespace(pid)
            except OSError:  # it has ended, or may not be looked at
                continue
            if namespace != own:
                return namespace
            namespace.close()
    finally:
        own.close()
    return None


def snapshot(top):
    """{relative path: what it is, what is in it, and all that stat(2) says but the access time}."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in [".", *folders, *files] if folder == top else [*folders, *files]:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            content = None
            if stat.S_ISREG(st.st_mode):
                content = read_file(path)
            elif stat.S_ISLNK(st.st_mode):
                content = os.readlink(path)
            found[os.path.relpath(path, top)] = (
                st.st_mode, st.st_ino, st.st_nlink, st.st_uid, st.st_gid, st.st_size,
                st.st_mtime_ns, st.st_ctime_ns, content)
    return found


def names_below(*tops):
    """Every path below `tops` that can be seen."""
    return {os.path.join(folder, name) for top in tops for folder, folders, files in os.walk(top)
            for name in [*folders, *files]}


def bare_environment(home, **more):
    """What a session is started with: enough to find programs, nothing of the tester's own."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "USER", "LOGNAME", "SHELL",
                                                "PYENV_ROOT") if name in os.environ}
    return {**keep, "HOME": str(home), **more}


def lasting_folder():
    """Where folders are made that a session sees at their own path: /tmp is the session's own."""
    for place in (os.environ.get("HOME", ""), pwd.getpwuid(os.geteuid()).pw_dir):
        if place.startswith("/") and place != "/" and os.access(place, os.W_OK | os.X_OK):
            return place
    return "/var/tmp"


def remove_tree(top):
    """rm -rf, also of directories that a test has closed."""
    try:
        os.chmod(top, 0o700)
        for entry in os.scandir(top):
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
    except OSError:  # rmtree says nothing either
        pass
    shutil.rmtree(top, True)


class CordonTest(unittest.TestCase):
    """A home and a working directory for each test; both are gone afterwards."""
    maxDiff = 2000

    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="cordon-e2e-", dir=lasting_folder())
        self.addCleanup(remove_tree, self.base)
        self.home = os.path.join(self.base, "home")
        self.work = os.path.join(self.base, "work")
        os.mkdir(self.home)
        os.mkdir(self.work)
        self.mark = f"mark-{os.path.basename(self.base)}-{os.getpid()}"
        self.environment = bare_environment(self.home, **{MARK: self.mark})

    def path(self, *parts):
        return os.path.join(self.work, *parts)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w" if isinstance(text, str) else "wb") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def command(self, argv, options=()):
        return [CORDON, "run", "--quiet", *options, "--", *argv]

    def run_cordon(self, *argv, options=(), **how):
        """`cordon run` of `argv` in self.work, to its end; text unless text=False."""
        how = {"cwd": self.work, "env": self.environment, "stdin": subprocess.DEVNULL,
               "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
               "timeout": SECONDS, **how}
        if "input" in how:
            del how["stdin"]
        return subprocess.run(self.command(argv, options), check=False, **how)

    def start_cordon(self, *argv, options=(), **how):
        """The same, started; killed at the end of the test when it still runs."""
        how = {"cwd": self.work, "env": self.environment, "stdin": subprocess.DEVNULL,
               "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        process = subprocess.Popen(self.command(argv, options), **how)
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()

    def output(self, done):
        """Standard output of a run that must have ended with 0."""
        self.assertEqual(done.returncode, 0, f"{done.args}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def shell(self, line, options=(), **how):
        """Standard output of a shell line run inside, which must end with 0."""
        return self.output(self.run_cordon("/bin/sh", "-ec", line, options=options, **how))

    def read_line(self, stream, seconds=20):
        """The next line of an unbuffered or fresh pipe, without its end."""
        line = bytearray()
        deadline = time.monotonic() + seconds
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([stream], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                self.fail(f"no line within {seconds} s, only {bytes(line)!r}")
            byte = os.read(stream.fileno(), 1)
            if not byte:
                self.fail(f"the output ended at {bytes(line)!r}")
            line += byte
        return line[:-1].decode()

    def session_of(self, process):
        """(monitor, init) of a running `cordon run`."""
        monitor = wait_for(lambda: children_of(process.pid), "a monitor")[0]
        init = wait_for(lambda: children_of(monitor), "an init")[0]
        return monitor, init

    def assert_refused(self, done, *words):
        """Cordon itself said no: 125, and one message with each of `words` in it."""
        self.assertEqual(done.returncode, 125, f"{done.stdout}\n{done.stderr}")
        self.assertTrue(done.stderr.startswith("cordon: "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout or "", "")

    def assert_nothing_left(self):
        """No process of this test's sessions lives."""
        wait_for(lambda: not marked(self.mark), "the end of every process of the session", 5)


def missing_capability():
    """Why no session can run here, by an outside witness; "" when one should."""
    if not CORDON or not os.access(CORDON, os.X_OK):
        return "no cordon program: CORDON does not name one and none is built"
    if not shutil.which("unshare"):
        return ""
    there = subprocess.run(["unshare", "-Urmpnuif", "--mount-proc", "true"], capture_output=True,
                           check=False)
    return "" if there.returncode == 0 else "this host gives out no user, mount or pid namespaces"


def main():
    """unittest.main, but 77 when every test was skipped; the reasons are printed."""
    reason = missing_capability()
    if reason:
        print(reason)
        sys.exit(77)
    run = unittest.main(module="__main__", exit=False, verbosity=1).result
    sys.stderr.flush()
    for test, why in run.skipped:
        print(f"skipped {test.id()}: {why}")
    if run.wasSuccessful() and run.testsRun > 0 and len(run.skipped) == run.testsRun:
        print(run.skipped[-1][1])
        sys.exit(77)
    sys.exit(0 if run.wasSuccessful() else 1)
