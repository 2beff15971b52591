"""The site of the documentation: it is built without a warning and has every public name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr  # warnings are errors: strict in mkdocs.yml
    return folder


def test_search_finds_every_public_name(site: Path) -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from site_pages import home, packages
    finally:
        sys.path.pop(0)
    names = {home(package, name) for package in packages() for name in package.__all__}
    index = json.loads((site / "search" / "search_index.json").read_text())
    places = {document["location"].partition("#")[2] for document in index["docs"]}
    assert len(names) > 200
    assert names - places == set()


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
