"""Commands where an extra of this package is not installed."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from vms_ph_nodes.cli import main
main()
"""


@pytest.mark.parametrize(
    ("missing", "command", "said"),
    [
        ("cyclonedds", ("topic", "list"), "needs the package cyclonedds: pip install 'vms-ph[e"),
        ("cyclonedds", ("run", "simulator"), "needs the package cyclonedds: pip install 'vms-ph[e"),
        ("viser", ("run", "web_viewer"), "the page needs viser: pip install 'vms-ph[web]'"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(
    missing: str, command: tuple[str, ...], said: str
) -> None:
    words = [sys.executable, "-c", WITHOUT, missing, *command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
