# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The free-floating quantities of source E against its own sums over bodies, and its misprints.

Where E is misprinted both versions are computed: the printed one fails.
"""

import numpy as np
import pytest
from hypothesis import given, settings

from vms_ph_dynamics import FreeFloating, ModelError, VMSModel
from vms_ph_dynamics.forms.free_floating import FreeFloatingEvaluation
from vms_ph_dynamics.groups import skew
from vms_ph_io import robots

from .free_floating_sums import (
    FLOATING,
    WRONG,
    Space,
    Sums,
    agree,
    case,
    differs,
    floating_trees,
    light_satellite,
    own_floating_joint,
    seeds,
)


def check_every_sum(s: Sums, e: FreeFloatingEvaluation) -> None:
    agree(e.velocity, np.concatenate([s.x0dot, s.phidot]))
    # [4], [5]: the end effector.
    p_0r = s.p_r - s.r_0
    agree(e.J_s, np.block([[np.eye(3), -skew(p_0r)], [np.zeros((3, 3)), np.eye(3)]]))
    agree(e.J_m, s.J_tool)
    agree(e.J_s @ s.x0dot + e.J_m @ s.phidot, s.V_tool)
    # [3], [8] with the joints' own indices.
    for i in s.bodies:
        agree(s.w_0 + i.J_R @ s.phidot, i.w)
        agree(s.V_0 + np.cross(s.w_0, i.r - s.r_0) + i.J_T @ s.phidot, i.rdot)
    # [6]-[11].
    r_0g = s.r_g - s.r_0
    agree(e.r_0, s.r_0)
    agree(e.r_g, s.r_g)
    agree(e.r_0g, r_0g)
    agree(e.P, s.P)
    agree(e.L, s.L)
    agree(s.M * s.V_0 + s.M * skew(r_0g).T @ s.w_0 + s.J_Tw @ s.phidot, s.P)
    I_w = s.total(lambda i: i.inertia - i.m * skew(i.r) @ skew(i.r - s.r_0))
    I_phi = s.total(lambda i: i.m * skew(i.r) @ i.J_T + i.inertia @ i.J_R)
    agree(s.M * skew(s.r_g) @ s.V_0 + I_w @ s.w_0 + I_phi @ s.phidot, s.L)
    # [12], [13], and [16] with the sign of H_w mended.
    L_g = s.L - np.cross(s.r_g, s.P)
    H_w = s.total(lambda i: i.inertia - i.m * skew(i.r - s.r_g) @ skew(i.r - s.r_0))
    H_w_phi = s.total(lambda i: i.m * skew(i.r - s.r_g) @ i.J_T + i.inertia @ i.J_R)
    agree((I_w - s.M * skew(s.r_g) @ skew(r_0g).T) @ s.w_0 + H_w_phi @ s.phidot, L_g)
    agree(H_w @ s.w_0 + H_w_phi @ s.phidot + np.cross(s.r_g, s.P), s.L)
    agree(e.H_w_phi, H_w_phi)
    # H_w is then the centroidal inertia.
    agree(H_w, s.total(lambda i: i.inertia + i.m * skew(i.r - s.r_g).T @ skew(i.r - s.r_g)))
    # [17]-[23] with the three misprints mended.
    L_0 = s.L - np.cross(s.r_0, s.P)
    agree(e.L_0, L_0)
    agree(s.M * skew(r_0g) @ s.V_0 + s.H_omega @ s.w_0 + s.H_omega_phi @ s.phidot, L_0)
    agree(s.H_0 @ s.x0dot + s.H_0m @ s.phidot, np.concatenate([s.P, L_0]))
    agree(e.H_0, s.H_0)
    agree(e.H_0m, s.H_0m)
    # [24]-[27].
    energy = 0.5 * s.total(lambda i: i.w @ i.inertia @ i.w + i.m * i.rdot @ i.rdot)
    H = np.block([[s.H_0, s.H_0m], [s.H_0m.T, s.H_phi]])
    agree(e.H, H)
    assert 0.5 * e.velocity @ e.H @ e.velocity == pytest.approx(energy, rel=1e-11)
    assert e.d.kinetic_energy == pytest.approx(energy, rel=1e-11)


@given(floating_trees, seeds)
@settings(max_examples=20, deadline=None)
def test_every_quantity_is_its_sum_over_the_bodies_of_a_tree(tree: VMSModel, seed: int) -> None:
    s, e = case(tree, np.random.default_rng(seed))
    check_every_sum(s, e)


@pytest.mark.parametrize("name", FLOATING)
def test_every_quantity_of_a_bundled_robot_is_its_sum_over_the_bodies(
    name: str, rng: np.random.Generator
) -> None:
    model = robots.load(name)
    for _ in range(5):
        s, e = case(model, rng)
        check_every_sum(s, e)


def test_the_base_is_the_body_of_the_first_joint_whatever_else_the_tree_names(
    rng: np.random.Generator,
) -> None:
    model = own_floating_joint()
    assert model.link_names[0] == "station"
    check_every_sum(*case(model, rng))


@pytest.fixture
def space_robot(rng: np.random.Generator) -> Space:
    return case(light_satellite(), rng)


def test_the_angular_velocity_of_a_link_sums_the_rates_of_its_own_joints(
    space_robot: Space,
) -> None:
    # [3] prints sum_j k_j phidot_i; [8] has k_i for k_j.
    s, _ = space_robot
    last = s.bodies[-1]
    agree(s.w_0 + last.J_R @ s.phidot, last.w)
    differs(s.w_0 + last.J_R.sum(axis=1) * s.phidot[-1], last.w)


def test_the_centroidal_inertia_needs_a_minus(space_robot: Space) -> None:
    # [15], [16] print H_w = sum(I_i + m r~_gi r~_0i) + I_0.
    s, e = space_robot
    printed = s.total(lambda i: i.inertia + i.m * skew(i.r - s.r_g) @ skew(i.r - s.r_0))
    centroidal = s.total(lambda i: i.inertia - i.m * skew(i.r - s.r_g) @ skew(i.r - s.r_0))
    L_g = s.L - np.cross(s.r_g, s.P)
    differs(printed, centroidal)
    differs(printed @ s.w_0 + e.H_w_phi @ s.phidot, L_g)
    # Nor does r_gi = r_g - r_i mend it: H_w_phi then has the wrong sign.
    turned = s.total(lambda i: i.m * skew(s.r_g - i.r) @ i.J_T + i.inertia @ i.J_R)
    differs(centroidal @ s.w_0 + turned @ s.phidot, L_g)


def test_the_momentum_about_the_base_has_the_lever_from_the_base(space_robot: Space) -> None:
    # [18] prints M r~_g V_0 where M r~_0g V_0 is meant.
    s, e = space_robot
    rest = s.H_omega @ s.w_0 + s.H_omega_phi @ s.phidot
    differs(s.M * skew(s.r_g) @ s.V_0 + rest, e.L_0)


def test_the_momentum_about_the_origin_adds_the_lever_of_the_base(space_robot: Space) -> None:
    # [19] prints + r_g x P where r_0 x P is meant.
    s, e = space_robot
    about_base = (s.H_0 @ s.x0dot + s.H_0m @ s.phidot)[3:]
    agree(about_base + np.cross(s.r_0, s.P), e.L)
    differs(about_base + np.cross(s.r_g, s.P), e.L)


def test_the_base_inertia_gives_the_momentum_about_the_base(space_robot: Space) -> None:
    # [21] prints (P; L) on the left; it is (P; L_0).
    s, e = space_robot
    found = s.H_0 @ s.x0dot + s.H_0m @ s.phidot
    agree(found, np.concatenate([e.P, e.L_0]))
    differs(found, np.concatenate([e.P, e.L]))


def test_the_energy_of_the_joints_has_products_of_different_rates(space_robot: Space) -> None:
    # The expansion before [24] sums phidot_j k_j I_i k_j phidot_j over one index j only; with
    # H_phi, as [24] has it, the products of different joints are there.
    s, _ = space_robot
    right = 0.5 * s.phidot @ s.H_phi @ s.phidot
    printed = 0.5 * s.phidot @ np.diag(np.diag(s.H_phi)) @ s.phidot
    assert abs(printed - right) > WRONG


def test_the_order_of_inertias_in_a_product_matters(space_robot: Space) -> None:
    # Before [31]: "A^T B = A . B = B . A = B^T A = B A", as if for any A and a symmetric B.
    s, _ = space_robot
    a, b = s.H_omega_phi @ s.H_omega_phi.T + skew(s.r_0), s.H_omega
    agree(b, b.T)
    differs(a.T @ b, b @ a)


def test_other_bases_and_fluids_are_refused() -> None:
    with pytest.raises(ModelError, match="floating base in space; given: on a fixed base"):
        FreeFloating(robots.load("panda"))
    with pytest.raises(ModelError, match="on a planar base"):
        FreeFloating(robots.load("omnidirectional_panda"))
    with pytest.raises(ModelError, match="in a fluid"):
        FreeFloating(robots.load("bluerov2_alpha5"))
