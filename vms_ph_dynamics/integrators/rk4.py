"""The classical Runge-Kutta scheme, the explicit baseline."""

from ..arrays import Array
from ..evaluation import Evaluation
from ..groups import SE2, SE3, Group
from ..structure import Form, PHState
from .step import PortFunction, Step

# (where in the step a stage lies, its weight in the result)
_STAGES = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))

_GROUPS: dict[str, Group] = {"planar": SE2(), "floating": SE3()}


def rk4_step(form: Form, x: PHState, ports: PortFunction, t: float, dt: float) -> Step:
    """Advance a state by one step of the classical fourth-order scheme.

    The ports are evaluated at every stage, and the energy that crosses them is integrated with the
    same weights, so that the power balance closes to the order of the scheme. The pose of a moving
    base is advanced in exponential coordinates about its pose at ``t`` (Munthe-Kaas).

    Args:
        form: of the robot.
        x: state at ``t``.
        ports: efforts as a function of time and state.
        t: s.
        dt: s.
    """
    model = form.model
    supplied: dict[str, float] = {}
    dissipated = 0.0
    rate = zdot = mean_rate = mean_zdot = 0.0 * x.z
    for lead, weight in _STAGES:
        stage, moved = x, 0.0 * x.z
        if lead:
            ahead = lead * dt
            moved = ahead * rate
            stage = PHState(model.integrate(x.q, moved), x.z + ahead * zdot)
        acting = ports(t + lead * dt, stage)
        v, zdot = form.rate_arrays(stage.q, stage.z, acting)
        rate = v if model.base == "fixed" else _coordinate_rate(_GROUPS[model.base], moved, v)
        mean_rate = mean_rate + weight * rate
        mean_zdot = mean_zdot + weight * zdot
        d = Evaluation(model, stage.q, v)
        for name, power in acting.supplied(d).items():
            supplied[name] = supplied.get(name, 0.0) + weight * dt * power
        dissipated += weight * dt * acting.dissipated(d)
    end = PHState(model.integrate(x.q, dt * mean_rate), x.z + dt * mean_zdot)
    return Step(end, supplied, dissipated)


def _coordinate_rate(group: Group, moved: Array, v: Array) -> Array:
    """Return the rate of exponential coordinates ``moved`` of the base when it moves with ``v``.

    ``dexp_moved^-1 v = v + 1/2 ad v + 1/12 ad^2 v + O(moved^4)``, which is all that a scheme of
    fourth order can tell.
    """
    b = group.dimension
    ad = group.ad(moved[:b])
    bracket = ad @ v[:b]
    rate = v.copy()
    rate[:b] += bracket / 2 + ad @ bracket / 12
    return rate
