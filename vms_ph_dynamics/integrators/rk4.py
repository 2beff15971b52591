"""The classical Runge-Kutta scheme, the explicit baseline."""

from ..evaluation import Evaluation
from ..structure import Form, PHState
from .step import PortFunction, Step

# (where in the step a stage lies, its weight in the result)
_STAGES = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))


def rk4_step(form: Form, x: PHState, ports: PortFunction, t: float, dt: float) -> Step:
    """Advance a state by one step of the classical fourth-order scheme.

    The ports are evaluated at every stage, and the energy that crosses them is integrated with the
    same weights, so that the power balance closes to the order of the scheme.

    Args:
        form: on a fixed base, where the motions of the joints commute.
        x: state at ``t``.
        ports: efforts as a function of time and state.
        t: s.
        dt: s.
    """
    model = form.model
    supplied: dict[str, float] = {}
    dissipated = 0.0
    v = zdot = mean_v = mean_zdot = 0.0 * x.z
    for lead, weight in _STAGES:
        stage = x
        if lead:
            ahead = lead * dt
            stage = PHState(model.integrate(x.q, ahead * v), x.z + ahead * zdot)
        acting = ports(t + lead * dt, stage)
        v, zdot = form.rate_arrays(stage.q, stage.z, acting)
        mean_v = mean_v + weight * v
        mean_zdot = mean_zdot + weight * zdot
        d = Evaluation(model, stage.q, v)
        for name, power in acting.supplied(d).items():
            supplied[name] = supplied.get(name, 0.0) + weight * dt * power
        dissipated += weight * dt * acting.dissipated(d)
    end = PHState(model.integrate(x.q, dt * mean_v), x.z + dt * mean_zdot)
    return Step(end, supplied, dissipated)
