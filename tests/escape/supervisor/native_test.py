#!/usr/bin/env python3
# ctest: TIMEOUT 600
"""Calls that the broker makes look like the caller's own (rows 7 and 11): the same probe, outside and inside."""
import os

import names

# Row 7: what a path leads to. "pre" is the directory of each case.
PLACES = r"""
def touch(path, flags=0, mode=0o666, **how):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | flags, mode, **how))
def at(path):
    return os.open(path, os.O_PATH)
import shutil
os.makedirs("d/e/f")
os.makedirs("other")
for link, to in (("dangling", "made-by-link"), ("chain", "dangling2"), ("dangling2", "d/made-by-chain"), ("up", "d/e/.."), ("abs", os.getcwd() + "/d"),
                 ("loop", "loop"), ("ping", "pong"), ("pong", "ping"), ("todir", "d/e"), ("d/e/out", "../../other"), ("slash", "d/"),
                 ("empty-target", "nothing/deeper"), ("selfdir", "."), ("long", "./" * 2000 + "far")):
    os.symlink(to, link)
for n in range(45):
    os.symlink(f"deep{n + 1}" if n < 44 else "bottom", f"deep{n}")
say("dangling", attempt(touch, "dangling"))
say("dangling no follow", attempt(touch, "dangling", os.O_NOFOLLOW))
say("dangling exclusive", attempt(touch, "chain", os.O_EXCL))
say("chain", attempt(touch, "chain"))
say("loop", attempt(touch, "loop"))
say("ping", attempt(touch, "ping"))
say("39 links", attempt(touch, "deep5"))
say("40 links", attempt(touch, "deep4"))
say("45 links", attempt(touch, "deep0"))
say("up", attempt(touch, "up/in-d"))
say("absolute", attempt(touch, "abs/by-abs"))
say("out", attempt(touch, "d/e/out/in-other"))
say("dots", attempt(touch, "d/./e/../e//f/../in-e"))
say("dots through a link", attempt(touch, "todir/../by-dots"))
say("dots of a file", attempt(touch, "made-by-link/../x"))
say("missing folder", attempt(touch, "nothing/x"))
say("target in missing folder", attempt(touch, "empty-target"))
say("self", attempt(touch, "selfdir/selfdir/by-self"))
say("long link", attempt(touch, "long"))
say("root dots", attempt(touch, "/../../../.." + os.getcwd() + "/by-root"))
say("mkdir dangling", attempt(os.mkdir, "empty-target"))
say("mkdir over link", attempt(os.mkdir, "todir"))
say("mkdir slash", attempt(os.mkdir, "newdir///"))
say("mkdir slash link", attempt(os.mkdir, "slash/"))
say("rename slash", attempt(os.rename, "newdir/", "newer/"))
say("rename file slash", attempt(os.rename, "by-root", "file/"))
say("rename dot", attempt(os.rename, "newer/.", "x"))
say("rename dots", attempt(os.rename, "newer/..", "x"))
say("rename into itself", attempt(os.rename, "newer", "newer/x"))
say("rename to parent", attempt(os.rename, "d/e/f", "d"))
say("rename link", attempt(os.rename, "dangling", "d/moved-link") + os.readlink("d/moved-link"))
say("rename over folder", attempt(os.rename, "by-root", "newer"))
say("rename folder over file", attempt(os.rename, "newer", "by-root"))
say("rename same", attempt(os.rename, "by-root", "by-root"))
say("rename over full", attempt(os.rename, "newer", "d"))
say("link to link", attempt(lambda: os.link("todir", "linked", follow_symlinks=False)) + str(os.path.islink("linked")))
say("link folder", attempt(os.link, "d", "linked-folder"))
say("link over", attempt(os.link, "by-root", "linked"))
say("symlink over", attempt(os.symlink, "x", "linked"))
say("rmdir dot", attempt(os.rmdir, "newer/."))
say("rmdir dots", attempt(os.rmdir, "d/.."))
say("rmdir link", attempt(os.rmdir, "todir"))
say("rmdir full", attempt(os.rmdir, "d"))
say("rmdir file", attempt(os.rmdir, "by-root"))
say("rmdir", attempt(os.rmdir, "newer"))
say("rmdir nothing", attempt(os.rmdir, "newer"))
say("truncate link", attempt(os.truncate, "chain", 5) + str(os.stat("d/made-by-chain").st_size))
say("truncate folder", attempt(os.truncate, "d", 5))
say("exists", attempt(touch, "by-root", os.O_EXCL))
say("folder to write", attempt(touch, "d"))
say("O_DIRECTORY", attempt(lambda: os.close(os.open("by-root", os.O_WRONLY | os.O_DIRECTORY))))
say("dirfd", attempt(lambda: touch("by-dirfd", dir_fd=at("d"))))
say("dirfd up", attempt(lambda: touch("../by-dirfd-up", dir_fd=at("d/e"))))
say("dirfd file", attempt(lambda: touch("x", dir_fd=at("by-root"))))
say("dirfd absolute", attempt(lambda: touch(os.getcwd() + "/absolute", dir_fd=at("by-root"))))
say("dirfd link", attempt(lambda: touch("out/by-dirfd-link", dir_fd=at("d/e"))))
say("dirfd closed", attempt(lambda: touch("x", dir_fd=999)))
fd = at("d/e")
os.rename("d/e", "moved")
say("dirfd moved", attempt(lambda: touch("in-moved", dir_fd=fd)))
say("dirfd moved up", attempt(lambda: touch("../beside-moved", dir_fd=fd)))
gone = os.open("gone-folder", os.O_PATH) if os.mkdir("gone-folder") else at("gone-folder")
os.rmdir("gone-folder")
say("dirfd gone", attempt(lambda: touch("x", dir_fd=gone)))
say("dirfd gone mkdir", attempt(lambda: os.mkdir("x", dir_fd=gone)))
say("dirfd gone up", attempt(lambda: touch("../x-of-gone", dir_fd=gone)))
pid = os.fork()
if pid == 0:
    os.mkdir("cwd")
    os.chdir("cwd")
    os.rmdir("../cwd")
    say("removed cwd", attempt(touch, "x"))
    say("removed cwd here", attempt(touch, "./x"))
    say("removed cwd mkdir", attempt(os.mkdir, "x"))
    say("removed cwd up", attempt(touch, "../x-of-cwd"))
    say("removed cwd rename", attempt(os.rename, "x", "y"))
    os._exit(0)
os.waitpid(pid, 0)
def empty(flags):
    if libc.linkat(at("by-root"), b"", -100, b"empty", flags) != 0:
        raise OSError(ctypes.get_errno(), "")
say("empty path", attempt(empty, 0))
say("tmpfile", attempt(lambda: os.close(os.open("d", os.O_TMPFILE | os.O_RDWR))))
say("tmpfile exclusive", attempt(lambda: os.link(f"/proc/self/fd/{os.open('d', os.O_TMPFILE | os.O_RDWR | os.O_EXCL)}", "x")))
say("tmpfile of nothing", attempt(lambda: os.close(os.open("nothing", os.O_TMPFILE | os.O_RDWR))))
say("tmpfile read only", attempt(lambda: os.close(os.open("d", os.O_TMPFILE | os.O_RDONLY))))
shutil.rmtree("d")
"""

# Row 11: modes, owners, descriptors, locks.
LIKE_OWN = r"""
import fcntl, resource, stat, struct, subprocess
def made(path, **how):
    st = os.stat(path, **how)
    return f"{stat.S_IFMT(st.st_mode):o} {stat.S_IMODE(st.st_mode):o} {st.st_uid == os.geteuid()} {st.st_gid == os.getegid()} {st.st_size} {st.st_nlink}"
for mask in (0, 0o22, 0o77, 0o777, 0o137):
    os.umask(mask)
    for mode in (0, 0o666, 0o777, 0o4755, 0o2755, 0o1777, 0o444):
        name_ = f"m{mask:o}-{mode:o}"
        os.close(os.open(name_, os.O_CREAT | os.O_RDWR, mode))
        os.mkdir(name_ + "d", mode)
        os.mknod(name_ + "n", stat.S_IFREG | mode)
        os.mkfifo(name_ + "p", mode)
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR, mode)
        say(name_, " / ".join(made(name_ + end) for end in ("", "d", "n", "p")) + f" / {os.fstat(fd).st_mode:o}")
        os.close(fd)
pid = os.fork()
if pid == 0:
    os.umask(0o27)
    os.close(os.open("child", os.O_CREAT | os.O_RDWR, 0o666))
    os._exit(0)
os.waitpid(pid, 0)
os.umask(0o22)
os.close(os.open("parent", os.O_CREAT | os.O_RDWR, 0o666))
say("umask of each", made("child") + made("parent"))
subprocess.run(["/bin/sh", "-c", "umask 007; echo x > of-sh; (umask 0; echo x > of-sub); umask 077; exec sh -c 'echo x > of-exec'"])
say("umask of programs", made("of-sh") + made("of-sub") + made("of-exec"))
# A directory whose group its files get (the group of the directory, which is the user's own here).
os.mkdir("setgid")
os.chmod("setgid", 0o2775)
os.close(os.open("setgid/f", os.O_CREAT | os.O_WRONLY))
os.mkdir("setgid/d")
say("setgid", made("setgid/f") + f" {os.stat('setgid/d').st_mode:o}")
# A default access list takes the place of the umask.
entries = [(1, 7, -1), (2, 6, os.geteuid()), (4, 5, -1), (16, 7, -1), (32, 4, -1)]
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, perm, who & 0xffffffff) for tag, perm, who in entries)
os.mkdir("acl")
say("set list", attempt(os.setxattr, "acl", "system.posix_acl_default", acl))
os.umask(0o77)
os.close(os.open("acl/f", os.O_CREAT | os.O_WRONLY, 0o666))
os.mkdir("acl/d", 0o777)
os.mknod("acl/n", stat.S_IFIFO | 0o666)
say("list", " ".join(made("acl/" + n) + str(sorted(os.listxattr("acl/" + n))) for n in "fdn"))
os.umask(0o22)
# What the descriptor is.
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_NONBLOCK, os.O_WRONLY | os.O_SYNC, os.O_RDWR | os.O_DSYNC,
              os.O_WRONLY | os.O_CLOEXEC, os.O_RDWR | os.O_NOATIME, os.O_WRONLY | os.O_NOFOLLOW, os.O_WRONLY | os.O_ASYNC, os.O_WRONLY | os.O_NOCTTY):
    for more in (0, os.O_CREAT, os.O_TRUNC):
        fd = libc.open(b"parent", flags | more, 0o644)
        say(f"flags {flags:o} {more:o}", f"{fcntl.fcntl(fd, fcntl.F_GETFL):o} {fcntl.fcntl(fd, fcntl.F_GETFD)} {fd}")
        os.close(fd)
# The lowest number, as programs expect that close and open again themselves.
os.close(0)
fd = os.open("lowest", os.O_CREAT | os.O_RDWR)
say("lowest", str(fd))
os.dup2(fd, 0)
a = os.open("one", os.O_CREAT | os.O_RDWR)
b = os.open("two", os.O_CREAT | os.O_RDWR)
os.close(a)
say("reused", str(a == os.open("three", os.O_CREAT | os.O_RDWR)) + str(b > a))
# Each open is a description of its own.
first, second = os.open("one", os.O_RDWR), os.open("one", os.O_RDWR)
os.write(first, b"12345")
say("positions", str(os.lseek(second, 0, 1)) + os.read(second, 9).decode())
# Locks go when the descriptor does, at once.
for turn in range(300):
    fd = os.open("locked", os.O_CREAT | os.O_RDWR)
    if attempt(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB) != "ok":
        say("lock", f"still held at turn {turn}")
        break
    os.close(fd)
else:
    say("lock", "ok")
fd = os.open("locked", os.O_RDWR)
say("record lock", attempt(fcntl.lockf, fd, fcntl.LOCK_EX | fcntl.LOCK_NB))
say("lease", attempt(fcntl.fcntl, fd, 1024, fcntl.F_WRLCK))
os.close(fd)
# Made, written, closed, run.
for turn in range(300):
    fd = os.open(f"program{turn}", os.O_CREAT | os.O_WRONLY, 0o755)
    os.write(fd, b"#!/bin/true\n")
    os.close(fd)
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(f"./program{turn}", ["x"])
        except OSError as error:
            os._exit(error.errno)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.unlink(f"program{turn}")
    if status:
        say("run", f"{name(status)} at turn {turn}")
        break
else:
    say("run", "ok")
# A pipe ends when its writer closes.
os.mkfifo("pipe")
pid = os.fork()
if pid == 0:
    fd = os.open("pipe", os.O_WRONLY)
    os.write(fd, b"all")
    os.close(fd)
    os._exit(0)
with open("pipe", "rb") as file:
    say("pipe", file.read().decode())
os.waitpid(pid, 0)
# Limits of the caller.
pid = os.fork()
if pid == 0:
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    fd = os.open("limited", os.O_CREAT | os.O_RDWR)
    say("file size", attempt(os.ftruncate, fd, 2000) + attempt(os.truncate, "limited", 2000) + attempt(os.write, fd, b"x" * 500))
    resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 1, fd + 1))
    say("descriptors", attempt(os.open, "one-too-many", os.O_CREAT | os.O_RDWR) + str(os.path.exists("one-too-many")))
    os._exit(0)
os.waitpid(pid, 0)
# Errors that the file system gives.
say("too long", attempt(os.mkdir, "x" * 256))
say("too many links", attempt(lambda: os.close(os.open("loop/x", os.O_CREAT | os.O_WRONLY))) if os.symlink("loop", "loop") is None else "")
os.mkdir("closed")
os.chmod("closed", 0o555)
say("closed folder", "" if os.geteuid() == 0 else attempt(os.mkdir, "closed/x") + attempt(lambda: os.close(os.open("closed/y", os.O_CREAT | os.O_WRONLY))))
os.close(os.open("read-only", os.O_CREAT | os.O_WRONLY, 0o444))
say("read-only file", "" if os.geteuid() == 0 else attempt(lambda: os.close(os.open("read-only", os.O_WRONLY))))
import shutil
shutil.copy("/bin/true", "running")
os.chmod("running", 0o755)
pid = os.fork()
if pid == 0:
    os.execv("/bin/cat", ["cat", "pipe"])
say("no device", attempt(lambda: os.close(os.open("pipe", os.O_WRONLY | os.O_NONBLOCK))) if not os.kill(pid, 9) and os.waitpid(pid, 0) else "")
"""

# What is made in a directory of another group, which needs rights of a group that only root has at hand.
OWNERS = r"""
import stat
for path in sys.argv[1:]:
    os.close(os.open(path + "/f", os.O_CREAT | os.O_WRONLY))
    os.mkdir(path + "/d")
    os.symlink("x", path + "/l")
    say(path, " ".join(f"{os.lstat(path + '/' + n).st_uid}:{os.lstat(path + '/' + n).st_gid}:{os.lstat(path + '/' + n).st_mode:o}" for n in "fdl"))
"""

# Signals that come while a call waits for its answer.
SIGNALS = r"""
import platform, signal, threading
turns = int(sys.argv[1])
rung = 0
path = ctypes.create_string_buffer(b"./free-00000000.kez")
permitted, forbidden = b"kez", b"key"
def ring(*_):
    # A call that is made again reads its arguments again: now they are others.
    global rung
    rung += 1
    ctypes.memmove(ctypes.addressof(path) + 16, forbidden if rung % 2 else permitted, 3)
signal.signal(signal.SIGALRM, ring)
for restart in (False, True):
    signal.siginterrupt(signal.SIGALRM, not restart)
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    odd, made = {}, 0
    for turn in range(turns):
        name_ = b"./own-%08d.kez" % turn
        ctypes.memmove(ctypes.addressof(path) + 7, b"%08d" % turn, 8)
        # Nobody else makes this name: "it exists" would be this call's own work, done twice.
        for _ in range(1000):
            fd = libc.open(name_, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
            error = ctypes.get_errno()
            if fd >= 0 or error != 4:
                break
        if fd >= 0:
            os.close(fd)
            os.unlink(name_)
            made += 1
        else:
            odd[name(error)] = odd.get(name(error), 0) + 1
        fd = libc.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
        if fd >= 0:
            os.close(fd)
        libc.mkdir(path, 0o755)
    signal.setitimer(signal.ITIMER_REAL, 0)
    say("restart" if restart else "interrupt", f"{made} {odd}")
say("signals", str(rung > 10))
"""


class Native(names.NameTest):
    def compare(self, code, *arguments, expect=0, loose=()):
        outside = self.control(code, *arguments)
        tree = {name: what[0] for name, what in names.cordon_testing.snapshot(self.work).items()}
        self.assertGreater(len(outside), expect)
        self.fresh()
        inside = self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + code, *arguments))
        self.assertEqual({key: (inside.get(key), answer) for key, answer in outside.items()
                          if inside.get(key) != answer and key not in loose}, {})
        self.assertEqual({name: what[0] for name, what in names.cordon_testing.snapshot(self.work).items()}, tree)
        self.assertEqual(self.violations(), [])

    def test_where_a_path_leads(self):
        self.compare(PLACES, expect=70)

    def test_modes_descriptors_and_locks(self):
        self.compare(LIKE_OWN, expect=80)

    def test_owners_and_groups(self):
        if not names.cordon_testing.IS_ROOT:
            self.skipTest("only root can give a directory to another group")
        places = []
        for number, mode in enumerate((0o755, 0o2755, 0o2777, 0o1777)):
            place = self.path(f"group{number}")
            os.mkdir(place)
            os.chown(place, 0, 12345)
            os.chmod(place, mode)
            places.append(place)
        outside = self.control(OWNERS, *places)
        self.assertIn(":12345:", outside[places[1]])
        for place in places:
            for name in ("f", "l"):
                os.unlink(os.path.join(place, name))
            os.rmdir(os.path.join(place, "d"))
        inside = self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + OWNERS, *places))
        for place in places:
            seen = " ".join(f"{st.st_uid}:{st.st_gid}:{st.st_mode:o}" for st in
                            (os.lstat(os.path.join(place, name)) for name in "fdl"))
            self.assertEqual(seen, outside[place], place)
        self.assertEqual(len(inside), len(places))

    def test_cut_has_no_effect_before_the_verdict(self):
        cuts = ("libc.open(p, os.O_WRONLY | os.O_TRUNC)", "libc.open(p, os.O_RDONLY | os.O_TRUNC)", "libc.open(p, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)",
                "libc.creat(p, 0o644)", "libc.truncate(p, ctypes.c_long(0))", "libc.open(p, os.O_PATH | os.O_TRUNC)", "libc.open(p, os.O_WRONLY | os.O_APPEND)")
        code = "import stat\nfor p in (b'.env', b'sub/x.key', b'link'):\n" + "".join(f"  {cut}\n" for cut in cuts) + "say('end', 'x')"
        def prepare():
            os.mkdir(self.path("sub"))
            os.symlink(".env", self.path("link"))
            return self.make("work/.env"), self.make("work/sub/x.key")
        prepare()
        self.control(code)
        self.assertEqual(os.stat(self.path(".env")).st_size, 0)
        self.fresh()
        texts = prepare()
        before = names.cordon_testing.snapshot(self.work)
        self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + code))
        self.assertEqual(names.cordon_testing.snapshot(self.work), before)
        self.assertEqual(names.cordon_testing.read_file(self.path(".env")).decode().strip(), texts[0])
        self.assert_reported(self.path(".env"), "file-write*")
        self.assert_reported(self.path("sub/x.key"), "file-write*")

    def test_signals_interrupt_and_restart(self):
        self.control(SIGNALS, "300")
        self.assertNotEqual(self.found("*.key"), [])
        self.fresh()
        turns = int(names.STRESS * 300)
        done = self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + SIGNALS, str(turns), timeout=names.STRESS * 10 + 60)
        answers = self.answers(done)
        self.assertEqual(answers, {"interrupt": f"{turns} {{}}", "restart": f"{turns} {{}}", "signals": "True"})
        self.assertEqual(self.found("*.key"), [])
        self.assert_reported(self.path("free-*.key"))

    def test_lease_is_given_back(self):
        """Who holds a lease may still work before it gives it back, while another waits for the file."""
        code = ("import fcntl, signal, time\nopen('leased', 'w').close()\nreader, writer = os.pipe()\npid = os.fork()\n"
                "if pid == 0:\n"
                "  signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])\n"
                "  fd = os.open('leased', os.O_RDONLY)\n  fcntl.fcntl(fd, 1024, fcntl.F_RDLCK)\n  os.write(writer, b'x')\n"
                "  signal.sigwait([signal.SIGIO])\n  os.close(os.open('notes', os.O_CREAT | os.O_WRONLY))\n"
                "  fcntl.fcntl(fd, 1024, fcntl.F_UNLCK)\n  os._exit(0)\n"
                "os.read(reader, 1)\nbegun = time.monotonic()\nfd = os.open('leased', os.O_WRONLY)\n"
                "say('soon', str(time.monotonic() - begun < 10))\nsay('flags', f'{fcntl.fcntl(fd, fcntl.F_GETFL):o}')\nos.waitpid(pid, 0)\n"
                "say('notes', str(os.path.exists('notes')))")
        self.compare(code, expect=2)

    def test_full_file_system(self):
        """ENOSPC comes through, for bytes and for names."""
        os.mkdir(self.path("small"))
        code = ("def fill():\n  with open('small/fill', 'wb') as file:\n    while True:\n      file.write(b'x' * 4096)\n      file.flush()\n"
                "def names_():\n  for n in range(1000):\n    os.close(os.open(f'small/n{n}', os.O_CREAT | os.O_WRONLY))\n"
                "say('bytes', attempt(fill))\nsay('names', attempt(names_))\nsay('folder', attempt(os.mkdir, 'small/d'))\n"
                "say('link', attempt(os.symlink, 'x' * 3000, 'small/l'))")
        wrap = ["unshare", "-m"] if names.cordon_testing.IS_ROOT else ["unshare", "-Urm"]
        script = f'mount -t tmpfs -o size=64k,nr_inodes=20,mode=777 none "{self.path("small")}"\nexec "$@"'
        outside = self.answers(self.outside(*wrap, "sh", "-c", script, "sh", names.canary.PYTHON, "-ISc", names.canary.PRELUDE + code))
        self.assertEqual(outside["bytes"], "ENOSPC")
        self.assertEqual(outside["names"], "ENOSPC")
        inner = self.command([names.canary.PYTHON, "-ISc", names.canary.PRELUDE + code], self.name_rules())
        inside = self.answers(self.outside(*wrap, "sh", "-c", script, "sh", *inner))
        self.assertEqual(inside, outside)

    def test_compilers_and_archives(self):
        """Ordinary tools, whose results must be the same bytes, modes and times."""
        line = ("mkdir -p src/a/b; printf 'int main(void){return 0;}' > src/a/m.c; ln -s a/m.c src/link; ln src/a/m.c src/hard; chmod 640 src/a/m.c; "
                "touch -d @1000000 src/a/m.c; tar cf t.tar src; mkdir out; tar xf t.tar -C out; cp -a src copy; "
                "cd out/src/a; mv m.c n.c; install -m 751 n.c ../b.c; cd ../../..; find . -printf '%p %y %m %n %l\\n' | sort")
        outside = self.outside("sh", "-ec", line)
        self.assertEqual(outside.returncode, 0, outside.stderr)
        self.fresh()
        inside = self.inside("sh", "-ec", line)
        self.assertEqual((inside.returncode, inside.stdout), (0, outside.stdout), inside.stderr)


if __name__ == "__main__":
    names.main()
