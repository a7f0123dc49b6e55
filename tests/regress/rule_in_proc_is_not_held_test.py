#!/usr/bin/env python3
"""Rules and mounts in /proc were taken and then did nothing, or stopped the start with another reason."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position


class Proc(cordon_testing.CordonTest):
    def test_hidden_files_and_folders(self):
        for view in ("host", "bound"):
            for read, name in (("cat", "/proc/cpuinfo"), ("cat", "/proc/meminfo"), ("ls", "/proc/sys"), ("cat", "/proc//version"),
                               ("cat", "/proc/sys/kernel/random/boot_id")):
                with self.subTest(view=view, name=name):
                    self.assertNotEqual(self.output(self.run_cordon(read, name, options=["--view", view])), "")
                    done = self.run_cordon(read, name, options=["--view", view, "--deny-read", name])
                    self.assertEqual(done.stdout, "")
                    self.assertIn("Permission denied", done.stderr)

    def test_an_opening_in_it(self):
        done = self.run_cordon("sh", "-c", "cat /proc/version; cat /proc/cpuinfo", options=["--deny-read", "/proc/cpuinfo"])
        self.assertIn("Linux", done.stdout)

    def test_proc_as_a_whole_is_refused(self):
        for rule in ("/proc", "/proc/", "/proc/."):
            self.assert_refused(self.run_cordon("true", options=["--deny-read", rule]), "--deny-read", "/proc")

    def test_mounts_are_refused(self):
        # /proc is where the session's own file system is put together: a mount of it would show that.
        os.mkdir(self.path("data"))
        for mount in ("/proc", "/proc:/tmp/proc", "/proc/1:/tmp/one", "/proc/sys:/tmp/sys:ro", f"{self.path('data')}:/proc/x",
                      f"{self.path('data')}:/proc"):
            for view in ("host", "bound"):
                self.assert_refused(self.run_cordon("true", options=["--view", view, "--mount", mount]), "mount", "own /proc")

    def test_names_of_processes_outside(self):
        # They exist for nobody inside, so there is nothing to hide and no reason to refuse.
        rule = f"/proc/{os.getpid()}/environ"
        self.assertEqual(self.run_cordon("true", options=["--deny-read", rule]).returncode, 0)


class CoveredPlace(cordon_testing.CordonTest):
    """A mount over a place that has rules below it made the start fail: their files were not there any more."""

    def test_mount_over_a_place_of_the_system(self):
        data = os.path.join(self.base, "data")
        os.mkdir(data)
        with open(os.path.join(data, "shown"), "w", encoding="ascii") as file:
            file.write("shown\n")
        for view in ("host", "bound"):
            for place in ("/etc", "/srv", "/usr/share"):
                with self.subTest(view=view, place=place):
                    options = ["--view", view, "--mount", f"{data}:{place}:ro", "--deny-read", "/etc/hostname", "--deny-read",
                               "/usr/share/doc", "--no-tty"]
                    done = self.run_cordon("ls", place, options=options)
                    self.assertEqual(done.stdout, "shown\n", done.stderr)


if __name__ == "__main__":
    cordon_testing.main()
