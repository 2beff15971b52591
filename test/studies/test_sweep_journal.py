# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The journal of a sweep: durable records, one writer, no damage by a kill."""

from pathlib import Path

import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_studies.sweeps.evaluation import Record
from vms_ph_studies.sweeps.journal import JOURNAL_FILE, Journal, archive_journal


def open_journal(folder: Path) -> Journal:
    return Journal(folder, "target", "digest")


def test_records_are_read_back_as_they_were(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "new")
    records = [
        Record("a", {"x": 0.1 + 0.2, "n": 3, "t": "ä", "none": None, "l": [1.0, 2.0]}),
        Record("b", {}, "ValueError: no", "trace", 1.5),
        Record("c", {"x": float("inf")}),
    ]
    journal.append(records)
    journal.close()
    again = open_journal(tmp_path / "new")
    assert list(again.records.values()) == records
    assert (again.target_name, again.digest) == ("target", "digest")
    again.close()


def test_a_record_that_was_cut_short_is_removed_and_the_others_stay(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.append([Record("a", {"x": 1})])
    journal.append([Record("b", {"x": 2})])
    journal.close()
    whole = (tmp_path / JOURNAL_FILE).read_bytes()
    for cut in range(1, len(whole.splitlines(keepends=True)[-1]) + 1):
        (tmp_path / JOURNAL_FILE).write_bytes(whole[:-cut])
        again = open_journal(tmp_path)
        assert list(again.records) == ["a"]
        again.append([Record("b", {"x": 2})])
        again.close()
        assert (tmp_path / JOURNAL_FILE).read_bytes() == whole


def test_two_processes_do_not_write_one_journal(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    with pytest.raises(VmsPhError, match="another process computes the sweep"):
        open_journal(tmp_path)
    with pytest.raises(VmsPhError, match="another process computes the sweep"):
        archive_journal(tmp_path)
    journal.close()
    open_journal(tmp_path).close()


def test_a_damaged_journal_is_reported_and_can_be_set_aside(tmp_path: Path) -> None:
    open_journal(tmp_path).close()
    with (tmp_path / JOURNAL_FILE).open("a") as file:
        file.write("no record\n")
    with pytest.raises(VmsPhError, match=r"line 2, is not of a journal .* --restart"):
        open_journal(tmp_path)
    archive_journal(tmp_path)
    assert (tmp_path / "points.1.jsonl").read_text().endswith("no record\n")
    journal = open_journal(tmp_path)
    assert journal.records == {}
    journal.close()


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(VmsPhError, match="cannot be written"):
        open_journal(tmp_path / "file" / "folder")
