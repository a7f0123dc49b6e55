"""The benchmarks: each function measures and returns the rows of the table."""
import dataclasses
import functools
import pathlib
import shutil
import subprocess
from typing import Optional

import material
import samples


@dataclasses.dataclass
class Row:
    name: str                # "start.bwrap", stable, for scripts
    what: str
    value: float
    unit: str = ""           # "" for a ratio
    low: Optional[float] = None   # 95% interval of the value
    high: Optional[float] = None
    goal: Optional[float] = None  # at most; None: information
    detail: str = ""

    @property
    def met(self):
        return None if self.goal is None else self.value <= self.goal


@dataclasses.dataclass
class Counts:
    start: int = 150
    rules: int = 100
    exec: int = 500
    sessions: int = 1000
    blocks: int = 4          # inside: sessions and workers are made anew so often
    inside: int = 10         # rounds a block
    compile: int = 6         # rounds a block
    tree: int = 80
    tree_files: int = 50000
    read_files: int = 20000
    bulk_mib: int = 128
    disk_gib: int = 6
    made_files: int = 10000
    names: int = 4           # rounds a block
    packages: int = 300
    package_files: int = 24
    npm_blocks: int = 2
    npm: int = 3             # rounds a block
    storm: int = 64          # processes
    storm_files: int = 200   # each
    storm_rounds: int = 5    # rounds a block
    calls: int = 2000
    call_rounds: int = 5     # rounds a block


SMOKE = Counts(start=3, rules=3, exec=5, sessions=5, blocks=2, inside=2, compile=1, tree=3,
               tree_files=1000, read_files=300, bulk_mib=4, disk_gib=1, made_files=200, names=1, packages=5,
               package_files=4, npm_blocks=1, npm=1, storm=8, storm_files=10, storm_rounds=1, calls=40, call_rounds=1)

BWRAP = "/usr/bin/bwrap"
# Takes a good third of a second: large headers, templates, some code.
SOURCE = """\
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>
int main(int argc, char** argv) {
  std::map<std::string, std::vector<std::function<int(int)>>> table;
  for (int i = 0; i < argc; ++i) table[argv[i]].push_back([i](int x) { return x + i; });
  int sum = 0;
  for (auto& [name, functions] : table)
    for (auto& f : functions) sum = f(sum);
  std::cout << sum << "\\n";
}
"""


class Unavailable(Exception):
    """A benchmark cannot be run on this machine; the message says what it lacks."""


class Bench:
    """Where everything is, and trees that are made when the first benchmark needs them."""

    def __init__(self, build, folder, counts, prefix=()):
        self.folder = pathlib.Path(folder)
        self.counts = counts
        self.prefix = list(prefix)  # chrt, with --realtime
        self.cordon = str(build / "bin/cordon")
        self.session_bench = str(build / "bench/bench-session")
        # Sessions see the working directory in any case, but not every build folder.
        self.work = self.folder / "work"
        self.work.mkdir()
        self.harness = str(shutil.copy(build / "bench/bench-harness", self.work))

        self.notes = []
        self.disk_harness = self.harness

    def call(self, *words, cwd=None, text=None):
        done = subprocess.run([*self.prefix, *map(str, words)], cwd=cwd or self.empty, input=text,
                              stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{words[0]} {words[1]} failed with {done.returncode}")
        return done.stdout

    def samples(self, *words, **options):
        """[(name, numbers)], in the order printed."""
        lines = self.call(*words, **options).decode().splitlines()
        return [(line.split()[0], [int(n) for n in line.split()[1:]]) for line in lines]

    def spawn(self, rounds, commands):
        """Times {name: (directory, argv)} side by side; {name: nanoseconds of each round}."""
        text = b""
        for name, (directory, argv) in commands.items():
            for word in (name, str(directory), *argv):
                text += str(word).encode() + b"\0"
            text += b"\0"
        return dict(self.samples(self.harness, "spawn", rounds, text=text))

    def run_true(self, *options):
        return [self.cordon, "run", *options, "--", "true"]

    def bwrap_true(self, *options, cwd):
        """bwrap, made to build the very view that `cordon run OPTIONS` builds in `cwd`."""
        if not pathlib.Path(BWRAP).exists():
            raise Unavailable(f"the peer is not installed: {BWRAP} (package bubblewrap)")
        view = self.call(self.session_bench, "bwrap", *options, "--", "true", cwd=cwd)
        return [BWRAP, *view.decode().split("\0")[:-1], "--", "true"]

    def _repository(self, name):
        path = self.work / name
        path.mkdir()
        subprocess.run(["git", "init", "-q", str(path)], check=True)
        return path

    @functools.cached_property
    def empty(self):
        return self._repository("empty")

    @functools.cached_property
    def ruled(self):
        path = self._repository("ruled")
        for i in range(100):
            (path / f"secret{i:03}").write_text("secret\n")
            (path / f"fixed{i:03}").write_text("fixed\n")
        return path

    @functools.cached_property
    def disk(self):
        """Where files are made by the thousand."""
        place = material.disk(self.folder, self.counts.disk_gib)
        if place is None:
            self.notes.append(f"files were made in {self.folder} itself: no file system of their own")
            place = self.work / "disk"
            place.mkdir()
        self.disk_harness = str(shutil.copy(self.harness, place))
        return place

    @functools.cached_property
    def tree(self):
        path = self._repository("tree")
        self.call(self.harness, "tree", path, self.counts.tree_files, cwd=path)
        return path

    @functools.cached_property
    def committed_tree(self):
        def git(*words):
            subprocess.run(["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost",
                            "-c", "gc.auto=0", *words], cwd=self.tree, check=True,
                           stdout=subprocess.DEVNULL)
        git("add", "-A")
        git("commit", "-q", "-m", "tree")
        git("status")  # writes the index once more: its entries are older than itself from then on
        return self.tree


def ms(nanoseconds):
    value = nanoseconds / 1e6
    return f"{value:.2f} ms" if value < 100 else f"{value:.0f} ms"


def compare(name, what, ours, peers, goal=None, center=samples.median):
    value, low, high = samples.ratio(ours, peers, center)
    return Row(name, what, value, "", low, high, goal, f"{ms(center(ours))} : {ms(center(peers))}")


def start(bench):
    """cordon run -- true against bwrap."""
    here = bench.empty
    times = bench.spawn(bench.counts.start, {
        "cordon": (here, bench.run_true()),
        "again": (here, bench.run_true()),
        "bwrap": (here, bench.bwrap_true(cwd=here)),
        "plain": (here, [BWRAP, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev",
                         "--proc", "/proc", "--", "true"]),
        "spawn": (here, ["true"])})
    ours = times["cordon"]
    return [
        compare("start.bwrap", "cordon run -- true : bwrap --unshare-all with the same mounts", ours,
                times["bwrap"], 0.6),
        compare("start.bwrap-plain", "cordon run -- true : bwrap with /, /dev and /proc only", ours, times["plain"]),
        compare("start.spawn", "cordon run -- true : the bare program", ours, times["spawn"]),
        compare("start.noise", "cordon run -- true : itself (noise of this run)", ours, times["again"])]


def rules(bench):
    """200 rules against none."""
    here = bench.ruled
    some, missing = [], []
    for i in range(100):
        some += ["--deny-read", f"{here}/secret{i:03}", "--deny-write", f"{here}/fixed{i:03}"]
        missing += ["--deny-read", f"{here}/gone/secret{i:03}", "--deny-write", f"{here}/gone/fixed{i:03}"]
    times = bench.spawn(bench.counts.rules, {
        "none": (here, bench.run_true()),
        "some": (here, bench.run_true(*some)),
        "missing": (here, bench.run_true(*missing))})
    rows = [
        compare("rules.existing", "cordon run -- true, 200 rules : without them", times["some"],
                times["none"], 1.3),
        compare("rules.missing", "cordon run -- true, 200 rules for missing paths : without them",
                times["missing"], times["none"])]
    if pathlib.Path(BWRAP).exists():
        # Apart: the kernel is busy for a while after a bwrap with 200 mounts, and so are its neighbours.
        beside = bench.spawn(max(3, bench.counts.rules // 4), {
            "some": (here, bench.run_true(*some)),
            "bwrap": (here, bench.bwrap_true(*some, cwd=here))})
        rows.append(compare("rules.bwrap", "cordon run -- true, 200 rules : bwrap with the same mounts",
                            beside["some"], beside["bwrap"]))
    return rows


def exec_warm(bench):
    """exec in a warm session against posix_spawn."""
    times = dict(bench.samples(bench.session_bench, "exec", bench.counts.exec, bench.empty, "/bin/true"))
    return [compare("exec.spawn", "exec in a warm session : posix_spawn of the same program", times["exec"],
                    times["spawn"], 3)]


def sessions(bench):
    """Many warm sessions at once."""
    count = bench.counts.sessions
    found = dict(bench.samples(bench.session_bench, "crowd", count, bench.empty, "/bin/true"))
    memory = found["private-kib"]
    rows = [
        Row("sessions.failed", f"{count} warm sessions, an exec in each, destroyed: failures",
            count - len(found["destroy"]), "failures", goal=0,
            detail=f"launch {ms(samples.median(found['launch']))}, exec {ms(samples.median(found['exec']))}, "
                   f"destroy {ms(samples.median(found['destroy']))} (medians)"),
        Row("sessions.memory", "private memory of a session, the largest of them", max(memory), "KiB",
            goal=1024, detail=f"smallest {min(memory)} KiB, median {samples.median(memory):.0f} KiB, "
                              f"{samples.median(found['processes']):.0f} processes")]
    if any(found["proportional-kib"]):
        rows.append(Row("sessions.proportional", "memory of a session with what its processes share (Pss)",
                        samples.median(found["proportional-kib"]), "KiB"))
    return rows + [
        Row("sessions.library", "kept by the library in the host process for a session", found["library-kib"][0] / count, "KiB"),
        Row("sessions.machine", "gone from the memory of the machine for a session, kernel and library included",
            found["machine-kib"][0] / count, "KiB")]


def inside_tasks(bench):
    """[(name, what, goal, task of bench-harness, rounds a block)]"""
    tree, count = bench.committed_tree, bench.counts.read_files

    def listed(name, files):
        path = bench.work / name
        path.write_text("".join(f"{file}\n" for file in files[:count]))
        return f"files {path}"

    files = sorted(tree.glob("part*/*/*"))
    small = [file for file in files if file.stat().st_size < 4096]
    bulk = bench.work / "bulk"
    with open(bulk, "wb") as out:  # a hole: read through the page cache like any file
        out.truncate(bench.counts.bulk_mib << 20)
    source = bench.work / "program.cc"
    source.write_text(SOURCE)
    # -pipe: the compiler's own temporary files would lie in memory inside and on a disk outside.
    compiler = f"run g++ -O1 -pipe -c {source} -o {bench.work}/program.o"
    some = bench.counts.inside
    return [
        ("files", f"open, read and close {count} files of 14 KiB on average", 1.03, listed("all", files), some),
        ("small-files", f"open, read and close {count} files below 4 KiB", None, listed("small", small), some),
        ("bulk", f"read one file of {bench.counts.bulk_mib} MiB", 1.03, f"bulk {bulk}", some),
        ("git-status", f"git status on {bench.counts.tree_files} files", 1.03, f"run git -C {tree} status", some),
        ("compile", "compile a C++ file", 1.03, compiler, bench.counts.compile)]


def inside(bench):
    """The same work inside and outside."""
    rows = []
    for name, what, goal, task, rounds in inside_tasks(bench):
        times = dict(bench.samples(bench.session_bench, "inside", bench.counts.blocks, rounds,
                                   "inside,outside,control,filtered", bench.work, bench.harness, task))

        def against(ours, peer="outside-wall", times=times):
            value, low, high = samples.ratio(times[ours], times[peer], samples.fast_quarter)
            return f"{value:.3f} ({low:.3f} to {high:.3f})"

        row = compare(f"inside.{name}", f"{what}, inside with name rules : outside", times["inside-wall"], times["outside-wall"],
                      goal, samples.fast_quarter)
        row.detail += (f"; outside : itself {against('control-wall')}; outside with a filter that allows "
                       f"everything : outside {against('filtered-wall')}; processor time "
                       f"{against('inside-processor', 'outside-processor')}")
        rows.append(row)
    return rows


def tree(bench):
    """Start-up in a large tree."""
    files = bench.counts.tree_files
    times = bench.spawn(bench.counts.tree, {
        "empty": (bench.empty, bench.run_true()),
        "tree": (bench.tree, bench.run_true()),
        "glob": (bench.tree, bench.run_true("--deny-read", "**/*.pem"))})
    value, low, high = samples.absolute([t / 1e6 for t in times["glob"]])
    return [
        compare("tree.start", f"cordon run -- true in a tree of {files} files : in an empty one", times["tree"],
                times["empty"], 1.05),
        Row("tree.glob", f"cordon run -- true there with a rule **/*.pem ({files // 500} matches)", value, "ms", low, high,
            100, f"without the rule {ms(samples.median(times['tree']))}")]


BENCHES = {"start": start, "rules": rules, "exec": exec_warm, "sessions": sessions, "inside": inside,
           "tree": tree}
