#!/usr/bin/env python3
"""With exec.blockWritableDirs programs still ran from the session's own /tmp, and from a mount shown twice."""
import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position


class WritablePlaces(cordon_testing.CordonTest):
    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.base, "data")
        for folder in (self.data, self.path("grant"), self.path("kept"), self.path("grant/kept")):
            os.makedirs(folder)
        self.own = ["/tmp", "/var/tmp", "/dev/shm", f"/run/user/{os.getuid()}", "/run/lock"]

    def spec(self, block, view):
        path = os.path.join(self.base, "spec.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"sessionId": "a", "workspaceId": "b", "view": view, "guestWorkdir": self.work,
                       "filesystem": {"allowWrite": ["."], "denyWrite": ["./kept", "./grant/kept"]}, "execGrantRoots": ["./grant"],
                       "bindMounts": [{"hostPath": self.data}, {"hostPath": self.data, "guestPath": "/tmp/twice"}],
                       "exec": {"blockWritableDirs": block}}, file)
        return ["--spec", path]

    def places_that_run(self, options, places):
        line = ('for d in "$@"; do cp /bin/true "$d/program" 2>/dev/null; if "$d/program" 2>/dev/null; then echo "$d"; fi; done')
        return self.run_cordon("sh", "-c", line, "sh", *places, options=options).stdout.split()

    def test_every_writable_place(self):
        mine = [self.work, self.path("grant"), self.data, "/tmp/twice"]
        for view in ("host", "bound"):
            with self.subTest(view=view):
                self.assertEqual(self.places_that_run(self.spec(False, view), mine + self.own[:3]), mine + self.own[:3])
                self.assertEqual(self.places_that_run(self.spec(True, view), mine + self.own), [self.path("grant")])

    def test_programs_that_lie_there(self):
        for name in ("program", "kept/program", "grant/kept/program"):
            shutil.copy("/bin/true", self.path(name))
        ran = [name for name in ("./program", "./kept/program", "./grant/kept/program", "/bin/true")
               if self.run_cordon(name, options=self.spec(True, "host")).returncode == 0]
        self.assertEqual(ran, ["./grant/kept/program", "/bin/true"])

    def test_mount_that_is_shown_twice_is_writable_at_both(self):
        self.run_cordon("sh", "-c", f"touch {self.data}/one /tmp/twice/two", options=self.spec(False, "host"))
        self.assertEqual(sorted(os.listdir(self.data)), ["one", "two"])

    def test_working_directory_below_tmp(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            shutil.copy("/bin/true", folder + "/program")
            self.assertEqual(self.run_cordon(folder + "/program", options=[*self.spec(True, "host"), "--workdir", folder]).returncode, 126)
            self.assertEqual(self.run_cordon(folder + "/program", options=["--workdir", folder]).returncode, 0)


if __name__ == "__main__":
    cordon_testing.main()
