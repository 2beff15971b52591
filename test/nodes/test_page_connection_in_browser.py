# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A page that stays open: not loaded anew while nothing is wrong, connected again afterwards."""

import os
import re
import signal
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from .chromium import PROGRAM, Chromium
from .conftest import Start
from .page_session import ADDRESS, BEGINS, LONG, browser, served

pytestmark = [
    pytest.mark.wire,
    pytest.mark.slow,
    LONG,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed"),
]

_PAGE = ("launch", "panda.launch.xml", "markers:=false", "token:=that-of-both")
_FOLD = "document.querySelector('[class*=chevrons-right]').parentElement.click()"
_FOLDED = "!document.querySelector('[class*=cloud-check]')"
_LOST = "!!document.querySelector('[class*=Loader-root], [class*=player-pause][stroke*=red]')"
_MARKED = "window.mark == 1"

# The page looks for its server every 5 s, and loads itself anew at the fourth time without it.
_PATIENCE = 30.0


def _mark(page: Chromium) -> None:
    """Mark the page that is loaded now."""
    page.await_text("unaccounted", BEGINS)
    page.run("window.mark = 1")


def test_a_page_with_its_panel_folded_up_is_not_loaded_anew(start: Start, tmp_path: Path) -> None:
    with served(start, *_PAGE) as (_, address), browser(address, tmp_path) as page:
        _mark(page)
        time.sleep(6.0)  # the page has seen that it is connected
        page.run(_FOLD)
        page.await_true(_FOLDED, "the panel is not folded up")
        time.sleep(_PATIENCE)
        assert page.run(_MARKED)


def test_a_page_finds_its_server_again(start: Start, tmp_path: Path) -> None:
    with served(start, *_PAGE) as (_, address):
        page = Chromium(address, tmp_path)
        _mark(page)
        time.sleep(6.0)
    try:
        page.await_true(_LOST, "the page does not say that its server is away")
        time.sleep(_PATIENCE)
        assert page.run(_MARKED), "a page was loaded from a server that is away"
        with served(start, *_PAGE, port=urlsplit(address).port or 0):
            page.await_true(f"!({_MARKED})", "the page is not loaded anew")
            page.await_text("unaccounted", BEGINS)
    finally:
        page.close()


def test_a_page_that_is_killed_comes_back_at_its_address(start: Start, tmp_path: Path) -> None:
    words = ("launch", "panda.launch.xml", "markers:=false")
    with served(start, *words) as (program, address), browser(address, tmp_path) as page:
        page.await_text("unaccounted", BEGINS)
        time.sleep(6.0)  # the page has seen that it is connected
        found = re.search(r"\[web_viewer-\d+\]: process started with pid \[(\d+)\]", program.output)
        assert found
        os.kill(int(found[1]), signal.SIGKILL)
        page.await_true(_LOST, "the page does not say that its server is away")
        program.await_count("web page at", 2)
        assert {*re.findall(ADDRESS, program.output)} == {address}
        page.await_true(f"!({_FOLDED})", "the page does not connect again")
        page.errors.clear()  # of the connection that was lost
