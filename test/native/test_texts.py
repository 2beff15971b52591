# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The sentences of the C++ core are those of Python."""

import ast
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def sentences() -> set[str]:
    """Return the texts in the sources of dynamics and controllers."""
    texts = set()
    for package in ("vms_ph_dynamics", "vms_ph_controllers"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.add(node.value)
    return texts


def test_the_reasons_of_a_status_are_those_of_the_laws_in_python(parity: ModuleType) -> None:
    ours = sentences()
    assert len(parity.reasons) > 15
    assert not {name: text for name, text in parity.reasons.items() if text not in ours}
