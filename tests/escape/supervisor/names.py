"""What the tests of the supervisor share: name rules, probes in C, violations, and a witness.

A probe lies outside of the working directory, where a session of the host view sees it and cannot
change it. Each test runs its trick outside first, in a tree of its own, and counts what came of it.
"""
import atexit
import base64
import fnmatch
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "files"))
import canary  # pylint: disable=wrong-import-position
import cordon_testing  # pylint: disable=wrong-import-position

HERE = pathlib.Path(__file__).resolve().parent
GLOBS = (".env", ".env.*", "*.key", "*.pem", "!.env.example")
STRESS = float(os.environ.get("CORDON_STRESS_SECONDS", "6"))
BROKER = "cordon-broker"

_built = {}


def build(name, *flags):
    """The probe `name`, compiled once a run."""
    if name not in _built:
        folder = tempfile.mkdtemp(prefix="cordon-probe-")
        atexit.register(shutil.rmtree, folder, True)
        program = os.path.join(folder, name)
        subprocess.run(["cc", "-O1", "-Wall", "-Wno-nonnull", "-pthread", *flags, "-o", program,
                        str(HERE / "probes" / (name + ".c"))], check=True)
        _built[name] = program
    return _built[name]


@functools.cache
def knows(option):
    """Whether `cordon run` has this option."""
    done = subprocess.run([cordon_testing.CORDON, "run", "--help"], capture_output=True, text=True,
                          check=False)
    return option in done.stdout


def broker_of(monitor):
    """The pid of the broker of a session."""
    def found():
        return [pid for pid in cordon_testing.children_of(monitor)
                if cordon_testing.name_of(pid) == BROKER]
    return cordon_testing.wait_for(found, "a child of the monitor called " + BROKER)[0]


def init_of(monitor):
    """The pid of init of a session: the child of the monitor that is in another pid namespace."""
    def found():
        return [pid for pid in cordon_testing.children_of(monitor)
                if len(cordon_testing.read_file(f"/proc/{pid}/status").partition(b"NSpid:")[2].splitlines()[0].split()) > 1]
    return cordon_testing.wait_for(found, "an init")[0]


class NameTest(canary.CanaryTest):
    """A working directory with name rules, and what the session reported about them."""
    PROBES = ()

    def setUp(self):
        super().setUp()
        self.tools = self.at("tools")
        os.mkdir(self.tools)
        for name in self.PROBES:
            if shutil.which("cc") is None:
                self.skipTest("no C compiler for the probes")
            shutil.copy(build(name), self.tools)

    def tool(self, name):
        return os.path.join(self.tools, name)

    def name_rules(self, *globs):
        """Options that make `globs` (GLOBS by default) the session's denyNames."""
        globs = globs or GLOBS
        if knows("--deny-name"):
            return [word for glob in globs for word in ("--deny-name", glob)]
        spec = {"sessionId": "names", "workspaceId": "test", "view": "host",
                "guestWorkdir": self.work,
                "filesystem": {"allowWrite": [self.work], "denyNames": list(globs)}}
        pathlib.Path(self.at("spec.json")).write_text(json.dumps(spec), encoding="utf-8")
        return ["--spec", self.at("spec.json")]

    def inside(self, *argv, options=None, **how):
        """run_cordon() with name rules (or `options`), its events kept for violations()."""
        options = self.name_rules() if options is None else list(options)
        pathlib.Path(self.at("events")).unlink(missing_ok=True)
        how = {"errors": "surrogateescape", **how}
        return self.run_cordon(*argv, options=[*options, "--events", self.at("events")], **how)

    def events(self):
        events = [json.loads(line) for line in cordon_testing.read_file(self.at("events")).splitlines()]
        for event in events:  # what is no UTF-8 travels as base64
            for key in [key for key in event if key.endswith("Base64")]:
                event[key[:-6]] = os.fsdecode(base64.b64decode(event[key]))
        return events

    def violations(self, action="*", target="*"):
        """Violation events of the last inside(), by globs of action and target."""
        return [event for event in self.events() if event["type"] == "violation" and
                (action == "*" or event["action"] == action) and
                fnmatch.fnmatchcase(event["target"], target)]

    def assert_reported(self, target, action="*"):
        """The last inside() reported a refusal of `target`, an absolute path or a glob of such."""
        found = self.violations(action, target)
        self.assertTrue(found, f"no violation of {target}; there are "
                               f"{[(v['action'], v['target']) for v in self.violations()][:40]}")
        for violation in found:
            self.assertGreaterEqual(violation["count"], 1)
            self.assertTrue(violation.get("reason"), violation)
        return found

    def said(self, done):
        """{name: answer} of a C probe that prints "name answer" lines."""
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        return dict(line.split(" ", 1) for line in done.stdout.splitlines())

    def found(self, *globs, top=None):
        """The witness: every path below `top` (the working directory) whose name matches."""
        return sorted(path for path in cordon_testing.names_below(top or self.work)
                      if any(fnmatch.fnmatchcase(os.path.basename(path), glob) for glob in globs))

    def fresh(self):
        """An empty working directory again, after a control."""
        cordon_testing.remove_tree(self.work)
        os.mkdir(self.work)


main = cordon_testing.main
