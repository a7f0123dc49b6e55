#!/usr/bin/env python3
"""The policy's answers against the kernel's, on random trees and random rules.

Each case makes a tree and a sandbox description, asks decide_tool what may be read, written,
created and removed, lets one session try all of it, and compares. What was written or created is
looked for from outside. CORDON_PROPERTY_CASES sets how many cases are run, CORDON_PROPERTY_SEED
the first seed; a disagreement prints the seed and the description.
"""
# ctest: TIMEOUT 600
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cordon_testing  # pylint: disable=wrong-import-position

CASES = int(os.environ.get("CORDON_PROPERTY_CASES", "40"))
SEED = int(os.environ.get("CORDON_PROPERTY_SEED", "0")) or random.SystemRandom().randrange(1 << 31)
TOOL = os.path.join(os.path.dirname(os.path.dirname(cordon_testing.CORDON)), "tests", "decide_tool")
PROBE = str(pathlib.Path(__file__).resolve().parent / "probe.py")
MARKER = b"written inside\n"

NAMES = ["a", "b", "src", "lib", ".env", ".config", "x.pem", "y.pem", "deep", "a b", "n\nl", "-r",
         "tab\tx", "q'u\"o", "gl*b", "br[a]c", "{c,d}", "\udcff\udcfe", "ümlaut", "sl\\ash", "~", "$HOME",
         "a.txt", "b.txt", "secret", "secrets", "build", "node_modules", ".git", ".bashrc", ".vscode"]


def escaped(path):
    """The same path as a pattern that matches it alone."""
    return "".join("\\" + c if c in "*?[]{},\\" else c for c in path)


def content(path):
    return b"content of " + os.fsencode(path) + b"\n"


class Tree:
    """A random tree below `top`, with what is in it by kind."""

    def __init__(self, rng, top):
        self.top = top
        self.folders = [top]
        self.files = []
        self.links = []
        self.closed = set()  # files of mode 0
        names = rng.sample(NAMES, 18)
        for _ in range(rng.randrange(6, 14)):
            parent = rng.choice(self.folders)
            path = os.path.join(parent, rng.choice(names))
            if not os.path.lexists(path):
                os.mkdir(path)
                self.folders.append(path)
        for folder in list(self.folders):
            for name in rng.sample(names, rng.randrange(1, 4)):
                path = os.path.join(folder, name)
                if os.path.lexists(path):
                    continue
                with open(path, "wb") as file:
                    file.write(content(path))
                self.files.append(path)
        for _ in range(rng.randrange(0, 6)):
            path = os.path.join(rng.choice(self.folders), "link%d" % len(self.links))
            target = rng.choice(self.files + self.folders)
            if rng.random() < 0.2:
                target = os.path.join(rng.choice(self.folders), "nothing-here")
            if rng.random() < 0.4:
                target = os.path.relpath(target, os.path.dirname(path))
            os.symlink(target, path)
            self.links.append(path)
        for path in self.files:
            if rng.random() < 0.04:
                os.chmod(path, 0)
                self.closed.add(path)

    def paths(self):
        """Every path in it, and some that lead through links."""
        through = []
        for link in self.links:
            if os.path.isdir(link):
                through += [os.path.join(link, name) for name in sorted(os.listdir(link))]
        return self.folders + self.files + self.links + through

    def anything(self, rng):
        path = rng.choice(self.folders + self.files + self.links)
        return path if rng.random() < 0.9 else os.path.join(rng.choice(self.folders), "not-there")


def pattern(rng, tree):
    folder = rng.choice(tree.folders)
    tail = rng.choice(["*", "**/*.pem", "*.txt", "**/secret*", "?", ".*", "**/a", "[ab]*", "*/b", "{a,src}",
                       "**/.env", "s*/**", "[!a]*"])
    return escaped(folder) + "/" + tail


def entry(rng, tree, globs):
    """A rule's text, in one of the spellings that the description knows."""
    if globs and rng.random() < 0.3:
        return pattern(rng, tree)
    path = tree.anything(rng)
    if any(0xdc80 <= ord(c) <= 0xdcff for c in path):  # JSON is UTF-8: such a name cannot be written
        path = tree.top
    style = rng.random()
    if style < 0.15:
        return escaped(path) + "/"
    if style < 0.3:
        return escaped(path) + "/**"
    if style < 0.4:
        parts = path.rsplit("/", 1)
        return escaped(parts[0]) + "/." + "/" + escaped(parts[1]) + "/../" + escaped(parts[1])
    if style < 0.5:
        return escaped(path).replace("/", "//", 3)
    return {"path": path, "literal": True}


def description(rng, tree, workdir):
    files = {"defaultDenies": rng.random() < 0.5}
    for field, most, globs in (("allowWrite", 4, True), ("allowRead", 3, True), ("denyRead", 4, True),
                               ("denyWrite", 3, False)):
        files[field] = [entry(rng, tree, globs) for _ in range(rng.randrange(most + 1))]
    spec = {"sessionId": "property", "workspaceId": "tests",
            "view": rng.choice(["host", "host", "bound"]),
            "mode": rng.choices(["chat", "plan", "review"], [6, 1, 1])[0],
            "guestWorkdir": workdir, "filesystem": files}
    if rng.random() < 0.3:
        spec["protectedPaths"] = [entry(rng, tree, False)]
    if rng.random() < 0.2:
        spec["runnerStateDirs"] = [entry(rng, tree, False)]
    if rng.random() < 0.1:
        files["denyRead"].append("~")
    if rng.random() < 0.1:
        files["denyRead"].append("/")
        files["allowRead"] += ["/usr", "/lib", "/lib64", "/bin", "/etc"]
    spec["bindMounts"] = [{"hostPath": path, "readOnly": rng.random() < 0.4}
                          for path in rng.sample(tree.folders, rng.choice([0, 0, 1, 2]))
                          if path.isprintable()]
    for number, mount in enumerate(spec["bindMounts"]):
        if rng.random() < 0.5:  # in view "host" a guest path below /tmp is all that can be offered
            top = "/guest" if spec["view"] == "bound" else "/tmp/guest"
            mount["guestPath"] = f"{top}/place {number}"
    return spec


def walk(path):
    """(what `path` names, the links on the way): as the kernel resolves it; None in a loop."""
    links = []
    done = "/"
    left = [part for part in path.split("/") if part]
    while left:
        part = left.pop(0)
        if part == ".":
            continue
        if part == "..":
            done = os.path.dirname(done)
            continue
        step = os.path.join(done, part)
        if os.path.islink(step):
            links.append(step)
            if len(links) > 40:
                return None, links
            target = os.readlink(step)
            left = [piece for piece in target.split("/") if piece] + left
            if target.startswith("/"):
                done = "/"
            continue
        done = step
    return done, links


def identity(path):
    status = os.lstat(path)
    return f"{status.st_dev}:{status.st_ino}"


class Verdict:
    """An answer of decide_tool."""

    def __init__(self, line):
        allowed, own, held, self.kind, self.reason = line.split(" ", 4)
        self.allowed, self.own, self.held = allowed == "1", own == "1", held == "1"


class Case:
    """One tree, one description, one session."""

    def __init__(self, seed, top):
        self.seed = seed
        rng = random.Random(seed)
        self.home = os.path.join(top, "home")
        os.mkdir(self.home)
        self.tree = Tree(rng, self.home)
        folders = [path for path in self.tree.folders if path.isprintable()]
        self.workdir = rng.choice(folders)
        self.spec = description(rng, self.tree, self.workdir)
        self.writable_workdir = rng.random() < 0.4
        self.questions = {}
        self.trials = []  # (operation, path as tried, path as judged, links on the way)
        self.plan()

    def ask(self, operation, path):
        self.questions.setdefault((operation, path), None)

    def add(self, operation, tried, judged, links):
        self.trials.append((operation, tried, judged, links))
        self.ask(operation, judged)
        self.ask("read", judged)
        for link in links:
            self.ask("read", os.path.dirname(link))
            self.ask("read", link)

    def plan(self):
        paths = self.tree.paths()
        for path in paths:
            real, links = walk(path)
            if real is None or not os.path.lexists(real):
                continue
            self.add("read", path, real, links)
            if os.path.isdir(real):
                name = "new-%d" % len(self.trials)
                self.add("create", os.path.join(path, name), os.path.join(real, name), links)
                self.ask("write", real)
            else:
                self.add("write", path, real, links)
        for path in sorted(paths, key=lambda p: -p.count("/")):
            parent, links = walk(os.path.dirname(path))
            if path != self.tree.top and parent is not None:
                self.add("remove", path, os.path.join(parent, os.path.basename(path)), links)
        for mount in self.elsewhere():
            self.plan_guest(mount["hostPath"], mount["guestPath"])

    def elsewhere(self):
        return [mount for mount in self.spec["bindMounts"] if "guestPath" in mount]

    def plan_guest(self, host, guest):
        """The same below a mount's other name, where rules must hold as well."""
        below = [path for path in self.tree.folders + self.tree.files if path.startswith(host + "/")]
        for path in below:
            tried = guest + path[len(host):]
            for at in self.tree.folders:
                self.ask("read", at)
            self.add("read", tried, path, [])
            if path in self.tree.files:
                self.add("write", tried, path, [])
            else:
                name = "/new-%d" % len(self.trials)
                self.add("create", tried + name, path + name, [])
                self.ask("write", path)
        for path in sorted(below, key=lambda p: -p.count("/")):
            self.add("remove", guest + path[len(host):], path, [])

    def environment(self):
        return cordon_testing.bare_environment(self.home)

    def decide(self, spec_file):
        """Fills in the answers; "" or why the description is refused."""
        option = ["--workdir-writable"] if self.writable_workdir else []
        asked = list(self.questions)
        text = "".join(f"{op} {os.fsencode(path).hex()}\n" for op, path in asked)
        done = subprocess.run([TOOL, spec_file, *option], input=text, text=True, capture_output=True,
                              env=self.environment(), cwd=self.workdir, check=False,
                              errors="surrogateescape", timeout=cordon_testing.SECONDS)
        if done.returncode == 3:
            return done.stderr
        lines = done.stdout.splitlines()
        if done.returncode != 0 or len(lines) != len(asked):
            raise AssertionError(f"decide_tool: {done.stderr}")
        for question, line in zip(asked, lines):
            self.questions[question] = Verdict(line)
        return ""

    def session(self, spec_file):
        option = ["--workdir", self.workdir] if self.writable_workdir else []
        text = "".join(f"{op} {os.fsencode(path).hex()}\n" for op, path, _, _ in self.trials)
        with open(PROBE, encoding="utf-8") as file:
            probe = file.read()
        return subprocess.run(
            [cordon_testing.CORDON, "run", "--quiet", "--spec", spec_file, *option, "--",
             "/usr/bin/python3", "-ISc", probe],
            input=text, text=True, capture_output=True, env=self.environment(), cwd=self.workdir,
            check=False, errors="surrogateescape", timeout=cordon_testing.SECONDS)

    def reopened(self, path, top):
        """Whether a rule hides something on the way from `top` down to `path`."""
        while path != top:
            path = os.path.dirname(path)
            if not self.questions["read", path].allowed:
                return True
        return False

    @staticmethod
    def known(operation, verdict):
        """Why the kernel may allow what the policy refuses; the supervisor's part."""
        if operation == "create" and not verdict.held:
            return "a name that did not exist at start"
        if operation == "remove" and verdict.reason.startswith("above a path held by"):
            return "an ancestor of a held path can be renamed"
        return ""

    def expected(self, operation, judged, links):
        """(verdict, whether it may be allowed, whether it may be refused)"""
        verdict = self.questions[operation, judged]
        if not verdict.allowed:
            return verdict, False, True
        # A link in a hidden directory is not there to be followed.
        hidden = [link for link in links if not self.questions["read", os.path.dirname(link)].allowed]
        if not hidden:
            return verdict, True, False
        return verdict, any(self.questions["read", link].allowed for link in hidden), True

    @staticmethod
    def outcome(operation, judged, answer):
        """Whether the operation reached the host's file."""
        if not answer.startswith("ok"):
            return False
        if operation == "read":
            if os.path.isdir(judged):
                return answer[3:] == identity(judged)
            # An earlier trial may have written to it.
            return bytes.fromhex(answer[3:]).startswith(content(judged))
        if operation == "write":
            with open(judged, "rb") as file:
                return file.read().endswith(MARKER)
        if operation == "create":
            return os.path.lexists(judged)
        return answer[3:] == identity(judged)

    def compare(self, answers):
        faults, limits = [], 0
        for (operation, tried, judged, links), answer in zip(self.trials, answers):
            verdict, may, may_not = self.expected(operation, judged, links)
            happened = self.outcome(operation, judged, answer)
            if operation == "create" and not self.questions["write", os.path.dirname(judged)].allowed:
                may_not = True  # what a rule says about one name does not open its directory
            mapped = [m for m in self.elsewhere() for path in (judged, *links)
                      if (path + "/").startswith(m["hostPath"] + "/")]
            if mapped and (operation != "read" or not tried.startswith(mapped[0]["guestPath"]) or
                           self.reopened(judged, mapped[0]["hostPath"])):
                may_not = True  # shown at the guest path alone, and never wider than the mount is
            if operation != "read" and ".git" in judged.split("/"):
                may_not = True  # what git takes hooks and configuration from is judged when it is used
            if judged in self.tree.closed:
                may_not = True  # its mode forbids it, whatever the policy says
            if happened and not may and self.known(operation, verdict):
                limits += 1
            elif not happened and not may_not and not verdict.held:
                limits += 1  # an allowance for names that come later
            elif (happened and not may) or (not happened and not may_not):
                faults.append(f"{operation} {tried!r}" + (f" -> {judged!r}" if tried != judged else "") +
                              f": policy {'allows' if verdict.allowed else 'refuses'} "
                              f"({verdict.kind}: {verdict.reason}), the kernel answered {answer[:60]!r}")
        return faults, limits

    def run(self, spec_file):
        """(faults, count of known limits); None when the description is refused by both."""
        with open(spec_file, "w", encoding="utf-8") as file:
            json.dump(self.spec, file, ensure_ascii=True)
        refused = self.decide(spec_file)
        done = self.session(spec_file)
        if refused:
            if done.returncode != 125 or not done.stderr.startswith("cordon: "):
                return [f"refused ({refused.strip()}), yet the session said {done.returncode}: {done.stderr}"], 0
            return None
        if done.returncode == 125 and "enter the working directory" in done.stderr and self.elsewhere():
            return None  # a mount shows it at another place
        answers = done.stdout.splitlines()
        if done.returncode != 0 or len(answers) != len(self.trials):
            return [f"the session ended with {done.returncode} after {len(answers)} of {len(self.trials)} "
                    f"trials: {done.stderr[-600:]}"], 0
        return self.compare(answers)


class Property(cordon_testing.unittest.TestCase):
    """Both answers agree."""

    def one(self, seed):
        # In every fourth case below /tmp, where only what is named is the host's.
        place = tempfile.mkdtemp(prefix="cordon-property-",
                                 dir="/tmp" if seed % 4 == 0 else cordon_testing.lasting_folder())
        try:
            case = Case(seed, place)
            result = case.run(os.path.join(place, "spec.json"))
            return case, result
        finally:
            shutil.rmtree(place, True)

    def test_policy_and_kernel_agree(self):
        print(f"seeds {SEED}..{SEED + CASES - 1}", flush=True)
        trials = limits = refused = 0
        broken = []
        for seed in range(SEED, SEED + CASES):
            case, result = self.one(seed)
            if result is None:
                refused += 1
                continue
            faults, known = result
            trials += len(case.trials)
            limits += known
            if faults:
                broken.append(f"seed {seed} (CORDON_PROPERTY_SEED={seed} CORDON_PROPERTY_CASES=1)\n"
                              f"{json.dumps(case.spec)}\n  " + "\n  ".join(faults[:8]))
        print(f"{trials} trials in {CASES - refused} sessions, {refused} descriptions refused, "
              f"{limits} trials at a limit that waits for the supervisor", flush=True)
        self.assertEqual(broken, [], "\n\n".join(broken))
        self.assertGreater(CASES - refused, CASES // 2)


if __name__ == "__main__":
    if not os.access(TOOL, os.X_OK):
        print(f"decide_tool is not built: {TOOL}")
        sys.exit(77)
    cordon_testing.main()
