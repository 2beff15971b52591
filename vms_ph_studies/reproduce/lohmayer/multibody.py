# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source C: bodies and joints as exergetic port-Hamiltonian systems.

The source gives no numbers. Its equations are compared with the assembled ones; the parameters of
its two bodies with a revolute joint (section 6) are chosen here.
"""

from pathlib import Path

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array
from vms_ph_ephs import Trajectory, assemble, flatten, pictures, simulate
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import TwoBodies, damped_oscillator
from vms_ph_io.progress import Progress

from ...check import Check, bounded, refuted_unless, required
from ...figures import Panel, draw
from ...study import Outcome, Parameter, Settings, Stages, Study
from .equations import body_error, frame_of_relative_velocity, oscillator_error, section_6_errors
from .variation import body_residual, curve_of, joint_residual

# Sums and products of numbers up to a hundred, solved with matrices of condition 1e3.
_ROUNDING = 1e-11


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    bodies = TwoBodies(
        friction=(float(settings["friction_1"]), float(settings["friction_2"])),
        stiffness=(0.0, float(settings["stiffness"])),
        heat=mb.Heat(theta_0=float(settings["theta_0"])),
    )
    rng = np.random.default_rng(int(settings["seed"]))
    state_count, dt = int(settings["states"]), float(settings["dt"])
    stages = Stages(progress, 4)
    stages.begin("equations")
    checks = _equation_checks(bodies, rng, state_count)
    stages.begin("variational principles")
    checks += _variation_checks(bodies, rng)
    checks += _motion_checks(bodies, float(settings["duration"]), dt, stages)
    return Outcome(checks, [] if out is None else _plots(bodies, out))


def _equation_checks(bodies: TwoBodies, rng: np.random.Generator, state_count: int) -> list[Check]:
    ideal_error, damped_error = oscillator_error(rng, state_count)
    corrected_error, printed_error = section_6_errors(bodies, rng, state_count)
    error_in_c2, error_in_c1 = frame_of_relative_velocity(rng)
    return [
        bounded("(5): oscillator with an open port", ideal_error, _ROUNDING),
        bounded("(8): damped oscillator and environment", damped_error, _ROUNDING),
        bounded("(8) from the flattened pattern instead", _flat_error(rng, state_count), _ROUNDING),
        bounded("(22): rigid body", body_error(bodies, rng, state_count), _ROUNDING),
        bounded("(31) and section 6, all rows", corrected_error, _ROUNDING),
        refuted_unless(
            printed_error <= 1e-3,
            "constraint of section 6 as printed, with Ad_{o1} and Ad_{o2}",
            "satisfied",
            printed_error,
            "A state whose joint stays closed violates it; (24) and (31) have the inverses "
            "Ad_{o1^-1} and Ad_{o2^-1}, which are satisfied (row above).",
            tolerance=_ROUNDING,
        ),
        bounded("relative velocity u_r in frame C2", error_in_c2, 1e-8),
        refuted_unless(
            error_in_c1 <= 1e-3,
            "relative velocity u_r in frame C1, as 5.2.5 states",
            "in frame C1",
            error_in_c1,
            "qdot_r = T L_{q_r}(u_r) makes u_r body-fixed: it is in frame C2. For one degree of "
            "freedom both are the same, for a planar pair they are not.",
            tolerance=1e-8,
        ),
    ]


def _flat_error(rng: np.random.Generator, state_count: int) -> float:
    nested, flat = assemble(damped_oscillator()), assemble(flatten(damped_oscillator()))
    error = 0.0
    for _ in range(state_count):
        x = rng.normal(size=3)
        error = max(error, float(np.abs(nested.rates(x).tangent - flat.rates(x).tangent).max()))
    return error


def _variation_checks(bodies: TwoBodies, rng: np.random.Generator) -> list[Check]:
    equations = assemble(bodies.free())
    motion = simulate(equations, bodies.free_state(equations), dt=1e-3, steps=300)
    curve = curve_of(motion, bodies)
    body = max(body_residual(bodies, curve, n, rng) for n in (0, 1) for _ in range(2))
    joint = max(joint_residual(bodies, curve, equations.theta_0, rng) for _ in range(4))
    why = "a motion of the assembled equations, its curves varied at random, relative"
    # Differences of poses of sixth order at 1 ms and derivatives by small variations: 1e-9.
    return [
        bounded("(23): variation of the action of a body and the work of F", body, 1e-7, "", why),
        bounded("(32): variation of the action of the joint and the work of F_j", joint, 1e-7),
    ]


def _motion_checks(bodies: TwoBodies, duration: float, dt: float, stages: Stages) -> list[Check]:
    equations = assemble(bodies.pendulum())
    x = bodies.pendulum_state(equations)
    steps = round(duration / dt)
    stages.begin("motion by projected Runge-Kutta")
    motion = simulate(equations, x, dt=dt, steps=steps)
    stages.begin("motion by discrete gradients")
    implicit_run = simulate(equations, x, dt=2.0 * dt, steps=steps // 2, scheme="discrete_gradient")
    min_entropy_change = float(np.min(np.diff(motion.entropy)))
    energy_scale = max(abs(e) for e in _mechanical_energy(motion)[[0]])
    return [
        bounded(
            "first law: largest change of E + theta_0 s, discrete gradients",
            float(np.abs(implicit_run.first_law).max()),
            1e-12 * max(1.0, energy_scale),
            "J",
        ),
        bounded(
            "first law: the same, projected Runge-Kutta",
            float(np.abs(motion.first_law).max()),
            1e-9 * max(1.0, energy_scale),
            "J",
        ),
        required(
            "second law: least change of the entropy over a step",
            "at least 0",
            f"{min_entropy_change:.3g} J/K",
            min_entropy_change >= 0.0,
        ),
        bounded("joints stay closed", float(np.max(motion.violation)), 1e-12, "m, rad"),
        bounded(
            "pendulum against minimal coordinates",
            _pendulum_error(bodies, motion, duration, dt),
            1e-8 * (dt / 1e-3) ** 4,
            "rad",
            "the same bodies as a Pinocchio model, Runge-Kutta of fourth order",
        ),
    ]


def _mechanical_energy(motion: Trajectory) -> Array:
    storages = motion.equations.storages
    return np.array(
        [
            sum(e for box, e in storages.energies(state).items() if not box.endswith(".env"))
            for state in motion.states
        ]
    )


def _pendulum_error(bodies: TwoBodies, motion: Trajectory, duration: float, dt: float) -> float:
    model = pin.Model()
    joint = 0
    placements = (bodies.suspension[0], np.linalg.inv(bodies.suspension[1]) @ bodies.offsets[0])
    for n, placement in enumerate(placements):
        joint = model.addJoint(joint, pin.JointModelRZ(), pin.SE3(placement), f"j{n + 1}")
        centre = np.linalg.inv((bodies.suspension if n == 0 else bodies.offsets)[1])
        inertia = pin.Inertia(bodies.masses[n], np.zeros(3), np.diag(bodies.inertias[n]))
        model.appendBodyToJoint(joint, inertia, pin.SE3(centre))
    data = model.createData()
    mu, k = np.array(bodies.friction), np.array(bodies.stiffness)

    def rate(y: Array) -> Array:
        q, v = y[:2], y[2:]
        return np.concatenate([v, pin.aba(model, data, q, v, -mu * v - k * q)])

    y = np.array([0.4, -0.8, 1.5, -2.2])
    for _ in range(round(duration / dt)):
        k1 = rate(y)
        k2 = rate(y + 0.5 * dt * k1)
        k3 = rate(y + 0.5 * dt * k2)
        y = y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(y + dt * k3))
    angles = np.concatenate([motion.value("j1.q_r")[-1], motion.value("j2.q_r")[-1]])
    return float(np.abs(angles - y[:2]).max())


def _plots(bodies: TwoBodies, out: Path) -> list[Path]:
    files = [out / "lohmayer-mbs-patterns.svg", out / "lohmayer-mbs-flat.svg"]
    files[0].write_text(pictures.draw(bodies.free(), title="mbs"))
    files[1].write_text(pictures.draw(bodies.free(), flat=True, title="mbs, flat"))
    equations = assemble(bodies.pendulum())
    motion = simulate(equations, bodies.pendulum_state(equations), steps=5000, stride=10)
    mechanical_energy = _mechanical_energy(motion)
    environment_heat = equations.theta_0 * motion.entropy
    stored_energy = mechanical_energy - mechanical_energy[-1]
    curves = {
        "kinetic and potential": (motion.t, stored_energy),
        "heat of the environment, theta_0 s": (motion.t, environment_heat),
        "sum": (motion.t, stored_energy + environment_heat),
    }
    residual = {"first law": (motion.t, motion.first_law)}
    panels = [
        Panel("pendulum of two bodies", "time (s)", "energy (J)", curves),
        Panel("", "time (s)", "unaccounted energy (J)", residual),
    ]
    files.append(draw(panels, out / "lohmayer-mbs-energy.png"))
    return files


STUDY = Study(
    id="lohmayer-mbs",
    source="C Lohmayer",
    title="Two bodies and a joint with friction and heat: equations, laws, variational principles",
    parameters={
        "states": Parameter(5, "random states at which equations are compared", least=1),
        "seed": Parameter(1, "seed of the random states and variations", least=0),
        "duration": Parameter(2.0, "duration of the motion, s", above=0.0),
        "dt": Parameter(1e-3, "integrator step, s", above=0.0),
        "friction_1": Parameter(0.03, "friction of the joint to the ground, N m s/rad"),
        "friction_2": Parameter(0.015, "friction of the joint between the bodies, N m s/rad"),
        "stiffness": Parameter(0.4, "stiffness of the spring between the bodies, N m/rad"),
        "theta_0": Parameter(298.15, "temperature of the environment, K", above=0.0),
    },
    compute=_compute,
)
