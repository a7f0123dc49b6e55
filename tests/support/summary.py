#!/usr/bin/env python3
"""What ctest's JUnit report says, for people and for CI.

  summary.py table REPORT       one row a group, then each reason for which tests were skipped
  summary.py counts REPORT...   "P passed, F failed, S skipped" over all reports
"""
import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

OUTCOMES = ("passed", "failed", "skipped")


def outcome(case):
    status = case.get("status")
    if status == "run":
        return "passed"
    # ctest writes a test that skipped itself as "notrun" with <skipped>; a program that is not
    # there or a fixture that failed is "notrun" too, and is a failure.
    skipped = case.find("skipped")
    if status in ("notrun", "disabled") and skipped is not None:
        message = skipped.get("message", "")
        if status == "disabled" or "SKIP_" in message:
            return "skipped"
    return "failed"


def group(name):
    head = name.split(".", 1)[0]
    head = re.sub(r"_test$", "", head)
    if head == "as-user":
        return "setup of .as-user"
    kinds = ("lint", "packaging", "e2e", "escape", "property", "conformance", "regress", "fuzz",
             "bench", "ci")
    kind = head if head in kinds else "unit " + head
    return kind + (" as cordon-test" if name.endswith(".as-user") else "")


def reason(case):
    """Last line that a skipped script printed, or the message of GTEST_SKIP."""
    output = case.findtext("system-out") or ""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for at, line in enumerate(lines):
        # "path/to/x_test.cc:12: Skipped", then the message
        if line.endswith(": Skipped") and at + 1 < len(lines):
            return lines[at + 1]
    # The rest of gtest's frame is no reason.
    lines = [line for line in lines if not line.startswith(("[", "Note:", "Running main"))]
    return lines[-1] if lines else "no reason printed"


def read(path):
    return list(ElementTree.parse(path).getroot().iter("testcase"))


def table(cases):
    rows = collections.defaultdict(collections.Counter)
    reasons = collections.defaultdict(list)
    for case in cases:
        result = outcome(case)
        rows[group(case.get("name"))][result] += 1
        if result == "skipped":
            reasons[reason(case)].append(case.get("name"))
    rows["all"] = sum(rows.values(), collections.Counter())
    width = max(map(len, rows))
    print(f"{'':{width}}" + "".join(f"{name:>9}" for name in OUTCOMES))
    for name in sorted(rows, key=lambda row: (row == "all", row)):
        print(f"{name:{width}}" + "".join(f"{rows[name][result]:>9}" for result in OUTCOMES))
    if reasons:
        print("\nSkipped because:")
    for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        print(f"  {why}\n      {', '.join(sorted(names)[:3])}{more}")
    print()


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("table", "counts"):
        sys.exit(__doc__)
    cases = [case for path in sys.argv[2:] for case in read(path)]
    if sys.argv[1] == "table":
        table(cases)
    else:
        total = collections.Counter(map(outcome, cases))
        print(", ".join(f"{total[result]} {result}" for result in OUTCOMES))


main()
