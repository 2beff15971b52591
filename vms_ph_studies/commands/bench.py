# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph bench: computation times of this project and other libraries, measured in one run."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_io.installation import command_name
from vms_ph_nodes.cli.progress import shown_progress

from ..study import make_folder

if TYPE_CHECKING:
    from ..benchmarks import Benchmark, Timing


app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command()
def bench(
    subject: str = typer.Argument("", help="id of the benchmark; see --list"),
    list_: bool = typer.Option(False, "--list", help="list all benchmarks"),
    robot: str = typer.Option(
        "", help="name of a bundled robot; default: the robot of the benchmark"
    ),
    base: str = typer.Option(
        "", help="fixed, planar or floating; default: the base of the benchmark"
    ),
    seconds: float = typer.Option(5.0, min=0.0, help="duration of the measurement, s"),
    out: Optional[Path] = typer.Option(
        None, help="folder for plots and tables, if the benchmark has any; created if missing"
    ),
    page: Optional[Path] = typer.Option(
        None,
        help="Markdown file to write dated tables into; without a benchmark: those of the page",
    ),
    batch: list[int] = typer.Option([], min=1, help="size of a batch, once or more; gpu only"),
    as_json: bool = typer.Option(False, "--json", help="print one JSON document and nothing else"),
) -> None:
    """Measure the computation times of this project and of other libraries.

    Cases run alternately in one process, so that machine load affects all equally. Prints medians.
    """
    from ..benchmarks import benchmarks

    if list_:
        for benchmark in benchmarks().values():
            typer.echo(f"{benchmark.id:14s}{benchmark.title}")
        return
    if page is not None:
        if out is not None or as_json:
            raise VmsPhError("--page writes tables only; omit --out and --json")
        _write_page(page, subject, robot, base, seconds)
        return
    if not subject:
        raise VmsPhError(f"no benchmark is given; `{command_name()} bench --list` lists them")
    benchmark, robot, base = _select_benchmark(subject, robot, base)
    if batch:
        if benchmark.with_batches is None:
            raise VmsPhError(f"{benchmark.id} has no batches of other sizes; omit --batch")
        benchmark = benchmark.with_batches(tuple(sorted(batch)))
    if out is not None:
        if benchmark.files is None:
            raise VmsPhError(f"{benchmark.id} has no plots or tables; omit --out")
        make_folder(out)
    timings = _measure(benchmark, robot, base, seconds, quiet=as_json)
    if as_json:
        document = {
            "id": benchmark.id,
            "robot": robot,
            "base": base,
            "reference": benchmark.reference,
            "note": benchmark.note() if benchmark.note else "",
            "summary": benchmark.summary(timings) if benchmark.summary else "",
            "versions": _versions(benchmark),
            "cases": [_case_document(benchmark, timings, timing) for timing in timings],
        }
        typer.echo(json.dumps(document, indent=2))
    else:
        _print(benchmark, timings, robot, base)
    if out is not None and benchmark.files is not None:
        for file in benchmark.files(robot, base, out):
            typer.echo(f"written: {file}", err=as_json)


def _select_benchmark(subject: str, robot: str, base: str) -> "tuple[Benchmark, str, str]":
    """Return a benchmark with the robot and the base that it is run with."""
    from vms_ph_io import robots

    from ..benchmarks import benchmarks

    benchmarks_by_id = benchmarks()
    if subject not in benchmarks_by_id:
        raise VmsPhError(
            f"there is no benchmark '{subject}'; there are {', '.join(benchmarks_by_id)}"
        )
    benchmark = benchmarks_by_id[subject]
    if base and not benchmark.base:
        raise VmsPhError(f"in {benchmark.id} the base of every robot is predefined; omit --base")
    if robot and robot not in robots.names():
        robot_names = ", ".join(robots.names())
        raise VmsPhError(f"there is no bundled robot '{robot}'; bundled robots are {robot_names}")
    robot, base = robot or benchmark.robot, base or benchmark.base
    if base and base not in ("fixed", "planar", "floating"):
        raise VmsPhError(f"unknown base '{base}'; accepted: fixed, planar, floating")
    return benchmark, robot, base


def _measure(
    benchmark: "Benchmark", robot: str, base: str, seconds: float, quiet: bool
) -> "list[Timing]":
    from ..benchmarks import measure

    with shown_progress(quiet=quiet) as progress:
        progress(0.0, "preparing")
        if benchmark.run is not None:
            return benchmark.run(robot, base, seconds)
        return measure(benchmark.cases(robot, base), seconds, progress)


def _write_page(page: Path, subject: str, robot: str, base: str, seconds: float) -> None:
    """Measure benchmarks and write their tables into a page, which keeps its other tables."""
    from ..benchmarks.page import SUBJECTS, section, updated_page

    if not subject and robot:
        raise VmsPhError("the robots of the page are predefined; omit --robot, or name a benchmark")
    try:
        # Before the minutes of the measurement; opening for appending changes nothing.
        with page.open("a"):
            old_page = page.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise VmsPhError(f"cannot write the page {page}: {error}") from None
    sections = {}
    for name in [subject] if subject else SUBJECTS:
        benchmark, robot_name, base_name = _select_benchmark(name, robot, base)
        timings = _measure(benchmark, robot_name, base_name, seconds, quiet=False)
        _print(benchmark, timings, robot_name, base_name)
        versions = _versions(benchmark)
        sections[benchmark.id] = section(benchmark, timings, robot_name, base_name, versions)
    page.write_text(updated_page(old_page, sections))
    typer.echo(f"written: {page}")


def _case_document(benchmark: "Benchmark", timings: "list[Timing]", t: "Timing") -> dict[str, Any]:
    """Return the facts of a case as a JSON document."""
    reference = t.case.reference or benchmark.reference
    tail = {} if t.tail is None else {**asdict(t.tail), "p99_limit": t.case.max_p99}
    return {
        "name": t.case.name,
        "median": t.median,
        "lower_quartile": t.lower,
        "upper_quartile": t.upper,
        "ratio": t.median / next(t.median for t in timings if t.case.name == reference),
        "reference": reference,
        "ratio_limit": t.case.max_ratio,
        "limit": t.case.max_median,
        **tail,
    }


def _print(benchmark: "Benchmark", timings: "list[Timing]", robot: str, base: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    title = f"{benchmark.title}: {robot}" + (f", {base} base" if base else "")
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("call")
    has_tail = any(timing.tail is not None for timing in timings)
    # Where there are tail percentiles, they replace the quartiles: both do not fit a terminal.
    spread = ["p99", "p99.9", "longest"] if has_tail else ["quartiles"]
    for name in ("median", *spread, "ratio", "p99 at most" if has_tail else "at most"):
        table.add_column(name, justify="right")
    for t in timings:
        document = _case_document(benchmark, timings, t)
        if t.tail is None:
            spread = [f"{_time_text(t.lower)} .. {_time_text(t.upper)}"]
        else:
            spread = [_time_text(duration) for duration in (t.tail.p99, t.tail.p999, t.tail.worst)]
        ratio = f"{document['ratio']:.3g}" if has_tail else f"{document['ratio']:.1f}"
        table.add_row(t.case.name, _time_text(t.median), *spread, ratio, _limit_text(document))
    console = Console()
    console.print(table)
    versions = ", ".join(f"{name} {version}" for name, version in _versions(benchmark).items())
    references = benchmark.ratios or benchmark.reference
    for case_reference in dict.fromkeys(
        t.case.reference for t in timings if t.case.reference and not benchmark.ratios
    ):
        case_names = ", ".join(t.case.name for t in timings if t.case.reference == case_reference)
        references += f", of {case_names} to {case_reference}"
    console.print(f"ratios to {references}; {versions}", highlight=False)
    if benchmark.summary and (summary := benchmark.summary(timings)):
        console.print(summary, highlight=False, markup=False)
    if benchmark.note and (note := benchmark.note()):
        console.print(note, highlight=False, markup=False)


def _limit_text(document: dict[str, Any]) -> str:
    """Return the limit of a case in the colour that says whether it is met; empty for none."""
    for quantity, limit in (("ratio", "ratio_limit"), ("median", "limit"), ("p99", "p99_limit")):
        bound = document.get(limit)
        if bound is not None:
            colour = "red" if document[quantity] > bound else "green"
            text = f"{bound:g}" if quantity == "ratio" else _time_text(bound)
            return f"[{colour}]{text}[/{colour}]"
    return ""


def _versions(benchmark: "Benchmark") -> dict[str, str]:
    import platform

    import numpy
    import pinocchio

    return {
        "Python": platform.python_version(),
        "numpy": numpy.__version__,
        "pinocchio": pinocchio.__version__,
        **({} if benchmark.versions is None else benchmark.versions()),
    }


def _time_text(seconds: float) -> str:
    for unit, unit_seconds in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= unit_seconds:
            return f"{seconds / unit_seconds:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
