#!/usr/bin/env python3
"""Denied reads: refused, and told by their true path, process and program (spec 05, 12.5).

A FUSE server stands behind the masks where /dev/fuse may be opened; elsewhere the masks are plain and only refuse.
"""
import errno
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

PYTHON = "/usr/bin/python3"
NOT_SAID = "denied reads are not reported by path"

# Runs a command where /dev/fuse is no FUSE device.
WITHOUT = f"""
import os, sys
sys.path.insert(0, {str(pathlib.Path(__file__).resolve().parents[1] / "support")!r})
import cordon_testing
cordon_testing.own_mounts()
if os.path.exists("/dev/fuse"):
    cordon_testing.mount("/dev/null", "/dev/fuse", "none", 0x1000)
os.execv(sys.argv[1], sys.argv[1:])
"""

# {call: what it answers} for a denied directory, a denied file and one that reads as empty.
PROBE = r"""
import errno, json, os, socket, sys
found = {}
def ask(name, call):
    try:
        value = call()
        found[name] = value if isinstance(value, (int, str, list)) else "done"
    except OSError as error:
        found[name] = errno.errorcode[error.errno]
def opened(path, flags):
    fd = os.open(path, flags, 0o600)
    try:
        return len(os.read(fd, 100)) if flags & os.O_ACCMODE != os.O_WRONLY and not flags & os.O_PATH else "open"
    finally:
        os.close(fd)
home = os.path.expanduser("~")
directory, file, empty = home + "/.ssh", home + "/.netrc", home + "/.npmrc"
places = {"directory": directory, "file": file, "empty": empty, "below": directory + "/id_rsa", "missing": directory + "/none",
          "deep": directory + "/keys/old", "below file": file + "/x", "slash": directory + "/"}
for name, path in places.items():
    for flags in ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_PATH", "O_CREAT", "O_DIRECTORY"):
        ask(f"open {name} {flags}", lambda: opened(path, getattr(os, flags)))
    ask(f"stat {name}", lambda: oct(os.stat(path).st_mode) + f" {os.stat(path).st_uid} {os.stat(path).st_gid} {os.stat(path).st_nlink}")
    ask(f"lstat {name}", lambda: os.lstat(path).st_mode)
    for mode in range(8):
        ask(f"access {name} {mode}", lambda: "yes" if os.access(path, mode) else "no")
    ask(f"list {name}", lambda: os.listdir(path))
    ask(f"enter {name}", lambda: os.chdir(path))
    ask(f"readlink {name}", lambda: os.readlink(path))
    ask(f"chmod {name}", lambda: os.chmod(path, 0o777))
    ask(f"utime {name}", lambda: os.utime(path))
    ask(f"truncate {name}", lambda: os.truncate(path, 0))
    ask(f"unlink {name}", lambda: os.unlink(path))
    ask(f"rmdir {name}", lambda: os.rmdir(path))
    ask(f"mkdir {name}", lambda: os.mkdir(path))
    ask(f"rename {name}", lambda: os.rename(path, path + ".away"))
    ask(f"link {name}", lambda: os.link(path, "link"))
    ask(f"symlink {name}", lambda: os.symlink("x", path))
    ask(f"exec {name}", lambda: os.execv(path, [path]))
    ask(f"listxattr {name}", lambda: os.listxattr(path))
    ask(f"setxattr {name}", lambda: os.setxattr(path, "user.x", b"y"))
    ask(f"statvfs {name}", lambda: os.statvfs(path).f_namemax)
    ask(f"connect {name}", lambda: socket.socket(socket.AF_UNIX).connect(path))
print(json.dumps(found))
"""

# name: (line, target, program, rule). {home} stands for its path; a rule without source.
ATTEMPTS = {
    "read a key": ("cat ~/.ssh/id_rsa", "{home}/.ssh/id_rsa", "cat", "denyRead ~/.ssh"),
    "read what is not there": ("cat ~/.ssh/id_none", "{home}/.ssh/id_none", "cat", "denyRead ~/.ssh"),
    "look for a key": ("stat ~/.ssh/id_rsa", "{home}/.ssh/id_rsa", "stat", "denyRead ~/.ssh"),
    "list the keys": ("ls ~/.ssh", "{home}/.ssh", "ls", "denyRead ~/.ssh"),
    "enter the folder": ("cd ~/.ssh", "{home}/.ssh", "dash", "denyRead ~/.ssh"),
    "read tokens": ("cat ~/.aws/credentials", "{home}/.aws/credentials", "cat", "denyRead ~/.aws"),
    "read a password": ("cat ~/.netrc", "{home}/.netrc", "cat", "denyRead ~/.netrc"),
    "ask whether it can be read": ("test -r ~/.netrc", "{home}/.netrc", "dash", "denyRead ~/.netrc"),
    "read a file that seems empty": ("cat ~/.npmrc", "{home}/.npmrc", "cat", "denyRead ~/.npmrc"),
    "read what a user hid": ("cat hidden/file", "{work}/hidden/file", "cat", "denyRead hidden"),
    "copy a folder": ("cp -r ~/.ssh copy", "{home}/.ssh", "cp", "denyRead ~/.ssh"),
    "lead there by a link": ("ln -s ~/.ssh/id_rsa way; cat way", "{home}/.ssh/id_rsa", "cat", "denyRead ~/.ssh"),
    "in another terminal session": ("setsid -w cat ~/.netrc", "{home}/.netrc", "cat", "denyRead ~/.netrc"),
    "from a folder that was moved": ("mkdir in && mv in out && cd out && cat ../hidden/file", "{work}/hidden/file", "cat", "denyRead hidden"),
}


class DeniedReads(cordon_testing.CordonTest):
    def setUp(self):
        super().setUp()
        for name in ("home/.ssh/id_rsa", "home/.ssh/keys/old", "home/.aws/credentials", "home/.netrc", "home/.npmrc", "work/hidden/file"):
            self.write("../" + name, "a secret\n")

    def need_fuse(self):
        try:
            os.close(os.open("/dev/fuse", os.O_RDWR))
        except OSError as error:
            self.skipTest(f"/dev/fuse may not be opened here: {error.strerror}")

    def without_fuse(self, argv):
        return [sys.executable, "-c", WITHOUT, *argv]

    def run_argv(self, argv):
        return subprocess.run(argv, cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=cordon_testing.SECONDS)

    def events_of(self, *argv, options=(), wrap=lambda argv: argv):
        """(result, violations of reads: the last event of each)."""
        path = os.path.join(self.base, "events")
        done = self.run_argv(wrap(self.command(argv, ("--events", path, *options))))
        events = [json.loads(line) for line in cordon_testing.read_file(path).splitlines()]
        os.unlink(path)
        found = {event["number"]: event for event in events if event["type"] == "violation"}
        return done, [event for event in found.values() if event["action"] == "file-read*"]

    def shell_events(self, line, **how):
        return self.events_of("/bin/sh", "-c", line, **how)

    def test_each_attempt_names_path_program_and_rule(self):
        self.need_fuse()
        for name, (line, target, program, rule) in ATTEMPTS.items():
            with self.subTest(name):
                done, events = self.shell_events(line, options=("--deny-read", "hidden"))
                target = target.format(home=self.home, work=self.work)
                mine = [event for event in events if event["target"] == target]
                self.assertEqual(len(mine), 1, f"{events}\n{done.stderr}")
                self.assertEqual(os.path.basename(os.path.realpath(mine[0]["program"])), program)
                self.assertEqual(mine[0]["rule"], rule)
                self.assertEqual(mine[0].get("errno"), None if "empty" in name else errno.EACCES)
                self.assertEqual(mine[0]["exec"], 1)
                self.assertNotIn("a secret", done.stdout)
        self.assert_nothing_left()

    def test_process_is_the_one_that_the_session_knows(self):
        self.need_fuse()
        code = """if True:
            import os, threading
            def read():
                try: open(os.path.expanduser("~/.netrc"))
                except PermissionError: pass
            thread = threading.Thread(target=read); thread.start(); thread.join()
            print(os.getpid())"""
        done, events = self.events_of(PYTHON, "-c", code)
        self.assertEqual([event["pid"] for event in events if event["target"].endswith("/.netrc")], [int(self.output(done))])

    def test_looking_at_the_mask_is_no_attempt(self):
        self.need_fuse()
        done, events = self.shell_events("ls -la ~ && stat ~/.ssh ~/.netrc && test -e ~/.ssh && stat -f ~/.ssh")
        self.assertIn(".netrc", self.output(done))
        self.assertEqual(events, [])

    def test_storm_is_counted(self):
        self.need_fuse()
        code = """if True:
            import os
            for _ in range(3000):
                try: os.open(os.path.expanduser("~/.ssh/id_rsa"), os.O_RDONLY)
                except PermissionError: pass"""
        _, events = self.events_of(PYTHON, "-c", code)
        self.assertEqual([event["count"] for event in events if event["target"].endswith("id_rsa")], [3000])

    def test_each_of_many_masks_is_its_own(self):
        self.need_fuse()
        for i in range(300):
            self.write(f"many/{i}", "a secret\n")
        _, events = self.shell_events("cat many/*", options=("--deny-read", "many/*"))
        self.assertEqual(sorted(event["target"] for event in events), sorted(self.path("many", str(i)) for i in range(300)))

    def test_odd_names_are_refused(self):
        self.need_fuse()
        code = r"""if True:
            import os
            home = os.path.expanduser("~").encode()
            for name in (b"\xff\n\x01", b"a" * 255, b"'\"\\", "\u202e".encode()):
                try: os.stat(home + b"/.ssh/" + name); print("found")
                except PermissionError: print("refused")"""
        done, events = self.events_of(PYTHON, "-c", code)
        self.assertEqual(self.output(done).split(), ["refused"] * 4)
        self.assertEqual(len(events), 4)

    def test_errors_are_those_of_plain_masks(self):
        self.need_fuse()
        command = self.command([PYTHON, "-c", PROBE])
        served, plain = (json.loads(self.output(self.run_argv(argv))) for argv in (command, self.without_fuse(command)))
        self.assertGreater(len(served), 200)
        self.assertEqual(plain["open directory O_RDONLY"], "EACCES")
        self.assertEqual(plain["open empty O_RDONLY"], 0)
        different = {name: (served[name], plain[name]) for name in plain if served[name] != plain[name]}
        # The kernel asks the mount before it asks for the name, and enters the folder without asking its mode.
        self.assertEqual(different, {f"unlink {name}": ("EROFS", "EACCES") for name in ("below", "missing")})

    def test_without_the_device_masks_refuse_all_the_same(self):
        done, events = self.shell_events("cat ~/.ssh/id_rsa ~/.netrc; cat ~/.npmrc && echo empty", options=("--debug",), wrap=self.without_fuse)
        self.assertEqual(self.output(done), "empty\n")
        self.assertEqual(done.stderr.count("Permission denied"), 2, done.stderr)
        self.assertEqual(events, [])
        said = self.run_argv(self.without_fuse([cordon_testing.CORDON, "run", "--debug", "--", "true"])).stderr
        self.assertEqual(said.count(NOT_SAID), 1, said)
        self.assert_nothing_left()

    def servers_of(self, options):
        process = self.start_cordon("/bin/sh", "-c", "echo up; read line", options=options, stdin=subprocess.PIPE)
        self.assertEqual(self.read_line(process.stdout), "up")
        monitor, _ = self.session_of(process)
        return [pid for pid in cordon_testing.children_of(monitor) if cordon_testing.name_of(pid) == "cordon-masks"]

    def test_server_holds_nothing_that_it_does_not_need(self):
        self.need_fuse()
        servers = self.servers_of(())
        self.assertEqual(len(servers), 1)
        status = cordon_testing.read_file(f"/proc/{servers[0]}/status").decode()
        for line in ("CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"):
            self.assertIn(line, status)
        if cordon_testing.IS_ROOT:  # nobody else may look: it is not dumpable
            self.assertEqual(os.readlink(f"/proc/{servers[0]}/ns/mnt"), os.readlink("/proc/self/ns/mnt"))
            opened = sorted(os.readlink(f"/proc/{servers[0]}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{servers[0]}/fd"))
            self.assertEqual(opened, ["/dev/fuse"] + ["/dev/null"] * 3 + ["/proc", "pid", "socket", "socket"])

    def test_a_view_without_masks_has_no_server(self):
        self.assertEqual(self.servers_of(("--no-default-denies",)), [])

    def test_other_views_and_ids(self):
        self.need_fuse()
        for options in (("--uid", "4321"), ("--view", "bound", "--mount", f"{self.home}:ro"), ("--mount", f"{self.home}:/tmp/home:ro")):
            with self.subTest(options):
                place = "/tmp/home" if "/tmp/" in options[-1] else self.home
                done, events = self.shell_events(f"cat {place}/.ssh/id_rsa {place}/.netrc; stat -c %u:%a {place}/.ssh", options=options)
                uid = 4321 if "--uid" in options else os.geteuid()
                self.assertEqual(self.output(done), f"{uid}:0\n")
                self.assertEqual([event["target"] for event in events], [f"{place}/.ssh/id_rsa", f"{place}/.netrc"])
                self.assertEqual([event["rule"] for event in events], ["denyRead ~/.ssh", "denyRead ~/.netrc"])

    def test_end_of_the_server_ends_the_session(self):
        self.need_fuse()
        process = self.start_cordon("/bin/sh", "-c", "trap '' TERM; echo up; while :; do cat ~/.netrc; done", stderr=subprocess.DEVNULL)
        self.assertEqual(self.read_line(process.stdout), "up")
        monitor, _ = self.session_of(process)
        servers = [pid for pid in cordon_testing.children_of(monitor) if cordon_testing.name_of(pid) == "cordon-masks"]
        self.assertEqual(len(servers), 1)
        os.kill(servers[0], signal.SIGKILL)
        self.assertNotEqual(process.wait(timeout=10), 0)
        self.assertNotIn(b"a secret", process.stdout.read())
        self.assert_nothing_left()

    def test_stopped_server_does_not_outlive_the_session(self):
        self.need_fuse()
        process = self.start_cordon("/bin/sh", "-c", "echo up; cat ~/.netrc", stderr=subprocess.DEVNULL)
        monitor, _ = self.session_of(process)
        servers = cordon_testing.wait_for(
            lambda: [pid for pid in cordon_testing.children_of(monitor) if cordon_testing.name_of(pid) == "cordon-masks"], "a server")
        os.kill(servers[0], signal.SIGSTOP)
        process.kill()
        process.wait()
        self.assert_nothing_left()


if __name__ == "__main__":
    cordon_testing.main()
