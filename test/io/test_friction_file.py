# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The friction that is identified is the friction that nodes simulate and account for."""

from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import Friction, VMSModel, VmsPhError
from vms_ph_dynamics.energy.joint_friction import JointFriction
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification import Identification, Settings, identify
from vms_ph_io import robots
from vms_ph_io.audits.identified import friction_text
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.settings.friction_file import read_friction

JOINTS = 7


def _identified(model: VMSModel, friction: Friction) -> Identification:
    """Return what is identified from a motion with this friction."""
    t = np.arange(0.0, 10.0, 0.004)
    phase, w = np.arange(float(JOINTS)), 1.0 + 0.3 * np.arange(JOINTS)
    middle = 0.5 * (model.joints.lower + model.joints.upper)
    q = middle + 0.8 * np.sin(w * t[:, None] + phase)
    v = 0.8 * w * np.cos(w * t[:, None] + phase)
    a = -0.8 * w**2 * np.sin(w * t[:, None] + phase)
    batch = model.evaluate_batch(q, v, terms=("M", "C", "g"))
    effort = np.einsum("kij,kj->ki", batch.M, a) + np.einsum("kij,kj->ki", batch.C, v) + batch.g
    samples = MotionSamples(t, q, v, effort - np.array([friction.force(rate) for rate in v]))
    return identify(model, samples, ("friction",), settings=Settings(energy=False))


def _file(folder: Path, text: str) -> Path:
    file = folder / "friction.yaml"
    file.write_text("friction:\n" + text)
    return file


def test_friction_goes_from_motion_to_file_to_model_and_back(tmp_path: Path) -> None:
    bare = robots.load("panda")
    truth = Friction(np.linspace(0.5, 2.0, JOINTS), np.linspace(0.4, 1.0, JOINTS))
    found = _identified(bare, truth)
    file = tmp_path / "friction.yaml"
    file.write_text(friction_text(found))
    settings = RobotSettings("panda", friction=str(file))
    model = settings.model(settings.description())
    ours = Friction.from_model(model)
    np.testing.assert_allclose(ours.viscous, truth.viscous, atol=0.02)
    np.testing.assert_allclose(ours.coulomb, truth.coulomb, atol=0.02)
    # What nodes have is what an audit reads from the same file.
    read = read_friction(file, model)
    np.testing.assert_allclose(ours.viscous, read.viscous, rtol=1e-12)
    np.testing.assert_allclose(ours.coulomb, read.coulomb, rtol=1e-12)
    np.testing.assert_allclose(JointFriction.from_model(model).viscous, read.viscous, rtol=1e-12)
    # And what is identified of the model with it is the same again.
    again = _identified(model, ours)
    for term, coefficients in (("viscous", ours.viscous), ("coulomb", ours.coulomb)):
        values = [again[f"friction.{joint}.{term}"].value for joint in model.joint_names]
        np.testing.assert_allclose(values, coefficients, atol=0.02)


def test_a_node_with_the_description_of_a_topic_has_the_friction_too(tmp_path: Path) -> None:
    file = _file(tmp_path, "  panda_joint3: {viscous: 1.5}\n")
    settings = RobotSettings("panda", friction=str(file))
    from_topic = settings.model(RobotSettings("panda").description())
    own = settings.model(settings.description())
    np.testing.assert_array_equal(from_topic.joints.damping, [0, 0, 1.5, 0, 0, 0, 0])
    np.testing.assert_array_equal(own.joints.damping, from_topic.joints.damping)
    # Joints that are left out have none, whatever the URDF says.
    assert (Friction.from_model(robots.load("baxter")).viscous > 0.0).all()
    bare = RobotSettings("baxter", friction=str(_file(tmp_path, "  left_s0: {viscous: 1.0}\n")))
    viscous = Friction.from_model(bare.model(bare.description())).viscous
    assert (np.count_nonzero(viscous), viscous.max()) == (1, 1.0)


def test_what_nodes_leave_out_is_said(tmp_path: Path) -> None:
    file = _file(tmp_path, "  panda_joint1: {viscous: 0.1, offset: 0.2}\n")
    told: list[str] = []
    RobotSettings("panda", friction=str(file)).description(told.append)
    assert told == [
        "friction.yaml: nodes have viscous and Coulomb friction; left out: offset of panda_joint1"
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("  elbow: {viscous: 1.0}\n", "'elbow' is no joint of 'panda'"),
        ("  panda_joint1: {viscous: -1.0}\n", "must not be negative; given: -1"),
        ("  panda_joint1: {viscous: .nan}\n", "must not be negative; given: nan"),
        ("  panda_joint1: {stiction: 1.0}\n", "viscous, coulomb, slip, shift, offset"),
        ("  - 3\n", "must have the form"),
    ],
)
def test_a_file_that_no_friction_has_is_refused_with_the_reason(
    tmp_path: Path, text: str, reason: str
) -> None:
    settings = RobotSettings("panda", friction=str(_file(tmp_path, text)))
    with pytest.raises(VmsPhError, match=reason):
        settings.description()


def test_a_file_that_does_not_exist_is_refused() -> None:
    with pytest.raises(VmsPhError, match="nowhere"):
        RobotSettings("panda", friction="/nowhere/friction.yaml").description()
