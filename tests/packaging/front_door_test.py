#!/usr/bin/env python3
"""The front doors ./cordon and deps/install, in a made-up clone with a program of one line."""
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
#include <unistd.h>
#include <cstdio>
int main(int argc, char** argv) {
  char where[4096];
  std::printf("%s %s", getcwd(where, sizeof where), argc > 1 ? argv[1] : "");
  return argc > 2 ? 7 : 0;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(cordon LANGUAGES CXX)
add_executable(cordon src/cli/main.cc)
set_target_properties(cordon PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
"""


class FrontDoor(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.clone = pathlib.Path(self.folder.name) / "a clone"
        for name in ("src/cli", "cmake", "deps", "packaging/apparmor"):
            (self.clone / name).mkdir(parents=True)
        for name in ("cordon", "CMakePresets.json", "deps/install", "packaging/apparmor/offer"):
            shutil.copy(ROOT / name, self.clone / name)
        (self.clone / "deps/debian.txt").write_text("# none\n")
        (self.clone / "CMakeLists.txt").write_text(PROJECT)
        self.source = self.clone / "src/cli/main.cc"
        self.source.write_text(PROGRAM)

    def cordon(self, *arguments, cwd="/usr"):
        return subprocess.run([self.clone / "cordon", *arguments], cwd=cwd, text=True,
                              capture_output=True, timeout=120)

    def change(self, text):
        """Writes the source with a time surely after the stamp of the last build."""
        self.source.write_text(text)
        later = (self.clone / "build/release/stamp").stat().st_mtime + 2
        os.utime(self.source, (later, later))

    def test_builds_once_and_after_a_change(self):
        first = self.cordon("one")
        self.assertEqual((first.stdout, first.returncode), ("/usr one", 0), first.stderr)
        self.assertEqual(first.stderr, "cordon: building in build/release\n")
        second = self.cordon("two", "more", cwd="/")
        self.assertEqual((second.stdout, second.stderr, second.returncode), ("/ two", "", 7))

        (self.clone / "src/cli/main_test.cc").write_text("a test is no reason to build")
        os.utime(self.clone / "src/cli", (1, 1))
        self.assertEqual(self.cordon("three").stderr, "")

        self.change(PROGRAM.replace("%s %s", "new %s %s"))
        self.assertEqual(self.cordon("four").stdout, "new /usr four")

    def test_is_found_through_a_link(self):
        link = pathlib.Path(self.folder.name) / "link"
        link.symlink_to(self.clone / "cordon")
        done = subprocess.run([link, "x"], cwd="/", text=True, capture_output=True, timeout=120)
        self.assertEqual(done.stdout, "/ x", done.stderr)

    def test_failed_build_is_125_with_the_compilers_words(self):
        self.assertEqual(self.cordon().returncode, 0)
        self.change("int main() { return not_declared; }")
        done = self.cordon()
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("not_declared", done.stderr)
        self.assertIn("build/release/build.log", done.stderr)

    def test_moved_clone_is_built_anew(self):
        self.assertEqual(self.cordon().returncode, 0)
        moved = pathlib.Path(self.folder.name) / "moved"
        self.clone.rename(moved)
        self.clone = moved
        self.source = moved / "src/cli/main.cc"
        self.change(PROGRAM.replace("%s %s", "new %s %s"))
        done = self.cordon("x")
        self.assertEqual((done.stdout, done.returncode), ("new /usr x", 0), done.stderr)


class Packages(unittest.TestCase):
    """deps/install with made-up dpkg-query, apt-get, sudo and id."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.top = pathlib.Path(self.folder.name)
        (self.top / "deps").mkdir()
        (self.top / "bin").mkdir()
        shutil.copy(ROOT / "deps/install", self.top / "deps/install")
        (self.top / "deps/debian.txt").write_text(
            "alpha build # a\nbeta test # b\n\ngamma ci # c\nnpm build # provided\n")
        for tool in ("sh", "sed", "awk", "dirname", "cat", "tail", "mktemp", "rm", "env", "touch"):
            (self.top / "bin" / tool).symlink_to(shutil.which(tool))
        self.installed("ii  base, ", "ii  nodejs, node-types (= 1), npm", "rc  alpha, ")
        self.stub("id", "echo ${FAKE_ID:-1000}")

    def stub(self, name, body):
        path = self.top / "bin" / name
        path.write_text("#!/bin/sh\n" + body + "\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    def installed(self, *lines):
        self.stub("dpkg-query", "cat <<'END'\n" + "\n".join(lines) + "\nEND")

    def install(self, *scopes, **environment):
        return subprocess.run(
            [self.top / "deps/install", *scopes], text=True, capture_output=True, timeout=30,
            stdin=subprocess.DEVNULL, env={"PATH": str(self.top / "bin"), **environment})

    def test_quiet_when_all_is_there(self):
        self.installed("ii  alpha, ", "hi  npm, ")
        done = self.install("build")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_names_the_command_when_it_may_not_install(self):
        done = self.install("build", "test")
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("sudo apt-get install --no-install-recommends -y alpha beta\n", done.stderr)
        self.assertNotIn("gamma", done.stderr)
        self.assertNotIn("npm", done.stderr)

    def test_installs_as_root(self):
        self.stub("apt-get", f'echo "$*" >>{self.top}/calls')
        done = self.install("build", FAKE_ID="0")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual((self.top / "calls").read_text(),
                         "install --no-install-recommends -y alpha\n")

    def test_fetches_the_lists_when_the_first_try_fails(self):
        self.stub("apt-get", f'echo "$1" >>{self.top}/calls\n'
                             f'[ "$1" = update ] && touch {self.top}/fresh\n[ -e {self.top}/fresh ]')
        done = self.install("build", FAKE_ID="0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.top / "calls").read_text(), "install\nupdate\ninstall\n")

    def test_uses_sudo_that_asks_for_nothing(self):
        self.stub("sudo", f'shift; [ "$1" = true ] || echo "$*" >>{self.top}/calls')
        self.stub("true", "exit 0")
        done = self.install("build")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("apt-get install --no-install-recommends -y alpha",
                      (self.top / "calls").read_text())

    def test_failure_shows_what_apt_said(self):
        self.stub("apt-get", "echo no such luck; exit 100")
        done = self.install("build", FAKE_ID="0")
        self.assertEqual(done.returncode, 125)
        self.assertIn("no such luck", done.stderr)


class AppArmorOffer(unittest.TestCase):
    def offer(self, restriction, user):
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            (top / "sysctl").write_text(restriction)
            (top / "profile").write_text("profile cordon-launch-0 /x flags=(unconfined) {\n}\n")
            script = (ROOT / "packaging/apparmor/offer").read_text()
            known = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
            self.assertIn(known, script)
            (top / "offer").write_text(script.replace(known, str(top / "sysctl")))
            for name, body in (("id", f"echo {user}"), ("bwrap", "exit 1")):
                (top / name).write_text("#!/bin/sh\n" + body + "\n")
                (top / name).chmod(0o755)
            return subprocess.run(["sh", top / "offer", top / "profile"], text=True,
                                  capture_output=True, timeout=30, stdin=subprocess.DEVNULL,
                                  env={"PATH": f"{top}:{os.environ['PATH']}"})

    def test_names_the_command_where_it_is_needed(self):
        done = self.offer("1\n", 1000)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("/etc/apparmor.d/cordon-launch-0", done.stderr)
        self.assertIn("apparmor_parser -r", done.stderr)

    def test_is_silent_elsewhere(self):
        for restriction, user in (("0\n", 1000), ("", 1000), ("1\n", 0)):
            done = self.offer(restriction, user)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
