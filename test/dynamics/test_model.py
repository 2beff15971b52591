# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The model from a URDF: sizes, names, limits, and what it refuses."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_io import robots

LINK = """<link name="{name}"><inertial><mass value="{mass}"/>
<inertia ixx="{moments[0]}" iyy="{moments[1]}" izz="{moments[2]}" ixy="0" ixz="0" iyz="0"/>
</inertial></link>"""


def arm(kind: str = "revolute", mass: float = 1.0, moments: tuple = (1.0, 1.0, 1.0)) -> str:
    """One joint between two links."""
    limit = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
    return (
        '<robot name="arm">'
        + LINK.format(name="root", mass=1, moments=(1, 1, 1))
        + LINK.format(name="tip", mass=mass, moments=moments)
        + f'<joint name="j" type="{kind}"><parent link="root"/><child link="tip"/>'
        + f'<origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>{limit}</joint></robot>'
    )


def test_the_panda_has_seven_joints_on_a_fixed_base(panda: VMSModel) -> None:
    assert (panda.base, panda.b, panda.n, panda.nq, panda.nv) == ("fixed", 0, 7, 7, 7)
    assert panda.joint_names == tuple(f"panda_joint{i}" for i in range(1, 8))
    assert panda.end_effector == "panda_link8"
    # Sum of the masses of links 1 to 7, the hand and two fingers, as the URDF gives them.
    assert panda.total_mass == pytest.approx(
        4.970684 + 0.646926 + 3.228604 + 3.587895 + 1.225946 + 1.666555 + 0.735522 + 0.73 + 0.03
    )
    assert panda.joints.effort.tolist() == [87.0] * 4 + [12.0] * 3
    assert panda.joints.upper[5] == 3.7525


@pytest.mark.parametrize(
    ("base", "b", "nq"), [("fixed", 0, 7), ("planar", 3, 11), ("floating", 6, 14)]
)
def test_one_urdf_makes_a_robot_on_every_base(base: str, b: int, nq: int) -> None:
    model = VMSModel.from_urdf(robots.get("panda").description(), base)
    assert (model.base, model.b, model.n, model.nq, model.nv) == (base, b, 7, nq, b + 7)


def test_locking_joints_leaves_the_others_as_they_were(panda: VMSModel) -> None:
    xml = robots.get("panda").description()
    held = VMSModel.from_urdf(xml, end_effector="panda_link8", locked_joints={"panda_joint3": 0.4})
    q = np.array([0.1, -0.3, 0.4, -1.5, 0.2, 1.5, 0.3])
    keep = [0, 1, 3, 4, 5, 6]
    whole = panda.evaluate(q, np.zeros(7)).M[np.ix_(keep, keep)]
    part = held.evaluate(q[keep], np.zeros(6)).M
    np.testing.assert_allclose(part, whole, atol=1e-13)


def test_a_continuous_joint_is_read_and_written_by_its_angle() -> None:
    model = VMSModel.from_urdf(arm("continuous"))
    q = model.configuration({"j": 2.5})
    assert model.nq == 2
    np.testing.assert_allclose(q, [np.cos(2.5), np.sin(2.5)])
    np.testing.assert_allclose(model.joint_positions(q), [2.5])
    with pytest.raises(StateError, match=r"pair \[cos sin\] q\[0:2\] of 'j'"):
        model.evaluate([1.0, 1.0], [0.0])


def test_a_random_configuration_keeps_the_joint_limits(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    for _ in range(200):
        q = panda.random_configuration(rng)
        assert (q >= panda.joints.lower).all()
        assert (q <= panda.joints.upper).all()


@pytest.mark.parametrize("base", ["planar", "floating"])
def test_random_bases_fill_a_cube_of_two_metres(base: str, rng: np.random.Generator) -> None:
    model = VMSModel.from_urdf(robots.get("panda").description(), base)
    places = np.array([model.base_pose(model.random_configuration(rng))[:3, 3] for _ in range(200)])
    moving = slice(2 if base == "planar" else 3)
    assert np.abs(places).max() <= 1.0
    assert (places[:, moving].min(axis=0) < -0.9).all()
    assert (places[:, moving].max(axis=0) > 0.9).all()


def test_integrate_and_difference_are_inverse_on_every_base(rng: np.random.Generator) -> None:
    xml = robots.get("panda").description()
    for base in ("fixed", "planar", "floating"):
        model = VMSModel.from_urdf(xml, base)
        q = model.random_configuration(rng)
        dv = rng.uniform(-1, 1, model.nv)
        np.testing.assert_allclose(model.difference(q, model.integrate(q, dv)), dv, atol=1e-12)


def test_small_planar_motions_keep_all_their_digits(rng: np.random.Generator) -> None:
    # Swept over sizes: Pinocchio's own planar logarithm is off by 4e-9 of the motion at 1e-4 rad.
    model = VMSModel.from_urdf(arm(), "planar")
    q = model.neutral_configuration()
    for size in 10.0 ** np.linspace(-6, 0, 25):
        dv = size * rng.uniform(-1, 1, model.nv)
        found = model.difference(q, model.integrate(q, dv))
        # 1 - cos in the motion itself rounds at 1e-16, whatever the size.
        np.testing.assert_allclose(found, dv, rtol=1e-13, atol=1e-15)


def test_an_unknown_end_effector_of_a_model_without_links_says_how_to_add_one() -> None:
    source = pin.Model()
    joint = source.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "hinge")
    source.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.1), pin.SE3.Identity())
    with pytest.raises(ModelError, match=r"'tool' is not a frame of .* are none: add one with"):
        VMSModel.from_pinocchio(source, "tool")


def test_a_massless_frame_and_a_point_mass_are_normal() -> None:
    assert VMSModel.from_urdf(arm("prismatic", moments=(0, 0, 0))).n == 1


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        (arm(mass=-1.0), "mass"),
        (arm(moments=(5.0, 1.0, 1.0)), "inertia of 'tip' belongs to no rigid body"),
        (arm(mass=0.0, moments=(0, 0, 0)), "moves no inertia"),
        (
            arm().replace('mass value="1.0"', 'mass value="heavy"'),
            "value of <mass> of link 'tip' .*: 'heavy'",
        ),
        (arm().replace('ixz="0"', ""), "inertial> of link 'root' must give ixz of its <inertia>"),
        ("<robot", "not a URDF"),
        ('<robot name="x"><link name="a"/></robot>', "no link has an <inertial> with a mass"),
    ],
    ids=["negative mass", "triangle", "massless", "words", "missing", "broken", "no joints"],
)
def test_an_unphysical_robot_is_refused_by_name(xml: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        VMSModel.from_urdf(xml)


def test_joint_types_with_moving_subspaces_are_refused_by_name() -> None:
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelSphericalZYX(), pin.SE3.Identity(), "shoulder")
    model.appendBodyToJoint(
        joint, pin.Inertia.FromEllipsoid(1.5, 0.1, 0.2, 0.3), pin.SE3.Identity()
    )
    with pytest.raises(ModelError, match=r"'shoulder'.*SphericalZYX"):
        VMSModel.from_pinocchio(model)


def test_a_second_tree_beside_a_floating_base_is_refused() -> None:
    model = pin.Model()
    for kind, name in ((pin.JointModelFreeFlyer(), "base"), (pin.JointModelRX(), "stray")):
        joint = model.addJoint(0, kind, pin.SE3.Identity(), name)
        model.appendBodyToJoint(
            joint, pin.Inertia.FromEllipsoid(1.5, 0.1, 0.2, 0.3), pin.SE3.Identity()
        )
    with pytest.raises(ModelError, match="'stray' is attached to the world"):
        VMSModel.from_pinocchio(model)


def test_a_wrong_state_is_refused_with_expected_and_given(panda: VMSModel) -> None:
    good = np.zeros(7)
    with pytest.raises(StateError, match=r"q .* must have shape \(7,\); given: shape \(3,\)"):
        panda.evaluate(np.zeros(3), good)
    with pytest.raises(StateError, match=r"v must have shape \(7,\)"):
        panda.evaluate(good, np.zeros(6))
    with pytest.raises(StateError, match=r"entries \[2\] are \[nan\]"):
        panda.evaluate(np.where(np.arange(7) == 2, np.nan, 0.0), good)
    with pytest.raises(StateError, match="must be 7 numbers"):
        panda.evaluate(["a"] * 7, good)


def test_a_quaternion_of_wrong_length_is_refused_and_can_be_normalised() -> None:
    model = VMSModel.from_urdf(robots.get("panda").description(), "floating")
    q = model.neutral_configuration()
    q[3:7] *= 1.1
    with pytest.raises(StateError, match=r"length is 1\.1"):
        model.evaluate(q, np.zeros(13))
    model.evaluate(model.normalise_configuration(q), np.zeros(13))
    q[3:7] = 0.0
    with pytest.raises(StateError, match="length zero"):
        model.normalise_configuration(q)


def test_unknown_names_are_answered_with_the_known_ones(panda: VMSModel) -> None:
    with pytest.raises(ModelError, match="panda_link7"):
        panda.frame_id("panda_link99")
    with pytest.raises(StateError, match="panda_joint7"):
        panda.joint_index("elbow")
    with pytest.raises(ModelError, match="fixed, planar or floating"):
        VMSModel.from_urdf(arm(), "flying")  # type: ignore[arg-type]


def test_a_snapshot_cannot_be_changed(panda: VMSModel) -> None:
    d = panda.evaluate(np.zeros(7), np.ones(7))
    for array in (d.q, d.v, d.M, d.M_m, d.C, d.g, d.momentum, d.pi, d.J_end_effector):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_a_snapshot_keeps_its_state_when_the_callers_arrays_change(panda: VMSModel) -> None:
    q, v = np.zeros(7), np.ones(7)
    d = panda.evaluate(q, v)
    q += 1.0
    np.testing.assert_array_equal(d.q, np.zeros(7))
    np.testing.assert_array_equal(d.M, panda.evaluate(np.zeros(7), v).M)


def test_a_rotation_is_taken_within_the_stated_tolerance_and_no_further() -> None:
    xml = robots.get("panda").description()
    for base, part in (("floating", slice(3, 7)), ("planar", slice(2, 4))):
        model = VMSModel.from_urdf(xml, base)
        v = np.zeros(model.nv)
        for error, refused in ((0.9e-6, False), (-0.9e-6, False), (1.1e-6, True), (-1.1e-6, True)):
            q = model.random_configuration(np.random.default_rng(1))
            q[part] *= 1.0 + error
            if refused:
                with pytest.raises(StateError, match=r"length 1 within 1e-06; .* corrects it"):
                    model.evaluate(q, v)
                q = model.normalise_configuration(q)
                assert np.linalg.norm(q[part]) == pytest.approx(1.0, abs=1e-15)
            model.evaluate(q, v)


def test_a_planar_robot_refuses_the_state_of_a_floating_one() -> None:
    xml = robots.get("panda").description()
    planar, floating = (VMSModel.from_urdf(xml, base) for base in ("planar", "floating"))
    with pytest.raises(StateError, match=r"planar base must have shape \(11,\); given.*\(14,\)"):
        planar.evaluate(floating.neutral_configuration(), np.zeros(10))
    with pytest.raises(StateError, match=r"v must have shape \(10,\); given: shape \(13,\)"):
        planar.evaluate(planar.neutral_configuration(), np.zeros(13))
    with pytest.raises(StateError, match=r"pose of a planar base must have shape \(4,\)"):
        planar.configuration({}, [0, 0, 0, 0, 0, 0, 1])


def test_a_wrong_position_by_name_is_refused(panda: VMSModel) -> None:
    with pytest.raises(StateError, match="position of 'panda_joint1' must be finite"):
        panda.configuration({"panda_joint1": np.inf})
    with pytest.raises(StateError, match="position of 'panda_joint1' must be 1 numbers"):
        panda.configuration({"panda_joint1": "up"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"locked_joints": ["elbow"]}, "'elbow' cannot be locked: the joints of 'arm' are j"),
        ({"locked_joints": ["universe"]}, "'universe' cannot be locked"),
        ({"locked_joints": {"j": np.nan}}, "position of the locked joint 'j' must be finite"),
        ({"locked_joints": ["j"]}, "no joint that moves"),
        ({"locked_joints": "j"}, "no joint that moves"),
        (
            {"base": "planar", "locked_joints": ["root_joint"]},
            "'root_joint' .* has 3 degrees of freedom",
        ),
        ({"gravity": (0.0, 9.81)}, r"gravity must have shape \(3,\)"),
        ({"gravity": (0.0, 0.0, np.inf)}, "gravity must be finite"),
        ({"end_effector": "hand"}, "'hand' is not a frame of 'arm'; its links are root, tip"),
    ],
)
def test_wrong_arguments_of_a_urdf_are_refused_in_words(arguments: dict, said: str) -> None:
    with pytest.raises((ModelError, StateError), match=said):
        VMSModel.from_urdf(arm(), **arguments)


def test_the_path_of_a_file_instead_of_its_text_is_answered_with_what_to_do() -> None:
    with pytest.raises(ModelError, match="load_urdf the path of a file"):
        VMSModel.from_urdf("/robots/panda.urdf")


def test_a_link_and_a_joint_may_have_the_same_name() -> None:
    model = VMSModel.from_urdf(arm().replace('joint name="j"', 'joint name="tip"'))
    # The link is meant; here they are at the same place.
    assert model.end_effector == "tip"
    assert model.evaluate([0.3], [0.0]).placement("tip")[0, 3] == 0.5


def test_a_model_made_by_hand_without_frames_ends_at_its_last_joint() -> None:
    source = pin.Model()
    joint = source.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "turn")
    source.appendBodyToJoint(joint, pin.Inertia(1.0, np.ones(3), np.eye(3)), pin.SE3.Identity())
    assert VMSModel.from_pinocchio(source).end_effector == "turn"
    assert source.nframes == 1


@pytest.mark.parametrize("base", ["planar", "floating"])
def test_the_pose_of_the_base_is_that_of_its_link(base: str, rng: np.random.Generator) -> None:
    model = VMSModel.from_urdf(robots.get("panda").description(), base)
    source = model.pinocchio
    source.jointPlacements[1] = pin.exp6(rng.uniform(-1, 1, 6))
    for turned in (model, VMSModel.from_pinocchio(source, "panda_link8")):
        q = turned.random_configuration(rng)
        d = turned.evaluate(q, np.zeros(turned.nv))
        np.testing.assert_allclose(turned.base_pose(q), d.placement("panda_link0"), atol=1e-14)
