# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The results of a sweep as a table, and as a Parquet file."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vms_ph_dynamics import __version__

from .evaluation import Record
from .study_file import SweepStudy

RESULTS_FILE = "results.parquet"


@dataclass(frozen=True)
class Results:
    """A table with one row for each point that has a record, in the order of the study.

    Its content follows from the study and the target alone: it has no times and no names of
    machines, and does not depend on the order of computation.

    Attributes:
        columns: the columns by name: point, run, seed, the parameters, status, error, results.
        outputs: names of the columns of results.
    """

    columns: Mapping[str, list[Any]]
    outputs: tuple[str, ...]

    @classmethod
    def of(cls, study: SweepStudy, records: Mapping[str, Record]) -> "Results":
        """Return the table of a study."""
        rows = [(point, records[point.id]) for point in study.points if point.id in records]
        outputs = tuple(dict.fromkeys(name for _, record in rows for name in record.results))
        columns: dict[str, list[Any]] = {"point": [point.id for point, _ in rows]}
        if study.runs is not None:
            columns["run"] = [point.run for point, _ in rows]
        columns["seed"] = [point.seed for point, _ in rows]
        for name in study.parameters:
            columns[name] = [point.parameters[name] for point, _ in rows]
        columns["status"] = ["failed" if record.error else "done" for _, record in rows]
        columns["error"] = [record.error or None for _, record in rows]
        for name in outputs:
            columns[name] = [record.results.get(name) for _, record in rows]
        return cls(columns, outputs)

    def __len__(self) -> int:
        return len(self.columns["point"])

    def numbers(self, name: str) -> list[float] | None:
        """Return a column as numbers, nan for none; None if it has anything else."""
        values = self.columns[name]
        if all(value is None or isinstance(value, bool | int | float) for value in values):
            return [float("nan") if value is None else float(value) for value in values]
        return None

    def write(self, file: Path, study: SweepStudy) -> Path:
        """Write the table as Parquet, with the text of the study as its metadata.

        Raises:
            ImportError: pyarrow is not installed.
        """
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise ImportError("Parquet files need pyarrow: pip install 'vms-ph[sweep]'") from None
        arrays = {name: pa.array(_of_one_type(values)) for name, values in self.columns.items()}
        # A column without any value has no kind of its own.
        for name, array in arrays.items():
            if pa.types.is_null(array.type):
                arrays[name] = array.cast(pa.string() if name == "error" else pa.float64())
        metadata = {"study": study.text, "name": study.name, "vms_ph": __version__}
        table = pa.table(arrays).replace_schema_metadata(metadata)
        partial_file = file.with_suffix(".part")
        pq.write_table(table, partial_file, compression="zstd")
        os.replace(partial_file, file)
        return file


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return the values of a column as numbers, text or lists of numbers; as JSON if mixed."""
    value_types = {type(value) for value in values if value is not None}
    if value_types == {int, float}:
        return [None if value is None else float(value) for value in values]
    if value_types == {list}:
        element_types = {type(item) for value in values if value is not None for item in value}
        if element_types <= {int, float}:
            return [None if v is None else [float(item) for item in v] for v in values]
        if len(element_types) == 1:
            return values
    elif len(value_types) <= 1:
        return values
    return [None if value is None else json.dumps(value) for value in values]
