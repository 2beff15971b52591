# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Studies report their progress through a callback and print nothing."""

from vms_ph_studies.study import Stages


def test_stages_divide_the_work_into_equal_shares() -> None:
    seen: list[tuple[float, str]] = []
    stages = Stages(lambda share, task: seen.append((share, task)), 2)
    stages.begin("one")(0.5)
    stages.begin("two")(1.0)
    assert seen == [(0.0, "one"), (0.25, "one"), (0.5, "two"), (1.0, "two")]
