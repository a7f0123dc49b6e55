#!/usr/bin/env python3
# ctest: TIMEOUT 600
"""The broker is killed, stopped, or flooded: no call passes unjudged, and nothing stays (row 10)."""
import os
import signal
import subprocess

import names
from cordon_testing import SECONDS, alive, children_of, descendants_of, foreign_namespace, pids, wait_for, wait_gone

# Says "N answer" for each try to make a forbidden and a permitted name, until it is ended.
TRIES = r"""
number = 0
while True:
    number += 1
    free = attempt(lambda: os.close(os.open(f"free-{number % 7}", os.O_CREAT | os.O_WRONLY)))
    denied = attempt(lambda: os.close(os.open(f"x{number}.key", os.O_CREAT | os.O_WRONLY)))
    print(number, free, denied, flush=True)
"""

FLOOD = r"""
import json
workers = []
for worker in range(64):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        answers = {}
        def count(key, what, *arguments):
            key += " " + attempt(what, *arguments)
            answers[key] = answers.get(key, 0) + 1
        os.mkdir(f"w{worker}")
        for n in range(int(sys.argv[1])):
            name_ = f"w{worker}/{n}"
            count("open", lambda: os.close(os.open(name_, os.O_CREAT | os.O_EXCL | os.O_WRONLY)))
            count("denied", lambda: os.close(os.open(name_ + ".key", os.O_CREAT | os.O_WRONLY)))
            count("mkdir", os.mkdir, name_ + "d")
            count("denied", os.mkdir, f"w{worker}/.env")
            count("rename", os.rename, name_, name_ + "r")
            count("denied", os.rename, name_ + "r", f"w{worker}/.env")
            count("denied", os.link, name_ + "r", name_ + ".pem")
        os.write(writer, json.dumps(answers).encode())
        os._exit(0)
    os.close(writer)
    workers.append((pid, reader))
total = {}
for pid, reader in workers:
    for key, n in json.loads(os.read(reader, 65536)).items():
        total[key] = total.get(key, 0) + n
    os.waitpid(pid, 0)
for key, n in total.items():
    say(key, str(n))
"""


class BrokerEnds(names.NameTest):
    def running(self, **how):
        """A session in mid-work: (process, monitor, broker, {pid: pidfd} of all, namespace)."""
        process = self.start_cordon(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + TRIES,
                                    options=[*self.name_rules(), "--events", self.at("events")], **how)
        for _ in range(3):
            self.assertRegex(self.read_line(process.stdout), r"^\d+ ok EROFS$")
        monitor, _ = self.session_of(process)
        broker = names.broker_of(monitor)
        everybody = {}
        for pid in descendants_of(process.pid):
            try:
                everybody[pid] = os.pidfd_open(pid)
                self.addCleanup(os.close, everybody[pid])
            except OSError:  # a helper of the broker that has ended
                pass
        namespace = foreign_namespace(everybody)
        self.addCleanup(namespace.close)
        return process, monitor, broker, everybody, namespace

    def test_killed(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGABRT):
            with self.subTest(signal=number.name):
                self.fresh()
                process, _, broker, everybody, namespace = self.running()
                os.kill(broker, number)
                out, _ = process.communicate(timeout=SECONDS)
                if number == signal.SIGTERM and process.returncode == 0:
                    self.fail("the session went on to its end")
                for line in out.decode().splitlines():
                    # Until the session ends, calls fail: the kernel says ENOSYS, or the broker still refuses.
                    self.assertRegex(line, r"^\d+ (ok|ENOSYS|EINTR) (EROFS|ENOSYS|EINTR)$")
                self.assertNotEqual(process.returncode, 0)
                self.assertEqual(wait_gone(everybody), [])
                self.assertEqual(namespace.members(), [])
                self.assertEqual(self.found("*.key"), [])
                self.assert_nothing_left()
                self.assertIn("exit", [event["type"] for event in self.events()] + ["exit"])

    def test_killed_says_why(self):
        process, _, broker, _, _ = self.running()
        os.kill(broker, signal.SIGKILL)
        _, err = process.communicate(timeout=SECONDS)
        self.assertIn(b"cordon: ", err)
        self.assertRegex(err.decode(), r"supervis|broker")
        self.assertEqual(process.returncode, 125)

    def test_killed_while_it_is_stopped(self):
        process, _, broker, everybody, namespace = self.running()
        os.kill(broker, signal.SIGSTOP)
        os.kill(broker, signal.SIGKILL)
        process.communicate(timeout=SECONDS)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(wait_gone(everybody), [])
        self.assertEqual(namespace.members(), [])
        self.assertEqual(self.found("*.key"), [])

    def test_stopped(self):
        """Calls wait for as long as it is stopped, and go on as if nothing had been."""
        process, monitor, broker, _, _ = self.running()
        command = [pid for child in children_of(names.init_of(monitor)) for pid in (child, *children_of(child))][-1]
        os.kill(broker, signal.SIGSTOP)
        wait_for(lambda: names.cordon_testing.state_of(broker) == "T", "a stopped broker")
        # The rest of what it had answered is read; then no more comes, although the command lives.
        os.set_blocking(process.stdout.fileno(), False)
        last, quiet = b"", 0
        while quiet < 100:
            chunk = process.stdout.read()
            last, quiet = (last + chunk, 0) if chunk else (last, quiet + 1)
            names.cordon_testing.pause(0.005)
        self.assertTrue(alive(command))
        self.assertIsNone(process.poll())
        os.set_blocking(process.stdout.fileno(), True)
        os.kill(broker, signal.SIGCONT)
        for _ in range(20):
            self.assertRegex(self.read_line(process.stdout), r"ok EROFS$")
        self.assertEqual(self.found("*.key"), [])

    def test_stopped_and_the_caller_killed(self):
        """A call that waits can be ended by SIGKILL, and the time limit of the session holds."""
        process, monitor, broker, everybody, namespace = self.running()
        os.kill(broker, signal.SIGSTOP)
        os.kill(process.pid, signal.SIGTERM)
        process.wait(SECONDS)
        self.assertEqual(wait_gone(everybody), [])
        self.assertEqual(namespace.members(), [])
        self.assertFalse(alive(broker))
        self.assertFalse(alive(monitor))
        self.assertEqual(self.found("*.key"), [])

    def test_each_of_the_others_killed(self):
        for which in ("client", "monitor", "init"):
            with self.subTest(which=which):
                self.fresh()
                process, monitor, broker, everybody, namespace = self.running()
                init = names.init_of(monitor)
                os.kill({"client": process.pid, "monitor": monitor, "init": init}[which], signal.SIGKILL)
                process.communicate(timeout=SECONDS)
                self.assertEqual(wait_gone(everybody), [])
                self.assertEqual(namespace.members(), [])
                self.assertEqual(self.found("*.key"), [])

    def test_no_broker_stays_after_an_ordinary_end(self):
        before = {pid for pid in pids() if names.cordon_testing.name_of(pid) == names.BROKER}
        process, _, broker, _, _ = self.running()
        self.assertNotIn(broker, before)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
        wait_for(lambda: not alive(broker), "the end of the broker")


class Flood(names.NameTest):
    """Many callers at once: each gets its own answer."""

    def test_64_processes(self):
        rounds = max(10, int(names.STRESS * 5))
        done = self.inside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + FLOOD, str(rounds),
                           timeout=names.STRESS * 10 + SECONDS)
        answers = {key: int(count) for key, count in self.answers(done).items()}
        every = 64 * rounds
        self.assertEqual(answers, {"open ok": every, "mkdir ok": every, "rename ok": every, "denied EROFS": 4 * every})
        self.assertEqual(self.found("*.key", ".env", "*.pem"), [])
        self.assertEqual(sum(len(os.listdir(self.path(f"w{worker}"))) for worker in range(64)), 2 * every)
        # Storms fold: the count is told, not each of them.
        events = self.violations()
        self.assertLess(len(events), 4 * every)
        latest = {event.get("number", event["target"]): event["count"] for event in events}
        self.assertGreater(sum(latest.values()), 64 * 3)

    def test_control_of_the_flood(self):
        done = self.outside(names.canary.PYTHON, "-ISc", names.canary.PRELUDE + FLOOD, "2")
        self.assertEqual(self.answers(done)["open ok"], "128")
        self.assertEqual(len(self.found("*.key")), 128)

    def test_many_execs_of_one_refusal_fold(self):
        self.inside("sh", "-c", "i=0; while [ $i -lt 2000 ]; do echo x > .env; i=$((i + 1)); done 2>/dev/null; true")
        events = self.violations(target=self.path(".env"))
        self.assertEqual(max(event["count"] for event in events), 2000)
        self.assertLess(len(events), 40)


if __name__ == "__main__":
    names.main()
