"""Rows as a table for people, as the table of SPEC.md, and as JSON."""
import dataclasses
import os
import platform
import pwd


def number(value, unit):
    if unit == "failures":
        return f"{value:.0f}"
    text = f"{value:.3f}" if unit == "" else f"{value:.1f}" if unit in ("ms", "us") else f"{value:.0f}"
    return f"{text} {unit}".strip()


def spread(row):
    if row.low is None:
        return ""
    return f"{number(row.low, row.unit)} to {number(row.high, row.unit)}"


def goal(row):
    return "" if row.goal is None else f"<= {number(row.goal, row.unit) if row.unit else f'{row.goal:g}'}"


def verdict(row):
    return {None: "", True: "met", False: "MISSED"}[row.met]


def table(rows):
    cells = [("figure", "goal", "measured", "95% interval", "", "centres compared")]
    cells += [(row.what, goal(row), number(row.value, row.unit), spread(row), verdict(row), row.detail)
              for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(5)]
    return "\n".join("  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[5]]).rstrip()
                     for line in cells)


def spec_rows(rows):
    """The figures that have a goal, as the table of SPEC.md."""
    out = ["| figure | goal | measured (95% interval) | benchmark |", "| --- | --- | --- | --- |"]
    for row in rows:
        if row.goal is None:
            continue
        measured = number(row.value, row.unit) + (f" ({spread(row)})" if row.low is not None else "")
        out.append(f"| {row.what} | {goal(row).replace('<=', 'at most')} | {measured} | "
                   f"`bench/run {row.name.split('.')[0]}` |")
    return "\n".join(out)


def conditions():
    """What a reader has to know about the machine, and /proc/stat to tell how busy it was."""
    with open("/proc/stat") as stat:
        ticks = [int(n) for n in stat.readline().split()[1:]]
    return {"kernel": platform.release(), "processors": os.cpu_count(), "user": pwd.getpwuid(os.getuid()).pw_name,
            "load": os.getloadavg()[0], "ticks": ticks}


def describe(before, after):
    passed = [b - a for a, b in zip(before["ticks"], after["ticks"])]
    stolen = 100 * passed[7] / max(1, sum(passed))
    return (f"Linux {before['kernel']}, {before['processors']} processors, as {before['user']}; "
            f"load {before['load']:.1f} before and {after['load']:.1f} after, "
            f"{stolen:.1f}% of processor time taken by the hypervisor")


def as_json(rows, before, after):
    return {"conditions": {"before": before, "after": after, "text": describe(before, after)},
            "figures": [{**dataclasses.asdict(row), "met": row.met} for row in rows]}
