# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a launch file reads and produces is bounded."""

import time
from pathlib import Path

import pytest

from vms_ph_embedded.launch import load
from vms_ph_embedded.launch.context import MAX_FILES
from vms_ph_embedded.launch.errors import LaunchError
from vms_ph_embedded.launch.expression import ExpressionError, evaluate


@pytest.mark.parametrize(
    "source",
    [
        "'%999999999d' % 1",
        "'%*d' % (10**9, 1)",
        "round(5, -10**8)",
        "[[1] * 8000] * 8000",
    ],
)
def test_an_expression_of_enormous_value_is_refused_at_once(source: str) -> None:
    begin = time.monotonic()
    with pytest.raises(ExpressionError, match="has no value"):
        evaluate(source)
    assert time.monotonic() - begin < 5.0


def test_expressions_of_usual_size_keep_their_value() -> None:
    assert evaluate("'a;b'.split(';')[1].upper()") == "B"
    assert evaluate("'%5.2f %s%%' % (3.14159, round(2.567, 1))") == " 3.14 2.6%"
    assert evaluate("math.floor(5.5) + ceil(pi) + round(2.567, 1)") == "11.6"
    with pytest.raises(ExpressionError, match="math has no 'factorial'"):
        evaluate("math.factorial(5)")


def _launch(folder: Path, content: str, name: str = "a.launch.xml") -> Path:
    path = folder / name
    path.write_text(f"<launch>{content}</launch>")
    return path


def test_variables_that_double_each_other_are_refused(tmp_path: Path) -> None:
    doubling = "<let name='a' value='$(var a)$(var a)'/>" * 60
    with pytest.raises(LaunchError, match="give more than 1048576 characters"):
        load(_launch(tmp_path, f"<let name='a' value='a'/>{doubling}"))


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_an_endless_file_is_not_read(path: str, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="is too large"):
        load(_launch(tmp_path, f"<include file='{path}'/>"))


def test_includes_that_multiply_are_refused(tmp_path: Path) -> None:
    for i in range(20):
        twice = f"<include file='$(dirname)/{i + 1}.launch.xml'/>" * 2
        _launch(tmp_path, twice, f"{i}.launch.xml")
    _launch(tmp_path, "", "20.launch.xml")
    with pytest.raises(LaunchError, match=f"more than {MAX_FILES} files"):
        load(tmp_path / "0.launch.xml")


def test_the_path_of_a_parameter_file_may_be_impossible(tmp_path: Path) -> None:
    content = f"<node pkg='p' exec='e'><param from='{'a' * 5000}'/></node>"
    with pytest.raises(LaunchError, match="there is no parameter file"):
        load(_launch(tmp_path, content), resolve=lambda *_: ["true"])
