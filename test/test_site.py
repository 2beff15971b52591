# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
