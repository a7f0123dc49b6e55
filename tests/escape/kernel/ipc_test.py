#!/usr/bin/env python3
"""IPC objects and keys of the host (row 29) are out of reach."""
import os
import secrets

import harness


class Ipc(harness.KernelTest):
    PROBES = ("ipc",)

    def setUp(self):
        super().setUp()
        self.canary = "canary-" + secrets.token_hex(8)

    def made(self, kind, *arguments):
        """Makes an object outside that is removed after the test."""
        number = self.output(self.outside("./ipc", kind + "-make", *arguments))
        self.assertTrue(number.isdigit(), number)
        self.addCleanup(self.outside, "./ipc", kind + "-remove", number)
        return number

    def test_shared_memory(self):
        segment = self.made("shm", self.canary)
        self.assertEqual(self.output(self.outside("./ipc", "shm-show", segment)),
                         "text " + self.canary)
        attack = self.inside("./ipc", "shm-show", segment, "overwritten")
        self.assertNotIn(self.canary, attack.stdout)
        self.assertIn(self.output(attack), ("EINVAL", "EIDRM"))
        self.assertEqual(self.output(self.outside("./ipc", "shm-show", segment)),
                         "text " + self.canary)
        listed = self.inside("cat", "/proc/sysvipc/shm").stdout.splitlines()[1:]
        self.assertEqual(listed, [])

    def test_message_queue(self):
        queue = self.made("msg", self.canary)
        attack = self.inside("./ipc", "msg-take", queue)
        self.assertNotIn(self.canary, attack.stdout)
        self.assertIn(self.output(attack), ("EINVAL", "EIDRM"))
        self.assertEqual(self.output(self.outside("./ipc", "msg-count", queue)), "1")
        self.assertEqual(self.output(self.outside("./ipc", "msg-take", queue)),
                         "text " + self.canary)

    def test_semaphore(self):
        semaphore = self.made("sem")
        self.assertIn(self.output(self.inside("./ipc", "sem-set", semaphore)), ("EINVAL", "EIDRM"))
        self.assertEqual(self.output(self.outside("./ipc", "sem-show", semaphore)), "7")

    def test_posix_queue(self):
        name = "/cordon-" + secrets.token_hex(8)
        made = self.output(self.outside("./ipc", "mq-make", name, self.canary))
        if made == "ENOSYS":
            self.skipTest("this kernel has no POSIX message queues")
        self.addCleanup(self.outside, "./ipc", "mq-remove", name)
        attack = self.inside("./ipc", "mq-take", name)
        self.assertNotIn(self.canary, attack.stdout)
        self.assertEqual(self.output(attack), "ENOENT")
        self.assertEqual(self.output(self.outside("./ipc", "mq-count", name)), "1")
        self.assertEqual(self.output(self.outside("./ipc", "mq-take", name)),
                         "text " + self.canary)

    def test_objects_made_inside_do_not_appear_outside(self):
        name = "/cordon-" + secrets.token_hex(8)
        self.addCleanup(self.outside, "./ipc", "mq-remove", name)
        inside = self.inside("sh", "-c", f"./ipc mq-make {name} x; ./ipc mq-count {name}")
        self.assertEqual(self.output(inside), "1\n1")
        self.assertEqual(self.output(self.outside("./ipc", "mq-count", name)), "ENOENT")

    def test_keyring_of_the_caller(self):
        description = "cordon-" + secrets.token_hex(8)

        def with_key(*command):
            return self.outside("./ipc", "key-run", description, self.canary, *command)
        control = self.output(with_key("sh", "-c", './ipc key-read "$PROBE_KEY"'))
        if control == "ENOSYS":
            self.skipTest("this kernel has no keyrings")
        self.assertEqual(control, "text " + self.canary)
        self.assertIn(description, with_key("cat", "/proc/keys").stdout)
        attack = with_key(harness.CORDON, "run", "--quiet", "--", "sh", "-c",
                          'for key in $(seq $((PROBE_KEY - 2)) $((PROBE_KEY + 2))); do'
                          ' ./ipc key-read "$key"; done; [ -n "$PROBE_KEY" ]')
        self.assertEqual(set(self.output(attack).split()), {"ENOSYS"})
        listed = with_key(harness.CORDON, "run", "--quiet", "--", "sh", "-c",
                          "cat /proc/keys /proc/key-users; true")
        self.assertNotIn(description, self.output(listed))

    def test_shared_memory_file_system(self):
        name = "/dev/shm/cordon-" + secrets.token_hex(8)
        with open(name, "w", encoding="ascii") as file:
            file.write(self.canary)
        self.addCleanup(os.unlink, name)
        attack = self.inside("sh", "-c", f"cat {name}; echo overwritten > {name}; ls /dev/shm")
        self.assertNotIn(self.canary, attack.stdout)
        self.assertIn("No such file", attack.stderr)
        # The same name can be written inside, in a directory of its own.
        self.assertEqual(self.output(attack), os.path.basename(name))
        with open(name, encoding="ascii") as file:
            self.assertEqual(file.read(), self.canary)


class IpcOfTheBoundView(Ipc):
    VIEW = "bound"


if __name__ == "__main__":
    harness.main()
