"""Controllers by the name of their class, and what users get wrong."""

import sys
from pathlib import Path

import pytest

from vms_ph_controllers import TaskSpaceIDAPBC
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_dynamics import VMSModel, VmsPhError

LAWS = """
from vms_ph_controllers import Controller

class WithoutGains(Controller):
    def reset(self, state): pass
    def update(self, state, reference, dt): pass

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
        ("WithoutGains", "give it a frozen dataclass Gains"),
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
