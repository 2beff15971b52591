# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers by the name of their class, and what users get wrong."""

import sys
from pathlib import Path

import pytest

from vms_ph_controllers import CartesianImpedance, TaskSpaceIDAPBC
from vms_ph_controllers.controller import NoGains
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_dynamics import VMSModel, VmsPhError

LAWS = """
from dataclasses import dataclass

from vms_ph_controllers import Controller

class WithoutGains(Controller):
    def reset(self, state): pass
    def update(self, state, reference, dt): pass

class GainsInADict(WithoutGains):
    Gains = dict

class WithoutValues(WithoutGains):
    Gains = dataclass(frozen=True)(type("Gains", (), {"stiffness": 1.0}))

class Unfinished(Controller):
    def reset(self, state): pass

class NoController: pass
"""


@pytest.fixture
def laws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "laws_of_a_user.py").write_text(LAWS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "laws_of_a_user", raising=False)
    return "laws_of_a_user"


def test_a_controller_is_made_by_the_name_of_its_class(panda: VMSModel) -> None:
    assert isinstance(make_controller("vms_ph_controllers.TaskSpaceIDAPBC", panda), TaskSpaceIDAPBC)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("GainsInADict", "must be a frozen dataclass"),
        ("WithoutValues", r"set self\.gains = self\.Gains\(\)"),
        ("Unfinished", "it must define update"),
        ("NoController", "must derive from Controller"),
        ("Nothing", "there is no controller 'laws_of_a_user.Nothing'"),
    ],
)
def test_a_class_that_cannot_serve_is_refused_with_a_sentence(
    name: str, sentence: str, laws: str, panda: VMSModel
) -> None:
    with pytest.raises(VmsPhError, match=sentence):
        make_controller(f"{laws}.{name}", panda)


def test_a_law_need_not_have_gains(laws: str, panda: VMSModel) -> None:
    assert make_controller(f"{laws}.WithoutGains", panda).gains == NoGains()


LAW_IN_A_FILE = """
from neighbour import SHIFT
from vms_ph_controllers import CartesianImpedance

class Own(CartesianImpedance):
    shift = SHIFT
"""


def test_a_controller_is_made_from_a_file_a_module_or_a_bundled_class(
    panda: VMSModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "law.py").write_text(LAW_IN_A_FILE)
    (tmp_path / "neighbour.py").write_text("SHIFT = 3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    own = make_controller("law.py:Own", panda)
    assert type(own).__name__ == "Own"
    assert own.shift == 3  # type: ignore[attr-defined]
    assert type(make_controller(f"{tmp_path}/law.py:Own", panda)) is type(own)
    for name in ("TaskSpaceIDAPBC", "vms_ph_controllers:TaskSpaceIDAPBC"):
        assert type(make_controller(name, panda)) is TaskSpaceIDAPBC
    assert isinstance(make_controller("auto", panda), CartesianImpedance)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("nowhere/law.py:Own", "there is no file nowhere/law.py"),
        ("broken.py:Own", "division by zero"),
        ("mine.py:Sprng", r"mine.py has no 'Sprng'; it has Spring"),
        ("TaskSpaceIDAPCB", r"'TaskSpaceIDAPCB' \(did you mean 'TaskSpaceIDAPBC'\?\)"),
        ("", "there is no controller ''"),
    ],
)
def test_a_law_that_cannot_be_loaded_is_refused_with_what_is_accepted(
    kind: str, sentence: str, panda: VMSModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "mine.py").write_text("import os\n\n\nclass Spring:\n    pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(VmsPhError, match=f"{sentence}.*path/to/law.py:Class"):
        make_controller(kind, panda)
