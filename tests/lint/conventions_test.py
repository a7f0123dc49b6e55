#!/usr/bin/env python3
"""Small rules of the repository that a text search can hold."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SELF = "tests/lint/conventions_test.py"

# Names that stand for "somebody" in examples and made-up trees.
SOMEBODY = "u|user|you|me|alice|bob|ann|dev|someone|USER|cordon|x|y|other|nobody|linuxbrew"

RULES = [
    ("unfinished work belongs in an issue",
     re.compile(r"\b(TODO|FIXME|XXX)\b"),
     re.compile(r"^(src|tests|bench|cmake|docs)/|^[^/]+$")),
    ("wait for the event, not for a time",
     re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\s*\("
                r"|(?<![\w.])(::)?sleep\s*\(|\btime\.sleep\s*\(|\basyncio\.sleep\s*\("),
     re.compile(r"^(src|tests|bench)/.*\.(cc|h|py)$")),
    ("wait for the event, not for a time",
     re.compile(r"^\s*sleep\s+[0-9.]+\s*$", re.MULTILINE),
     re.compile(r"^(tests|bench)/.*\.sh$|^test$|^cordon$|^\.ci/")),
    ("a path of one person's machine",
     re.compile(r"/(home|Users)/(?!(" + SOMEBODY + r")\b)[A-Za-z][A-Za-z0-9_-]*/"),
     re.compile(r"")),
]


def files():
    """Repository files by path from the root, also those that are not committed yet."""
    try:
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-coz",
             "--exclude-standard"], check=True, capture_output=True).stdout
        names = [name.decode(errors="surrogateescape") for name in listed.split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):  # a tree without .git: a source archive
        names = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*")
                 if not path.relative_to(ROOT).parts[0].startswith(("build", ".git"))]
    return sorted(name for name in set(names)
                  if (ROOT / name).is_file() and not name.startswith("tests/fuzz/"))


def violations(name, text):
    """Lines of one file that break a rule, as "path:line: what"."""
    found = []
    for what, pattern, where in RULES:
        if name == SELF or not where.search(name):
            continue
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{name}:{line}: {what}: {match.group().strip()}")
    return found


class Conventions(unittest.TestCase):
    def test_rules_hold(self):
        names = files()
        self.assertIn("CMakeLists.txt", names)
        found = []
        for name in names:
            found += violations(name, (ROOT / name).read_text(errors="replace"))
        self.assertEqual(found, [])

    def test_rules_refuse_what_they_should(self):
        for name, text in [
                ("src/base/a.cc", "// TODO: more"),
                ("src/base/a.cc", "  ::usleep(3);"),
                ("src/base/a.cc", "std::this_thread::sleep_for(x);"),
                ("src/base/a.cc", "  sleep(1);"),
                ("tests/e2e/a_test.py", "time.sleep(0.1)"),
                ("tests/e2e/a_test.sh", "true\n  sleep 1\n"),
                ("README.md", "see /home/" + "jdoe/x"),
        ]:
            self.assertEqual(len(violations(name, text)), 1, text)
        for name, text in [
                ("tests/e2e/a_test.py", 'run(["sleep", "1000"])'),
                ("tests/e2e/a_test.sh", "$CORDON run -- sleep 100 &"),
                ("src/policy/a_test.cc", '"/home/u/project"'),
        ]:
            self.assertEqual(violations(name, text), [], text)

    def test_no_file_names_the_place_of_this_clone(self):
        place = str(ROOT) + "/"
        if len(ROOT.parts) < 3:
            self.skipTest("the clone lies too near to / for its path to be telling")
        self.assertEqual([name for name in files()
                          if place in (ROOT / name).read_text(errors="replace")], [])

    def test_test_scripts_can_be_run(self):
        scripts = [name for name in files()
                   if re.match(r"tests/(?!support/).*_test\.(py|sh)$", name)]
        self.assertTrue(scripts)
        for name in scripts:
            self.assertTrue(os.access(ROOT / name, os.X_OK), f"{name} is not executable")
            self.assertTrue((ROOT / name).read_bytes().startswith(b"#!"), f"{name} has no #! line")

    def test_package_list_is_well_formed(self):
        packages = []
        for line in (ROOT / "deps/debian.txt").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            match = re.fullmatch(r"([a-z0-9][a-z0-9.+-]+)\s+(build|test|ci)\s+# \S.*", line)
            self.assertTrue(match, line)
            packages.append(match[1])
        self.assertEqual(len(packages), len(set(packages)))

    def test_fuzz_targets_have_a_stored_corpus(self):
        targets = sorted((ROOT / "src").rglob("*_fuzz.cc"))
        self.assertTrue(targets)
        for target in targets:
            corpus = ROOT / "tests/fuzz" / target.stem.removesuffix("_fuzz")
            self.assertTrue(corpus.is_dir() and any(corpus.iterdir()),
                            f"{target.name} needs inputs in {corpus}")

    def test_agents_file_stays_short(self):
        self.assertLessEqual(len((ROOT / "AGENTS.md").read_text().splitlines()), 60)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
