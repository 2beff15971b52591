# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A sweep in a folder: computed, interrupted, resumed, and written as table and report."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from vms_ph_dynamics import VmsPhError
from vms_ph_io.settings.bounded_text import writing

from .journal import Journal, archive_journal
from .parameters import Point
from .progress import OnProgress, SweepProgress, SweepSummary
from .report import write_report
from .results import RESULTS_FILE, Results
from .study_file import SweepStudy
from .workers import evaluate_parallel

STUDY = "study.yaml"
REPORT = "report.html"


class Sweep:
    """A study and the folder with its records.

    Attributes:
        study: the study.
        folder: the folder.
    """

    def __init__(
        self, study: SweepStudy, folder: Path, *, restart: bool = False, keep: bool = False
    ) -> None:
        """Open the folder of a study; what is computed there already counts.

        Args:
            study: the study.
            folder: folder for journal, table and report; made if missing.
            restart: set earlier records aside.
            keep: keep earlier records although the code of the target has changed since.

        Raises:
            VmsPhError: the folder has records of another target or of other code, or another
                process uses it.
        """
        self.study, self.folder = study, folder
        if restart:
            archive_journal(folder)
        self._journal = Journal(folder, study.target.name, study.target.digest)
        try:
            self._check_origin(keep)
            with writing(folder):
                (folder / STUDY).write_text(study.text, encoding="utf-8")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Sweep":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process use the folder."""
        self._journal.close()

    def remaining(self, retry_failed: bool = False) -> list[Point]:
        """Return the points to compute.

        Args:
            retry_failed: those that failed before are to be computed too.
        """
        records = self._journal.records
        return [
            point
            for point in self.study.points
            if point.id not in records or (retry_failed and records[point.id].error)
        ]

    def run(
        self, workers: int = 0, progress: OnProgress | None = None, retry_failed: bool = False
    ) -> None:
        """Compute the remaining points; a record is durable before it is reported as done.

        Args:
            workers: number of processes; 0 for one per core.
            progress: called after each batch of points.
            retry_failed: compute failed points again.

        Raises:
            VmsPhError: the target cannot be loaded.
        """
        points, point_count = self.remaining(retry_failed), len(self.study.points)
        retried_failures = sum(point.id in self._journal.records for point in points)
        done_count, failed = point_count - len(points), self.summary().failed - retried_failures
        report = progress or (lambda progress_state: None)
        report(SweepProgress(done_count, point_count, failed))
        if not points:
            return
        study = self.study
        with closing(evaluate_parallel(study.target, points, study.limit, workers)) as batches:
            for records in batches:
                self._journal.append(records)
                done_count += len(records)
                failed += sum(bool(record.error) for record in records)
                report(SweepProgress(done_count, point_count, failed))

    def write(self) -> SweepSummary:
        """Write the table and the report of what is there; return a summary.

        Raises:
            ImportError: pyarrow is not installed.
            VmsPhError: the folder cannot be written.
        """
        results = Results.of(self.study, self._journal.records)
        summary = self.summary()
        with writing(self.folder):
            file = results.write(self.folder / RESULTS_FILE, self.study)
            write_report(self.study, results, self._journal.records, summary, self.folder / REPORT)
        return self.summary((str(file), str(self.folder / REPORT)))

    def summary(self, files: Iterable[str] = ()) -> SweepSummary:
        """Return what is there."""
        records, points = self._journal.records, self.study.points
        present_records = [records[point.id] for point in points if point.id in records]
        failed_count = sum(bool(record.error) for record in present_records)
        return SweepSummary(
            len(points),
            len(present_records) - failed_count,
            failed_count,
            len(points) - len(present_records),
            len(records) - len(present_records),
            tuple(files),
        )

    def _check_origin(self, keeps_records: bool) -> None:
        journal, target = self._journal, self.study.target
        if journal.target_name != target.name and journal.records:
            raise VmsPhError(
                f"{self.folder} has results of the target {journal.target_name}, not of "
                f"{target.name}; choose another folder with --out, or begin anew with --restart"
            )
        if journal.digest != target.digest and journal.records and not keeps_records:
            raise VmsPhError(
                f"the code of {target.name} has changed since {len(journal.records)} points were "
                f"computed in {self.folder}; --restart computes all anew, --keep keeps these"
            )
