# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A Markdown page of benchmarks: a dated table of each, replaced when it is measured again."""

import datetime
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import Benchmark
from .timing import Timing

SUBJECTS = ("libraries",)
"""The benchmarks of the page, in its order."""

_TITLE = """# Benchmarks

Computation times beside libraries that you would pick instead, measured alternately in one process
on one machine. Compare ratios: times depend on the load.
`vms-ph bench --page docs/benchmarks.md` writes the tables anew, `vms-ph bench --list` has more.

- A library that is not installed, or whose accelerations differ from Pinocchio's, is left out.
- From 1 to 60 joints (`vms-ph bench growth`) `StandardForm.rate` takes 1.8 to 0.3 times `pin.aba`.
- All with the [C++ core](native.md#cost). Its recursions lead Pinocchio's; most of that is lost in
  the call from Python.
- Derivatives of rates by q, z, forces in C++: `StandardForm` 2.7 us, `DecoupledForm` 4.2 us,
  `computeABADerivatives` 7.7 us (27 November).
- Closed loops: [native.md](native.md#cost). Batches: `bench gpu`.
"""


def section(
    benchmark: Benchmark,
    timings: Sequence[Timing],
    robot: str,
    base: str,
    versions: Mapping[str, str],
) -> str:
    """Return the table of one benchmark with date, machine and versions, in Markdown."""
    lower_times = {timing.case.name: timing.lower for timing in timings}
    table_rows = []
    for t in timings:
        ratio = t.lower / lower_times[t.case.reference or benchmark.reference]
        table_rows.append(f"| {t.case.name} | {_format_microseconds(t.lower)} | {ratio:.3g} |")
    subject = f"{robot}, {base} base" if base else robot
    today = datetime.datetime.now(datetime.timezone.utc).date()
    version_list = ", ".join(f"{name} {version}" for name, version in versions.items())
    lines = [
        f"## {benchmark.title[0].upper()}{benchmark.title[1:]}: {subject}",
        f"{today}, {machine()}; {version_list}.",
        "",
        "| call | lower quartile, us | ratio |",
        "|---|---|---|",
        *table_rows,
    ]
    note = benchmark.note() if benchmark.note else ""
    return "\n".join([*lines, *(["", f"{note[0].upper()}{note[1:]}."] if note else [])]) + "\n"


def _format_microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:.0f}"


def machine() -> str:
    """Return the processor and the number of cores."""
    name = platform.processor() or platform.machine()
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        match = None
    return f"{match[1] if match else name}, {os.cpu_count()} cores"


def updated_page(page: str, sections: Mapping[str, str]) -> str:
    """Return the page with these sections by benchmark id; others are kept, in the page's order."""
    sections_by_name = dict(re.findall(r"<!-- (\w+) -->\n(.*?)(?=<!-- \w+ -->|\Z)", page, re.S))
    sections_by_name |= dict(sections)
    order = sorted(
        sections_by_name, key=lambda name: SUBJECTS.index(name) if name in SUBJECTS else 99
    )
    parts = [f"<!-- {name} -->\n{sections_by_name[name].rstrip()}\n" for name in order]
    return "\n".join([_TITLE, *parts])
