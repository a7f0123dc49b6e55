#!/usr/bin/env python3
"""Mounts of the host that come later, set-user-id files and device nodes in the tree (rows 14, 16, 23)."""
import os
import shutil
import stat
import subprocess

import canary

ROOT_ONLY = "only root can make such a file"


class Propagation(canary.CanaryTest):
    """What the host mounts in mid-session does not appear inside."""

    # $1 folder, $2 the program that makes what runs inside. The folder is a shared mount, as / is on
    # hosts with systemd, so that mounts below it go to every copy that did not refuse.
    DRIVER = r"""
set -e
mount --bind "$1" "$1"; mount --make-shared "$1"; cd "$1/work"; shift
mkfifo ../go
"$@" < ../go > ../said 2>&1 & child=$!
exec 3> ../go
until grep -q up ../said; do :; done
for place in later ../elsewhere; do
  mount -t tmpfs none $place
  echo mounted > $place/file; chmod 777 $place
done
echo go >&3; exec 3>&-
wait $child || true
"""
    INSIDE = ("echo up; read go; cat later/file; cat ../elsewhere/file; echo x > ../elsewhere/new && echo wrote; "
              "echo x > later/new; grep -c tmpfs.none /proc/self/mountinfo; echo end")

    def drive(self, *command):
        os.mkdir(self.path("later"))
        os.mkdir(self.at("elsewhere"))
        wrap = ["unshare", "-m"] if canary.cordon_testing.IS_ROOT else ["unshare", "-Urm"]
        done = self.outside(*wrap, "--propagation", "private", "sh", "-c", self.DRIVER, "sh", self.base, *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return canary.cordon_testing.read_file(self.at("said")).decode()

    def test_control(self):
        said = self.drive("unshare", "-m", "--propagation", "unchanged", "sh", "-c", self.INSIDE)
        self.assertEqual(said.split().count("mounted"), 2, said)
        self.assertIn("wrote", said)

    def test_later_mounts_stay_outside(self):
        said = self.drive(*self.command(["sh", "-c", self.INSIDE]))
        self.assertIn("end", said)
        self.assertNotIn("mounted", said)
        self.assertNotIn("wrote", said)
        # What was written below the working directory is in the folder that was there at start.
        self.assertEqual(os.listdir(self.path("later")), ["new"])
        self.assertEqual(os.listdir(self.at("elsewhere")), [])


class SpecialFiles(canary.CanaryTest):
    """Set-user-id programs and device nodes that lie in the tree."""
    IDS = ("import os\nprint('ids', os.getresuid(), os.getresgid())\n"
           "print([l for l in open('/proc/self/status') if l.startswith('CapEff')][0].strip())\n")

    def identity_program(self, path):
        source = self.at("identity.c")
        with open(source, "w", encoding="ascii") as file:
            file.write('#include <stdio.h>\n#include <unistd.h>\nint main(void) { char line[256]; '
                       'printf("%d %d\\n", geteuid(), getegid()); FILE *f = fopen("/proc/self/status", "r"); '
                       'while (f && fgets(line, sizeof line, f)) if (line[0] == \'C\' && line[3] == \'E\') fputs(line, stdout); '
                       'return 0; }\n')
        subprocess.run(["cc", "-o", path, source], check=True)

    def test_set_user_id_has_no_effect(self):
        if not canary.cordon_testing.IS_ROOT:
            self.skipTest(ROOT_ONLY)
        os.chmod(self.base, 0o755)
        for place in (self.work, self.at("elsewhere")):
            os.makedirs(place, exist_ok=True)
            program = os.path.join(place, "identity")
            self.identity_program(program)
            os.chown(program, 65534, 65534)
            os.chmod(program, 0o6755)
            self.assertEqual(self.outside(program).stdout.splitlines()[0], "65534 65534")
            said = self.output(self.run_cordon(program)).splitlines()
            self.assertEqual(said, ["0 0", "CapEff:\t0000000000000000"])
            said = self.output(self.run_cordon(program, options=["--uid", "1000"])).splitlines()
            self.assertEqual(said, ["1000 1000", "CapEff:\t0000000000000000"])

    def test_file_capabilities_have_no_effect(self):
        if not canary.cordon_testing.IS_ROOT:
            self.skipTest(ROOT_ONLY)
        program = self.path("identity")
        self.identity_program(program)
        # Version 2, effective, CAP_SYS_ADMIN and CAP_DAC_OVERRIDE permitted.
        os.setxattr(program, "security.capability", bytes.fromhex("0100000202002000000000000000000000000000"))
        control = self.outside("setpriv", "--reuid", "65534", "--clear-groups", "/bin/sh", "-c", f'exec "{program}"')
        if control.returncode == 0:
            self.assertIn("0000000000200002", control.stdout)
        self.assertEqual(self.output(self.run_cordon(program)).splitlines()[1], "CapEff:\t0000000000000000")

    def test_set_user_id_programs_of_the_system(self):
        found = [path for path in ("/usr/bin/passwd", "/usr/bin/chsh", "/usr/bin/newgrp", "/usr/bin/gpasswd")
                 if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID]
        if not found:
            self.skipTest("no set-user-id program of the system to try")
        # One that waits for input shows whom it runs as.
        code = ("import subprocess\np = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,"
                " stderr=subprocess.DEVNULL)\n"
                "while os.path.basename(sys.argv[1])[:15] not in open(f'/proc/{p.pid}/comm').read() and p.poll() is None: pass\n"
                "lines = [l.split() for l in open(f'/proc/{p.pid}/status') if l[:6] in ('Uid:\\t0', 'CapEff') or l[:4] == 'Uid:']\n"
                "p.kill()\n"
                "say('uid', ' '.join(lines[0][1:])); say('capabilities', lines[-1][1])")
        for path in found[:1]:
            answers = self.probe(code, path)
            self.assertEqual(set(answers["uid"].split()), {str(os.geteuid())})
            self.assertEqual(int(answers["capabilities"], 16), 0)

    def test_device_nodes_in_the_tree(self):
        if not canary.cordon_testing.IS_ROOT:
            self.skipTest(ROOT_ONLY)
        os.mkdir(self.at("elsewhere"))
        nodes = {}
        for place in (self.work, self.at("elsewhere")):
            for name, kind, major, minor in (("zero", stat.S_IFCHR, 1, 5), ("memory", stat.S_IFCHR, 1, 1), ("kmsg", stat.S_IFCHR, 1, 11),
                                             ("disk", stat.S_IFBLK, 254, 0), ("loop", stat.S_IFBLK, 7, 0), ("fuse", stat.S_IFCHR, 10, 229)):
                path = os.path.join(place, name)
                os.mknod(path, kind | 0o666, os.makedev(major, minor))
                nodes[path] = name
        code = "for p in sys.argv[1:]: say(p, attempt(lambda: os.close(os.open(p, os.O_RDONLY | os.O_NONBLOCK))))"
        control = self.control(code, self.path("zero"))
        self.assertEqual(control, {self.path("zero"): "ok"})
        for options in ((), ("--write", self.at("elsewhere")), ("--mount", self.at("elsewhere")), ("--view", "bound")):
            for path, answer in self.probe(code, *nodes, options=options).items():
                self.assertIn(answer, ("EACCES", "ENOENT", "EPERM"), f"{path} {options}")
        self.assertEqual(self.run_cordon("head", "-c1", self.path("zero")).stdout, "")

    def test_files_disabled_keeps_devices_and_ids_without_effect(self):
        if not canary.cordon_testing.IS_ROOT:
            self.skipTest(ROOT_ONLY)
        os.mknod(self.path("zero"), stat.S_IFCHR | 0o666, os.makedev(1, 5))
        self.identity_program(self.path("identity"))
        os.chown(self.path("identity"), 65534, 65534)
        os.chmod(self.path("identity"), 0o6755)
        spec = self.at("spec.json")
        with open(spec, "w", encoding="ascii") as file:
            file.write('{"sessionId": "a", "workspaceId": "b", "view": "host", "guestWorkdir": "%s", '
                       '"filesystem": {"disabled": true}}' % self.work)
        done = self.run_cordon("sh", "-c", "./identity; head -c1 zero", options=["--spec", spec])
        self.assertTrue(done.stdout.startswith("0 0\n"), done.stdout + done.stderr)
        self.assertIn("zero", done.stderr)


class Setup(canary.cordon_testing.unittest.TestCase):
    def test_programs_of_these_tests_are_there(self):
        for program in ("unshare", "mount", "cc", "setpriv"):
            self.assertIsNotNone(shutil.which(program), program)


if __name__ == "__main__":
    canary.main()
