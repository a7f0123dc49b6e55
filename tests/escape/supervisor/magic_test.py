#!/usr/bin/env python3
"""Paths that mean something else to each process: they are the caller's, never the broker's (rows 4, 5, 6)."""
import os
import pty
import select
import subprocess

import names

# Every way to one's own descriptors, directories and name; each answer shows whose they were.
OWN = r"""
import threading
def wrote(path, flags=os.O_WRONLY):
    "What stands in the file behind descriptor `fd` after a write through `path`."
    os.ftruncate(fd, 0)
    other = os.open(path, flags)
    try:
        os.write(other, b"through")
        return os.pread(fd, 99, 0).decode() + (" same" if os.path.samestat(os.fstat(fd), os.fstat(other)) else " other")
    finally:
        os.close(other)
fd = os.open("file", os.O_CREAT | os.O_RDWR)
os.dup2(fd, 0)
for path in (f"/proc/self/fd/{fd}", f"/proc/thread-self/fd/{fd}", f"/dev/fd/{fd}", "/dev/stdin", "/proc/self/fd/0",
             f"/proc/{os.getpid()}/fd/{fd}", f"/proc/{os.getpid()}/task/{os.getpid()}/fd/{fd}",
             f"/proc/self/../self/fd/{fd}", f"/proc/self/root/proc/self/fd/{fd}", f"//proc//self/./fd/{fd}", "link"):
    if path == "link":
        os.symlink(f"/proc/self/fd/{fd}", "link")
    label = path.replace(f"fd/{fd}", "fd/N").replace(str(os.getpid()), "PID")
    for name_, flags in (("write", os.O_WRONLY), ("both", os.O_RDWR), ("append", os.O_WRONLY | os.O_APPEND),
                         ("cut", os.O_WRONLY | os.O_TRUNC), ("create", os.O_WRONLY | os.O_CREAT)):
        say(f"{name_} {label}", attempt(wrote, path, flags))
say("no follow", attempt(lambda: os.close(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NOFOLLOW))))
say("exclusive", attempt(lambda: os.close(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))))
say("not there", attempt(lambda: os.close(os.open("/proc/self/fd/999", os.O_WRONLY))))
say("truncate", attempt(os.truncate, f"/proc/self/fd/{fd}", 3) + " " + str(os.fstat(fd).st_size))
# A file without a name, and one whose name is gone.
unnamed = os.open(".", os.O_TMPFILE | os.O_RDWR)
other = os.open(f"/proc/self/fd/{unnamed}", os.O_WRONLY)
os.write(other, b"unnamed")
say("unnamed", os.pread(unnamed, 99, 0).decode())
gone = os.open("gone", os.O_CREAT | os.O_RDWR)
os.unlink("gone")
other = os.open(f"/proc/self/fd/{gone}", os.O_RDWR)
os.write(other, b"gone")
say("gone", os.pread(gone, 99, 0).decode() + str(os.path.exists("gone")))
memory = os.memfd_create("m")
other = os.open(f"/proc/self/fd/{memory}", os.O_RDWR)
os.write(other, b"memory")
say("memory", os.pread(memory, 99, 0).decode())
# Pipes open again in the other direction.
reader, writer = os.pipe()
other = os.open(f"/proc/self/fd/{reader}", os.O_WRONLY)
os.write(other, b"pipe")
say("pipe", os.read(reader, 99).decode())
# Directories.
os.mkdir("dir")
folder = os.open("dir", os.O_RDONLY)
for path in (f"/proc/self/fd/{folder}/made", "/proc/self/cwd/dir/made", "/proc/thread-self/cwd/dir/made",
             "/proc/self/root" + os.getcwd() + "/dir/made", f"/dev/fd/{folder}/made", f"/proc/self/fd/{folder}/../dir/made"):
    say("in " + path.replace(f"fd/{folder}", "fd/N").replace(os.getcwd(), "CWD"),
        attempt(lambda: os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))) + str(os.listdir("dir")))
    for made in os.listdir("dir"):
        os.unlink("dir/" + made)
# The name of a task.
def comm(path, text):
    with open(path, "w") as file:
        file.write(text)
comm("/proc/self/comm", "by-self")
say("comm", content("/proc/self/comm"))
def second():
    comm("/proc/thread-self/comm", "by-thread")
    say("thread comm", content("/proc/thread-self/comm") + " " + content("/proc/self/comm"))
    comm(f"/proc/self/task/{threading.get_native_id()}/comm", "by-task")
    say("task comm", content("/proc/thread-self/comm") + " " + content("/proc/self/comm"))
    os.dup2(fd, 55)
    comm("/proc/self/comm", "by-second")
    say("leader comm", content("/proc/thread-self/comm") + " " + content("/proc/self/comm"))
thread = threading.Thread(target=second)
thread.start()
thread.join()
# Another process of the session: its descriptors by its number.
child = os.fork()
if child == 0:
    os.close(fd)
    mine = os.open("child-file", os.O_CREAT | os.O_RDWR)
    os.dup2(mine, 60)
    os.kill(os.getpid(), 19)
    os._exit(0)
os.waitpid(child, os.WUNTRACED)
other = os.open(f"/proc/{child}/fd/60", os.O_WRONLY)
os.write(other, b"to the child")
say("child", content("child-file"))
say("child cwd", attempt(lambda: os.close(os.open(f"/proc/{child}/cwd/by-child", os.O_CREAT | os.O_WRONLY))) +
    str(os.path.exists("by-child")))
os.kill(child, 9)
os.waitpid(child, 0)
for path in ("/dev/null", "/dev/full", "/dev/zero"):
    say(path, attempt(lambda: os.close(os.open(path, os.O_RDWR | os.O_TRUNC | os.O_CREAT))))
say("tty", attempt(lambda: os.close(os.open("/dev/tty", os.O_RDWR))))
"""

# Kernel files by which a process changes another one, or what it may do.
KERNEL = r"""
import glob, signal
others = {"self": "self", "init": "1"}
child = os.fork()
if child == 0:
    while True:
        signal.pause()
others["child"] = str(child)
closed = os.fork()
if closed == 0:
    libc.prctl(4, 0, 0, 0, 0)
    os.kill(os.getpid(), 19)
os.waitpid(closed, os.WUNTRACED)
others["closed"] = str(closed)
def opened(path, flags):
    os.close(os.open(path, flags | os.O_NONBLOCK))
for who, pid in others.items():
    for name_ in ("mem", "uid_map", "gid_map", "projid_map", "setgroups", "attr/current", "attr/exec", "attr/fscreate",
                  "oom_adj", "oom_score_adj", "loginuid", "sessionid", "clear_refs", "coredump_filter", "comm", "sched",
                  "autogroup", "timerslack_ns", "timens_offsets", "environ", "maps", "cmdline", "pagemap", "syscall", "stack",
                  "personality", "limits", "io", "root", "cwd", "exe", "fd", "ns/user", "ns/mnt"):
        say(f"{who} {name_}", attempt(opened, f"/proc/{pid}/{name_}", os.O_WRONLY))
        say(f"{who} {name_} both", attempt(opened, f"/proc/{pid}/{name_}", os.O_RDWR))
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/proc/sys/kernel/ns_last_pid",
             "/proc/sys/user/max_user_namespaces", "/proc/kcore", "/proc/kmsg", "/proc/mounts", "/proc/irq/default_smp_affinity",
             "/proc/asound", "/proc/acpi", "/proc/sys/fs/binfmt_misc/register", "/sys/kernel/uevent_helper",
             "/sys/power/state", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/cgroup.subtree_control",
             *sorted(glob.glob("/sys/fs/cgroup/*"))[:20]):
    say(path, attempt(opened, path, os.O_WRONLY))
    say(path + " create", attempt(opened, path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
say("maps", str([content(f"/proc/self/{name_}").split() for name_ in ("uid_map", "gid_map", "setgroups")]))
say("score", attempt(lambda: open("/proc/self/oom_score_adj", "w").write("-999") and None) + " " + content("/proc/self/oom_score_adj"))
os.kill(child, 9)
os.kill(closed, 9)
"""

# What the broker is: seen, named or entered by no path.
BROKER = r"""
import glob
found = []
for folder in glob.glob("/proc/[0-9]*"):
    try:
        found.append(content(folder + "/comm"))
    except OSError:
        pass
say("processes", " ".join(sorted(found)))
for pid in sys.argv[1:]:
    for name_ in ("environ", "mem", "fd", "fd/0", "cmdline", "maps", "root", "cwd", "exe", "comm", "status", "oom_score_adj"):
        say(f"{pid} {name_}", attempt(lambda: os.close(os.open(f"/proc/{pid}/{name_}", os.O_RDONLY))))
        say(f"{pid} {name_} write", attempt(lambda: os.close(os.open(f"/proc/{pid}/{name_}", os.O_WRONLY | os.O_CREAT))))
    say(f"{pid} signal", attempt(os.kill, int(pid), 9))
    say(f"{pid} pidfd", attempt(lambda: os.close(os.pidfd_open(int(pid)))))
"""


class Magic(names.NameTest):
    """Row 4: the same probe says the same outside and inside."""

    def test_own_descriptors_directories_and_names(self):
        outside = self.control(OWN, start_new_session=True)
        # Root needs no permission outside for what a session of root is not given.
        self.assertGreater(len(outside), 70)
        self.fresh()
        inside = self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + OWN,
                                          options=[*self.name_rules(), "--no-tty"]))
        outside["tty"] = inside["tty"] if inside["tty"] in ("ENXIO", "ENOENT") else outside["tty"]
        self.assertEqual({key: (inside.get(key), answer) for key, answer in outside.items() if inside.get(key) != answer}, {})
        self.assertEqual(self.violations(), [])

    def test_forbidden_names_through_them(self):
        os.mkdir(self.path("dir"))
        code = ("folder = os.open('dir', os.O_PATH)\n"
                "os.symlink('/proc/self/cwd', 'here')\nos.symlink('/proc/self/fd/' + str(folder), 'there')\n"
                "for p in (f'/proc/self/fd/{folder}', '/proc/self/cwd', '/proc/thread-self/cwd/dir', '/proc/self/root' + os.getcwd(),\n"
                "          f'/dev/fd/{folder}', f'/proc/{os.getpid()}/cwd', f'/proc/self/task/{os.getpid()}/cwd', 'here', 'there',\n"
                "          f'/proc/self/fd/{folder}/..'):\n"
                "  for n in ('a.key', '.env'):\n"
                "    say(p + ' ' + n, attempt(lambda: os.close(os.open(p + '/' + n, os.O_CREAT | os.O_WRONLY))))\n"
                "  say(p + ' mkdir', attempt(os.mkdir, p + '/b.key'))\n")
        control = self.control(code)
        self.assertGreater(list(control.values()).count("ok"), 20)
        self.assertNotEqual(self.found("*.key"), [])
        self.fresh()
        os.mkdir(self.path("dir"))
        answers = self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + code))
        self.assertEqual(set(answers.values()) - {"EROFS", "EACCES", "ENOENT"}, set(), answers)
        self.assertEqual(self.found("*.key", ".env"), [])
        for name in ("dir/a.key", ".env", "dir/b.key"):
            self.assert_reported(self.path(name))

    def test_standard_descriptors_that_the_caller_passed(self):
        self.make("work/input", "first")
        with open(self.path("input"), "r+b") as file:
            done = self.inside("sh", "-c", "printf second > /dev/stdin; cat /dev/stdin; printf third >> /proc/self/fd/0", stdin=file)
        self.assertEqual((done.returncode, done.stdout), (0, "second"), done.stderr)
        self.assertEqual(names.cordon_testing.read_file(self.path("input")), b"secondthird")
        with open(self.path("out"), "wb") as file:
            done = self.inside("sh", "-c", "echo one; echo two > /dev/stdout; echo three >> /dev/stdout; echo four > /dev/stderr",
                               stdout=file)
        self.assertEqual((done.returncode, done.stderr), (0, "four\n"))
        self.assertIn(b"two\n", names.cordon_testing.read_file(self.path("out")))

    def test_terminal(self):
        """/dev/tty is the session's own terminal."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        before = os.fstat(slave)
        line = "echo to-tty > /dev/tty; (echo to-stdout > /dev/stdout); stat -L -c 'number %d %i' /dev/stdin; echo x > .env; python3 -c " \
               "'import os; m, s = os.openpty(); print(os.ttyname(s) != os.ttyname(0))'"
        process = self.start_cordon("sh", "-c", line, options=[*self.name_rules(), "--tty"], stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        output = b""
        while True:
            ready, _, _ = select.select([master], [], [], names.cordon_testing.SECONDS)
            self.assertTrue(ready)
            try:
                chunk = os.read(master, 4096)
            except OSError:  # EIO: every slave is closed
                break
            if not chunk:
                break
            output += chunk
        process.wait(names.cordon_testing.SECONDS)
        text = output.decode(errors="replace")
        for word in ("to-tty", "to-stdout", "True"):
            self.assertIn(word, text)
        self.assertNotIn(f"number {before.st_dev} {before.st_ino}\r", text)
        self.assertEqual(self.found(".env"), [])

    def test_named_pipe_that_nobody_reads_stops_only_its_writer(self):
        code = ("import threading\nos.mkfifo('pipe')\n"
                "def late():\n  fd = os.open('pipe', os.O_WRONLY)\n  os.write(fd, b'late')\n  os.close(fd)\n"
                "thread = threading.Thread(target=late)\nthread.start()\n"
                "for n in range(200):\n  os.close(os.open(f'file{n}', os.O_CREAT | os.O_WRONLY))\n"
                "say('made', str(len(os.listdir('.'))))\nsay('read', content('pipe'))\nthread.join()\n"
                "say('no wait', attempt(lambda: os.close(os.open('pipe', os.O_WRONLY | os.O_NONBLOCK))))\n"
                "fd = os.open('pipe', os.O_RDWR)\nos.write(fd, b'both')\nsay('both', os.read(fd, 9).decode())\n"
                "import signal\nclass Alarm(Exception):\n  pass\n"
                "def ring(*_):\n  raise Alarm\nsignal.signal(signal.SIGALRM, ring)\nos.close(fd)\nsignal.setitimer(signal.ITIMER_REAL, 0.2)\n"
                "try:\n  os.open('pipe', os.O_WRONLY)\nexcept Alarm:\n  say('signal', 'interrupts')\n"
                "pid = os.fork()\nif pid == 0:\n  os.open('pipe', os.O_WRONLY)\nos.kill(pid, 9)\nsay('killed', str(os.waitpid(pid, 0)[1]))\n")
        outside = self.control(code)
        self.fresh()
        inside = self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + code))
        self.assertEqual(inside, outside)


class Kernel(names.NameTest):
    """Row 6: what the broker opens counts with the broker's rights, so it must open none of these."""

    def test_no_kernel_file_opens_that_does_not_without_supervisor(self):
        spec = self.at("free.json")
        with open(spec, "w", encoding="ascii") as file:
            file.write('{"sessionId": "free", "workspaceId": "test", "view": "host", "guestWorkdir": "%s", '
                       '"filesystem": {"allowWrite": ["%s"], "disabled": true}}' % (self.work, self.work))
        before = [names.cordon_testing.read_file(path) for path in ("/proc/sys/kernel/core_pattern", "/proc/self/uid_map")]
        free = self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + KERNEL, options=["--spec", spec]))
        held = self.answers(self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + KERNEL))
        self.assertGreater(len(free), 250)
        for key, answer in held.items():
            with self.subTest(file=key):
                if key in ("maps", "score"):
                    self.assertEqual(answer, free[key])
                elif free.get(key) != "ok":
                    self.assertNotEqual(answer, "ok")
        # What programs write to of their own goes on.
        for key in ("self comm", "self oom_score_adj", "self coredump_filter"):
            self.assertEqual((held[key], free[key]), ("ok", "ok"), key)
        self.assertEqual([names.cordon_testing.read_file(path)
                          for path in ("/proc/sys/kernel/core_pattern", "/proc/self/uid_map")], before)


class Broker(names.NameTest):
    """Row 5: the broker is in no list, and by its number outside it is nobody."""

    def test_broker_cannot_be_seen_or_reached(self):
        process = self.start_cordon("sh", "-c", "echo up; read -r line; exec \"$@\"", "sh", names.canary.PYTHON, "-ISc",
                                    names.canary.PRELUDE + "sys.argv[1:] = open('pids').read().split()\n" + BROKER,
                                    options=self.name_rules(), stdin=subprocess.PIPE)
        self.read_line(process.stdout)
        monitor, _ = self.session_of(process)
        init = names.init_of(monitor)
        broker = names.broker_of(monitor)
        self.write("pids", f"{broker} {monitor} {init} {process.pid}")
        out, err = process.communicate(b"go\n", timeout=names.cordon_testing.SECONDS)
        self.assertEqual(process.returncode, 0, err)
        answers = dict(line.split(" ", 1) for line in out.decode().splitlines())
        answers = {bytes.fromhex(key).decode(): answer for key, answer in answers.items()}
        self.assertNotIn("cordon-broker", answers.pop("processes"))
        own = {str(pid) for pid in range(1, 50)}
        for key, answer in answers.items():
            if key.split()[0] not in own:
                self.assertIn(answer, ("ENOENT", "ESRCH", "EROFS"), key)

    def test_broker_has_no_more_rights_than_it_needs(self):
        process = self.start_cordon("sh", "-c", "echo up; read -r line", options=self.name_rules(), stdin=subprocess.PIPE)
        self.read_line(process.stdout)
        monitor, _ = self.session_of(process)
        broker = names.broker_of(monitor)
        with open(f"/proc/{broker}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        trace = 1 << 19
        for name in ("CapInh", "CapBnd", "CapAmb", "CapEff", "CapPrm"):
            self.assertIn(int(status[name], 16), (0, trace), name)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Threads"], "1")
        self.assertEqual(status["Uid"].split(), [str(os.geteuid())] * 4)
        # Not dumpable: its files below /proc are root's.
        self.assertEqual(os.stat(f"/proc/{broker}/mem").st_uid, 0)
        if not names.cordon_testing.IS_ROOT:
            self.assertFalse(os.access(f"/proc/{broker}/mem", os.R_OK))
        self.assertEqual(names.cordon_testing.name_of(broker), names.BROKER)
        process.communicate(b"\n", timeout=names.cordon_testing.SECONDS)
        self.assertEqual(process.returncode, 0)

    def test_names_of_broker_stay_when_the_command_names_itself(self):
        process = self.start_cordon("sh", "-c", "echo evil > /proc/self/comm; echo evil > /proc/thread-self/comm; "
                                    "echo -500 > /proc/self/oom_score_adj; echo 500 > /proc/self/oom_score_adj; echo up; read -r line",
                                    options=self.name_rules(), stdin=subprocess.PIPE)
        self.read_line(process.stdout)
        monitor, _ = self.session_of(process)
        broker = names.broker_of(monitor)
        with open(f"/proc/{broker}/oom_score_adj", encoding="ascii") as file:
            self.assertNotEqual(file.read().strip(), "500")
        self.assertEqual(names.cordon_testing.name_of(broker), names.BROKER)
        process.communicate(b"\n", timeout=names.cordon_testing.SECONDS)


if __name__ == "__main__":
    names.main()
