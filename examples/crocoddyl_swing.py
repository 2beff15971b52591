# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A drone with an arm swings a load: crocoddyl on the decoupled form and on its own free flyer.

Run it with ``python examples/crocoddyl_swing.py``; it needs crocoddyl from PyPI. Both problems
have the same costs; they differ in their states, momenta or velocities, and so in what a step of
Euler's method is: their solutions approach each other with shorter steps.
"""

import argparse
import time

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, DecoupledForm, PHState, Ports, VMSModel, rate_derivatives
from vms_ph_io import robots

try:
    import crocoddyl
except ImportError:
    raise SystemExit("this example needs crocoddyl: pip install crocoddyl") from None

DURATION, LOAD = 1.0, pin.Inertia(0.3, np.array([0.0, 0.0, 0.05]), 1e-4 * np.eye(3))
POSITION, VELOCITY, EFFORT, END = 1e-2, 1e-2, 1e-3, 1e3  # weights; END of both at the goal


class FormAction(crocoddyl.ActionModelAbstract):
    """A step of Euler's method in the states (q, z) of a form, with its derivatives.

    Args:
        form: of the robot.
        goal: (nq,) configuration to come to rest at.
        dt: of the step, s; 0 for the terminal model.
    """

    def __init__(self, form: DecoupledForm, goal: Array, dt: float) -> None:
        self.form, self.pin, self.goal, self.dt = form, form.model.pinocchio, goal, dt
        state = crocoddyl.StateMultibody(self.pin)
        crocoddyl.ActionModelAbstract.__init__(self, state, form.model.nv, 0)
        weights = (dt * POSITION, dt * VELOCITY, dt * EFFORT) if dt else (END, END, 0.0)
        self.by_position, self.by_velocity, self.by_effort = weights

    def calc(self, data: crocoddyl.ActionDataAbstract, x: Array, u: Array | None = None) -> None:
        """Compute the next state and the cost."""
        u = np.zeros(self.nu) if u is None else u
        q, z, ports = x[: self.pin.nq], x[self.pin.nq :], Ports(u[6:], wrench_base=u[:6])
        rate = self.form.rate_arrays(q, z, ports)
        step = pin.integrate(self.pin, q, self.dt * rate.qdot), z + self.dt * rate.zdot
        data.xnext, self.v = np.concatenate(step), rate.qdot
        self.error = pin.difference(self.pin, self.goal, q)
        costs = self.by_position * self.error @ self.error + self.by_velocity * self.v @ self.v
        data.cost = (costs + self.by_effort * u @ u) / 2

    def calcDiff(
        self, data: crocoddyl.ActionDataAbstract, x: Array, u: Array | None = None
    ) -> None:
        """Compute the derivatives of the next state and the cost."""
        self.calc(data, x, u)
        u, n, h = np.zeros(self.nu) if u is None else u, self.nu, self.dt
        q, state = x[: self.pin.nq], PHState(x[: self.pin.nq], x[self.pin.nq :])
        d = rate_derivatives(self.form, state, Ports(u[6:], wrench_base=u[:6]), parameters=False)
        v_by_x = np.hstack([d.velocity_by_q, d.velocity_by_z])
        error_by_x = np.hstack([pin.dDifference(self.pin, self.goal, q)[1], np.zeros((n, n))])
        by_q, by_step = pin.dIntegrate(self.pin, q, h * self.v)
        upper = h * by_step @ v_by_x + np.hstack([by_q, np.zeros((n, n))])
        data.Fx = np.vstack([upper, np.hstack([h * d.zdot_by_q, np.eye(n) + h * d.zdot_by_z])])
        data.Fu = np.vstack([np.zeros((n, n)), h * d.zdot_by_force])
        parts = (self.by_position, error_by_x, self.error), (self.by_velocity, v_by_x, self.v)
        data.Lx = sum(weight * slope.T @ value for weight, slope, value in parts)
        data.Lxx = sum(weight * slope.T @ slope for weight, slope, _ in parts)
        data.Lu, data.Luu = self.by_effort * u, self.by_effort * np.eye(n)


def free_flyer(model: VMSModel, goal: Array, dt: float) -> crocoddyl.ActionModelAbstract:
    """Return crocoddyl's own model of the same step."""
    state, n = crocoddyl.StateMultibody(model.pinocchio), model.nv
    actuation, costs = crocoddyl.ActuationModelFull(state), crocoddyl.CostModelSum(state, n)
    weights = np.repeat([POSITION, VELOCITY] if dt else [END, END], n)
    to_goal = crocoddyl.ResidualModelState(state, np.r_[goal, np.zeros(n)], n)
    weighted = crocoddyl.ActivationModelWeightedQuad(weights)
    costs.addCost("state", crocoddyl.CostModelResidual(state, weighted, to_goal), 1.0)
    effort = crocoddyl.ResidualModelControl(state, n)
    costs.addCost("effort", crocoddyl.CostModelResidual(state, effort), EFFORT if dt else 0.0)
    forward = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
    forward.armature = np.zeros(n)  # without it, 3.2.1 beside pin 4.1 leaves out gravity
    return crocoddyl.IntegratedActionModelEuler(forward, dt)


def main(arguments: list[str] | None = None) -> tuple[list[float], float]:
    """Solve both problems; return their costs and the largest difference of configurations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50, help="of the motion")
    steps, drone = parser.parse_args(arguments).steps, robots.load("borinot")
    tree = drone.pinocchio.copy()
    frame = tree.frames[drone.end_effector_id]
    tree.inertias[frame.parentJoint] = tree.inertias[frame.parentJoint] + frame.placement.act(LOAD)
    model = VMSModel.from_pinocchio(tree, drone.end_effector)
    start, form, dt = model.neutral_configuration(), DecoupledForm(model), DURATION / steps
    goal = start + np.r_[0.5, 0.2, 0.3, np.zeros(4), 0.8, -0.6]
    rest, costs, paths = np.r_[start, np.zeros(model.nv)], [], []
    weight = model.evaluate(start, np.zeros(model.nv)).g
    for name, action in (
        ("decoupled form", lambda h: FormAction(form, goal, h)),
        ("crocoddyl's free flyer", lambda h: free_flyer(model, goal, h)),
    ):
        problem = crocoddyl.ShootingProblem(rest, [action(dt) for _ in range(steps)], action(0.0))
        solver, begin = crocoddyl.SolverFDDP(problem), time.perf_counter()
        converged = solver.solve([rest] * (steps + 1), [weight] * steps, 200, False)
        duration = 1e3 * (time.perf_counter() - begin) / max(solver.iter, 1)
        verdict = f"{solver.iter} iterations" if converged else "did not converge"
        print(f"{name}: cost {solver.cost:.5f}, {verdict}, {duration:.1f} ms each")
        costs.append(solver.cost)
        paths.append([x[: model.nq] for x in solver.xs])
    apart = [np.abs(model.difference(*pair)).max() for pair in zip(*paths, strict=True)]
    print(f"largest difference of the configurations: {max(apart):.3f} m or rad")
    return costs, float(max(apart))


if __name__ == "__main__":
    main()
