# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with defects in their inertias: graded by the mass matrix, repaired or refused by mode."""

import warnings
from collections.abc import Sequence

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.errors import InertiaWarning
from vms_ph_dynamics.robot import inertia_defects
from vms_ph_io import load_urdf, robots

BODY = (2.0, (0.02, 0.03, 0.04))
ANTENNA = (1e-3, (-3.5e-8, 3.5e-8, 9.1e-8))
DAMAGE = (1.0, -1.0, 0.0, 1e-12, -1e-9, 1e3, 1e6, -1e4)


def link(name: str, mass: float, entries: Sequence[float]) -> str:
    ixx, iyy, izz, *rest = entries
    ixy, ixz, iyz = rest or (0.0, 0.0, 0.0)
    return (
        f'<link name="{name}"><inertial><origin xyz="0.1 0.02 0.03" rpy="0.1 0 0.2"/>'
        f'<mass value="{mass!r}"/><inertia ixx="{ixx!r}" iyy="{iyy!r}" izz="{izz!r}" ixy="{ixy!r}" '
        f'ixz="{ixz!r}" iyz="{iyz!r}"/></inertial></link>'
    )


def joint(parent: str, child: str, kind: str = "revolute", axis: str = "0 0 1") -> str:
    return (
        f'<joint name="to_{child}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.3 0 0.1" rpy="0.3 0.2 0"/><axis xyz="{axis}"/>'
        '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
    )


def arm(antenna: str = "", third: str = "", damaged: str = "") -> str:
    """Three joints, an antenna fixed to the second link and a joint of its own for a last link."""
    return (
        f'<robot name="arm">{link("base", *BODY)}{link("one", *BODY)}'
        f"{damaged or link('two', *BODY)}"
        f"{third or link('three', 0.5, (2e-3, 3e-3, 4e-3))}{antenna or link('antenna', *ANTENNA)}"
        f"{joint('base', 'one')}{joint('one', 'two', axis='0 1 0')}"
        f"{joint('two', 'three', axis='1 0 0')}{joint('two', 'antenna', 'fixed')}</robot>"
    )


GOOD = arm(antenna=link("antenna", 1e-3, (5e-8, 6e-8, 9e-8)))
SLIGHT = arm(damaged=link("two", 2.0, (0.03, 0.03, 0.064)))
GRAVE = arm(damaged=link("two", 2.0, (0.001, 0.03, 0.2)))
LAST = '<link name="three"/>'


def mass_matrix(model: VMSModel, seed: int = 0) -> np.ndarray:
    q = model.random_configuration(np.random.default_rng(seed))
    return model.evaluate(q, np.zeros(model.nv)).M


@pytest.mark.parametrize("mode", ["auto", "strict", "repair", "as_given"])
def test_a_robot_without_defects_is_that_of_pinocchio_in_every_mode(mode: str) -> None:
    model = VMSModel.from_urdf(GOOD, inertia=mode)  # type: ignore[arg-type]
    assert model.repairs == ()
    own = pin.buildModelFromXML(GOOD)
    upper = np.triu(pin.crba(own, own.createData(), np.array([0.3, -0.2, 0.5])))
    np.testing.assert_allclose(
        model.evaluate([0.3, -0.2, 0.5], np.zeros(3)).M,
        upper + np.triu(upper, 1).T,
        rtol=1e-15,
        atol=1e-17,
    )


def test_a_negligible_defect_is_repaired_with_a_warning_that_says_the_change() -> None:
    with pytest.warns(InertiaWarning, match=r"'two' belongs to no .* mass matrix by .* % at"):
        model = VMSModel.from_urdf(SLIGHT)
    repair = model.repairs[0]
    assert (repair.kind, repair.link, repair.joint) == ("triangle", "two", "to_two")
    assert repair.grade == "negligible"
    assert repair.original_values == pytest.approx((2.0, 0.03, 0.03, 0.064))
    assert (
        repair.repaired_values[3] <= repair.repaired_values[1] + repair.repaired_values[2] + 1e-12
    )
    assert 0.0 < repair.change < 0.1


def test_a_defect_of_a_link_is_left_where_the_body_of_its_joint_is_physical() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = VMSModel.from_urdf(arm())
    assert model.repairs == ()
    np.testing.assert_array_equal(
        mass_matrix(model), mass_matrix(VMSModel.from_urdf(arm(), inertia="as_given"))
    )
    with pytest.raises(ModelError, match=r"'antenna'.* the body that its joint moves is physical"):
        VMSModel.from_urdf(arm(), inertia="strict")


@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_the_stated_change_is_that_of_the_mass_matrix(base: str) -> None:
    with pytest.warns(InertiaWarning):
        model = VMSModel.from_urdf(GRAVE, base, inertia="repair")
    before = VMSModel.from_urdf(GRAVE, base, inertia="as_given")
    whole = [r for r in model.repairs if r.link == "two"]
    largest = 0.0
    for seed in range(20):
        after = mass_matrix(model, seed)
        difference = after - mass_matrix(before, seed)
        largest = max(largest, np.abs(np.linalg.eigvals(np.linalg.solve(after, difference))).max())
    # It is the largest of a few configurations, not of all.
    assert whole[0].change == pytest.approx(largest, rel=0.15)


def test_a_grave_defect_is_refused_unless_repair_is_asked_for() -> None:
    with pytest.raises(ModelError, match=r"'two' belongs to no rigid body.*inertia='repair'"):
        VMSModel.from_urdf(GRAVE)
    with pytest.warns(InertiaWarning):
        model = VMSModel.from_urdf(GRAVE, inertia="repair")
    assert {repair.grade for repair in model.repairs} == {"negligible", "grave"}
    np.linalg.cholesky(mass_matrix(model))


def test_strict_refuses_what_is_negligible_and_what_is_rounding() -> None:
    with pytest.raises(ModelError, match=r"'antenna' belongs .* inertia='strict' refuses all"):
        VMSModel.from_urdf(arm(), inertia="strict")
    rounded = GOOD.replace('izz="0.04"', 'izz="0.05001"')
    assert VMSModel.from_urdf(rounded).repairs == ()
    with pytest.raises(ModelError, match="taken as it is, since its digits are rounded"):
        VMSModel.from_urdf(rounded, inertia="strict")


def test_as_given_takes_what_has_a_positive_mass_matrix_and_nothing_else() -> None:
    model = VMSModel.from_urdf(GRAVE, inertia="as_given")
    assert model.repairs == ()
    own = pin.buildModelFromXML(GRAVE)
    assert model.tree.pinocchio.inertias[2] == own.inertias[2]
    with pytest.raises(ModelError, match="mass matrix is not positive definite"):
        VMSModel.from_urdf(arm(third=link("three", 0.5, (-1.0, 1.0, 1.0))), inertia="as_given")


def test_an_indefinite_mass_matrix_is_refused_also_where_the_neutral_one_is_positive() -> None:
    # The first joint bears the moment about z of the last link, and that about y after a turn.
    bodies = link("base", *BODY) + link("one", *BODY) + link("two", 1.0, (1.0, -5.0, 0.5))
    joints = joint("base", "one") + joint("one", "two", axis="1 0 0")
    xml = f'<robot name="r">{bodies}{joints}</robot>'
    for placed in ('xyz="0.1 0.02 0.03" rpy="0.1 0 0.2"', 'xyz="0.3 0 0.1" rpy="0.3 0.2 0"'):
        xml = xml.replace(placed, "")
    own = pin.buildModelFromXML(xml)
    upper = np.triu(pin.crba(own, own.createData(), np.zeros(2)))
    assert np.linalg.eigvalsh(upper + np.triu(upper, 1).T)[0] > 0.0
    with pytest.raises(ModelError, match="not positive definite"):
        VMSModel.from_urdf(xml, inertia="as_given")


def test_a_leg_of_a_point_mass_may_be_singular_where_its_foot_coincides_with_its_hip() -> None:
    foot = link("foot", 1.0, (0.0, 0.0, 0.0)).replace("0.1 0.02 0.03", "-1 0 0")
    folded = (
        f'<robot name="leg"><link name="hip"/><link name="thigh"/>{foot}'
        f"{joint('hip', 'thigh')}{joint('thigh', 'foot')}</robot>"
    ).replace('xyz="0.3 0 0.1" rpy="0.3 0.2 0"', 'xyz="1 0 0"')
    model = VMSModel.from_urdf(folded, inertia="as_given")
    at_hip = model.evaluate(np.zeros(2), np.zeros(2)).M
    np.testing.assert_allclose(at_hip, [[0.0, 0.0], [0.0, 1.0]], atol=1e-15)
    np.linalg.cholesky(mass_matrix(model))


def test_an_unknown_mode_is_refused_with_the_modes() -> None:
    with pytest.raises(ModelError, match="auto, strict, repair or as_given; given: 'loose'"):
        VMSModel.from_urdf(GOOD, inertia="loose")  # type: ignore[arg-type]


def test_a_defect_of_a_link_that_does_not_move_is_left() -> None:
    xml = GOOD.replace(link("base", *BODY), link("base", 2.0, (0.001, 0.03, 0.2)))
    assert VMSModel.from_urdf(xml).repairs == ()
    (defect,) = inertia_defects(xml)
    assert (defect.link, defect.grade, defect.change) == ("base", "harmless", 0.0)
    # On a base that moves it does matter.
    with pytest.raises(ModelError, match="'base' belongs to no rigid body"):
        VMSModel.from_urdf(xml, "floating")


@pytest.mark.parametrize("mimic", ["", '<mimic joint="to_one"/>'], ids=["free", "mimic"])
def test_a_joint_of_its_own_that_moves_no_inertia_gets_a_small_one(mimic: str) -> None:
    xml = arm(third=LAST, antenna=link("antenna", 1e-3, (5e-8, 6e-8, 9e-8)))
    xml = xml.replace('<axis xyz="0 1 0"/>', f'<axis xyz="0 1 0"/>{mimic}')
    with pytest.warns(InertiaWarning, match="motion of joint 'to_three' moves no inertia"):
        model = VMSModel.from_urdf(xml)
    (repair,) = model.repairs
    assert (repair.kind, repair.link, repair.grade) == ("no inertia", "three", "negligible")
    assert repair.repaired_values[0] == pytest.approx(2.001e-3)
    assert repair.original_values == (0.0, 0.0, 0.0, 0.0)
    held = VMSModel.from_urdf(xml, locked_joints=["to_three"])
    n, q = held.n, np.array([0.3, 0.2, 0.1])
    kept = model.evaluate(q[: n + 1], np.zeros(n + 1)).M[:n, :n]
    locked = held.evaluate(q[:n], np.zeros(n)).M
    others = np.linalg.solve(locked, kept - locked)
    # The stated change is the largest of a few configurations, relative to the repaired matrix.
    assert repair.change == pytest.approx(np.abs(np.linalg.eigvals(others)).max(), rel=0.1)
    assert repair.change < 0.01
    with pytest.raises(ModelError, match="motion of joint 'to_three' moves no inertia"):
        VMSModel.from_urdf(xml, inertia="strict")
    with pytest.raises(ModelError, match="not positive definite: motion of joint 'to_three'"):
        VMSModel.from_urdf(xml, inertia="as_given")


def test_a_massless_propeller_of_a_heavy_vehicle_gets_no_more_than_propellers_have() -> None:
    # The vehicle of uuv_simulator's rexrov; its thrusters turn links without inertia.
    hull = link("hull", 1862.87, (525.39, 794.2, 691.23)).replace("0.1 0.02 0.03", "0 0 0")
    xml = (
        f'<robot name="r">{hull}<link name="rotor"/>{joint("hull", "rotor", "continuous")}</robot>'
    )
    with pytest.warns(InertiaWarning, match="'to_rotor' moves no inertia.* 1.86 kg and 0.0186 kg"):
        model = VMSModel.from_urdf(xml, "floating")
    (repair,) = model.repairs
    assert repair.repaired_values[1:] == pytest.approx([1.86287 * 0.1**2] * 3)


def test_a_chain_of_joints_without_inertia_is_grave() -> None:
    xml = arm(damaged='<link name="two"/>', third=LAST, antenna='<link name="antenna"/>')
    with pytest.raises(ModelError, match=r"'to_two' moves no inertia.*'to_three' moves no inertia"):
        VMSModel.from_urdf(xml)
    with pytest.warns(InertiaWarning):
        model = VMSModel.from_urdf(xml, inertia="repair")
    assert sorted(repair.joint for repair in model.repairs) == ["to_three", "to_two"]
    np.linalg.cholesky(mass_matrix(model))


def test_a_rotor_of_inertia_without_mass_is_not_dropped_unasked() -> None:
    xml = arm(third=link("three", 0.0, (1e-3, 1e-3, 1e-3)))
    with pytest.raises(ModelError, match="'three' has a rotational inertia but no mass"):
        VMSModel.from_urdf(xml)
    assert VMSModel.from_urdf(xml, inertia="as_given").n == 3


def test_a_model_of_pinocchio_is_treated_alike() -> None:
    source = VMSModel.from_urdf(GOOD).pinocchio
    light = pin.Inertia.Zero()
    light.mass, light.inertia = 1e-8, np.diag([-2e-22, 8e-23, 3e-9])
    frame = source.addJoint(3, pin.JointModelRX(), pin.SE3.Identity(), "sensor")
    source.appendBodyToJoint(frame, light, pin.SE3.Identity())
    with pytest.warns(InertiaWarning, match="'sensor' belongs to no rigid body"):
        model = VMSModel.from_pinocchio(source, inertia="repair")
    assert [(r.link, r.grade) for r in model.repairs] == [("sensor", "grave")]
    # The defect is the whole inertia of this joint.
    with pytest.raises(ModelError, match=r"'sensor' .* inertia='repair'"):
        VMSModel.from_pinocchio(source)
    with pytest.raises(ModelError, match=r"'sensor' .* inertia='strict'"):
        VMSModel.from_pinocchio(source, inertia="strict")
    assert source.inertias[4].inertia[2, 2] == 3e-9


def test_the_repairs_stay_with_a_robot_in_a_fluid_and_cannot_be_changed() -> None:
    robot = robots.load("bluerov2_alpha5")
    assert robot.repairs == ()
    with pytest.warns(InertiaWarning):
        model = VMSModel.from_urdf(SLIGHT, "floating")
    assert robot.fluid is not None
    immersed = model.in_fluid(type(robot.fluid)(()))
    assert immersed.repairs == model.repairs
    with pytest.raises(AttributeError):
        model.repairs[0].change = 0.0  # type: ignore[misc]


ENTRY = st.tuples(st.sampled_from(DAMAGE), st.floats(0.1, 1.0))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(ENTRY, min_size=7, max_size=7), min_size=4, max_size=4),
    st.sampled_from(["fixed", "planar", "floating"]),
)
def test_after_random_damage_every_repaired_mass_matrix_is_positive_definite(
    damage: list[list[tuple[float, float]]], base: str
) -> None:
    # Negative, tiny, huge; products of inertia that no moments bear.
    links = {}
    for name, factors in zip(("base", "one", "two", "three"), damage, strict=True):
        mass, *entries = (factor * size for factor, size in factors)
        links[name] = link(name, mass, [0.02 * entry for entry in entries])
    xml = (
        f'<robot name="r">{"".join(links.values())}{joint("base", "one")}'
        f"{joint('one', 'two', 'prismatic', '0 1 0')}{joint('two', 'three', axis='1 0 0')}</robot>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)
        if all(factors[0][0] <= 0.0 for factors in damage):
            with pytest.raises(ModelError, match="no link has an <inertial> with a mass"):
                VMSModel.from_urdf(xml, base, inertia="repair")
            return
        model = VMSModel.from_urdf(xml, base, inertia="repair")
    for seed in range(3):
        mass = mass_matrix(model, seed)
        scale = 1.0 / np.sqrt(mass.diagonal())
        assert np.linalg.eigvalsh(mass * np.outer(scale, scale))[0] > 0.0


def test_after_random_damage_models_of_pinocchio_are_repaired_alike(panda: VMSModel) -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        source = panda.pinocchio
        for i in range(1, source.njoints):
            body = source.inertias[i]
            damaged = body.inertia * rng.choice(DAMAGE, size=(3, 3))
            body.mass *= float(rng.choice(DAMAGE))
            body.inertia = 0.5 * (damaged + damaged.T)
            source.inertias[i] = body
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InertiaWarning)
            model = VMSModel.from_pinocchio(source, inertia="repair")
        assert model.repairs
        mass = mass_matrix(model)
        scale = 1.0 / np.sqrt(mass.diagonal())
        assert np.linalg.eigvalsh(mass * np.outer(scale, scale))[0] > 0.0


def test_load_urdf_names_the_file_and_takes_the_mode(tmp_path) -> None:
    file = tmp_path / "bent.urdf"
    file.write_text(GRAVE)
    with pytest.raises(ModelError, match=r"^bent\.urdf: .*'two' belongs to no rigid body"):
        load_urdf(file)
    with pytest.warns(InertiaWarning):
        assert len(load_urdf(file, inertia="repair").repairs) == 2
