#!/usr/bin/env python3
"""Devices and the kernel's own files (row 23)."""
import os
import secrets

import harness

DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}

# Files that anybody may open for writing, and why nothing comes of it: writing to a pressure file
# asks to be woken, and changes nothing but that descriptor (Documentation/accounting/psi.rst);
# ns_last_pid belongs to the session's own pid namespace and asks for a capability at the write.
HARMLESS = {"/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory",
            "/proc/pressure/irq", "/proc/sys/kernel/ns_last_pid"}


class Devices(harness.KernelTest):
    PROBES = ("reach", "calls")

    def test_no_device_but_the_harmless_ones(self):
        found = self.output(self.inside("./reach", "devices", "/dev")).splitlines()
        self.assertEqual([line for line in found if line.startswith("block")], [])
        names = {line.split("/dev/", 1)[1] for line in found if line.startswith("char")}
        names = {name for name in names if not name.startswith("pts/")}
        self.assertLessEqual(names, DEVICES)
        self.assertLessEqual({"null", "zero", "urandom"}, names)

    def test_device_nodes_cannot_be_made(self):
        for place in (".", "/tmp", "/dev/shm"):
            result = self.inside("sh", "-c", 'cp calls "$0"/calls-copy; cd "$0" && '
                                 "exec ./calls-copy mknod_block mknod_character mknod_whiteout",
                                 place)
            if "Permission denied" in result.stderr:
                continue  # a place without programs
            self.assertEqual(set(self.answers(result).values()), {"EPERM"}, place)

    def test_kernel_files_cannot_be_written(self):
        if os.geteuid() == 0:
            control = self.output(self.outside("./reach", "writable", "/proc/sys/kernel"))
            self.assertIn("/proc/sys/kernel/core_pattern", control)
        for tree in ("/proc", "/sys"):
            with self.subTest(tree=tree):
                writable = self.output(self.inside("./reach", "writable", tree)).splitlines()
                self.assertEqual(set(writable) - HARMLESS, set())

    def test_pid_counter_of_the_session_cannot_be_set(self):
        result = self.inside("sh", "-c",
                             "echo 4000 > /proc/sys/kernel/ns_last_pid || echo refused")
        self.assertEqual(self.output(result), "refused")

    def test_settings_of_the_kernel_stay_what_they_are(self):
        files = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
                 "/proc/sys/vm/drop_caches", "/proc/sys/kernel/modprobe"]
        before = {}
        for name in files:
            try:
                with open(name, encoding="ascii") as file:
                    before[name] = file.read()
            except OSError:
                continue
        self.assertTrue(before)
        script = "; ".join(f'echo "|/evil" > {name}' for name in files)
        script += "; echo h > /proc/sysrq-trigger"
        script += "; echo ':a:M::x::/evil:' > /proc/sys/fs/binfmt_misc/register"
        self.assertNotEqual(self.inside("sh", "-c", script + "; exit 3").returncode, 0)
        for name, text in before.items():
            with open(name, encoding="ascii") as file:
                self.assertEqual(file.read(), text, name)

    def test_memory_and_log_of_the_kernel(self):
        # /dev/mem and /dev/kmsg do not exist; /proc/kcore and /proc/kmsg cannot be read, not even
        # by a session of root.
        result = self.inside("sh", "-c", 'for f in "$@"; do head -c 1 $f > out 2>/dev/null && '
                             "[ -s out ] && echo $f; done; true", "sh", "/dev/mem", "/dev/kmem",
                             "/dev/port", "/dev/kmsg", "/proc/kcore", "/proc/kmsg")
        self.assertEqual(self.output(result), "")

    def test_host_name_stays(self):
        before = os.uname().nodename
        name = "cordon-" + secrets.token_hex(4)
        self.inside("sh", "-c", f"hostname {name}; echo {name} > /proc/sys/kernel/hostname")
        self.assertEqual(os.uname().nodename, before)


class DevicesOfTheBoundView(Devices):
    VIEW = "bound"


if __name__ == "__main__":
    harness.main()
