# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Linear port-Hamiltonian systems about states of assembled ones."""

import numpy as np

from vms_ph_ephs import (
    Equations,
    Linearisation,
    assemble,
    closed,
    linearise,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import TwoBodies, damped_oscillator

from .test_closed_loops import assembled_four_bar
from .test_library import drive

# Differences of fourth order with steps of 1e-3.
TOLERANCE = 1e-7


def is_port_hamiltonian(system: Linearisation) -> None:
    scale = 1.0 + np.abs(system.A).max()
    np.testing.assert_allclose(system.J, -system.J.T, atol=1e-12 * scale)
    np.testing.assert_allclose(system.R, system.R.T, atol=1e-12 * scale)
    np.testing.assert_allclose(system.Q, system.Q.T, atol=1e-12)
    assert system.remainder < 1e-9
    assert np.linalg.eigvalsh(system.R).min() > -TOLERANCE * scale


def test_the_damped_oscillator_has_the_matrices_of_the_source() -> None:
    equations = assemble(damped_oscillator(2.0, 3.0, 0.7))
    system = linearise(equations, equations.states.vector())
    # The order is that of the states: momentum, deflection, entropy of the environment.
    np.testing.assert_allclose(system.Q, np.diag([1.0 / 3.0, 2.0, 0.0]), atol=1e-12)
    np.testing.assert_allclose(system.J, [[0, -1, 0], [1, 0, 0], [0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(system.R, np.diag([0.7, 0.0, 0.0]), atol=1e-12)
    is_port_hamiltonian(system)


def hanging() -> tuple[Equations, np.ndarray]:
    """A double pendulum of plane hinges at rest, with torques at both."""
    turn = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0.3], [0, 0, 0, 1]], dtype=float)
    below = turn.copy()
    below[2, 3] = -0.3
    rod = mb.rigid_body(1.0, [0.03, 0.03, 0.001])
    top = mb.joint(mb.Revolute(), turn, turn, friction=0.05, driven=True)
    hinge = mb.joint(mb.Revolute(), below, turn, friction=0.02, driven=True)
    system = mb.mechanism(
        {"upper": rod, "lower": rod},
        {"top": mb.Between("ground", "upper", top), "elbow": mb.Between("upper", "lower", hinge)},
    )
    equations = assemble(system)
    return equations, mb.consistent_state(equations)


def test_a_hanging_double_pendulum_is_its_mass_stiffness_and_damping() -> None:
    equations, x = hanging()
    system = linearise(equations, x)
    is_port_hamiltonian(system)
    assert system.is_equilibrium
    # Two rods of 0.6 m and 1 kg, by the angles at their hinges.
    mass = np.array([[0.12 + 0.03 + 0.9**2, 0.03 + 0.3 * 0.9], [0.03 + 0.3 * 0.9, 0.12]])
    stiffness = 9.81 * np.array([[0.3 + 0.6 + 0.3, 0.3], [0.3, 0.3]])
    damping = np.diag([0.05, 0.02])
    inverse = np.linalg.inv(mass)
    expected = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ stiffness, -inverse @ damping]])
    found = np.linalg.eigvals(system.A)
    poles = found[np.abs(found) > 1e-6]  # the entropies rest
    np.testing.assert_allclose(
        np.sort_complex(poles), np.sort_complex(np.linalg.eigvals(expected)), atol=1e-6
    )


def test_inputs_act_and_outputs_follow_as_the_matrices_say() -> None:
    equations, x = hanging()
    system = linearise(equations, x)
    assert system.inputs == ("top", "elbow")
    rng = np.random.default_rng(3)
    zeta, flow = rng.normal(size=system.Q.shape[0]), rng.normal(size=2)
    step = 1e-5
    ends = []
    for sign in (1.0, -1.0):
        y = equations.states.step(x, sign * step * system.basis @ zeta)
        given = {name: sign * step * flow[[k]] for k, name in enumerate(system.inputs)}
        rates = equations.rates(y, given)
        at = equations.layout
        efforts = [rates.efforts[at.efforts[at.outer[name]]][0] for name in system.inputs]
        ends.append(np.concatenate([np.linalg.pinv(system.basis) @ rates.tangent, efforts]))
    slope = (ends[0] - ends[1]) / (2.0 * step)
    k = system.Q.shape[0]
    linear = (system.J - system.R) @ system.Q @ zeta + system.G @ flow
    np.testing.assert_allclose(slope[:k], linear, atol=1e-5 * np.abs(linear).max())
    outputs = system.G.T @ system.Q @ zeta
    np.testing.assert_allclose(slope[k:], outputs, atol=1e-6 * np.abs(outputs).max())


def test_a_moving_state_keeps_the_product_and_tells_its_drift() -> None:
    two = TwoBodies()
    equations = assemble(two.pendulum())
    system = linearise(equations, two.pendulum_state(equations))
    assert not system.is_equilibrium
    assert system.remainder < 1e-9
    assert np.abs(system.drift).max() > 1.0


def test_a_closed_loop_has_its_one_freedom() -> None:
    equations, x = assembled_four_bar()
    system = linearise(equations, closed(equations, x))
    # One angle and one momentum remain of 3 bodies and 4 hinges.
    assert system.Q.shape == (2, 2)


def test_a_command_that_lets_a_battery_work_is_told_by_the_remainder() -> None:
    equations = assemble(drive())
    x = equations.states.vector({"battery.cell": 5000.0, "u": 0.0})
    system = linearise(equations, x)
    assert system.is_equilibrium
    # The command has no energy, but it changes the current: A is not (J - R) Q in this column.
    missing = np.abs(system.A - (system.J - system.R) @ system.Q)
    command = equations.layout.find("u").tangent.start
    assert missing[:, command].max() == missing.max() > 1.0
    assert np.delete(missing, command, axis=1).max() < 1e-6 * np.abs(system.A).max()
