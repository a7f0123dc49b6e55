#!/usr/bin/env python3
"""What may not be written stays as it is, whatever call is used (rows 12, 21, 25 to 28).

tests/escape/supervisor has the names that are not there at start, and what stands above them.
"""
import os
import shutil
import signal
import subprocess

import canary

# Every call that changes a file or what is known about it, by name and through a read-only descriptor.
CHANGES = r"""
import fcntl, mmap, platform, struct
arm = platform.machine() == "aarch64"
RENAMEAT2, OPENAT2, FCHMODAT2, STATX = (276, 437, 452, 291) if arm else (316, 437, 452, 332)
EXCHANGE, NOREPLACE, WHITEOUT = 2, 1, 4
target = sys.argv[1]
folder = os.path.dirname(target)
def opened(flags):
    os.close(os.open(target, flags))
def reopened(flags):
    fd = os.open(target, os.O_RDONLY)
    try:
        os.close(os.open(f"/proc/self/fd/{fd}", flags))
    finally:
        os.close(fd)
def held(what, *arguments):
    fd = os.open(target, os.O_RDONLY)
    try:
        return what(fd, *arguments)
    finally:
        os.close(fd)
def shared_map(fd):
    mmap.mmap(fd, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0:1] = b"X"
def remapped(fd):
    libc.mmap.restype = ctypes.c_void_p
    where = libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))
    if libc.mprotect(ctypes.c_void_p(where), ctypes.c_size_t(4096), 3) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    ctypes.memmove(where, b"X", 1)
def clone_into(fd):
    source = os.open("source", os.O_RDONLY)
    fcntl.ioctl(fd, 0x40049409, source)
def copy_into(fd):
    os.copy_file_range(os.open("source", os.O_RDONLY), fd, 4)
def send_into(fd):
    os.sendfile(fd, os.open("source", os.O_RDONLY), 0, 4)
def flags_on(fd):
    fcntl.ioctl(fd, 0x40086602, struct.pack("l", 0x40))  # FS_IOC_SETFLAGS, no dump
def project_on(fd):
    fcntl.ioctl(fd, 0x401c5820, struct.pack("IIIII8x", 0x40, 0, 0, 0, 0))  # FS_IOC_FSSETXATTR
def openat2(flags):
    how = (ctypes.c_uint64 * 3)(flags, 0, 0)
    call(OPENAT2, -100, os.fsencode(target), how, 24)
def renamed(source, to, flags=0):
    call(RENAMEAT2, -100, os.fsencode(source), -100, os.fsencode(to), flags)
trials = {
    "open for writing": (opened, os.O_WRONLY), "open and cut": (opened, os.O_WRONLY | os.O_TRUNC),
    "open to read and cut": (opened, os.O_RDONLY | os.O_TRUNC), "open to append": (opened, os.O_RDWR | os.O_APPEND),
    "open or create": (opened, os.O_CREAT | os.O_WRONLY), "openat2": (openat2, os.O_RDWR),
    "open again": (reopened, os.O_RDWR), "open again and cut": (reopened, os.O_WRONLY | os.O_TRUNC),
    "truncate": (os.truncate, target, 0), "ftruncate": (held, os.ftruncate, 0),
    "fallocate": (held, os.posix_fallocate, 0, 99), "write": (held, os.write, b"X"),
    "pwrite": (held, os.pwrite, b"X", 0), "shared map": (held, shared_map), "map made writable": (held, remapped),
    "clone into": (held, clone_into), "copy into": (held, copy_into), "send into": (held, send_into),
    "chmod": (os.chmod, target, 0o777), "fchmod": (held, os.fchmod, 0o777),
    "chmod by descriptor": (held, lambda fd: os.chmod(f"/proc/self/fd/{fd}", 0o777)),
    "fchmodat2": (lambda: call(FCHMODAT2, -100, os.fsencode(target), 0o777, 0),),
    "chown": (os.chown, target, os.getuid(), os.getgid()), "fchown": (held, os.fchown, os.getuid(), os.getgid()),
    "utime": (os.utime, target, (1, 1)), "futimens": (held, lambda fd: os.utime(fd, (1, 1))),
    "utime now": (os.utime, target), "set an attribute": (os.setxattr, target, "user.x", b"1"),
    "fsetxattr": (held, lambda fd: os.setxattr(fd, "user.x", b"1")),
    "remove an attribute": (os.removexattr, target, "user.old"),
    "access list": (os.setxattr, target, "system.posix_acl_access", struct.pack("<IHHIHHIHHIHHIHHI", 2, 1, 6,
        0xffffffff, 2, 7, 65534, 4, 4, 0xffffffff, 16, 7, 0xffffffff, 32, 4, 0xffffffff)),
    "flags": (held, flags_on), "extended flags": (held, project_on),
    "unlink": (os.unlink, target), "rename away": (os.rename, target, "taken"), "rename over": (os.rename, "source", target),
    "exchange": (renamed, "source", target, EXCHANGE), "exchange back": (renamed, target, "source", EXCHANGE),
    "rename with whiteout": (renamed, target, "taken", WHITEOUT), "hard link over": (os.link, "source", target),
    "hard link of it": (os.link, target, "taken"), "symbolic link over": (os.symlink, "source", target),
    "folder over": (os.mkdir, target), "lock": (held, lambda fd: fcntl.fcntl(fd, 1024, 1)),
}
for key, (what, *arguments) in trials.items():
    say(key, attempt(what, *arguments))
"""

# Not a change, or one that a file system or an ordinary user is refused outside as well.
HARMLESS = {"lock"}
NOT_IN_CONTROL = {"ftruncate", "fallocate", "write", "pwrite", "shared map", "map made writable", "clone into",
                  "copy into", "send into", "rename with whiteout", "fchmodat2", "hard link over", "folder over",
                  "symbolic link over", "extended flags", "flags", "access list"}


class Change(canary.CanaryTest):
    """Row 21: everything that changes a file, on one that is read-only, hidden, or not in the writable area."""

    def changes(self, name, options=()):
        target = self.at(name)
        self.make(name)
        os.setxattr(target, "user.old", b"1")
        self.write("source", "source\n")
        before = (canary.cordon_testing.snapshot(os.path.dirname(target)), os.getxattr(target, "user.old"),
                  os.listxattr(target))
        answers = self.probe(CHANGES, target, options=options)
        for what, answer in answers.items():
            if what not in HARMLESS:
                with self.subTest(change=what):
                    self.assertRegex(answer, r"^E[A-Z]+$")
        after = (canary.cordon_testing.snapshot(os.path.dirname(target)), os.getxattr(target, "user.old"),
                 os.listxattr(target))
        if os.path.dirname(target) != self.work:
            self.assertEqual(after, before)
        else:  # what the probe made beside it is its own affair
            for one in (before[0], after[0]):
                for other in [key for key in one if key != os.path.basename(target)]:
                    del one[other]
            self.assertEqual(after, before)
        return answers

    def test_control(self):
        for what in ("open for writing", "open and cut", "open again", "truncate", "chmod", "fchmod", "chown", "utime",
                     "futimens", "set an attribute", "remove an attribute", "unlink", "rename away", "rename over",
                     "exchange", "openat2", "hard link of it"):
            self.make("control/file")
            self.make("control/source")
            os.setxattr(self.at("control/file"), "user.old", b"1")
            one = CHANGES.replace("for key, (what, *arguments) in trials.items():",
                                  f"for key, (what, *arguments) in [({what!r}, trials[{what!r}])]:")
            answer = self.control(one, self.at("control/file"), cwd=self.at("control"))[what]
            self.assertIn(answer, ("ok",), what)
            shutil.rmtree(self.at("control"))

    def test_protected_file(self):
        answers = self.changes("work/kept", ["--deny-write", "kept"])
        self.assertEqual(answers["open for writing"], "EROFS")
        self.assertIn(answers["hard link of it"], ("EXDEV", "EROFS", "EBUSY"))

    def test_file_in_a_protected_folder(self):
        self.changes("work/kept/file", ["--deny-write", "kept"])

    def test_hidden_file(self):
        self.changes("work/hidden", ["--deny-read", "hidden"])

    def test_file_in_a_hidden_folder(self):
        self.changes("work/hidden/file", ["--deny-read", "hidden"])

    def test_file_outside(self):
        self.changes("elsewhere/file")

    def test_file_of_a_looking_mode(self):
        self.make("work/file")
        self.write("source", "source\n")
        before = canary.cordon_testing.snapshot(self.work)
        answers = self.probe(CHANGES, self.path("file"), options=["--mode", "plan"])
        for what, answer in answers.items():
            if what not in HARMLESS:
                self.assertRegex(answer, r"^E[A-Z]+$", what)
        self.assertEqual(canary.cordon_testing.snapshot(self.work), before)

    def test_through_a_link(self):
        self.make("work/real/kept")
        os.symlink("real/kept", self.path("link"))
        for rule in ("link", "real/kept"):
            before = canary.cordon_testing.snapshot(self.path("real"))
            line = "echo x >> link; echo x > real/kept; true > link; chmod 777 link; touch -d @1 real/kept; echo done"
            self.assertIn("done", self.shell(line.replace("; ", " || true; "), options=["--deny-write", rule]))
            self.assertEqual(canary.cordon_testing.snapshot(self.path("real")), before)

    def test_protected_link_is_not_replaced(self):
        self.make("work/real")
        os.symlink("real", self.path("link"))
        os.symlink("nothing", self.path("dangling"))
        line = ("rm -f link dangling; ln -sf elsewhere link; mv -f evil link; mv link away; ln -sfn evil dangling;"
                "rm -rf link dangling; echo done")
        self.write("evil", "evil\n")
        self.assertIn("done", self.run_cordon("sh", "-c", line, options=["--deny-write", "link", "--deny-write",
                                                                         "dangling"]).stdout)
        self.assertEqual(os.readlink(self.path("link")), "real")
        self.assertEqual(os.readlink(self.path("dangling")), "nothing")


class BuiltIn(canary.CanaryTest):
    """Rows 26 to 28: what exists of the always-protected set, in the working directory and in a writable home."""
    WORK = (".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile",
            ".zlogin", ".profile", ".inputrc", ".config/fish/config.fish", ".envrc", ".gitconfig", ".gitmodules", ".ripgreprc",
            ".vscode/tasks.json", ".idea/workspace.xml", ".cursor/mcp.json", ".codex/config.toml", ".gemini/settings.json",
            ".ssh/authorized_keys", ".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".claude/skills/s/SKILL.md",
            ".claude/agents/a.md", ".claude/commands/c.md", ".claude/hooks/h.sh", ".claude/workflows/w.yml",
            ".claude/scheduled_tasks.json", ".cordon/settings.json",
            ".git/config", ".git/hooks/pre-commit", ".git/info/attributes")
    HOME = (".bashrc", ".profile", ".zshenv", ".ssh/authorized_keys", ".ssh/rc", ".gitconfig", ".config/fish/config.fish",
            ".config/systemd/user/x.service", ".config/autostart/x.desktop", ".claude.json", ".claude/settings.json",
            ".claude/CLAUDE.md", ".claude/.credentials.json", ".inputrc", ".envrc")
    OPEN = ("Makefile", "src/main.c", ".github/workflows/ci.yml", ".husky/pre-commit", ".gitattributes", ".claude/notes.md",
            ".git/index", ".git/HEAD", ".git/refs/heads/main", "hooks/x", "config")
    # It runs outside too, as the control, so it touches nothing but its arguments and "evil".
    LINE = r"""
for f in "$@"; do
  { echo evil >> "$f"; echo evil > "$f"; rm -f "$f"; mv evil "$f"; mv "$f" away; cp evil "$f"; ln -f evil "$f"
    ln -sf evil "$f"; chmod 777 "$f"; truncate -s0 "$f"; sed -i s/canary/evil/ "$f"; touch -d @1 "$f"
  } 2>/dev/null
done; echo done"""

    def attack(self, top, names, options=()):
        texts = {os.path.join(top, name): self.make(os.path.join(top, name)) for name in names}
        before = {path: os.lstat(path) for path in texts}
        self.write("evil", "evil\n")
        done = self.run_cordon("sh", "-c", self.LINE, "sh", *texts, options=options)
        self.assertEqual(done.stdout, "done\n", done.stderr)
        changed = []
        for path, text in texts.items():
            now = canary.cordon_testing.read_file(path).decode().strip()
            same = now == text and os.path.samestat(before[path], os.lstat(path)) and \
                os.lstat(path).st_mode == before[path].st_mode and os.lstat(path).st_mtime_ns == before[path].st_mtime_ns
            if not same:
                changed.append(os.path.relpath(path, top))
        return changed

    def git_directory(self, top):
        subprocess.run(["git", "init", "-q", top], check=True, capture_output=True, env=self.environment)

    def test_in_the_working_directory(self):
        self.git_directory(self.work)
        self.assertEqual(self.attack(self.work, self.WORK), [])

    def test_rules_do_not_lift_it(self):
        self.git_directory(self.work)
        options = ["--write", ".", "--write", ".git", "--write", ".git/hooks", "--write", ".bashrc", "--write", "**",
                   "--allow-read", ".git/config", "--mount", self.work]
        self.assertEqual(self.attack(self.work, self.WORK, options), [])

    def test_ordinary_files_are_free(self):
        self.git_directory(self.work)
        self.assertEqual(self.attack(self.work, self.OPEN), [os.path.normpath(name) for name in self.OPEN])

    def test_control(self):
        names = [name for name in self.WORK if not name.startswith(".git/")]
        texts = [self.make("work/" + name) for name in names]
        self.write("evil", "evil\n")
        self.outside("sh", "-c", self.LINE, "sh", *[self.path(name) for name in names])
        left = [canary.cordon_testing.read_file(self.path(name)).decode().strip() for name in names]
        self.assertFalse(set(texts) & set(left))

    def test_in_a_writable_home(self):
        self.assertEqual(self.attack(self.home, self.HOME, ["--write", self.home]), [])

    def test_above_the_working_directory(self):
        os.mkdir(self.path("deep"))
        options = ["--write", self.work]
        names = (".claude/settings.json", ".mcp.json", ".bashrc")
        self.assertEqual(self.attack(self.work, names, ["--workdir", self.path("deep"), *options]), [])

    def test_main_repository_of_a_worktree(self):
        main = self.at("main")
        self.git_directory(main)
        for words in (("commit", "-q", "--allow-empty", "-m", "one"), ("worktree", "add", "-q", self.path("tree"))):
            subprocess.run(["git", "-C", main, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                           capture_output=True, env=self.environment)
        self.make("main/.git/hooks/post-checkout", mode=0o755)
        self.make("main/.git/info/attributes")
        names = (".git/hooks/post-checkout", ".git/info/attributes", ".git/config", ".git/worktrees/tree/config.worktree")
        self.make("main/.git/worktrees/tree/config.worktree")
        before = {name: canary.cordon_testing.read_file(os.path.join(main, name)) for name in names}
        pointer = canary.cordon_testing.read_file(self.path("tree/.git"))
        self.write("tree/evil", "evil\n")
        self.run_cordon("sh", "-c", self.LINE, "sh", *[os.path.join(main, name) for name in names], ".git",
                        cwd=self.path("tree"))
        self.assertEqual({name: canary.cordon_testing.read_file(os.path.join(main, name)) for name in names}, before)
        self.assertNotIn(b"", before.values())
        self.assertEqual(canary.cordon_testing.read_file(self.path("tree/.git")), pointer)

    def test_submodule_directory(self):
        self.git_directory(self.work)
        names = (".git/modules/sub/hooks/post-checkout", ".git/modules/sub/config")
        self.make("work/.git/modules/sub/HEAD", "ref: refs/heads/main")
        for folder in ("objects", "refs"):
            os.makedirs(self.path(".git/modules/sub", folder))
        self.assertEqual(self.attack(self.work, names), [])


class Stubs(canary.CanaryTest):
    """Row 25: no name appears in the tree for a rule, neither during a run nor after any end of it."""
    RULES = ["--deny-write", ".editor", "--deny-write", "not/there/at-all", "--deny-read", "secrets", "--deny-read", "a/b/c",
             "--deny-read", "**/*.pem", "--write", "out/dir", "--deny-write", ".git/hooks"]

    def tree(self):
        subprocess.run(["git", "init", "-q", self.work], check=True, capture_output=True, env=self.environment)
        shutil.rmtree(self.path(".git/hooks"), True)
        self.make("work/file")
        return canary.cordon_testing.snapshot(self.base)

    def test_after_an_exit(self):
        before = self.tree()
        self.assertEqual(self.run_cordon("false", options=self.RULES).returncode, 1)
        self.assertEqual(canary.cordon_testing.snapshot(self.base), before)

    def test_during_a_run_and_after_each_kind_of_end(self):
        before = self.tree()
        for which in ("client", "monitor", "init", "command"):
            for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP):
                process = self.start_cordon("sh", "-c", "echo up; exec sleep 1000", options=self.RULES)
                self.read_line(process.stdout)
                self.assertEqual(canary.cordon_testing.snapshot(self.base), before)
                monitor, init = self.session_of(process)
                command = canary.cordon_testing.wait_for(lambda pid=init: canary.cordon_testing.children_of(pid), "a command")[0]
                os.kill({"client": process.pid, "monitor": monitor, "init": init, "command": command}[which], number)
                if number != signal.SIGKILL and which in ("monitor", "init"):
                    process.kill()  # they may ignore it
                process.wait(canary.cordon_testing.SECONDS)
                self.assert_nothing_left()
                self.assertEqual(canary.cordon_testing.snapshot(self.base), before, f"{which} {number}")


if __name__ == "__main__":
    canary.main()
