"""The benchmarks of the supervisor: what name rules cost where files are made."""
import shutil

import material
import samples
from figures import Row, Unavailable, compare, ms

PLACES = "inside,disabled,outside,control,bare"


def measure(bench, task, blocks, rounds, places=PLACES, folder=None):
    """{"inside-wall": [ns of each round], ...} of one task of bench-harness."""
    return dict(bench.samples(bench.session_bench, "inside", blocks, rounds, places, folder or bench.disk,
                              bench.disk_harness, task))


def ratio_text(ours, peers):
    value, low, high = samples.ratio(ours, peers, samples.fast_quarter)
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def row_of(name, what, times, place, goal):
    ours, peers = times[f"{place}-wall"], times["outside-wall"]
    row = compare(name, f"{what} : outside", ours, peers, goal, samples.fast_quarter)
    row.detail += f"; outside : itself {ratio_text(times['control-wall'], peers)}"
    if place == "inside" and "bare-wall" in times:
        row.detail += f"; a notification that only continues : outside {ratio_text(times['bare-wall'], peers)}"
    return row


def names(bench):
    """Work that makes many files, with name rules, without file rules and outside."""
    counts, disk = bench.counts, bench.disk
    archive = disk / "archive.tar"
    material.make_archive(archive, "unpacked", counts.made_files)
    repository = disk / "repository"
    material.make_repository(repository, counts.made_files)
    unpack = measure(bench, f"run tar -xf {archive} -C {disk} --no-same-owner -- rm -rf {disk}/unpacked", counts.blocks,
                     counts.names)
    checkout = measure(bench, f"run git -C {repository} checkout -q full -- git -C {repository} checkout -q empty",
                       counts.blocks, counts.names)
    files = counts.made_files
    return [
        row_of("names.unpack", f"unpack an archive of {files} files, name rules on", unpack, "inside", 1.8),
        row_of("names.unpack-disabled", "the same with filesystem.disabled", unpack, "disabled", 1.05),
        row_of("names.checkout", f"git checkout of {files} files, name rules on", checkout, "inside", 1.5),
        row_of("names.checkout-disabled", "the same with filesystem.disabled", checkout, "disabled", None)]


def npm(bench):
    """npm install from a local cache."""
    if shutil.which("npm") is None:
        raise Unavailable("npm is not installed")
    counts = bench.counts
    project, cache = material.make_packages(bench.disk / "npm", counts.packages, counts.package_files)
    task = (f"run npm install --prefix {project} --cache {cache} --offline --no-save --no-audit --no-fund --no-update-notifier "
            f"-- rm -rf {project}/node_modules")
    times = measure(bench, task, counts.npm_blocks, counts.npm, "inside,disabled,outside,control")
    what = f"npm install --offline of {counts.packages} packages with {counts.package_files + 2} files each"
    return [
        row_of("npm.install", f"{what}, name rules on", times, "inside", 1.2),
        row_of("npm.install-disabled", "the same with filesystem.disabled", times, "disabled", None)]


def storm(bench):
    """Many processes that create files at once."""
    counts = bench.counts
    rows = []
    for name, size, goal in (("files", 4096, 2), ("empty", 0, None)):
        times = measure(bench, f"storm {bench.disk} {counts.storm} {counts.storm_files} {size}", counts.blocks,
                        counts.storm_rounds)
        kind = f"{counts.storm} processes create {counts.storm_files} files of {size} bytes each"
        rows += [
            row_of(f"storm.{name}", f"{kind} (time), name rules on", times, "inside", goal),
            row_of(f"storm.{name}-disabled", "the same with filesystem.disabled", times, "disabled", None)]
        longest = {place: [n / 1e6 for n in times[f"{place}-more2"]] for place in ("inside", "outside")}
        value, low, high = samples.absolute(longest["inside"])
        rows.append(Row(
            f"storm.{name}-wait", "one open(2) of these, 99.9th percentile, name rules on", value, "ms", low, high,
            50 if goal else None,
            f"median {ms(samples.median(times['inside-more0']))}, 99th {ms(samples.median(times['inside-more1']))}, "
            f"longest {ms(max(times['inside-more3']))}; outside 99.9th {samples.median(longest['outside']):.1f} ms"))
    return rows


CALLS = (("read", "open for reading (does not trap)"), ("write", "open for writing"), ("create", "create a file"),
         ("mkdir", "mkdir"), ("rename", "rename"), ("exec", "start a program and wait for it"))


def calls(bench):
    """One trapped call over the same call outside, beside a notification that only continues."""
    counts, rows = bench.counts, []
    for kind, what in CALLS:
        count = counts.calls // 20 if kind == "exec" else counts.calls
        times = measure(bench, f"call {kind} {bench.disk} {max(1, count)}", counts.blocks, counts.call_rounds,
                        "inside,disabled,outside,bare")
        micro = {place: [n / 1e3 / max(1, count) for n in times[f"{place}-wall"]]
                 for place in ("inside", "disabled", "outside", "bare")}
        found = {place: samples.fast_quarter(values) for place, values in micro.items()}

        def over(ours, peers):
            return samples.fast_quarter(ours) - samples.fast_quarter(peers)
        low, high = samples.interval([micro["inside"], micro["outside"]], over)
        rows.append(Row(
            f"calls.{kind}", f"{what}, name rules on, over the same outside", over(micro["inside"], micro["outside"]),
            "us", low, high, None,
            f"a notification that only continues {found['bare'] - found['outside']:+.1f} us; filesystem.disabled "
            f"{found['disabled'] - found['outside']:+.1f} us; outside {found['outside']:.1f} us, inside "
            f"{found['inside']:.1f} us"))
    return rows


BENCHES = {"names": names, "npm": npm, "storm": storm, "calls": calls}
