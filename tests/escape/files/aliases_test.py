#!/usr/bin/env python3
"""Other names of a file than its path, and special files on a read-only mount (rows 14, 33)."""
import os
import stat
import subprocess

import canary


class GuestMounts(canary.CanaryTest):
    """A mount at another path is another name of everything below it; the rules hold there as well."""

    def setUp(self):
        super().setUp()
        self.texts = {name: self.make("data/" + name) for name in
                      ("open", "secret/key", "kept/file", ".git/config", ".bashrc", "secret.pem", "deep/.env")}
        os.makedirs(self.at("data/.git/objects"))
        os.makedirs(self.at("data/.git/refs"))
        self.make("data/.git/HEAD", "ref: refs/heads/main")
        os.symlink("kept", self.at("data/link"))
        self.rules = ["--deny-read", self.at("data/secret"), "--deny-read", self.at("data/**/*.pem"), "--deny-read",
                      self.at("data/**/.env"), "--deny-write", self.at("data/kept"), "--deny-write", self.at("data/link")]

    def check(self, guest, options):
        options = [*options, *self.rules]
        paths = {name: guest + "/" + name for name in self.texts}
        answers = self.read_each(paths.values(), options)
        for name in ("secret/key", "secret.pem", "deep/.env"):
            self.assertEqual(answers[paths[name]], "EACCES", name)
        for name in ("open", "kept/file", ".git/config"):
            self.assertEqual(answers[paths[name]], self.texts[name], name)
        before = canary.cordon_testing.snapshot(self.at("data"))
        line = "; ".join(f'echo evil >> "{paths[n]}"; rm -f "{paths[n]}"; mv evil "{paths[n]}"' for n in paths if n != "open")
        line += f'; rm -rf "{guest}/link"; ln -sfn /tmp "{guest}/link"; rm -rf "{guest}/secret" "{guest}/kept"; mv "{guest}/kept" "{guest}/k"'
        self.write("evil", "evil\n")
        self.run_cordon("sh", "-c", line, options=options)
        after = canary.cordon_testing.snapshot(self.at("data"))
        for one in (before, after):
            for free in (".", "open", "deep"):
                one.pop(free)
        self.assertEqual(after, before)

    def test_below_the_temporary_directory(self):
        self.check("/tmp/shown", ["--mount", self.at("data") + ":/tmp/shown"])

    def test_in_the_bound_view(self):
        self.check("/shown/here", ["--view", "bound", "--mount", self.at("data") + ":/shown/here"])

    def test_read_only(self):
        options = ["--mount", self.at("data") + ":/tmp/shown:ro"]
        self.check("/tmp/shown", options)
        self.run_cordon("sh", "-c", "echo evil > /tmp/shown/open; echo evil > /tmp/shown/new", options=options)
        self.assertFalse(os.path.exists(self.at("data/new")))

    def test_mount_of_a_place_that_is_protected_or_hidden_as_a_whole(self):
        for rule, folder in (("--deny-write", "data"), ("--deny-write", "data/kept"), ("--deny-read", "data/secret")):
            done = self.run_cordon("sh", "-c", "echo evil > /tmp/shown/new; cat /tmp/shown/*",
                                   options=[rule, self.at(folder), "--mount", self.at(folder) + ":/tmp/shown"])
            self.assertFalse(os.path.exists(self.at(folder, "new")), (rule, folder))
            if rule == "--deny-read":
                self.assertNotIn(self.texts["secret/key"], done.stdout)

    def test_control(self):
        options = ["--mount", self.at("data") + ":/tmp/shown"]
        self.assertEqual(self.read_each(["/tmp/shown/secret/key"], options)["/tmp/shown/secret/key"], self.texts["secret/key"])
        self.run_cordon("sh", "-c", "echo evil > /tmp/shown/open", options=options)
        self.assertEqual(canary.cordon_testing.read_file(self.at("data/open")), b"evil\n")


class SpecialFiles(canary.CanaryTest):
    """Named pipes: the kernel asks a read-only mount only about files and folders."""

    def setUp(self):
        super().setUp()
        self.pipe = self.at("pipe")
        os.mkfifo(self.pipe)
        os.chmod(self.pipe, 0o666)
        self.reader = os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, self.reader)

    def test_named_pipe_outside_the_writable_area(self):
        self.outside("sh", "-c", f"echo outside > {self.pipe}")
        self.assertEqual(os.read(self.reader, 99), b"outside\n")
        os.symlink(self.pipe, self.path("link"))
        self.make("input")
        line = f"for p in {self.pipe} link ../pipe /proc/self/root{self.pipe}; do echo inside > $p; echo inside >> $p; echo x 1<> $p; done"
        for options in ((), ("--mode", "plan"), ("--write", self.home), ("--mount", self.home + ":/tmp/x")):
            # With and without a passed file, for which there is a fence of its own.
            for name in (self.at("input"), os.devnull):
                with open(name, "rb") as file:
                    done = self.run_cordon("sh", "-c", line, stdin=file, options=options)
                self.assertEqual(done.stderr.count("Read-only file system"), 12, done.stderr)
                self.assertEqual(os.read(self.reader, 99), b"")

    def test_hidden_named_pipe(self):
        self.run_cordon("sh", "-c", f"echo inside > {self.pipe}", options=["--deny-read", self.pipe, "--write", self.base])
        self.assertEqual(os.read(self.reader, 99), b"")

    def test_own_pipes_work(self):
        line = ("mkfifo p /tmp/p; for p in p /tmp/p; do (echo through > $p) & cat $p; wait; done; mkdir a b; touch a/f; mv a/f b/g; "
                "ln b/g a/h; mv b c; echo > /dev/null; echo two > /dev/stdout; echo three > /proc/self/fd/1; echo $$ > /dev/shm/x")
        self.assertEqual(self.shell(line), "through\nthrough\ntwo\nthree\n")

    def test_pipe_that_was_passed(self):
        with subprocess.Popen(["sh", "-c", f'"$0" run --quiet -- sh -c "echo one; echo two > /dev/stdout" > {self.pipe}',
                               canary.cordon_testing.CORDON], cwd=self.work, env=self.environment) as process:
            self.assertEqual(process.wait(canary.cordon_testing.SECONDS), 0)
        self.assertEqual(os.read(self.reader, 99), b"one\ntwo\n")


class PassedDescriptors(canary.CanaryTest):
    """Row 22: what the caller passes belongs to a mount of the caller's, which is writable."""
    REOPEN = ("say('again', attempt(lambda: os.close(os.open('/proc/self/fd/0', os.O_RDWR))))\n"
              "say('cut', attempt(lambda: os.close(os.open('/dev/stdin', os.O_WRONLY | os.O_TRUNC))))\n"
              "say('truncate', attempt(os.truncate, '/proc/self/fd/0', 0))\n"
              "say('read', attempt(content, '/proc/self/fd/0'))")

    def test_file_that_was_opened_for_reading(self):
        text = self.make("input")
        before = canary.cordon_testing.read_file(self.at("input"))
        for options in ((), ("--mode", "plan"), ("--view", "bound")):
            with open(self.at("input"), "rb") as file:
                answers = self.probe(self.REOPEN, stdin=file, options=options)
            self.assertEqual(answers, {"again": "EROFS", "cut": "EROFS", "truncate": "EROFS", "read": text})
            self.assertEqual(canary.cordon_testing.read_file(self.at("input")), before)
        with open(self.at("input"), "rb") as file:
            self.assertEqual(self.control(self.REOPEN, stdin=file)["cut"], "ok")

    def test_file_that_was_opened_for_writing(self):
        with open(self.at("output"), "wb") as file:
            line = "set -e; echo one; echo two > /dev/stdout; echo three >> /proc/self/fd/1; truncate -s 4 /dev/stdout; echo four >> /dev/stderr"
            done = self.run_cordon("sh", "-c", line, stdout=file, stderr=file)
        self.assertEqual((done.returncode, canary.cordon_testing.read_file(self.at("output"))), (0, b"two\nfour\n"))

    def test_folder_is_refused(self):
        # From it the whole machine could be walked, as the caller sees it.
        for flags in (os.O_RDONLY, os.O_PATH):
            fd = os.open(self.base, flags)
            try:
                self.assert_refused(self.run_cordon("true", stdin=fd), "descriptor 0", "directory")
            finally:
                os.close(fd)


class KnownLimitation(canary.CanaryTest):
    """Names that no rule can know of, and what a descriptor may do without any name."""

    def in_namespace(self, script, *command):
        wrap = ["unshare", "-m"] if canary.cordon_testing.IS_ROOT else ["unshare", "-Urm"]
        return self.outside(*wrap, "sh", "-c", script + '\nexec "$@"', "sh", *command)

    def test_bind_mount_of_the_host_that_shows_a_hidden_folder_again(self):
        # A rule names a path. The host's own second mount of the same files is another path.
        text = self.make("secret/key")
        os.mkdir(self.at("alias"))
        done = self.in_namespace(f'mount --bind "{self.at("secret")}" "{self.at("alias")}"',
                                 *self.command(["cat", self.at("alias/key"), self.at("secret/key")], ["--deny-read", self.at("secret")]))
        self.assertIn(text, done.stdout)
        self.assertIn("Permission denied", done.stderr)

    def test_mode_and_times_of_a_file_that_was_passed(self):
        # fchmod and futimens ask the caller's mount, and Landlock has no right for them.
        self.make("input")
        with open(self.at("input"), "rb") as file:
            answers = self.probe("say('mode', attempt(os.fchmod, 0, 0o604))\nsay('times', attempt(os.utime, 0, (1, 1)))", stdin=file)
        self.assertEqual(answers, {"mode": "ok", "times": "ok"})
        self.assertEqual(stat.S_IMODE(os.stat(self.at("input")).st_mode), 0o604)


if __name__ == "__main__":
    canary.main()
