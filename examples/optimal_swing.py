# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A swing of the Panda that takes the least energy, with its energy balance.

Run it with ``python examples/optimal_swing.py``; it needs ``pip install 'vms-ph[casadi]'``. The
motion is transcribed by Gauss collocation with two stages, of order four, in the states of the
inertially decoupled form, and solved by ipopt. What the torques supply is at the same time the
objective and, by the same quadrature, a term of the energy balance.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, DecoupledForm, Friction, Ports, Trajectory, VMSModel, integrate
from vms_ph_io import robots

try:
    import casadi as ca

    from vms_ph_dynamics.export.casadi import CasadiForm
except ImportError:
    raise SystemExit("this example needs casadi: pip install 'vms-ph[casadi]'") from None

START = (0.5, 0.4, -0.3, -1.5, 0.2, 1.2, 0.1)
END = (-1.0, -0.6, 0.5, -2.2, 0.4, 2.0, 0.8)
# Viscous, N m s/rad.
FRICTION = (1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1)
_ROOT = np.sqrt(3.0) / 6.0
STAGES = np.array([[0.25, 0.25 - _ROOT], [0.25 + _ROOT, 0.25]])
# Torques in units of this many N m are of size one.
UNIT = 20.0
# Weight of the changes of the torques, which makes the optimum unique and smooth, J s/(N m)^2.
SMOOTHNESS = 1e-4


@dataclass(frozen=True)
class Swing:
    """An optimal motion.

    Attributes:
        q: (steps+1,nq). z: (steps+1,nv). torque: (steps,n) held over each step, N m.
        stored, supplied, dissipated: energies over the motion, J.
        iterations: of the solver.
    """

    q: Array
    z: Array
    torque: Array
    stored: float
    supplied: float
    dissipated: float
    iterations: int

    @property
    def residual(self) -> float:
        """``stored - supplied + dissipated``, J: the error of the transcription."""
        return self.stored - self.supplied + self.dissipated


def optimise(model: VMSModel, friction: Friction, steps: int, duration: float) -> Swing:
    """Return the motion from rest at START to rest at END that takes the least energy."""
    form = DecoupledForm(model).casadi(friction=friction)
    opti, h = ca.Opti(), duration / steps
    q, z = opti.variable(model.nq, steps + 1), opti.variable(model.nv, steps + 1)
    torque = UNIT * opti.variable(model.n, steps)
    supplied = dissipated = 0
    for k in range(steps):
        stages = [_Stage(opti, form, torque[:, k]) for _ in range(2)]
        for stage, weights in zip(stages, STAGES, strict=True):
            opti.subject_to(stage.q == q[:, k] + h * _sum(weights, [s.q_rate for s in stages]))
            opti.subject_to(stage.z == z[:, k] + h * _sum(weights, [s.z_rate for s in stages]))
            supplied += h / 2 * stage.supplied
            dissipated += h / 2 * stage.dissipated
        opti.subject_to(q[:, k + 1] == q[:, k] + h * _sum((0.5, 0.5), [s.q_rate for s in stages]))
        opti.subject_to(z[:, k + 1] == z[:, k] + h * _sum((0.5, 0.5), [s.z_rate for s in stages]))
        for stage in stages:
            opti.set_initial(stage.q, _between(START, END, (k + 0.5) / steps))
    for k in range(steps + 1):
        opti.set_initial(q[:, k], _between(START, END, k / steps))
    opti.subject_to(q[:, 0] == ca.DM(START))
    opti.subject_to(q[:, steps] == ca.DM(END))
    opti.subject_to(z[:, 0] == 0)
    opti.subject_to(z[:, steps] == 0)
    for j, limit in enumerate(model.joints.effort):
        opti.subject_to(opti.bounded(-limit / UNIT, torque[j, :] / UNIT, limit / UNIT))
    changes = ca.sumsqr(torque[:, 1:] - torque[:, :-1]) / h
    opti.minimize(supplied + SMOOTHNESS * changes)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 200})
    found = opti.solve()
    states, momenta = found.value(q), found.value(z)
    ends = [float(form.hamiltonian(q=states[:, k], z=momenta[:, k])["total"]) for k in (0, -1)]
    return Swing(
        states.T,
        momenta.T,
        found.value(torque).T,
        ends[1] - ends[0],
        float(found.value(supplied)),
        float(found.value(dissipated)),
        int(found.stats()["iter_count"]),
    )


class _Stage:
    """A stage of a step: its state, rates and powers."""

    def __init__(self, opti: "ca.Opti", form: CasadiForm, torque: "ca.MX") -> None:
        self.q, self.z = opti.variable(len(START)), opti.variable(len(START))
        rate = form.rate(q=self.q, z=self.z, torque=torque)
        powers = form.power(q=self.q, z=self.z, torque=torque)
        self.q_rate, self.z_rate = form.coordinate_rate(self.q, rate["qdot"]), rate["zdot"]
        self.supplied, self.dissipated = powers["torque_power"], powers["dissipated"]


def replay(model: VMSModel, friction: Friction, swing: Swing, duration: float) -> list[Trajectory]:
    """Return the motion that the simulator makes of the torques, step by step, with its audit."""
    form, steps, finer = DecoupledForm(model), len(swing.torque), 50
    x, runs = form.state(swing.q[0], np.zeros(model.nv)), []
    for torque in swing.torque:
        held = Ports(torque, friction=friction)
        runs.append(integrate(form, x, held, dt=duration / (steps * finer), steps=finer))
        x = runs[-1].states[-1]
    return runs


def main(arguments: list[str] | None = None) -> Swing:
    """Optimise the swing, simulate it, and print both energy balances."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20, help="of the transcription")
    parser.add_argument("--duration", type=float, default=1.5, help="of the motion, s")
    options = parser.parse_args(arguments)
    model = robots.load("panda")
    friction = Friction(np.array(FRICTION), np.zeros(model.n))
    swing = optimise(model, friction, options.steps, options.duration)
    print(f"ipopt: {swing.iterations} iterations, {options.steps} steps")
    print(
        f"stored {swing.stored:.4f} J = supplied {swing.supplied:.4f} J "
        f"- dissipated {swing.dissipated:.4f} J {swing.residual:+.1e} J"
    )
    runs = replay(model, friction, swing, options.duration)
    missed = np.abs(runs[-1].states[-1].q - np.array(END)).max()
    print(f"simulated: ends {missed:.1e} rad beside the goal")
    stored = sum(run.audit.stored.sum() for run in runs)
    supplied = sum(port.sum() for run in runs for port in run.audit.supplied.values())
    dissipated = sum(run.audit.dissipated.sum() for run in runs)
    print(
        f"stored {stored:.4f} J = supplied {supplied:.4f} J "
        f"- dissipated {dissipated:.4f} J {stored - supplied + dissipated:+.1e} J"
    )
    return swing


def _sum(weights: object, rates: list["ca.MX"]) -> "ca.MX":
    return sum(weight * rate for weight, rate in zip(weights, rates, strict=True))


def _between(start: tuple[float, ...], end: tuple[float, ...], share: float) -> Array:
    return (1.0 - share) * np.array(start) + share * np.array(end)


if __name__ == "__main__":
    main()
