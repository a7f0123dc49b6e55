#!/usr/bin/env python3
"""Runs one benchmark with tiny counts: it has to end well and to yield numbers, whatever they are.

  smoke_test.py BUILD NAME
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
RUN = pathlib.Path(__file__).resolve().parent / "run"
# Rows whose value may be zero or less, as are the differences of `calls`; every other one is a time, a
# size or a ratio.
MAY_BE_ZERO = {"sessions.failed", "sessions.library", "sessions.machine"}
GOALS = {"start": 1, "rules": 1, "exec": 1, "sessions": 2, "inside": 4, "tree": 2,
         "names": 3, "npm": 1, "storm": 2, "calls": 0}


def faults(name, document):
    """What is wrong with the figures of benchmark `name`."""
    rows = document["figures"]
    found = []
    if sum(row["goal"] is not None for row in rows) != GOALS[name]:
        found.append(f"{GOALS[name]} figures with a goal were expected")
    for row in rows:
        numbers = [row["value"]] + [row[end] for end in ("low", "high") if row[end] is not None]
        if not all(isinstance(n, (int, float)) and math.isfinite(n) for n in numbers):
            found.append(f"{row['name']}: not a number among {numbers}")
        elif min(numbers) <= 0 and row["name"] not in MAY_BE_ZERO and not row["name"].startswith("calls."):
            found.append(f"{row['name']}: {numbers} are not all above zero")
        if not row["name"].startswith(name + "."):
            found.append(f"{row['name']} does not belong to {name}")
    return found


def main():
    build, name = sys.argv[1:]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([RUN, "--smoke", "--rows", "--build", build, "--json", out.name, name],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"bench/run {name} ended with {done.returncode}")
        document = json.load(out)
    print(done.stdout)
    if "left out:" in done.stdout:
        print(next(line for line in done.stdout.splitlines() if line.startswith("left out:")))
        sys.exit(77)
    found = faults(name, document)
    if found:
        sys.exit("\n".join(found))


main()
