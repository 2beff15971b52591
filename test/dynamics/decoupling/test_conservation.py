# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Which frames conserve the momentum, and the centre-of-mass frame [B, 3.2]."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import Evaluation, VMSModel
from vms_ph_dynamics.decoupling import (
    Frame,
    base_pose,
    centre_of_mass,
    centre_of_mass_frame,
    conservation,
    inertial_frame,
)
from vms_ph_dynamics.groups import SE3, base_group

from ..moving_trees import evaluated, free_acceleration, moved, moving_trees

seeds = st.integers(0, 2**30)


def size(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))


@given(moving_trees, seeds)
@settings(max_examples=30, deadline=None)
def test_the_momentum_in_a_frame_drifts_by_the_residual_alone(model: VMSModel, seed: int) -> None:
    """[B, proposition 3.2.1] in both directions, against differences along the motion."""
    d, rng = evaluated(model, seed)
    group, b = base_group(model.base), model.b
    force = rng.uniform(-5, 5, model.nv)
    acceleration = free_acceleration(d, force)
    start, twist = group.random(rng), rng.uniform(-1, 1, b)

    def frame(state: Evaluation, time: float) -> Frame:
        return Frame(group, start @ group.exp(time * twist), twist)

    found, h = conservation(d, frame(d, 0.0)), 1e-5
    later, sooner = (
        frame(moved(d, acceleration, s), s).momentum(moved(d, acceleration, s)) for s in (h, -h)
    )
    forced = np.linalg.solve(group.Ad(start).T, force[:b])
    error = (later - sooner) / (2 * h) - forced - found.drift
    # Central differences of step 1e-5 of quantities that change with the accelerations.
    assert size(error) < 1e-6 * max(1.0, size(acceleration)) ** 2
    assert not found.holds()


@given(moving_trees, seeds)
@settings(max_examples=30, deadline=None)
def test_the_inertial_and_the_centroidal_momentum_are_conserved(model: VMSModel, seed: int) -> None:
    d, _ = evaluated(model, seed)
    inertial, centroidal = inertial_frame(d), centre_of_mass_frame(d, "inertial")
    for frame in (inertial, centroidal):
        found = conservation(d, frame)
        assert found.holds()
        # The same statement in the inertial frame [B (3.62)].
        assert size(found.inertial_residual) < 1e-9 * max(1.0, size(d.p))
    # The condition asks for a_cb^T h_b = a_ib^T h_b, not for a_cb = a_ib.
    assert size(centroidal.a - inertial.a) > 1e-6


@given(moving_trees, seeds)
@settings(max_examples=30, deadline=None)
def test_the_frame_of_the_locked_velocity_moves_with_it(model: VMSModel, seed: int) -> None:
    d, _ = evaluated(model, seed)
    group, b = base_group(model.base), model.b
    frame = centre_of_mass_frame(d, "locked")
    # nu_c in base axes is nu_b - nu_cb: the locked velocity.
    assert size(d.v[:b] - frame.twist - d.v_hat) < 1e-12 * max(1.0, size(d.v_hat))
    # In it the locked inertia has no coupling of translation and rotation.
    a_inverse = np.linalg.inv(frame.A)
    centred = a_inverse.T @ d.M_b @ a_inverse
    line = 2 if b == 3 else 3
    assert size(centred[:line, line:]) < 1e-12 * max(1.0, size(centred))
    expected = group.inverse(frame.pose)[:line, line]
    assert size(expected - centre_of_mass(d)) < 1e-13


@given(moving_trees, seeds)
@settings(max_examples=20, deadline=None)
def test_the_centre_of_mass_is_that_of_the_bodies(model: VMSModel, seed: int) -> None:
    d, _ = evaluated(model, seed)
    m = model.pinocchio
    inertial = pin.centerOfMass(m, m.createData(), d.q)
    size_ = 2 if model.base == "planar" else 3
    pose = base_pose(d)
    ours = pose[:size_, :size_] @ centre_of_mass(d) + pose[:size_, size_]
    assert size(ours - inertial[:size_]) < 1e-12


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_a_frame_that_spins_about_the_angular_momentum_conserves_it_too(seed: int) -> None:
    """[B] says after (3.62) that no frame that turns does; with zero linear momentum one can."""
    from ..conftest import random_tree

    rng = np.random.default_rng(seed)
    model = random_tree(3 * int(rng.integers(1000)) + 2)
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    d = model.evaluate(q, v)
    at_rest = centre_of_mass_frame(d, "inertial")
    # Take the centre of mass's velocity out of the base's.
    v[:6] -= np.concatenate([d.p[:3] / model.total_mass, np.zeros(3)])
    d = model.evaluate(q, v)
    at_rest = centre_of_mass_frame(d, "inertial")
    spatial = at_rest.momentum(d)
    assert size(spatial[:3]) < 1e-12
    spin = np.concatenate([np.zeros(3), 2.0 * spatial[3:]])
    to_base = np.linalg.inv(at_rest.A)
    spinning = Frame(SE3(), at_rest.pose, at_rest.twist - to_base @ spin)
    found = conservation(d, spinning)
    assert size(spin) > 1e-3
    assert found.holds(1e-11)
    assert size(found.drift) == pytest.approx(0.0, abs=1e-11 * max(1.0, size(d.p)))
