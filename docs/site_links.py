# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Changes to the site while it is built: the list of API pages, links to files beside docs/."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree

import ziamath

PAGES_OF_THE_ROOT = re.compile(
    r"\]\((?:\.\./)?(README|CHANGELOG|CONTRIBUTING|COVERAGE|SECURITY)\.md"
)
OTHER_FILES = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)?((?:vms_ph_|examples/|launch/|config/|\.github/)[^)#]+|LICENSE|CITATION\.cff)\)"
)
PAGE_BY_ITS_FILE = re.compile(r"\[([\w-]+\.md)\]\(((?:\.\./)?\1(?:#[\w-]+)?)\)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">(?:\\\((.+?)\\\)|\\\[(.+?)\\\])</\1>', re.S)

ziamath.config.math.color = "currentColor"
titles: dict[str, str] = {}


def on_files(files: Any, config: Any) -> Any:
    """Put the pages that site_pages.py has made for the packages into the navigation."""
    _read_titles(config["nav"])
    pages = [file.src_uri for file in files if file.src_uri.startswith("reference/api/")]
    pages.sort(key=lambda page: page.removesuffix(".md"))
    for entry in config["nav"]:
        if "API" in entry:
            entry["API"] = [{PurePosixPath(page).name.removesuffix(".md"): page} for page in pages]
    return files


def _read_titles(nav: list[dict[str, Any]]) -> None:
    for entry in nav:
        for title, page in entry.items():
            if isinstance(page, list):
                _read_titles(page)
            else:
                titles[page.rpartition("/")[2]] = title


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links lead to their place in the site, name pages by their titles, and other files."""
    markdown = markdown.replace("](../config/parameters)", "](reference/parameters.md)")
    markdown = markdown.replace("](examples)", "](examples.md)")
    markdown = PAGE_BY_ITS_FILE.sub(
        lambda found: f"[{titles.get(found[1], found[1])}]({found[2]})", markdown
    )
    markdown = PAGES_OF_THE_ROOT.sub(
        lambda found: f"]({'index' if found[1] == 'README' else found[1]}.md", markdown
    )
    return OTHER_FILES.sub(
        lambda found: f"`{found[2]}`" if found[1] == found[2] else f"{found[1]} (`{found[2]}`)",
        markdown,
    )


def on_page_content(html: str, **_: Any) -> str:
    """Set formulas as pictures of outlines, which need no font, no script and no network."""
    return FORMULA.sub(_formula, html)


def _formula(found: re.Match[str]) -> str:
    inline = found[2] is not None
    return _picture(unescape(found[2] if inline else found[3]), inline)


@cache
def _picture(latex: str, inline: bool) -> str:
    formula = ziamath.Latex(latex, size=18, inline=inline)
    picture = formula.svgxml()
    picture.set("role", "img")
    picture.set("aria-label", formula.latex)
    picture.set("style", f"vertical-align:{formula.getyofst():.1f}px; max-width:none")
    svg = ElementTree.tostring(picture, encoding="unicode")
    return svg if inline else f'<div style="margin:1em 2em; overflow-x:auto">{svg}</div>'
