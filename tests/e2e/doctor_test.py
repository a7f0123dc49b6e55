#!/usr/bin/env python3
"""`cordon doctor`: the same host as it is, without namespaces, and with system calls missing."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUIRED = {"user_namespace", "id_maps", "mount_namespace", "pid_namespace", "net_namespace",
            "ipc_namespace", "uts_namespace", "cgroup_namespace", "fresh_proc", "tmpfs", "devpts",
            "seccomp_filter"}
OPTIONAL = {"mount_setattr", "open_tree", "openat2", "user_notification", "addfd_send",
            "wait_killable", "sync_wake_up", "supervisor", "landlock", "fuse", "overlay_in_user_namespace",
            "nftables_redirect", "cgroup_v2", "cgroup_freeze", "kvm", "yama_ptrace_scope",
            "bubblewrap"}
FACTS = {"container", "wsl", "apparmor_userns_restriction"}
NO_NAMESPACES = ["unshare", "-Ur", "sh", "-c",
                 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" "$@"']
COVERED_PROC = ["unshare", "-Urm", "sh", "-c", 'mount -t tmpfs cover /proc/fs && exec "$0" "$@"']


def cordon():
    named = os.environ.get("CORDON")
    if named:
        return named
    built = sorted(ROOT.glob("build/*/bin/cordon"), key=lambda path: path.stat().st_mtime)
    if not built:
        print("no cordon program is built")
        sys.exit(77)
    return str(built[-1])


def doctor(*options, before=()):
    return subprocess.run([*before, cordon(), "doctor", *options], capture_output=True, text=True,
                          timeout=60, check=False)


def report(before=()):
    """The JSON report, its rows by name, and the exit code."""
    done = doctor("--json", before=before)
    if done.stderr:
        raise AssertionError(done.stderr)
    parsed = json.loads(done.stdout)
    return parsed, {row["name"]: row for row in parsed["capabilities"]}, done.returncode


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here, cls.rows, cls.code = report()
        cls.folder = tempfile.TemporaryDirectory(prefix="cordon-doctor-test.")
        cls.enosys = os.path.join(cls.folder.name, "enosys")
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", cls.enosys,
                        str(ROOT / "tests/support/enosys.c")], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def need(self, *names):
        """Skips when this host lacks already what the test takes away."""
        for name in names:
            if self.rows[name]["support"] != "yes":
                self.skipTest(f"{name} is missing here: {self.rows[name]['detail']}")

    def without(self, calls, *options):
        return report([self.enosys, calls, *options, "--"])

    def filter_remedy(self):
        """What must be named when a filter takes a call away."""
        return "run" if self.rows["container"]["support"] == "yes" else "system call filter"

    def test_report_has_its_stable_shape(self):
        self.assertEqual(set(self.here), {"schema", "available", "backend", "launcher",
                                          "requiresInstall", "note", "hint", "distribution",
                                          "kernel", "capabilities"})
        self.assertEqual(self.here["schema"], 1)
        self.assertEqual(self.here["kernel"], os.uname().release)
        self.assertEqual(set(self.rows), REQUIRED | OPTIONAL | FACTS)
        for name, row in self.rows.items():
            self.assertEqual(set(row), {"name", "support", "required", "kind", "detail", "usedFor",
                                        "remedy"})
            self.assertIn(row["support"], ("yes", "no", "unknown"))
            self.assertEqual(row["required"], name in REQUIRED, name)
            self.assertEqual(row["kind"], "fact" if name in FACTS else "capability", name)
            self.assertTrue(row["detail"] and row["usedFor"], name)

    def test_exit_code_and_verdict_agree(self):
        self.assertEqual(self.code, 0 if self.here["available"] else 1)
        self.assertEqual(self.here["backend"], "native" if self.here["available"] else "none")
        text = doctor()
        self.assertEqual(text.returncode, self.code)
        verdict = "is available" if self.here["available"] else "is not available"
        self.assertTrue(text.stdout.splitlines()[-1].startswith(f"The native sandbox {verdict}: "))
        self.assertNotIn("\033", text.stdout)
        for name in self.rows:
            self.assertIn(name, text.stdout)

    def test_works_where_the_kernel_shows_that_it_should(self):
        # An outside witness: util-linux makes the same namespaces.
        outside = subprocess.run(["unshare", "-Urmpnuif", "--mount-proc", "true"],
                                 capture_output=True, check=False)
        if outside.returncode != 0:
            self.skipTest("unshare cannot make namespaces here")
        self.assertTrue(self.here["available"], self.here["hint"])

    def test_leaves_nothing_behind(self):
        def mounts():
            return pathlib.Path("/proc/self/mountinfo").read_text()
        before = mounts()
        pid = subprocess.Popen([cordon(), "doctor", "--json"], stdout=subprocess.DEVNULL)
        pid.wait(timeout=60)
        self.assertEqual(mounts(), before)
        left = [path for path, folders, _ in os.walk("/sys/fs/cgroup")
                if f"cordon-probe-{pid.pid}" in folders]
        self.assertEqual(left, [])

    def test_no_user_namespaces(self):
        self.need("id_maps")
        off, rows, code = report(NO_NAMESPACES)
        self.assertEqual(code, 1)
        self.assertFalse(off["available"])
        self.assertEqual(off["backend"], "none")
        self.assertEqual(rows["user_namespace"]["detail"], "ENOSPC from clone(CLONE_NEWUSER)")
        self.assertEqual(rows["mount_namespace"]["detail"], "needs user_namespace")
        self.assertEqual(rows["bubblewrap"]["support"], "no")
        self.assertIn("sysctl -w user.max_user_namespaces=", off["hint"])
        self.assertIn("/etc/sysctl.d/" if off["distribution"].split()[0] != "nixos"
                      else "boot.kernel.sysctl", off["hint"])
        # What needs no namespace is still found.
        for name in ("seccomp_filter", "user_notification", "landlock"):
            self.assertEqual(rows[name]["support"], self.rows[name]["support"], name)
        text = doctor(before=NO_NAMESPACES)
        self.assertEqual(text.returncode, 1)
        self.assertIn("  1. for user_namespace\n", text.stdout)

    def test_covered_proc_as_in_a_container(self):
        self.need("id_maps", "fresh_proc", "tmpfs")
        off, rows, code = report(COVERED_PROC)
        self.assertEqual(code, 1)
        self.assertEqual(rows["user_namespace"]["support"], "yes")
        self.assertEqual(rows["fresh_proc"]["detail"], "EPERM from mount of proc")
        self.assertIn("run" if self.rows["container"]["support"] == "yes"
                      else "/proc/self/mountinfo", off["hint"])

    def test_refused_clone(self):
        self.need("id_maps")
        off, rows, code = self.without("userns", "--errno", "EPERM")
        self.assertEqual(code, 1)
        self.assertEqual(rows["user_namespace"]["detail"], "EPERM from clone(CLONE_NEWUSER)")
        self.assertIn(self.filter_remedy(), off["hint"])

    def test_old_mount_calls_only(self):
        self.need("mount_setattr", "open_tree", "openat2")
        old, rows, code = self.without("mount_setattr,open_tree,move_mount,openat2")
        self.assertEqual(code, self.code)
        self.assertEqual(old["available"], self.here["available"])
        for name in ("mount_setattr", "open_tree", "openat2"):
            self.assertEqual(rows[name]["support"], "no")
            self.assertEqual(rows[name]["detail"], f"ENOSYS from {name}")
            self.assertIn(self.filter_remedy(), rows[name]["remedy"])

    def test_no_landlock(self):
        self.need("landlock")
        _, rows, code = self.without("landlock_create_ruleset", "--errno", "EOPNOTSUPP")
        self.assertEqual(code, self.code)
        self.assertEqual(rows["landlock"]["support"], "no")
        self.assertIn("lsm=landlock,", rows["landlock"]["remedy"])

    def test_refused_mounts(self):
        self.need("tmpfs", "fresh_proc")
        off, rows, code = self.without("mount", "--errno", "EPERM")
        self.assertEqual(code, 1)
        self.assertEqual(rows["mount_namespace"]["detail"], "EPERM from mount of / as private")
        self.assertEqual(rows["fresh_proc"]["detail"], "needs mount_namespace")
        self.assertTrue(off["hint"])

    def test_no_filters(self):
        self.need("seccomp_filter")
        off, rows, code = self.without("seccomp", "--errno", "EINVAL")
        self.assertEqual(code, 1)
        self.assertEqual(rows["seccomp_filter"]["detail"],
                         "EINVAL from seccomp(SECCOMP_SET_MODE_FILTER)")
        self.assertTrue(off["hint"])

    def test_listener_held_by_somebody_else(self):
        self.need("user_notification")
        held, rows, code = self.without("none", "--listener")
        self.assertEqual(code, self.code)
        self.assertEqual(held["available"], self.here["available"])
        self.assertEqual(rows["user_notification"]["detail"], "EBUSY from seccomp(NEW_LISTENER)")
        self.assertIn("already holds a seccomp listener", rows["user_notification"]["remedy"])
        self.assertEqual(rows["wait_killable"]["detail"], "needs user_notification")
        self.assertEqual(rows["supervisor"]["support"], "no")
        self.assertIn("holds the one place", rows["supervisor"]["detail"])
        self.assertEqual(rows["supervisor"]["remedy"], rows["user_notification"]["remedy"])

    def test_supervisor_as_sessions_find_it(self):
        self.need("supervisor")
        # As on Linux 5.10 to 5.18.
        old, rows, code = self.without("wait_killable", "--errno", "EINVAL")
        self.assertEqual(code, self.code)
        self.assertEqual(old["available"], self.here["available"])
        self.assertEqual(rows["user_notification"]["support"], "yes")
        for name in ("wait_killable", "supervisor"):
            self.assertEqual(rows[name]["support"], "no", name)
            self.assertTrue(rows[name]["remedy"], name)
        self.assertIn("without being interrupted", rows["supervisor"]["detail"])
        # A filter that leaves the place free takes nothing away.
        _, rows, _ = self.without("openat2")
        self.assertEqual(rows["supervisor"]["support"], "yes", rows["supervisor"]["detail"])

    def test_without_fuse_it_is_said_what_is_lost(self):
        self.need("fuse")
        hidden = ["unshare", "-Urm", "sh", "-c", 'mount --bind /dev/null /dev/fuse && exec "$0" "$@"']
        if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("a mount in a user namespace cannot be made here")
        _, rows, code = report(hidden)
        self.assertEqual(code, self.code)
        self.assertEqual(rows["fuse"]["support"], "no")
        self.assertIn("denied reads stay refused, but are not reported", rows["fuse"]["detail"])


if __name__ == "__main__":
    cordon()
    unittest.main(argv=[sys.argv[0]])
