# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The code in README.md and docs/ runs, and prints what the pages say it prints."""

import doctest
import re
import statistics
import sys
from pathlib import Path
from types import ModuleType

import pytest
from built_core import compiled  # noqa: F401
from test_tutorials import NAMES as TUTORIALS

import vms_ph_controllers
import vms_ph_dynamics
import vms_ph_io

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
# The code of tutorials runs together with their commands.
WITH_CODE = [p for p in PAGES if BLOCK.search(p.read_text()) and p.name not in TUTORIALS]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


# The short form of this page takes a tenth of its steps.
LONG = ROOT / "docs/wheels.md"
RUNS = [
    *(pytest.param(p, r"\1" if p == LONG else r"\g<0>", id=p.name) for p in WITH_CODE),
    pytest.param(LONG, r"\g<0>", id="all of wheels.md", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("page", "steps"), RUNS)
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: Path,
    steps: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCK.findall(re.sub(r"(\bsteps=\d+)0\b", steps, page.read_text())):
        if ">>>" not in block:
            exec(compile(block, str(page), "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        runner.run(test, clear_globs=False)
        names.update(test.globs)
        assert runner.failures == 0, capsys.readouterr().out


EXAMPLES = [
    (package, name)
    for package in (vms_ph_dynamics, vms_ph_controllers, vms_ph_io)
    for name in package.__all__
    if ">>>" in (getattr(package, name).__doc__ or "")
    and getattr(package, name).__module__.startswith("vms_ph")
]


def test_the_most_used_names_show_an_example() -> None:
    assert len({getattr(package, name) for package, name in EXAMPLES}) >= 30


@pytest.mark.parametrize(("package", "name"), EXAMPLES, ids=[name for _, name in EXAMPLES])
def test_the_example_of_a_docstring_prints_what_it_says(
    package: ModuleType, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    thing = getattr(package, name)
    names = dict(vars(sys.modules[thing.__module__]))
    for example in doctest.DocTestFinder(recurse=False).find(thing, name, globs=names):
        runner = doctest.DocTestRunner()
        runner.run(example)
        assert runner.failures == 0, capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_a_page_fits_eighty_columns(page: Path) -> None:
    for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.M | re.S):
        assert [line for line in block.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_of_a_page_are_short(page: Path) -> None:
    text = re.sub(
        r"```.*?```|^    .*?$|\$\$.*?\$\$|\$[^$]*\$|`[^`]*`",
        "x",
        page.read_text(),
        flags=re.S | re.M,
    )
    text = re.sub(r"\]\([^)]*\)", "]", text)
    passages = re.split(r"\n\s*(?=\n|[-*|#]|\d+\. )|(?<=[.!?])\s+|[|]", text)
    sentences = [re.findall(r"[A-Za-z][\w'-]*", passage) for passage in passages]
    assert [" ".join(words) for words in sentences if len(words) > 45] == []
    assert statistics.median(len(words) for words in sentences if len(words) > 2) <= 18


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_to_files_that_exist(page: Path) -> None:
    missing = [to for to in LINK.findall(page.read_text()) if not (page.parent / to).exists()]
    assert missing == []


def test_every_test_that_the_errata_name_exists() -> None:
    named = set(re.findall(r'title="(test_\w+)"', (ROOT / "docs" / "errata.md").read_text()))
    sources = (path.read_text() for path in (ROOT / "test").rglob("test_*.py"))
    there = {name for text in sources for name in re.findall(r"^def (test_\w+)", text, re.M)}
    assert named
    assert named - there == set()


def test_every_erratum_says_how_it_is_known() -> None:
    rows = [
        row.strip("|").split("|")
        for row in (ROOT / "docs" / "errata.md").read_text().splitlines()
        if row.startswith("|") and "---" not in row and "shown by" not in row
    ]
    assert [row for row in rows if len(row) != 4] == []
    for *_, known in rows:
        assert re.fullmatch(r' <abbr title="test_\w+">test</abbr> ', known)
