# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Makes the pictures that the code of pages draws and that of the demo, beside the pages.

Usage: ``python docs/pictures.py``. Those of the web page come from test/nodes/page_pictures.py,
those of studies from ``vms-ph reproduce ID --out DIR``, and that of integrators from ``vms-ph bench
integrators --out DIR``.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent


def main() -> None:
    """Run the code of every page that saves a picture."""
    os.chdir(DOCS)
    for page in sorted(DOCS.glob("*.md")):
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
        if any(".savefig(" in block for block in blocks):
            names: dict[str, object] = {}
            for block in blocks:
                exec(compile(block, str(page), "exec"), names)
            print(page.name)
    code = re.findall(
        r"^```python\n(.*?)^```", (DOCS.parent / "README.md").read_text(), re.M | re.S
    )
    exec(compile(code[0], "README.md", "exec"), {})  # saves run.png
    command("ephs", "draw", "damped_oscillator", "--flat", "-o", str(DOCS / "ephs-oscillator.svg"))
    demo()


def demo() -> None:
    """Run 14 s of the demo, and keep the picture that it draws at its end.

    Time passes slowly in it: a busy machine keeps up.
    """
    with tempfile.TemporaryDirectory() as folder:
        command("demo", "--headless", "--seconds", "70", "--speed", "0.2", "--out", folder)
        shutil.copyfile(Path(folder, "energy.png"), DOCS / "demo.png")


def command(*words: str) -> None:
    """Run a command of ``vms-ph`` in a process of its own."""
    code = "from vms_ph_nodes.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, *words], check=True)


if __name__ == "__main__":
    main()
