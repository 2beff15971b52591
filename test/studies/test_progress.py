# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Studies report their progress through a callback and print nothing."""

import pytest

from vms_ph_studies import get, studies

SHORT = {
    "rashad-equivalence": {"states": "2"},
    "free-floating-nonholonomy": {"steps": "20"},
    "califano-fig2": {"seconds": "0.2", "sampled": "no"},
    "disturbance-rejection": {"robot": "hextilt", "seconds": "0.1"},
    "feurstein-revolute-1": {"duration": "0.3"},
}


@pytest.mark.parametrize("identifier", SHORT)
def test_a_study_reports_rising_shares_and_prints_nothing(
    identifier: str, capfd: pytest.CaptureFixture[str]
) -> None:
    study = get(identifier)
    shares: list[float] = []
    study.run(study.settings(SHORT[identifier]), None, lambda share, task: shares.append(share))
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert 0.4 < shares[-1] <= 1.0
    assert capfd.readouterr() == ("", "")


def test_every_study_has_a_title_and_a_source() -> None:
    assert all(study.title and study.source for study in studies().values())
