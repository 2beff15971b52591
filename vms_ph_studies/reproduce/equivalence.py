# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source A: every form of the equations of a vehicle-manipulator gives the same motion."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, DecoupledForm, Ports, StandardForm, VMSModel
from vms_ph_dynamics.forms import DecoupledEvaluation
from vms_ph_io import robots
from vms_ph_io.progress import Progress

from ..check import Check, bounded, refuted_unless, stated
from ..study import Outcome, Parameter, Settings, Stages, Study
from .lagrangian import (
    LockedAcceleration,
    ReducedEulerLagrange,
    boltzmann_hamel_forces,
    structure_constants,
)

_SOURCE = "Rashad et al., port-Hamiltonian structure of vehicle-manipulator systems"

# What holds, with the largest relative error that rounding explains.
_EQUALITIES = {
    "aba_standard": ("(47) standard form: acceleration is that of ABA", 1e-9),
    "aba_decoupled": ("(59) decoupled form: acceleration is that of ABA", 1e-9),
    "pushed_rate": ("(59) is (47) pushed forward by Phi", 1e-10),
    "aba_euler_lagrange": ("(85) reduced Euler-Lagrange: acceleration is that of ABA", 1e-9),
    "boltzmann_hamel": ("(89) Boltzmann-Hamel: forces are (w_hat, tau_hat)", 1e-9),
    "energy": ("(60) both Hamiltonians are the kinetic energy", 1e-12),
    "skew": ("(48), (68) the interconnections are skew-symmetric", 1e-12),
    "pushed_structure": ("(66) J_hat = Phi J Phi^T", 1e-11),
    "power_standard": ("(50) power balance of the standard form", 1e-10),
    "power_decoupled": ("(71) power balance of the decoupled form", 1e-10),
    "power_transformed": ("(72) power by the transformed wrenches", 1e-10),
    "skew_c2": ("(88) C2_hat is skew-symmetric", 1e-12),
    "constants": ("(117) ad~_p by the structure constants", 1e-12),
}

_PRINTED_114 = "(114) as printed: -E_b^T v_hat on the right"
_SYMMETRIC_CLAIM = "Moghaddam and Chhabra: +E_b^T in C1_hat"

# A misprint is refuted when it is wrong by more than this share of the largest acceleration.
_MIN_REFUTING_ERROR = 1e-6


@dataclass
class _LargestErrors:
    """The largest error of each statement over the states, relative to the size of its terms."""

    largest: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, error: Array | float, scale: Array | float = 1.0) -> None:
        magnitude = max(float(np.abs(scale).max(initial=0.0)), 1e-300)
        relative_error = float(np.abs(error).max(initial=0.0)) / magnitude
        self.largest[name] = max(self.largest.get(name, 0.0), relative_error)


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    base = None if settings["base"] == "bundled" else str(settings["base"])
    model = robots.load(str(settings["robot"]), base=base)
    rng = np.random.default_rng(int(settings["seed"]))
    errors, state_count = _LargestErrors(), int(settings["states"])
    progress_report = Stages(progress, 1).begin("random states")
    for k in range(state_count):
        q = model.random_configuration(rng)
        v = float(settings["speed"]) * rng.uniform(-1, 1, model.nv)
        _compare(model, q, v, rng, errors)
        progress_report((k + 1) / state_count)
    checks = [bounded(t, errors.largest[key], limit) for key, (t, limit) in _EQUALITIES.items()]
    if model.b:
        checks += [
            _misprint_check(
                errors,
                _PRINTED_114,
                "-E_b^T v_hat",
                "The sign must be +, as (113) and (87) have it; with it (85) holds, see above.",
            ),
            _misprint_check(
                errors,
                _SYMMETRIC_CLAIM,
                "a symmetric pair E_b, E_b^T",
                "Source A is right to object: a symmetric pair is not power-preserving.",
            ),
        ]
    return Outcome(checks)


def _compare(
    model: VMSModel, q: Array, v: Array, rng: np.random.Generator, errors: _LargestErrors
) -> None:
    b, m = model.b, model.pinocchio
    wrench, torque = rng.uniform(-10, 10, b), rng.uniform(-10, 10, model.n)
    ports = Ports(torque, wrench)
    standard_form, decoupled_form = StandardForm(model), DecoupledForm(model)
    x, x_hat = standard_form.state(q, v), decoupled_form.state(q, v)
    t = decoupled_form.terms(x_hat)
    d = t.d
    expected_acceleration = pin.aba(m, m.createData(), q, v, np.concatenate([wrench, torque]))
    rate, rate_hat = standard_form.rate(x, ports), decoupled_form.rate(x_hat, ports)

    inertia_rate_term = (d.C + d.C.T) @ v
    acceleration = np.linalg.solve(d.M, rate.zdot - inertia_rate_term)
    errors.add("aba_standard", acceleration - expected_acceleration, expected_acceleration)
    conjugate = rate_hat.zdot.copy()
    conjugate[b:] += d.A.T @ rate_hat.zdot[:b] + t.L @ v[b:]
    acceleration = np.linalg.solve(d.M, conjugate - inertia_rate_term)
    errors.add("aba_decoupled", acceleration - expected_acceleration, expected_acceleration)
    pushed_rate = t.Phi @ standard_form.layout(rate)
    errors.add("pushed_rate", decoupled_form.layout(rate_hat) - pushed_rate, pushed_rate)

    energies = [standard_form.hamiltonian(x).kinetic, decoupled_form.hamiltonian(x_hat).kinetic]
    errors.add("energy", np.array(energies) - d.kinetic_energy, d.kinetic_energy)
    for structure in (standard_form.interconnection(x), t.J_hat):
        errors.add("skew", structure + structure.T, structure)
    pushed_structure = t.Phi @ standard_form.interconnection(x) @ t.Phi.T
    errors.add("pushed_structure", t.J_hat - pushed_structure, pushed_structure)
    for name, form, state in (
        ("power_standard", standard_form, x),
        ("power_decoupled", decoupled_form, x_hat),
    ):
        balance = form.power_balance(state, ports)
        errors.add(name, balance.residual, np.array(list(balance.supplied.values())))
    port_power = wrench @ v[:b] + torque @ v[b:]
    # [A (73)]: (w, tau - A^T w) are conjugate to (v_hat, qdot).
    transformed_power = wrench @ d.v_hat + (torque - d.A.T @ wrench) @ v[b:]
    errors.add("power_transformed", transformed_power - port_power, np.abs(torque) @ abs(v[b:]))
    _compare_lagrangian(t, wrench - d.g[:b], torque - d.g[b:], expected_acceleration, errors)


def _compare_lagrangian(
    t: DecoupledEvaluation, wrench: Array, torque: Array, vdot: Array, errors: _LargestErrors
) -> None:
    d, b = t.d, t.d.model.b
    equations = ReducedEulerLagrange(t)
    accelerations = equations.acceleration(wrench, torque)
    errors.add("aba_euler_lagrange", accelerations.qddot - vdot[b:], vdot)
    c2 = equations.C2_hat
    errors.add("skew_c2", c2 + c2.T, np.append(c2, 1e-6))
    aba_acceleration = LockedAcceleration(accelerations.v_hat_dot, vdot[b:])
    expected_force = np.concatenate([wrench, torque - d.A.T @ wrench])
    force_error = boltzmann_hamel_forces(t, aba_acceleration) - expected_force
    errors.add("boltzmann_hamel", force_error, expected_force)
    coadjoint_matrix = -np.einsum("kij,k->ij", structure_constants(d.model), d.p)
    errors.add("constants", coadjoint_matrix - t.coadjoint_matrix, np.append(d.p, 1e-6))
    if not b:
        return
    # Both misprints turn the sign of E_b^T v_hat in the second row of (85).
    acceleration_by_114 = accelerations.qddot - np.linalg.solve(d.M_hat_m, 2.0 * t.E_b.T @ d.v_hat)
    errors.add(_PRINTED_114, acceleration_by_114 - vdot[b:], vdot)
    power = 2.0 * d.v[b:] @ t.E_b.T @ d.v_hat
    scale = abs(wrench) @ abs(d.v_hat) + abs(torque) @ abs(d.v[b:])
    errors.add(_SYMMETRIC_CLAIM, power, scale)


def _misprint_check(errors: _LargestErrors, name: str, statement: str, why: str) -> Check:
    error = errors.largest[name]
    obtained = f"off by {error:.3g}"
    if error > _MIN_REFUTING_ERROR:
        return refuted_unless(False, name, statement, obtained, why)
    slow_note = "The motion is too slow to decide: the term is quadratic in the velocities."
    return stated(name, statement, obtained, True, slow_note)


_WITHOUT_FLUID = tuple(name for name in robots.names() if not robots.get(name).fluid)

STUDY = Study(
    id="rashad-equivalence",
    source=_SOURCE,
    title="All forms of the equations of motion are equivalent; errors relative to the terms",
    parameters={
        "robot": Parameter("satellite_panda", "name of a bundled robot", _WITHOUT_FLUID),
        "base": Parameter(
            "bundled", "freedom of its root", ("bundled", "fixed", "planar", "floating")
        ),
        "states": Parameter(100, "random states", least=1),
        "speed": Parameter(1.0, "bound of the random velocities, rad/s and m/s"),
        "seed": Parameter(0, "seed of the random states", least=0),
    },
    compute=_compute,
)
