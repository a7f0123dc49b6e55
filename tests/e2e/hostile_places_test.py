#!/usr/bin/env python3
"""Odd places to be started in: clear words or plain work, never a hang, a crash or a weaker run."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time
import traceback
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # noqa: E402
from cordon_testing import CORDON, IS_ROOT, CordonTest  # noqa: E402

MS_RDONLY = 1
ODD_NAMES = [b"new\nline", b"tab\tand space", b"'single' \"double\" `back`", b"bytes \xff\xfe\x80",
             b"\xc3\xa9\xe2\x82\xac", b"-dash", b"~", b"back\\slash", b"colon:comma,", b"$(id) $HOME ;&|<>",
             b"star*mark?", b"[set] {a,b}", b"#", b"...", b"\x1b[31m", b"\x01\x7f"]


def in_child(function):
    """Runs `function` in a fork, so that what it changes of the process does not stay."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        text = ""
        try:
            function()
        except unittest.SkipTest as skip:
            text = "skip " + str(skip)
        except BaseException:  # every kind must reach the parent
            text = traceback.format_exc()
        os.write(write, text.encode()[:60000])
        os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    if text.startswith("skip "):
        raise unittest.SkipTest(text[5:])
    if text:
        raise AssertionError(text)


def own_mounts():
    try:
        cordon_testing.own_mounts()
    except OSError as error:
        raise unittest.SkipTest(f"no mount namespace for the test itself: {error}")


class WorkingDirectories(CordonTest):
    def test_odd_names(self):
        for name in ODD_NAMES:
            with self.subTest(name=name):
                folder = os.path.join(os.fsencode(self.work), name)
                os.mkdir(folder)
                done = self.run_cordon("sh", "-c", "pwd >here && cat here", cwd=folder, text=False)
                self.assertEqual((done.returncode, done.stdout), (0, folder + b"\n"), done.stderr)
                done = self.run_cordon("sh", "-c", "pwd", options=["--workdir", folder], text=False)
                self.assertEqual((done.returncode, done.stdout), (0, folder + b"\n"), done.stderr)

    def test_odd_names_in_rules(self):
        def escape(path):
            return b"".join(b"\\" + bytes([c]) if bytes([c]) in b"*?[]{}\\" else bytes([c]) for c in path)

        rules = []
        for name in ODD_NAMES:
            for kind in (b"hidden", b"fixed"):
                folder = os.path.join(os.fsencode(self.work), name + kind)
                os.mkdir(folder)
                for file in (name, b"free"):
                    with open(os.path.join(folder, file), "wb") as stream:
                        stream.write(b"content")
                rules += ["--deny-read" if kind == b"hidden" else "--deny-write", escape(os.path.join(folder, name))]
        look = ("import os\n"
                "for folder in sorted(os.listdir(b'.')):\n"
                "    for name in sorted(os.listdir(folder)):\n"
                "        path = os.path.join(folder, name)\n"
                "        ways = ''\n"
                "        for way, flags in (('r', os.O_RDONLY), ('w', os.O_WRONLY)):\n"
                "            try:\n"
                "                os.close(os.open(path, flags))\n"
                "                ways += way\n"
                "            except OSError:\n"
                "                pass\n"
                "        print(repr(path), ways)\n")
        done = self.run_cordon("python3", "-c", look, options=rules)
        got = dict(line.rsplit(" ", 1) for line in self.output(done).splitlines())
        for name in ODD_NAMES:
            for kind, ways in ((b"hidden", ""), (b"fixed", "r")):
                self.assertEqual(got[repr(os.path.join(name + kind, b"free"))], "rw", name)
                self.assertEqual(got[repr(os.path.join(name + kind, name))], ways, name)

    def deep(self, size):
        """A directory below self.work whose path has `size` bytes; made step by step."""
        path = os.fsencode(self.work)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        while len(path) < size:
            rest = size - len(path) - 1
            step = b"d" * (rest if rest <= 255 else min(255, rest - 2))
            os.mkdir(step, dir_fd=fd)
            new = os.open(step, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = new
            path += b"/" + step
        self.assertEqual(len(path), size)
        return path, fd

    def test_the_longest_paths(self):
        for view in ("host", "bound"):
            for size in (3000, 4000, 4095):
                with self.subTest(view=view, size=size):
                    path, fd = self.deep(size)
                    done = self.run_cordon("sh", "-c", "echo text >f && cat ./f && pwd", cwd=path, text=False,
                                           options=["--view", view])
                    os.close(fd)
                    shutil.rmtree(os.path.join(self.work, "d" * 255))
                    if view == "bound" and size == 4095 and done.returncode == 125:
                        # The new root is built below another directory, which takes some bytes.
                        self.assertIn(b"File name too long", done.stderr)
                        continue
                    self.assertEqual((done.returncode, done.stdout), (0, b"text\n" + path + b"\n"), done.stderr)

    def test_a_directory_beyond_the_longest_path(self):
        _, fd = self.deep(5000)
        done = self.run_cordon("pwd", preexec_fn=lambda: os.fchdir(fd), options=[])
        os.close(fd)
        self.assert_refused(done, "working directory", "5000 bytes", "try:")

    def test_rules_with_long_paths(self):
        for size in (4095, 4096, 5000, 100000):
            with self.subTest(size=size):
                rule = self.work + "/" + "/".join(["r" * 200] * (size // 201 + 1))
                done = self.run_cordon("echo", "ran", options=["--deny-read", rule[:size]])
                self.assertIn((done.returncode, done.stdout), ((0, "ran\n"), (125, "")), done.stderr)

    def test_an_unreadable_directory(self):
        os.mkdir(self.path("closed"))

        def enter():
            os.chdir(self.path("closed"))
            os.chmod(".", 0)
        done = self.run_cordon("echo", "ran", preexec_fn=enter)
        os.chmod(self.path("closed"), 0o700)
        self.assert_refused(done, "closed", "Permission denied", "try:")

    def test_a_hidden_directory(self):
        # Never another directory in its place.
        for rule in (self.work, self.base):
            done = self.run_cordon("pwd", options=["--deny-read", rule])
            self.assertIn((done.returncode, done.stdout), ((0, self.work + "\n"), (125, "")), done.stderr)

    def test_a_removed_directory(self):
        os.mkdir(self.path("gone"))

        def enter():
            os.chdir(self.path("gone"))
            os.rmdir(self.path("gone"))
        self.assert_refused(self.run_cordon("echo", "ran", preexec_fn=enter), "current directory", "--workdir")
        os.mkdir(self.path("gone"))
        done = self.run_cordon("pwd", preexec_fn=enter, options=["--workdir", self.work])
        self.assertEqual(self.output(done), self.work + "\n")

    def test_workdir_that_is_none(self):
        for path in (self.path("not-there"), self.write("file", "")):
            self.assert_refused(self.run_cordon("pwd", options=["--workdir", path]), path, "try:")

    def test_through_a_link(self):
        os.mkdir(self.path("real"))
        os.symlink("real", self.path("link"))
        done = self.run_cordon("sh", "-c", "echo x >f; pwd -P", options=["--workdir", self.path("link")])
        self.assertEqual(self.output(done), self.path("real") + "\n")

    def test_below_the_directories_that_a_session_has_for_itself(self):
        for place in ("/tmp", "/var/tmp"):
            if not os.access(place, os.W_OK):
                continue
            with self.subTest(place=place):
                folder = os.path.join(place, os.path.basename(self.base), "a")
                self.addCleanup(shutil.rmtree, os.path.dirname(folder), True)
                os.makedirs(folder)
                pathlib.Path(folder, "in").write_text("text\n", encoding="ascii")
                pathlib.Path(os.path.dirname(folder), "beside").touch()
                out = self.shell("cat in; echo more >out; pwd; ls ..", cwd=folder)
                self.assertEqual(out, f"text\n{folder}\na\n")
                self.assertEqual(pathlib.Path(folder, "out").read_text("ascii"), "more\n")

    def test_the_root_directory(self):
        done = self.run_cordon("sh", "-c", "pwd; echo x >/cordon-e2e-stray", cwd="/")
        self.assertFalse(os.path.exists("/cordon-e2e-stray"), "the whole machine was writable")
        self.assertIn(done.returncode, (1, 2, 125))


class Disks(CordonTest):
    def fill(self, folder):
        try:
            with open(os.path.join(folder, "filler"), "wb", buffering=0) as file:
                while file.write(b"x" * 4096):
                    pass
        except OSError:
            pass

    def test_a_full_disk(self):
        def check():
            own_mounts()
            for place in ("work", "home"):
                cordon_testing.mount("tmpfs", os.path.join(self.base, place), "tmpfs", 0, "size=64k,mode=700")
                self.fill(os.path.join(self.base, place))
            self.environment["TMPDIR"] = self.home
            done = self.run_cordon("sh", "-c", "wc -c <filler; mktemp >/dev/null || exit 9; "
                                   "dd if=/dev/zero of=new bs=4096 count=1 || exit 5")
            self.assertEqual((done.returncode, done.stdout), (5, "65536\n"), done.stderr)
            self.assertIn("No space left on device", done.stderr)
            self.assertEqual(sorted(os.listdir(self.work)), ["filler", "new"])
            self.assertEqual(os.listdir(self.home), ["filler"])
            events = os.path.join(self.home, "filler")
            done = self.run_cordon("sh", "-c", "exit 6", options=["--events", os.path.join(self.home, "events")])
            self.assertIn(done.returncode, (6, 125), done.stderr)
            self.assertIn("No space left on device", done.stderr)
            self.assertTrue(os.path.exists(events))
        in_child(check)

    def test_a_home_on_a_read_only_disk(self):
        def check():
            own_mounts()
            cordon_testing.mount("tmpfs", self.home, "tmpfs", MS_RDONLY, "")
            self.assertEqual(self.shell("echo text >file; cat file; ls -A ~"), "text\n")
        in_child(check)

    def test_a_working_directory_on_a_read_only_disk(self):
        def check():
            own_mounts()
            cordon_testing.mount("tmpfs", self.work, "tmpfs", MS_RDONLY, "")
            done = self.run_cordon("sh", "-c", "echo text >file")
            self.assertIn("Read-only file system", done.stderr)
            self.assertEqual(self.shell("pwd"), self.work + "\n")
        in_child(check)

    def test_mounts_below_the_working_directory(self):
        def check():
            own_mounts()
            os.mkdir(self.path("below"))
            cordon_testing.mount("tmpfs", self.path("below"), "tmpfs", 0, "mode=700")
            self.write("below/file", "text\n")
            self.assertEqual(self.shell("cat below/file; echo more >below/new"), "text\n")
            self.assertEqual(pathlib.Path(self.path("below/new")).read_text("ascii"), "more\n")
        in_child(check)


class Surroundings(CordonTest):
    def test_homes(self):
        closed = os.path.join(self.base, "closed")
        os.mkdir(closed, 0o500)
        for home in (None, "", "relative/home", os.path.join(self.base, "missing"), closed, "/", "/dev/null",
                     "/proc/self", self.home + "/../home//", "/" + "h" * 5000):
            with self.subTest(home=home):
                environment = {name: value for name, value in self.environment.items() if name != "HOME"}
                if home is not None:
                    environment["HOME"] = home
                out = self.shell("echo ran >file; cat file", env=environment)
                self.assertEqual(out, "ran\n")
        self.assertFalse(os.path.exists(os.path.join(self.base, "missing")))

    def test_a_home_rule_without_a_home(self):
        environment = {**self.environment, "HOME": "relative"}
        done = self.run_cordon("echo", "ran", options=["--deny-read", "~/secret"], env=environment)
        self.assertIn((done.returncode, done.stdout), ((0, "ran\n"), (125, "")), done.stderr)
        if done.returncode == 125:
            self.assertIn("HOME", done.stderr)

    def test_path_empty_or_not_set(self):
        for path in (None, "", "/no/such/place", "relative:also", ":" * 5000):
            with self.subTest(path=path):
                environment = {name: value for name, value in self.environment.items() if name != "PATH"}
                if path is not None:
                    environment["PATH"] = path
                done = self.run_cordon("/bin/sh", "-c", "echo ran", env=environment)
                self.assertEqual(self.output(done), "ran\n")
                done = self.run_cordon("no-such-program", env=environment)
                self.assertEqual(done.returncode, 127)
                self.assertIn("no-such-program", done.stderr)
        self.assertEqual(self.run_cordon("ls", env={**self.environment, "PATH": ""}).returncode, 127)

    def test_no_environment_at_all(self):
        self.assertEqual(self.output(self.run_cordon("/bin/sh", "-c", "echo ran", env={})), "ran\n")

    def test_planted_programs_on_the_path_are_not_run_outside(self):
        # Helper programs found through PATH are how other runtimes were escaped from.
        bait = self.path("bin")
        witness = os.path.join(self.base, "witness")
        os.mkdir(bait)
        for name in ("bwrap", "rg", "socat", "which", "sh", "bash", "cordon-launch", "mount", "newuidmap", "node"):
            self.write("bin/" + name, f"#!/bin/sh\necho $0 >>{witness}\nexit 1\n", 0o755)
        environment = {**self.environment, "PATH": bait + ":" + self.environment["PATH"]}
        self.assertEqual(self.run_cordon("/bin/true", env=environment).returncode, 0)
        self.assertFalse(os.path.exists(witness))

    def test_closed_standard_descriptors(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                line = "test -e /proc/self/fd/0 -a -e /proc/self/fd/1 -a -e /proc/self/fd/2 && echo ran >file"
                done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *self.command(["sh", "-c", line])],
                                      cwd=self.work, env=self.environment, capture_output=True, text=True,
                                      stdin=subprocess.DEVNULL, timeout=30, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(pathlib.Path(self.path("file")).read_text("ascii"), "ran\n")
                os.unlink(self.path("file"))

    def test_an_error_with_nowhere_to_say_it(self):
        done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *self.command(["no-such-program"])],
                              cwd=self.work, env=self.environment, timeout=30, check=False)
        self.assertEqual(done.returncode, 127)

    def test_a_full_device_as_output(self):
        with open("/dev/full", "wb") as full:
            done = self.run_cordon("sh", "-c", "echo text || exit 5", stdout=full)
            self.assertEqual(done.returncode, 5, done.stderr)
            done = self.run_cordon("true", options=["--dry-run"], stdout=full)
            self.assertEqual(done.returncode, 125)
            self.assertIn("No space left on device", done.stderr)

    def test_few_descriptors(self):
        def limit(n):
            return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
        done = self.run_cordon("sh", "-c", "ulimit -n", preexec_fn=limit(64))
        self.assertEqual(self.output(done), "64\n")
        for n in range(3, 64, 3):
            done = self.run_cordon("echo", "ran", preexec_fn=limit(n))
            # What cannot work may fail before cordon has begun, in the dynamic loader.
            self.assertNotIn(done.returncode, range(-64, 0), done.stderr)
            self.assertEqual(done.stdout, "ran\n" if done.returncode == 0 else "", done.stderr)
            if done.returncode != 0:
                self.assertTrue(n < 8 or "Too many open files" in done.stderr, done.stderr)
        # Each writable path is a descriptor for a moment.
        rules = []
        for n in range(200):
            os.mkdir(os.path.join(self.base, f"w{n}"))
            rules += ["--write", os.path.join(self.base, f"w{n}")]
        done = self.run_cordon("sh", "-c", f"echo x >{self.base}/w199/f && echo ran", options=rules, preexec_fn=limit(64))
        if done.returncode != 0:
            self.assert_refused(done, "Too many open files", "ulimit -n")

    @unittest.skipIf(IS_ROOT, "RLIMIT_NPROC does not bind root")
    def test_few_processes(self):
        for n in range(1, 4):
            done = self.run_cordon("echo", "ran", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (n, n)))
            if done.returncode != 0:
                self.assert_refused(done, "Resource temporarily unavailable", "ulimit -u")
            else:
                self.assertEqual(done.stdout, "ran\n")

    def test_without_its_launcher(self):
        alone = os.path.join(self.base, "alone/bin/cordon")
        os.makedirs(os.path.dirname(alone))
        shutil.copy(CORDON, alone)
        done = subprocess.run([alone, "run", "--", "echo", "ran"], cwd=self.work, env=self.environment,
                              capture_output=True, text=True, check=False)
        self.assert_refused(done, os.path.join(self.base, "alone/libexec/cordon/cordon-launch"), "install")

    def copy_of_cordon(self):
        """A whole copy that is visible inside, wherever the program under test lies."""
        top = os.path.dirname(os.path.dirname(CORDON))
        for part in ("bin/cordon", "libexec/cordon/cordon-launch"):
            os.makedirs(os.path.dirname(os.path.join(self.base, "prefix", part)), exist_ok=True)
            shutil.copy(os.path.join(top, part), os.path.join(self.base, "prefix", part))
        return os.path.join(self.base, "prefix/bin/cordon")

    def test_inside_a_session(self):
        inner = self.copy_of_cordon()
        done = self.run_cordon(inner, "run", "--", "sh", "-c", "echo ran >file")
        self.assert_refused(done, "another sandbox", "try:")
        self.assertFalse(os.path.exists(self.path("file")))


class Rules(CordonTest):
    def test_two_hundred_rules(self):
        rules = []
        for n in range(100):
            rules += ["--deny-read", self.write(f"hidden/{n}", "secret"), "--deny-write", self.write(f"fixed/{n}", "text")]
            self.write(f"free/{n}", "text")
        begun = time.monotonic()
        out = self.shell("for f in hidden/*; do if cat $f 2>/dev/null; then echo read $f; fi; done; "
                         "for f in fixed/*; do cat $f; (echo x >$f) 2>/dev/null && echo wrote $f; done; "
                         "for f in free/*; do echo x >$f; done", options=rules)
        self.assertEqual(out, "text" * 100)
        self.assertLess(time.monotonic() - begun, 10)
        self.assertEqual(pathlib.Path(self.path("free/99")).read_text("ascii"), "x\n")

    def test_five_thousand_matches_of_a_glob(self):
        for n in range(5000):
            self.write(f"d{n % 50}/e{n % 7}/{n}.key", "secret\n")
            self.write(f"d{n % 50}/e{n % 7}/{n}.txt", "text\n")
        begun = time.monotonic()
        out = self.shell("find . -name '*.key' -exec cat {} + 2>/dev/null | wc -l; "
                         "find . -name '*.key' -exec cat {} + 2>&1 | grep -c 'Permission denied'; "
                         "find . -name '*.txt' -exec cat {} + | wc -l", options=["--deny-read", "**/*.key"])
        self.assertEqual(out.split(), ["0", "5000", "5000"])
        self.assertLess(time.monotonic() - begun, 20)
        begun = time.monotonic()
        self.shell("true", options=["--deny-read", "**/*.key"])
        self.assertLess(time.monotonic() - begun, 5)


class Kernels(CordonTest):
    def unshared(self, *options, line):
        return subprocess.run(["unshare", *options, "bash", "-c", line, "bash", *self.command(["sh", "-c", "echo ran | tee file"])],
                              cwd=self.work, env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=30, check=False)

    def test_no_user_namespaces(self):
        done = self.unshared("-Ur", line='echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"')
        self.assert_refused(done, "namespaces", "max_user_namespaces", "try:")
        self.assertFalse(os.path.exists(self.path("file")))

    def test_no_other_namespaces(self):
        for kind in ("mnt", "pid", "net", "ipc", "uts", "cgroup"):
            with self.subTest(kind):
                done = self.unshared("-Ur", line=f'echo 0 >/proc/sys/user/max_{kind}_namespaces && exec "$@"')
                self.assert_refused(done, "namespaces", "try:")
                self.assertFalse(os.path.exists(self.path("file")))

    def test_a_covered_proc(self):
        cover = ("for d in acpi scsi irq tty bus fs; do mount -t tmpfs -o ro none /proc/$d 2>/dev/null; done; "
                 "mount --bind /dev/null /proc/kcore 2>/dev/null; "
                 "unshare -Urmpf --mount-proc true 2>/dev/null && exit 77; exec \"$@\"")
        done = self.unshared("-Urmpf", "--mount-proc", line=cover)
        if done.returncode == 77:
            self.skipTest("this kernel allows a fresh /proc over a covered one")
        self.assert_refused(done, "/proc", "try:")
        self.assertFalse(os.path.exists(self.path("file")))

    def test_in_a_container_like_namespace(self):
        # As rootless containers have it: uid 0 with one id mapped, own mounts and processes.
        done = self.unshared("-Urmpf", "--mount-proc", line='exec "$@"')
        self.assertEqual(self.output(done), "ran\n")


class Specs(CordonTest):
    def test_a_spec_that_is_no_spec(self):
        for text, words in (("", ["spec.json"]), ("{", ["spec.json"]), ("[]", ["spec.json"]),
                            ('{"sessionId": 1}', ["sessionId"]),
                            ('{"sessionId":"a","workspaceId":"b","fielsystem":{}}', ["fielsystem", "filesystem"]),
                            ('{"sessionId":"a","workspaceId":"b","filesystem":{"denyReed":[]}}', ["denyReed", "denyRead"])):
            with self.subTest(text):
                spec = self.write("spec.json", text)
                self.assert_refused(self.run_cordon("echo", "ran", options=["--spec", spec]), *words)

    def test_a_spec_that_cannot_be_read(self):
        self.assert_refused(self.run_cordon("echo", "ran", options=["--spec", self.path("none.json")]), "none.json")
        self.assert_refused(self.run_cordon("echo", "ran", options=["--spec", self.work]), self.work)

    def test_what_this_version_cannot_hold(self):
        for part, word in (({"limits": {"cpus": 1}}, "cpus"), ({"limits": {"diskWritten": "1G"}}, "diskWritten"),
                           ({"limits": {"idleTime": "5m"}}, "idleTime")):
            with self.subTest(word):
                spec = self.write("spec.json", json.dumps({"sessionId": "a", "workspaceId": "b", "view": "host", **part}))
                self.assert_refused(self.run_cordon("echo", "ran", options=["--spec", spec]), word, "try:")


if __name__ == "__main__":
    cordon_testing.main()
