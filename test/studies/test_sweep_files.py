# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Study files: what they define, and what is said about mistakes in them."""

from pathlib import Path

import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_studies.sweeps import SweepStudy, read_study
from vms_ph_studies.sweeps.distributions import make_distribution, uniform

TARGET = Path(__file__).parent / "sweep_target.py"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "sweeps").glob("*.yaml"))


def study(folder: Path, text: str, target: str = f"{TARGET}:waited") -> SweepStudy:
    file = folder / "study.yaml"
    file.write_text(f"target: {target}\n{text}")
    return read_study(file)


def test_the_points_are_all_runs_at_all_points_of_the_grid(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
runs: 3
parameters:
  stiffness: {from: 1, to: 100, count: 3, spacing: log}
  push: {uniform: {low: -1, high: 1}}
  pause: 0.0
""",
    )
    grid = [point.parameters["stiffness"] for point in found.points]
    assert grid == pytest.approx([1.0] * 3 + [10.0] * 3 + [100.0] * 3)
    assert [point.run for point in found.points] == [0, 1, 2] * 3
    pushes = [point.parameters["push"] for point in found.points]
    assert pushes[:3] == pushes[3:6] == pushes[6:]
    assert len(set(pushes[:3])) == 3
    assert len({point.id for point in found.points}) == 9
    assert len({point.seed for point in found.points}) == 9
    assert found.varied == ["stiffness", "push"]


RUNS = """
runs: {}
seed: {}
parameters: {{stiffness: [1, 2], push: {{normal: {{mean: 0, deviation: 1}}}}}}
"""


def test_further_runs_and_parameters_leave_the_points_there_are_as_they_are(
    tmp_path: Path,
) -> None:
    few, many = (study(tmp_path, RUNS.format(runs, 5)).points for runs in (2, 4))
    assert {point.id for point in few} < {point.id for point in many}
    other = study(tmp_path, RUNS.format(2, 6)).points
    assert not {point.id for point in few} & {point.id for point in other}
    more = RUNS.format(2, 5).replace("push:", "pause: {integers: {low: 1, high: 9}}, push:")
    pushes = [point.parameters["push"] for point in study(tmp_path, more).points]
    assert pushes == [point.parameters["push"] for point in few]


def test_the_numbers_of_a_seed_are_the_same_on_every_machine(tmp_path: Path) -> None:
    # A change here makes every recorded sweep a different one.
    point = study(tmp_path, RUNS.format(2, 5)).points[1]
    assert uniform(5, "push", 1) == 0.3191753537533752
    assert point.parameters["push"] == pytest.approx(-0.470006, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "numbers", "quantiles"),
    [
        ("uniform", {"low": -1, "high": 3}, (0.0, 1.0, 2.0)),
        ("log_uniform", {"low": 1, "high": 10_000}, (10.0, 100.0, 1000.0)),
        ("normal", {"mean": 2, "deviation": 3}, (-0.0234692506, 2.0, 4.0234692506)),
        ("normal", {"mean": 0, "deviation": 1, "low": 0}, (0.318639364, 0.674489750, 1.150349380)),
        ("integers", {"low": 1, "high": 4}, (2, 3, 4)),
        ("choice", {"of": ["a", "b"], "weights": [3, 1]}, ("a", "a", "b")),
    ],
)
def test_a_distribution_has_the_quantiles_that_its_name_says(
    name: str, numbers: dict[str, object], quantiles: tuple[object, ...]
) -> None:
    law = make_distribution(name, numbers)
    found = [law.value(u) for u in (0.25, 0.5, 0.75)]
    assert found == [q if isinstance(q, str) else pytest.approx(q) for q in quantiles]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parameters: {stifness: 1, push: 1}", "parameter 'stifness' (did you mean 'stiffness'?)"),
        ("parameters: {stiffness: 1}", "requires the parameter(s) push"),
        ("parameters: {stiffness: 1, push: 1, seed: 2}", "it follows from the seed of the study"),
        ("paramters: {stiffness: 1, push: 1}", "'paramters' (did you mean 'parameters'?)"),
        ("parameters: {stiffness: [], push: 1}", "the list is empty"),
        ("parameters: {stiffness: [1, 1], push: 1}", "1 is listed twice"),
        ("parameters: {stiffness: 1, push: {unifrom: {low: 0}}}", "(did you mean 'uniform'?)"),
        (
            "runs: 2\nparameters: {stiffness: 1, push: {uniform: {low: 2, high: 1}}}",
            "low=2 must be below high=1",
        ),
        (
            "runs: 2\nparameters: {stiffness: 1, push: {normal: {mean: 2}}}",
            "normal: {mean: NUMBER, deviation: NUMBER",
        ),
        (
            "parameters: {stiffness: 1, push: {uniform: {low: 0, high: 1}}}",
            "the key 'runs' is missing: how many samples of push are drawn",
        ),
        ("parameters: {stiffness: {from: 1, to: 2}, push: 1}", "with a count of at least 2"),
        (
            "parameters: {stiffness: {from: 0, to: 2, count: 3, spacing: log}, push: 1}",
            "log between numbers above zero",
        ),
        ("limit: 0\nparameters: {stiffness: 1, push: 1}", "a duration above zero, s"),
        ("runs: 0\nparameters: {stiffness: 1, push: 1}", "a whole number of at least 1"),
        ("runs: 100000000\nparameters: {stiffness: 1, push: 1}", "at most 10000000 are accepted"),
        ("parameters: [1]", "expected a mapping of names to values"),
        ("parameters: {stiffness: .inf, push: 1}", "accepted are a value"),
        (
            "plots: {against: [puhs]}\nparameters: {stiffness: 1, push: 1}",
            "there is no parameter 'puhs'",
        ),
    ],
)
def test_a_mistake_in_a_study_file_is_named_with_what_is_accepted(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(VmsPhError) as caught:
        study(tmp_path, text)
    assert said in str(caught.value)
    assert str(tmp_path / "study.yaml") in str(caught.value)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("closed_lop", "(did you mean 'closed_loop'?)"),
        ("nowhere.py:f", "nowhere.py cannot be read"),
        (f"{TARGET}:nothing", "has no attribute 'nothing'"),
        ("numpy:pi", "'numpy:pi' is not a function"),
        ("no_such_package:f", "No module named 'no_such_package'"),
        ("reproduce hoping", "there is no study 'hoping'"),
    ],
)
def test_a_target_that_cannot_be_loaded_is_named(tmp_path: Path, target: str, said: str) -> None:
    with pytest.raises(VmsPhError) as caught:
        study(tmp_path, "parameters: {}", target)
    assert said in str(caught.value)


def test_a_number_with_an_exponent_is_a_number(tmp_path: Path) -> None:
    found = study(tmp_path, "parameters: {stiffness: 1e-3, push: 1}")
    assert found.points[0].parameters["stiffness"] == 1e-3


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_a_study(file: Path) -> None:
    assert len(read_study(file).points) > 10


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3
