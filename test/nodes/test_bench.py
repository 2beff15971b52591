"""vms-ph bench: every subject runs, on every base, and tells its ratios; no time is asserted."""

import json

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_nodes.bench import Case, benches, measure
from vms_ph_nodes.cli.app import make_app


@pytest.mark.parametrize("subject", list(benches()))
def test_a_subject_times_all_its_cases_and_its_reference(subject: str) -> None:
    arguments = ["bench", subject, "--seconds", "0", "--json"]
    result = CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    document = json.loads(result.output)
    ratios = {case["name"]: case["ratio"] for case in document["cases"]}
    assert ratios[document["reference"]] == 1.0
    assert all(case["median"] > 0 for case in document["cases"])


@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_the_model_can_be_timed_on_every_base(base: str) -> None:
    arguments = ["bench", "dynamics", "--seconds", "0", "--base", base]
    result = CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    assert "DecoupledForm.rate" in result.output
    assert f"{base} base" in result.output


def test_twice_the_work_takes_about_twice_the_time() -> None:
    def work(n: int) -> object:
        return sum(range(n))

    timings = measure([Case("one", lambda: work(20_000)), Case("two", lambda: work(40_000))], 0.2)
    assert 1.5 < timings[1].median / timings[0].median < 2.7


def test_a_call_that_does_many_units_of_work_is_told_per_unit() -> None:
    def work() -> object:
        return [sum(range(2_000)) for _ in range(10)]

    whole, unit = measure([Case("whole", work), Case("unit", work, per=10)], 0.1)
    assert 7 < whole.median / unit.median < 14


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["everything"], "nothing called 'everything' to time; dynamics"),
        ([], "what is to be timed"),
        (["dynamics", "--base", "wheels"], "accepted are fixed, planar, floating"),
        (["dynamics", "--robot", "r2d2"], "there is no robot 'r2d2'"),
    ],
)
def test_a_wrong_request_is_answered_by_a_sentence(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(make_app(), ["bench", *arguments])
    assert isinstance(result.exception, VmsPhError)
    assert sentence in str(result.exception)
