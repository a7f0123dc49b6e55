#!/usr/bin/env python3
"""Reads the #include lines of src/ and checks who may know whom.

base -> sys -> {glob -> policy} (pure) -> {jail, notify, maskfs, probe} -> session -> cli; the launcher is a program
of its own. Left never includes right; mechanisms do not include each other.
"""
import fnmatch
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

MAY_INCLUDE = {
    "base": {"base"},
    "sys": {"base", "sys"},
    "glob": {"base", "glob"},
    "policy": {"base", "glob", "policy"},
    "jail": {"base", "sys", "glob", "policy", "jail"},
    "notify": {"base", "sys", "glob", "policy", "notify"},
    "maskfs": {"base", "maskfs"},
    "probe": {"base", "sys", "glob", "policy", "probe"},
    "session": {"base", "sys", "glob", "policy", "jail", "probe", "session"},
    "cli": {"base", "sys", "glob", "policy", "jail", "probe", "session", "cli"},
    "launcher": {"base", "sys", "launcher"},
}

# (file, included header): reason.
EXCEPTIONS = {
    ("launcher/*", "jail/wire*.h"): "the messages between the host side and the launcher",
    ("notify/*", "jail/wire*.h"): "the messages between the host side and the broker",
    ("launcher/main.cc", "notify/broker.h"): "the broker is a fork of the monitor",
    ("maskfs/*", "jail/wire*.h"): "the messages between the host side and the server of masks",
    ("maskfs/server.cc", "notify/link.h"): "it reports as the broker does",
    ("maskfs/server.cc", "notify/reporter.h"): "it reports as the broker does",
    ("launcher/main.cc", "maskfs/server.h"): "the server of masks is a fork of the monitor",
    ("launcher/watch_globs.h", "glob/glob.h"): "names of denied globs that come later",
    ("policy/file_system.h", "sys/file_system.h"): "the interface alone; sys implements it",
}

# Third-party headers and the files that may name them. Each is slow to compile.
THIRD_PARTY = {
    "nlohmann/*": ["*_json.cc", "*_test.cc"],
    "gtest/*": ["*_test.cc", "*_test_support.h"],
    "gmock/*": ["*_test.cc"],
}

# Pure modules have no descriptors, clocks or threads: they are tested and fuzzed without root.
PURE = {"glob", "policy"}
IMPURE_HEADERS = [
    "unistd.h", "fcntl.h", "dirent.h", "poll.h", "sched.h", "signal.h", "csignal", "pwd.h",
    "pthread.h", "thread", "mutex", "atomic", "future", "filesystem", "fstream",
    "sys/*", "linux/*",
]
PURE_EXCEPTIONS = {
    ("policy/spec_json.cc", "*"): "ReadSpecFile reads the one file that it is named",
}

CLOCK = re.compile(r"_clock::now\s*\(|(?<![\w.>])time\s*\(\s*(nullptr|NULL|0)\s*\)|\bgetenv\s*\((?!\d\))")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def excepted(table, name, header):
    return any(fnmatch.fnmatchcase(name, file) and fnmatch.fnmatchcase(header, included)
               for file, included in table)


def judge_own(name, header):
    module = name.split("/")[0]
    target = header.split("/")[0]
    if "/" not in header or target not in MAY_INCLUDE:
        return f'src/{name}: "{header}" is not a path from src/ (own headers are)'
    if target in MAY_INCLUDE[module] or excepted(EXCEPTIONS, name, header):
        return None
    return f"src/{name}: {module} may not include {header}"


def judge_foreign(name, header):
    for pattern, files in THIRD_PARTY.items():
        if fnmatch.fnmatchcase(header, pattern):
            if any(fnmatch.fnmatchcase(name, file) for file in files):
                return None
            return f"src/{name}: <{header}> belongs in {' or '.join(files)} only"
    known = "/" not in header or header.split("/")[0] in (
        "sys", "linux", "asm", "netinet", "arpa", "net", "bits")
    if not known:
        return f"src/{name}: <{header}> is a library that this test does not know"
    if name.split("/")[0] in PURE and not name.endswith("_test.cc"):
        if any(fnmatch.fnmatchcase(header, item) for item in IMPURE_HEADERS):
            if not excepted(PURE_EXCEPTIONS, name, header):
                return f"src/{name}: a pure module does not include <{header}>"
    return None


def violations(source):
    found = []
    for path in sorted(source.rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        name = path.relative_to(source).as_posix()
        if name.split("/")[0] not in MAY_INCLUDE:
            found.append(f"src/{name}: its module has no place in the order")
            continue
        text = path.read_text(errors="replace")
        if name.split("/")[0] in PURE and not name.endswith("_test.cc") and CLOCK.search(text):
            found.append(f"src/{name}: a pure module reads no clock and no environment")
        for own, foreign in INCLUDE.findall(text):
            problem = judge_own(name, own) if own else judge_foreign(name, foreign)
            if problem:
                found.append(problem)
    return found


class IncludeOrder(unittest.TestCase):
    def test_tree_keeps_the_order(self):
        self.assertEqual(violations(ROOT / "src"), [])

    def test_refuses_what_it_should(self):
        bad = {
            "policy/a.cc": '#include "jail/plan.h"',
            "glob/a.cc": '#include "policy/policy.h"',
            "jail/a.h": '#include "probe/probe.h"',
            "probe/a.cc": '#include "launcher/raw.h"',
            "launcher/a.cc": '#include "jail/plan.h"',
            "session/a.cc": '#include "cli/text.h"',
            "session/b.cc": "#include <nlohmann/json.hpp>",
            "jail/b.cc": '#include "plan.h"',
            "policy/b.cc": "  #  include <sys/stat.h>",
            "policy/d.cc": "auto t = std::chrono::steady_clock::now();",
            "cli/a.cc": "#include <seccomp/x.h>",
            "cli/c.cc": "#include <CLI/CLI.hpp>",
            "utils/a.cc": "int x;",
        }
        good = {
            "launcher/b.cc": '#include "jail/wire.h"',
            "policy/spec_json.cc": "#include <nlohmann/json.hpp>\n#include <fcntl.h>",
            "policy/c.cc": '#include "glob/glob.h"\n#include <string>',
            "cli/b.cc": '#include <string>\n#include "session/session.h"',
        }
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            for name, text in {**bad, **good}.items():
                (source / name).parent.mkdir(exist_ok=True)
                (source / name).write_text(text + "\n")
            found = violations(source)
        self.assertEqual(sorted(line.split(":")[0] for line in found),
                         sorted("src/" + name for name in bad))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
