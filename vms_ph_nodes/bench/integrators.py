"""Schemes of time integration: cost of a step, and what it buys."""

from pathlib import Path

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.integrators import SCHEMES
from vms_ph_io import robots

from . import Bench
from .contenders import Contender, by_hand, from_mujoco, moving, ours
from .timing import Case

# As many times the plain scheme on momenta, in the same language, as a step may cost.
_LIMITS = {"projected_rk4": 1.5, "discrete_gradient": 4.0}

_PLAIN = "rk4"
_STEP = 1e-3


def contenders(robot: str, base: str) -> tuple[VMSModel, list[Contender]]:
    """Return a robot on a base, and all ways to move it that are installed."""
    known = robots.get(robot)
    xml = known.description()
    model = known.model(xml, base)
    found = [ours(model, scheme) for scheme in SCHEMES if model.fluid is None]
    return model, [*found, by_hand(model), *from_mujoco(model, xml)]


def _cases(robot: str, base: str) -> list[Case]:
    model, all_of_them = contenders(robot, base)
    q, v = moving(model)
    return [
        Case(c.name, c.start(q, v, _STEP).step, limit=_LIMITS.get(c.name) if c.ours else None)
        for c in all_of_them
    ]


def _files(robot: str, base: str, folder: Path) -> list[Path]:
    from .error_and_cost import compare

    return compare(*contenders(robot, base), folder)


BENCH = Bench(
    id="integrators",
    title=f"a step of {_STEP * 1e3:g} ms of free motion",
    reference=_PLAIN,
    cases=_cases,
    robot="satellite_panda",
    files=_files,
)
