# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The site of the documentation: it is built without a warning and has every public name."""

import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


# Builds the site as mkdocs does, but every formula is parsed and one in twelve is drawn, and
# signatures are not wrapped.
QUICK = """
import itertools
from xml.etree.ElementTree import Element
import mkdocs.__main__, mkdocstrings_handlers.python._internal.rendering as rendering, ziamath.zmath

class Parsed:
    def __init__(self, latex, size, inline):
        self.latex = latex
        ziamath.zmath.tex2mml(latex, inline=inline)
    svgxml = staticmethod(lambda: Element("svg"))
    getyofst = staticmethod(lambda: 0.0)

kinds = itertools.cycle([ziamath.Latex] + 11 * [Parsed])
ziamath.Latex = lambda *given, **named: next(kinds)(*given, **named)
rendering._get_ruff_formatter = rendering._get_black_formatter = lambda: None
mkdocs.__main__.cli()
"""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(["-c", QUICK], id="quick"),
        pytest.param(["-m", "mkdocs"], id="as published", marks=pytest.mark.slow),
    ],
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, *request.param, "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr  # warnings are errors: strict in mkdocs.yml
    return folder


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import site_pages
    finally:
        sys.path.pop(0)
    return site_pages


@pytest.fixture(scope="module")
def public(pages: ModuleType) -> dict[str, Any]:
    return {
        pages.home(package, name): getattr(package, name)
        for package in pages.packages()
        for name in pages.names_of(package)
    }


def test_search_finds_every_public_name(site: Path, pages: ModuleType) -> None:
    home, packages = pages.home, pages.packages
    names = {home(package, name) for package in packages() for name in pages.names_of(package)}
    index = json.loads((site / "search" / "search_index.json").read_text())
    places = {document["location"].partition("#")[2] for document in index["docs"]}
    assert len(names) > 200
    assert names - places == set()


def test_the_page_of_parameters_has_those_of_every_node(site: Path) -> None:
    page = (site / "reference" / "parameters.html").read_text()
    nodes = [path.stem for path in (ROOT / "config" / "parameters").glob("*.yaml")]
    assert len(nodes) > 5
    assert [node for node in nodes if f">{node}<" not in page] == []
    assert "plausibility.recovery_samples" in page  # of a file
    assert "null_stiffness" in page or "damping_null" in page  # a gain


def test_a_name_that_two_packages_have_leads_to_that_of_the_page(site: Path) -> None:
    api = site / "reference" / "api"
    meant = {
        ("vms_ph_io.simulation", "Payload"): "vms_ph_dynamics.simulation",
        ("vms_ph_io.simulation", "Friction"): "vms_ph_dynamics.actuation",
        ("vms_ph_dynamics", "from_urdf"): "vms_ph_dynamics",
        ("vms_ph_dynamics.integrators", "SCHEMES"): "vms_ph_dynamics.integrators",
    }
    for (page, name), target in meant.items():
        links = re.findall(
            rf'href="([^"#]*)#[\w.]+\.{name}"[^>]*><code>', (api / f"{page}.html").read_text()
        )
        assert links, (page, name)
        assert {link or f"{page}.html" for link in links} == {f"{target}.html"}, (page, name)


def functions(public: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Every public function and method of this project, with the text that describes its errors."""
    for name, value in public.items():
        if inspect.isclass(value) and value.__module__.startswith("vms_ph_"):
            for member, raw in vars(value).items():
                method = getattr(raw, "__func__", getattr(raw, "fget", raw))
                code = getattr(inspect.unwrap(method), "__code__", None)
                if code is None or "vms_ph_" not in code.co_filename:
                    continue  # made by dataclass or Protocol
                if not member.startswith("_") or member in ("__init__", "__post_init__"):
                    about = value.__doc__ if member.startswith("_") else ""
                    yield f"{name}.{member}", method, f"{about}{method.__doc__}"
        elif inspect.isfunction(value):
            yield name, value, value.__doc__ or ""


def test_public_functions_say_what_they_raise(public: dict[str, Any]) -> None:
    silent = [
        name
        for name, function, text in functions(public)
        if re.search(r"^ +raise [A-Z]", inspect.getsource(function), re.M) and "Raises:" not in text
    ]
    assert silent == []


def test_public_records_describe_every_field(public: dict[str, Any]) -> None:
    missing = [
        f"{name}.{field.name}"
        for name, value in public.items()
        if inspect.isclass(value) and dataclasses.is_dataclass(value)
        for field in dataclasses.fields(value)
        if field.name in inspect.get_annotations(value)
        and not field.name.startswith("_")
        and "description" not in field.metadata
        and not re.search(rf"\b{field.name}\b", value.__doc__ or "")
    ]
    assert missing == []


def test_every_page_is_reached_from_the_navigation(site: Path) -> None:
    start = (site / "index.html").read_text()
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"404.html"}
    assert {page for page in pages if f'href="{page}"' not in start} - {"index.html"} == set()


def test_nothing_on_a_page_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        for attribute in (
            '<script src="http',
            '<link rel="stylesheet" href="http',
            '<img src="http',
        ):
            assert attribute not in text, page


def test_no_formula_of_a_page_is_left_as_text(site: Path) -> None:
    code = re.compile(r"<(pre|code|script|svg|style)\b.*?</\1>", re.S)
    raw = re.compile(r"\\[(\[]|\$[^$<\n]+\$|arithmatex|[_^]\{")
    left = {
        page.name: found[0]
        for page in site.rglob("*.html")
        if (found := raw.search(code.sub("", page.read_text())))
    }
    assert left == {}
