# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Sweeps: the same table after kills of workers and clients, failed points, the command."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_nodes.cli.app import make_app
from vms_ph_studies.sweeps import Results, Sweep, SweepStudy, read_study
from vms_ph_studies.sweeps.evaluation import evaluate_points
from vms_ph_studies.sweeps.journal import JOURNAL_FILE

COMMAND = [sys.executable, "-c", "from vms_ph_nodes.cli import main; main()", "sweep"]

STUDY = """
target: {target}
runs: {runs}
seed: 4
parameters:
  stiffness: [1, 10]
  push: {{normal: {{mean: 1, deviation: 1}}}}
  pause: {pause}
"""


def make_study(folder: Path, runs: int = 20, pause: float = 0.0) -> SweepStudy:
    # A copy outside of the checkout: workers receive its text.
    source = Path(__file__).parent / "sweep_target.py"
    (folder / "law.py").write_text(source.read_text())
    text = STUDY.format(target="law.py:waited", runs=runs, pause=pause)
    (folder / "study.yaml").write_text(text)
    return read_study(folder / "study.yaml")


def expected(study: SweepStudy, folder: Path) -> bytes:
    """The table of a study, computed in this process in the order of its points."""
    records = evaluate_points(study.target, study.points)
    found = Results.of(study, {record.point: record for record in records})
    return found.write(folder / "expected.parquet", study).read_bytes()


class Client:
    """The command in a process of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.journal = folder / "out" / JOURNAL_FILE
        self.process = subprocess.Popen(
            [*COMMAND, str(folder / "study.yaml"), "--out", str(folder / "out"), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_for(self, count: int, seconds: float = 120.0) -> bytes:
        """Wait until the journal has this many records; return it."""

        def there() -> bool:
            return self.journal.exists() and self.journal.read_bytes().count(b"\n") > count

        wait_until(lambda: there() or self.process.poll() is not None, seconds)
        assert self.process.poll() is None, self.process.communicate()[0]
        return self.journal.read_bytes()

    def kill_a_worker(self) -> None:
        workers = [
            child
            for child in psutil.Process(self.process.pid).children()
            if any("spawn_main" in word for word in child.cmdline())
        ]
        workers[0].kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> str:
        said, _ = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, said
        return said


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def kills_and_continues(folder: Path, runs: int, pause: float, kills: int) -> None:
    """Kill a worker and the client, several times, and compare the table in the end."""
    study = make_study(folder, runs, pause)
    total = len(study.points)
    for kill in range(kills):
        client = Client(folder)
        # The worker is killed while points are computed, and some more come in afterwards.
        client.wait_for(total * (2 * kill + 1) // (2 * kills + 2))
        client.kill_a_worker()
        before = client.wait_for(total * (2 * kill + 2) // (2 * kills + 2))
        client.kill()
        assert (folder / "out" / JOURNAL_FILE).read_bytes().startswith(before)
    said = Client(folder).end()
    assert "continuing: " in said
    check_table(study, folder)


def check_table(study: SweepStudy, folder: Path) -> None:
    assert (folder / "out/results.parquet").read_bytes() == expected(study, folder)
    lines = (folder / "out" / JOURNAL_FILE).read_bytes().splitlines()
    assert len(lines) == 1 + len(study.points), "a point was computed twice or not at all"


def test_a_sweep_survives_the_kill_of_a_worker_and_of_its_client(tmp_path: Path) -> None:
    kills_and_continues(tmp_path, runs=120, pause=0.012, kills=1)


def test_a_point_that_ends_its_process_has_failed_and_the_others_have_not(tmp_path: Path) -> None:
    (tmp_path / "law.py").write_text(
        "import os\ndef fatal(*, k):\n    if k == 3:\n        os._exit(1)\n    return k\n"
    )
    text = f"target: law.py:fatal\nparameters: {{k: {list(range(12))}}}\n"
    (tmp_path / "study.yaml").write_text(text)
    study = read_study(tmp_path / "study.yaml")
    with Sweep(study, tmp_path / "out") as sweep:
        sweep.run(workers=2)
        summary = sweep.write()
    assert (summary.done, summary.failed, summary.missing) == (11, 1, 0)
    rows = pq.read_table(tmp_path / "out/results.parquet").to_pylist()
    (failed,) = (row for row in rows if row["status"] == "failed")
    assert failed["k"] == 3
    assert "every process that computed this point has ended" in failed["error"]


@pytest.mark.slow
def test_ten_thousand_runs_survive_three_kills_of_a_worker_and_of_their_client(
    tmp_path: Path,
) -> None:
    kills_and_continues(tmp_path, runs=5_000, pause=0.008, kills=3)


def run_here(sweep: Sweep, retry_failed: bool = False) -> int:
    """Compute the remaining points in this process; return how many there were."""
    points = sweep.remaining(retry_failed)
    sweep._journal.append(evaluate_points(sweep.study.target, points))
    return len(points)


def test_failed_points_are_rows_with_their_error_and_are_computed_again_on_demand(
    tmp_path: Path,
) -> None:
    study = make_study(tmp_path)
    with Sweep(study, tmp_path / "out") as sweep:
        assert run_here(sweep) == 40
        assert run_here(sweep) == 0
        summary = sweep.write()
        assert summary.failed > 0
        assert run_here(sweep, retry_failed=True) == summary.failed
    table = pq.read_table(tmp_path / "out/results.parquet")
    assert table.column_names == [
        "point", "run", "seed", "stiffness", "push", "pause", "status", "error", "moved", "root",
        "far",
    ]  # fmt: skip
    rows = table.to_pylist()
    failed = [row for row in rows if row["status"] == "failed"]
    assert len(failed) == summary.failed
    assert all("is too large" in row["error"] and row["moved"] is None for row in failed)
    assert all(row["push"] > 2.5 for row in failed)
    page = (tmp_path / "out/report.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    assert "ValueError: a push of" in page
    assert "Traceback" in page
    assert "http" not in page


def test_earlier_results_of_other_code_are_not_mixed_with_new_ones(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    out = tmp_path / "out"
    with Sweep(study, out) as sweep:
        run_here(sweep)
    law = tmp_path / "law.py"
    law.write_text(law.read_text().replace("push / stiffness", "push * stiffness"))
    changed = read_study(tmp_path / "study.yaml")
    with pytest.raises(VmsPhError, match=r"the code of .* has changed .*--restart .*--keep"):
        Sweep(changed, out)
    with Sweep(changed, out, keep=True) as sweep:
        assert sweep.remaining() == []
    with Sweep(changed, out, restart=True) as sweep:
        assert len(sweep.remaining()) == 40
    assert (out / "points.1.jsonl").exists()


def test_results_of_any_kind_are_written(tmp_path: Path) -> None:
    (tmp_path / "law.py").write_text(
        "import numpy as np\n"
        "def kinds(*, k):\n"
        "    values = [1, 2.5, 2**70, float('nan'), np.float32(0.5), np.int8(3), True, None]\n"
        "    return {'n': values[k], 't': 'x\\udc80', 'l': [k, 0.5], 'mixed': ['a', 1][k % 2],\n"
        "            'v': np.arange(2), f'only_{k}': k, 'none': None}\n"
    )
    (tmp_path / "study.yaml").write_text(
        "target: law.py:kinds\nparameters: {k: [0, 1, 2, 3, 4, 5, 6, 7]}\n"
    )
    study = read_study(tmp_path / "study.yaml")
    with Sweep(study, tmp_path / "out") as sweep:
        run_here(sweep)
        before = sweep.write()
    rows = pq.read_table(tmp_path / "out/results.parquet").to_pylist()
    assert (before.done, before.failed) == (8, 0)
    assert rows[1]["l"] == [1.0, 0.5]
    assert rows[1]["v"] == [0, 1]
    assert rows[0]["mixed"] == '"a"'
    assert (rows[3]["only_3"], rows[4]["only_3"]) == (3, None)
    # Read back from the journal, they are the same.
    content = (tmp_path / "out/results.parquet").read_bytes()
    with Sweep(study, tmp_path / "out") as sweep:
        assert sweep.remaining() == []
        sweep.write()
    assert (tmp_path / "out/results.parquet").read_bytes() == content


def test_a_point_that_takes_too_long_has_failed_and_the_others_have_not(tmp_path: Path) -> None:
    (tmp_path / "law.py").write_text(
        "import time\n"
        "def slow(*, k):\n"
        "    while k == 1:\n"
        "        try:\n"
        "            time.sleep(0.01)\n"
        "        except Exception:\n"
        "            pass\n"
        "    try:\n"
        "        while k == 2:\n"
        "            time.sleep(0.01)\n"
        "    except BaseException:\n"
        "        return 0\n"
        "    return k\n"
    )
    (tmp_path / "study.yaml").write_text(
        "target: law.py:slow\nlimit: 0.2\nparameters: {k: [0, 1, 2, 3]}\n"
    )
    study = read_study(tmp_path / "study.yaml")
    records = evaluate_points(study.target, study.points, study.limit)
    late = "TimeLimitError: the evaluation takes longer than the limit of 0.2 s"
    assert [record.error for record in records] == ["", late, late, ""]
    assert [record.results for record in records] == [{"result": 0}, {}, {}, {"result": 3}]


def test_more_runs_of_a_study_compute_only_the_new_ones(tmp_path: Path) -> None:
    with Sweep(make_study(tmp_path, 10), tmp_path / "out") as sweep:
        run_here(sweep)
    study = make_study(tmp_path, 15)
    with Sweep(study, tmp_path / "out") as sweep:
        assert run_here(sweep) == 10
        sweep.write()
    assert (tmp_path / "out/results.parquet").read_bytes() == expected(study, tmp_path)


def test_a_full_disk_is_told_and_the_points_before_are_kept(tmp_path: Path) -> None:
    study, limits = make_study(tmp_path), resource.getrlimit(resource.RLIMIT_FSIZE)
    with Sweep(study, tmp_path / "out") as sweep:
        # A limit on the file size fails as a full disk does.
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
        try:
            with pytest.raises(VmsPhError, match=r"points.jsonl cannot be written: File too large"):
                run_here(sweep)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with Sweep(study, tmp_path / "out") as sweep:
        assert 0 < run_here(sweep) < 40
        (tmp_path / "out/results.part").symlink_to("/dev/full")
        with pytest.raises(VmsPhError, match=r"out cannot be written: .*No space left on device"):
            sweep.write()
        sweep.write()
    assert (tmp_path / "out/results.parquet").read_bytes() == expected(study, tmp_path)


def command(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(make_app(), ["sweep", *words])
    error = done.exception
    said = done.output if error is None or isinstance(error, SystemExit) else str(error)
    assert error is None or isinstance(error, SystemExit | VmsPhError), error
    return done.exit_code, said


def test_the_command_lists_targets_and_shows_points(tmp_path: Path) -> None:
    make_study(tmp_path)
    code, said = command("--list")
    assert code == 0
    assert "closed_loop   Return the response of a controlled robot" in said
    code, said = command(str(tmp_path / "study.yaml"), "--dry-run")
    assert "study: 40 points of law.py:waited" in said
    assert not (tmp_path / "out").exists()


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    make_study(tmp_path)
    words = [str(tmp_path / "study.yaml"), "--out", str(tmp_path / "out")]
    code, said = command(*words, "--report", "--strict")
    assert code == 1
    assert "40 points are missing; vms-ph sweep" in said
    code, said = command()
    assert "no study file is given" in said
