#!/usr/bin/env python3
# ctest: TIMEOUT 900
"""File system calls inside a session, name rules on, against the same calls outside.

posix_probe prints a line for each case of a table (calls x situations x flags; see probe.h). It is
run twice in the same empty directory, outside and inside, and every line must be the same. Lines
that may differ stand in ALLOWED, each with the reason and with what is expected inside.

By hand: posix_test.py --groups open/file,fifo prints the lines that differ in these groups.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # noqa: E402
from cordon_testing import CordonTest  # noqa: E402

PROBE = os.path.join(os.path.dirname(os.path.dirname(cordon_testing.CORDON)), "tests", "posix_probe")
SECONDS = 400
SHOWN = 60  # differing lines in a failure; all of them go to standard output

# Pattern of case names, pattern of what is printed inside, why.
ALLOWED = [
    (r"newer/openat2", r"ENOSYS",
     "openat2 hides its flags from a filter; programs fall back to openat"),
    (r"fifo/interrupted", r"EINTR ticks=none (EINTR|opened) ticks=none .*",
     "a signal to a caller that waits is noticed within 50 ms, on a busy machine after the pipe has opened"),
    (r"file/lease-break/.*", r"EAGAIN ok.*",
     "a file made with O_EXCL for writing is handed over in one step: for a moment the supervisor has it open too"),
    (r"file/events/create(-write)?", r"1:100:new 1:20:new( 1:2:new)? .*",
     "the same: the event of its last close comes that moment later"),
    (r"not-dumpable/proc", r".* /proc/thread-self/comm=EACCES .*",
     "an ordinary user's process that keeps its files in /proc to itself keeps them from the supervisor too"),
    (r"limit/descriptors/.*", r".*",
     "whether there is room for a descriptor is known when it is handed over, after the other checks"),
    (r"bind/(stream|seqpacket)/(through-proc-cwd|under-opened-dir.*)", r"ok 6new.*",
     "a path through /proc is bound in the directory that it led to: the socket's own address is the last component"),
    (r"newer/io_uring", r"ENOSYS|EPERM",
     "calls of a ring pass no filter"),
    (r"clone3", r"ENOSYS",
     "clone3 hides its flags from a filter; programs fall back to clone"),
    (r"name/mknod-(device|whiteout)/.*", r"EPERM",
     "device nodes are refused by their type, before the path is looked at"),
    (r"moved/flags/[4-7]/.*", r"EINVAL",
     "RENAME_WHITEOUT makes a device node"),
    (r"(bind|connect)/datagram/.*|socketpair/datagram", r"(socket=)?EACCES",
     "datagram sockets reach paths by sendmsg, which a filter cannot judge (SECURITY.md)"),
    (r"name/access-write/root(/below)?", r"EROFS",
     "the machine is read-only inside"),
    (r"signals/any-interrupted/interrupting", r"y",
     "a handler without SA_RESTART that runs before the broker has the call interrupts it; nothing is done then"),
    (r"connect-forms/peer-pid", r".* another's",
     "the broker connects (SECURITY.md)"),
    (r"terminal/becomes-controlling/yes", r"=2",
     "the broker opens with O_NOCTTY, or the terminal would become its own; TIOCSCTTY works"),
    (r"proc/(proc/self/mem/.*|own-memory)", r"EROFS|EACCES",
     "files of /proc that use their opener's rights are refused"),
    (r"open[^/]*/root/.*", r"fd\+0 .* is d0755 65534:65534 ",
     "in an ordinary user's namespace root is nobody"),
    (r"(same|moved)/(rename|link).*root.*", r"EXDEV|EPERM",
     "what is writable is a mount of its own, so that / is another file system"),
]

# A group is a run of its own: a call that hangs ends its group.
GROUPS = ["open/", "open-", "name", "pair", "same", "moved", "mode", "umask", "pointer", "at", "removed-cwd", "long", "deep",
          "limit", "junk", "device", "standard", "proc", "terminal", "across", "foreign", "bind/", "bind-forms",
          "connect/stream", "connect/seqpacket", "connect/datagram", "connect-forms", "socketpair", "internet", "fifo",
          "signals", "threads", "clone", "not-dumpable", "file", "newer"]
# The whole table is run in memory: a disk writes each truncated file and needs minutes.
ON_DISK = ["open-", "name", "same/rename/", "same/link/", "moved", "mode", "umask", "pointer/openat", "at/openat-create",
           "at/mkdirat", "removed-cwd", "long", "deep", "limit", "junk", "standard/dev/std", "proc", "across", "foreign",
           "bind/", "connect/stream", "fifo", "signals", "threads", "clone", "not-dumpable", "file"]

OTHER_USER, OTHER_GROUP, SHARED_GROUP = 54321, 54322, 54323


def name_rules():
    """Options that turn name rules on; [] where this program has none yet."""
    text = subprocess.run([cordon_testing.CORDON, "run", "--help"], capture_output=True, text=True, check=True).stdout
    if "--deny-name" not in text:
        return []
    names = ["*.forbidden", "**/deep/{first,second}/*.[ch]ert", "!deep/first/a.cert"]
    return ["--default-deny-names", *(word for name in names for word in ("--deny-name", name))]


def cases(text):
    found = {}
    for line in text.splitlines():
        name, _, result = line.partition(":")
        if name in found:
            raise AssertionError(f"two cases are called {name}")
        found[name] = result.strip()
    return found


def why_allowed(name, inside):
    for pattern, expected, reason in ALLOWED:
        if re.fullmatch(pattern, name) and re.match(expected, inside):
            return reason
    return None


class Posix(CordonTest):
    def setUp(self):
        super().setUp()
        if not os.access(PROBE, os.X_OK):
            self.fail(f"{PROBE} is not built")
        # Beside the working directory, because what lies in /tmp is not seen inside.
        self.probe = shutil.copy2(PROBE, os.path.join(self.base, "posix_probe"))
        self.rules = name_rules()

    def run_group(self, work, arguments, options):
        """(cases by name, complaint) of one run; outside where `options` is None."""
        argv = [self.probe, *arguments]
        if options is not None:
            argv = self.command(argv, options)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            # No terminal of the tester's, and one group more, by which root gets into a directory.
            groups = {"extra_groups": [os.getgid(), SHARED_GROUP]} if cordon_testing.IS_ROOT else {}
            done = subprocess.run(argv, cwd=work, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                  start_new_session=True, timeout=SECONDS, check=False, **groups)
            out.seek(0)
            err.seek(0)
            found = cases(out.read().decode())
            complaint = err.read().decode(errors="replace")[-1000:]
        finished = done.returncode == 0 and found.pop("end", None)
        for name in os.listdir(work):  # after a call that hangs
            cordon_testing.remove_tree(os.path.join(work, name))
        return found, "" if finished else f"{argv} ended with {done.returncode} after {list(found)[-1:]}: {complaint}"

    def run_probe(self, work, groups, arguments, options=None):
        """The cases of all groups, and what went wrong."""
        found, complaints = {}, []
        for group in groups:
            part, complaint = self.run_group(work, [*arguments(), group], options)
            found.update(part)
            complaints += [complaint] if complaint else []
        return found, complaints

    def compare(self, work, other, groups, foreign=False):
        def arguments():
            return ["--other", other, *(["--foreign", self.foreign_tree()] if foreign else [])]
        outside, complaints = self.run_probe(work, groups, arguments)
        self.assertEqual(complaints, [])
        self.assertEqual([f"{name}: {result}" for name, result in outside.items() if "SETUP" in result][:5], [])
        options = [*self.rules, "--write", work, *(["--write", os.path.join(self.base, "foreign")] if foreign else [])]
        inside, complaints = self.run_probe(work, groups, arguments, options)
        differing, allowed, classes = complaints, {}, {}
        for name, result in outside.items():
            if result == inside.get(name, "(not reached)"):
                continue
            reason = why_allowed(name, inside.get(name, ""))
            if reason:
                allowed.setdefault(reason, []).append(name)
            elif name in inside:
                classes.setdefault((result[:40], inside[name][:40]), []).append(name)
                differing.append(f"{name}\n  outside: {result}\n  inside:  {inside[name]}")
        missing = [name for name in outside if name not in inside]
        print(f"{work}: {len(outside)} cases, {len(differing)} differ, {len(missing)} not reached, name rules "
              f"{'on' if self.rules else 'OFF'}")
        for reason, names in allowed.items():
            print(f"  {len(names)} differ as expected ({reason}): {names[0]}")
        for (was, now), names in sorted(classes.items(), key=lambda item: -len(item[1])):
            print(f"  {len(names)} times {was!r} became {now!r}: {names[0]} ... {names[-1]}")
        for text in differing:
            print(text)
        sys.stdout.flush()
        shown = "\n".join(text[:400] for text in differing[:SHOWN])
        self.assertFalse(differing or missing, f"{len(differing)} of {len(outside)} differ\n{shown}")

    def foreign_tree(self):
        """What probe.h says of --foreign, made anew. Only root can."""
        top = os.path.join(self.base, "foreign")
        cordon_testing.remove_tree(top)
        os.mkdir(top)
        for name, mode, group in (("dir", 0o777, OTHER_GROUP), ("sticky", 0o1777, OTHER_GROUP), ("closed", 0o700, OTHER_GROUP),
                                  ("group", 0o2770, SHARED_GROUP), ("set-group-id", 0o2777, OTHER_GROUP)):
            place = os.path.join(top, name)
            os.mkdir(place)
            for file, file_mode in (("file", 0o666), ("read-only", 0o444)):
                path = os.path.join(place, file)
                pathlib.Path(path).write_text("theirs", encoding="ascii")
                os.chmod(path, file_mode)
            os.mkfifo(os.path.join(place, "fifo"))
            os.chmod(os.path.join(place, "fifo"), 0o666)
            os.symlink("file", os.path.join(place, "link"))
            os.makedirs(os.path.join(place, "full", "child"))
            for path in [place, *(os.path.join(place, entry) for entry in os.listdir(place))]:
                os.chown(path, OTHER_USER, group, follow_symlinks=False)
            os.chmod(place, mode)
        os.chmod(self.base, 0o755)
        return top

    def test_on_disk(self):
        self.compare(self.work, "/dev/shm", ON_DISK, foreign=cordon_testing.IS_ROOT)

    def test_in_memory(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no /dev/shm to write in")
        work = tempfile.mkdtemp(prefix="cordon-posix-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, work, True)
        self.compare(work, "/var/tmp", GROUPS)

    def test_a_strict_umask_of_the_caller(self):
        # The first call of a command already finds it.
        for mask in (0o077, 0o002):
            old = os.umask(mask)
            try:
                self.output(self.run_cordon("sh", "-c", "umask; : >file; mkdir dir", options=self.rules))
                modes = [os.stat(self.path(name)).st_mode & 0o777 for name in ("file", "dir")]
                self.assertEqual(modes, [0o666 & ~mask, 0o777 & ~mask])
            finally:
                os.umask(old)
                os.unlink(self.path("file"))
                os.rmdir(self.path("dir"))


def by_hand(groups):
    class Some(Posix):
        def runTest(self):
            for work, other in ((tempfile.mkdtemp(dir="/dev/shm"), "/var/tmp"), (self.work, "/dev/shm")):
                self.addCleanup(shutil.rmtree, work, True)
                with self.subTest(work):
                    self.compare(work, other, groups, foreign=cordon_testing.IS_ROOT and work == self.work)
    sys.exit(not unittest.TextTestRunner(verbosity=0).run(Some()).wasSuccessful())


if __name__ == "__main__":
    if "--groups" in sys.argv:
        by_hand(sys.argv[sys.argv.index("--groups") + 1].split(","))
    cordon_testing.main()
