#!/usr/bin/env python3
"""What a session wrote must not run when the next one starts (rows 24 and 31)."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

# Whatever a launcher might look for.
NAMES = ("bwrap", "git", "sh", "bash", "env", "rg", "socat", "which", "true", "python3", "mount", "umount", "unshare", "newuidmap",
         "newgidmap", "ip", "nft", "iptables", "setpriv", "id", "uname", "ldconfig", "modprobe", "systemctl", "getent",
         "cordon-launch", "cordon-session", "cordon", "seccomp", "setcap", "stty", "tty", "ps", "less", "pager", "node", "dpkg", "apt")


class Planted(cordon_testing.CordonTest):
    """A witness outside the writable area is touched by whatever planted program runs there."""

    def setUp(self):
        super().setUp()
        self.witness = os.path.join(self.base, "witness")
        os.mkdir(self.witness)

    def ran(self):
        return sorted(os.listdir(self.witness))

    def plant(self, folder, names=NAMES):
        os.makedirs(folder, exist_ok=True)
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(f'#!/bin/sh\necho ran > "{self.witness}/{name}"\n')
            os.chmod(path, 0o755)

    def cordon(self, *arguments, **environment):
        return subprocess.run([cordon_testing.CORDON, *arguments], cwd=self.work, env={**self.environment, **environment},
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              timeout=cordon_testing.SECONDS)

    def test_programs_that_stand_first_on_the_path(self):
        self.plant(self.path("bin"))
        path = f"{self.path('bin')}:.:{self.work}:{os.environ['PATH']}"
        control = subprocess.run(["/bin/sh", "-c", "git; rg"], cwd=self.work, env={**self.environment, "PATH": path}, check=False)
        self.assertEqual((control.returncode, self.ran()), (0, ["git", "rg"]))
        for name in self.ran():
            os.unlink(os.path.join(self.witness, name))
        for arguments in (("run", "--", "/bin/true"), ("run", "-c", "true"), ("run", "--dry-run", "--", "true"),
                          ("run", "--tty", "--", "/bin/true"), ("run", "--view", "bound", "--", "/bin/true"),
                          ("run", "--memory", "1G", "--pids", "99", "--", "/bin/true"), ("doctor",), ("doctor", "--json"),
                          ("ps",), ("kill", "no-such-session"), ("completion", "bash"), ("run", "--", "no-such-program"),
                          ("run", "--spec", "missing.json", "--", "true"), ("--help",), ("schema",)):
            with self.subTest(arguments=arguments):
                done = self.cordon(*arguments, PATH=path)
                self.assertIn(done.returncode, (0, 1, 2, 125, 127), done.stderr)
                self.assertEqual(self.ran(), [])
        # Inside, PATH means what it says, but nothing reaches the witness.
        self.assertIn("Read-only file system", self.cordon("run", "--", "git", PATH=path).stderr)
        self.assertEqual(self.ran(), [])

    def test_with_nothing_else_on_the_path(self):
        self.plant(self.path("bin"))
        done = self.cordon("run", "--", "/bin/echo", "up", PATH=self.path("bin"))
        self.assertEqual((done.returncode, done.stdout, self.ran()), (0, "up\n", []))
        done = self.cordon("run", "--", "/bin/echo", "up", PATH="")
        self.assertEqual((done.returncode, done.stdout, self.ran()), (0, "up\n", []))

    def test_loader(self):
        """A planted library is loaded neither into the program nor into the launcher or the command."""
        source = self.write("lib.c", 'static void start(void) __attribute__((constructor));\n#include <fcntl.h>\n'
                                     '#include <unistd.h>\nstatic void start(void) {\n'
                                     f'  int fd = open("{self.witness}/library", O_CREAT | O_WRONLY, 0644);\n'
                                     '  if (fd >= 0) close(fd);\n  write(2, "loaded\\n", 7);\n}\n')
        library = self.path("libplanted.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, source], check=True)
        for name in ("libc.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"):
            shutil.copy(library, self.path(name))
        self.assertIn("loaded", subprocess.run(["/bin/true"], env={"LD_PRELOAD": library}, capture_output=True, text=True,
                                               check=True).stderr)
        self.assertEqual(self.ran(), ["library"])
        os.unlink(os.path.join(self.witness, "library"))
        for variables in ({"LD_PRELOAD": library}, {"LD_AUDIT": library}, {"LD_LIBRARY_PATH": self.work},
                          {"GCONV_PATH": self.work, "LC_ALL": "xx.PLANTED"}, {"LD_PRELOAD": library, "LD_BIND_NOW": "1"}):
            with self.subTest(variables=variables):
                done = self.cordon("run", "--", "/bin/echo", "up", **variables)
                self.assertEqual((done.returncode, done.stdout), (0, "up\n"), done.stderr)
                self.assertNotIn("loaded", done.stderr)
                self.assertEqual(self.ran(), [])

    def test_start_files_of_shells_and_interpreters(self):
        script = self.write("start.sh", f'echo ran > "{self.witness}/start"; echo loaded >&2\n')
        self.write("sitecustomize.py", f'open("{self.witness}/site", "w"); print("loaded")\n')
        control = subprocess.run(["/bin/bash", "-c", "true"], env={"BASH_ENV": script}, capture_output=True, text=True, check=True)
        self.assertIn("loaded", control.stderr)
        os.unlink(os.path.join(self.witness, "start"))
        for variables in ({"BASH_ENV": script, "ENV": script}, {"PYTHONSTARTUP": script, "PYTHONPATH": self.work},
                          {"PROMPT_COMMAND": f". {script}", "SHELLOPTS": "xtrace", "PS4": f"$(. {script})"},
                          {"PERL5OPT": "-Mlib=.", "NODE_OPTIONS": f"--require {script}", "RUBYOPT": f"-r{script}"},
                          {"BASH_FUNC_true%%": f"() {{ . {script}; }}"}):
            with self.subTest(variables=variables):
                done = self.cordon("run", "-c", "true", **variables)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                self.assertEqual(self.ran(), [])

    def test_settings_in_the_tree_decide_nothing(self):
        secret = os.path.join(self.base, "outside")
        for name in (".cordon/settings.json", ".cordon.json", "cordon.json", ".config/cordon/profiles/default.json"):
            self.write(name, '{"sessionId": "a", "workspaceId": "b", "view": "host", "filesystem": {"disabled": true}}')
        done = self.cordon("run", "--", "sh", "-c", f"echo x > {secret}")
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(os.path.exists(secret))

    def test_hostile_temporary_directory(self):
        # Nothing is made in it, so neither its owner, its mode nor links planted in it matter.
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            os.chmod(folder, 0o777)
            for name in ("cordon", f"cordon-{os.getuid()}", ".cordon"):
                os.symlink(self.witness, os.path.join(folder, name))
            before = cordon_testing.snapshot(folder)
            for value in (folder, "/nowhere", "", "relative", "/" + "x" * 4000):
                done = self.cordon("run", "--", "/bin/sh", "-c", 'cd "$TMPDIR" && echo up > f && cat f', TMPDIR=value,
                                   XDG_RUNTIME_DIR=value)
                self.assertEqual((done.returncode, done.stdout), (0, "up\n"), done.stderr)
            self.assertEqual(cordon_testing.snapshot(folder), before)
            self.assertEqual(self.ran(), [])


class OwnPrograms(cordon_testing.CordonTest):
    """Cordon's own programs, where they lie in the working directory."""

    def setUp(self):
        super().setUp()
        tree = pathlib.Path(cordon_testing.CORDON).resolve().parent.parent
        for part in ("bin", "libexec"):
            shutil.copytree(tree / part, self.path("tools", part))
        self.own = self.path("tools/bin/cordon")

    def digests(self):
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in pathlib.Path(self.path("tools")).rglob("*") if path.is_file()}

    def inside(self, line):
        return subprocess.run([self.own, "run", "--quiet", "--", "/bin/sh", "-c", line], cwd=self.work, env=self.environment,
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              timeout=cordon_testing.SECONDS)

    def test_cannot_be_replaced(self):
        before = self.digests()
        self.assertEqual(len(before), 2)
        self.write("evil", "#!/bin/sh\necho evil\n", 0o755)
        line = ("for f in tools/bin/cordon tools/libexec/cordon/cordon-launch; do"
                " echo evil > $f; echo evil >> $f; cp -f evil $f; mv -f evil $f; rm -f $f; ln -f evil $f; ln -sf evil $f; chmod 777 $f;"
                " mv $f away; done; echo evil > tools/bin/new; mkdir tools/bin/d; mv tools/bin b; mv tools/libexec/cordon l;"
                " rm -rf tools/bin tools/libexec/cordon; echo end")
        done = self.inside(line)
        self.assertTrue(done.stdout.endswith("end\n"), done.stderr)
        self.assertEqual(self.digests(), before)
        self.assertEqual(sorted(os.listdir(self.path("tools/bin"))), ["cordon"])
        self.assertEqual(self.inside("echo up").stdout, "up\n")

    def test_control(self):
        self.write("evil", "#!/bin/sh\necho evil\n", 0o755)
        os.replace(self.path("evil"), self.own)
        self.assertEqual(self.inside("echo up").stdout, "evil\n")

    def test_through_proc(self):
        before = self.digests()
        line = ("for p in /proc/[0-9]*; do echo evil > $p/exe; cat $p/exe > /dev/null && echo read; "
                "echo evil > $p/root/../tools/bin/cordon; done 2>/dev/null; echo evil > /proc/1/exe; echo end")
        done = self.inside(line)
        self.assertIn("end", done.stdout)
        self.assertEqual(self.digests(), before)

    def test_folder_above_cannot_be_renamed(self):
        # The mount would move along, and the old name be free for something else.
        line = ("mv tools away; mkdir -p tools/bin; echo '#!/bin/sh' > tools/bin/cordon; echo 'echo evil' >> tools/bin/cordon; "
                "chmod 755 tools/bin/cordon")
        before = self.digests()
        self.inside(line)
        self.assertEqual(self.digests(), before)
        self.assertEqual(self.inside("echo up").stdout, "up\n")
        subprocess.run(["/bin/sh", "-c", line], cwd=self.work, check=True)
        self.assertEqual(self.inside("echo up").stdout, "evil\n")


if __name__ == "__main__":
    cordon_testing.main()
