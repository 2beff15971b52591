# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What is identified from recordings of known truth."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import OptionError, StateError, VMSModel
from vms_ph_dynamics.energy.regressor import EnergyRegressor
from vms_ph_dynamics.energy.samples import MotionSamples, smoothed_velocity
from vms_ph_dynamics.identification import Identification, Settings, findings, identify
from vms_ph_dynamics.identification.estimate import Estimate, base_parameters, student
from vms_ph_dynamics.identification.identify import _payload, _with_load_or_doubt, payload_frame
from vms_ph_dynamics.identification.result import Parameter, payload_unknowns
from vms_ph_dynamics.identification.windows import SLIP
from vms_ph_io import robots

from .known_truth import Defects, Truth, random_truth, recording

PLAIN = Settings(energy=False)
PERFECT = Defects(*8 * [0.0])


@pytest.fixture(scope="module")
def truth() -> Truth:
    return random_truth(robots.load("panda"), np.random.default_rng(5), 1.5)


@pytest.fixture(scope="module")
def found(truth: Truth) -> Identification:
    samples = recording(robots.load("panda"), truth, np.random.default_rng(6))
    return identify(robots.load("panda"), samples)


def test_payload_and_friction_of_a_real_looking_recording_are_found(
    found: Identification, truth: Truth
) -> None:
    assert found["payload_mass"].value == pytest.approx(truth.values["payload_mass"], rel=0.02)
    claimed = [p for p in found.claims if p.name in truth.values]
    assert len(claimed) >= 20
    assert np.mean([p.contains(truth.values[p.name]) for p in claimed]) >= 0.85
    assert found.unaccounted < 0.01 * found.gross < found.unaccounted_before


def test_the_balances_of_energy_are_asked_the_same(found: Identification, truth: Truth) -> None:
    other = found.energy["payload_mass"]
    assert other.value == pytest.approx(truth.values["payload_mass"], rel=0.05)
    entry = found.as_dictionary()["payload_mass"]
    assert isinstance(entry, dict)
    assert set(entry) == {"value", "low", "high", "unit", "energy"}


def test_without_noise_the_truth_is_found_to_a_thousandth(truth: Truth, panda: VMSModel) -> None:
    samples = recording(panda, truth, np.random.default_rng(7), PERFECT)
    found = identify(panda, samples, settings=PLAIN)
    for name in ("payload_mass", "payload_centre_x", "friction.panda_joint2.viscous"):
        assert found[name].value == pytest.approx(truth.values[name], rel=1e-3, abs=1e-4)


def test_commands_that_are_held_act_in_the_middle_of_their_samples(
    truth: Truth, panda: VMSModel
) -> None:
    samples = recording(panda, truth, np.random.default_rng(7), PERFECT)
    torque = samples.torque
    held = np.vstack([0.5 * (torque[1:] + torque[:-1]), torque[-1:]])
    found = identify(panda, replace(samples, torque=held, zero_order_hold=True))
    mass = found["payload_mass"]
    assert mass.value == pytest.approx(truth.values["payload_mass"], rel=5e-4)
    assert found.energy["payload_mass"].value == pytest.approx(mass.value, rel=1e-3)


def test_commands_that_are_logged_a_step_late_fit_as_well(truth: Truth, panda: VMSModel) -> None:
    # As of simulations that write the state after a step beside the efforts of this step.
    samples = recording(panda, truth, np.random.default_rng(7), PERFECT, duration=6.0)
    late = np.vstack([samples.torque[:1], 0.5 * (samples.torque[1:] + samples.torque[:-1])])
    found = identify(panda, replace(samples, torque=late, zero_order_hold=True), settings=PLAIN)
    assert max(error for error, _ in found.error.values()) < 2e-3


def test_nothing_is_claimed_of_a_joint_that_does_not_move(truth: Truth, panda: VMSModel) -> None:
    samples = recording(panda, truth, np.random.default_rng(8), still=(0, 2))
    found = identify(panda, samples, settings=PLAIN)
    for term in ("viscous", "coulomb", "offset"):
        assert found[f"friction.panda_joint3.{term}"].value is None
        assert "not excited" in found[f"friction.panda_joint3.{term}"].reason
    assert found["friction.panda_joint2.viscous"].value is not None
    found = identify(panda, samples, ("inertia",), settings=PLAIN)
    assert "not excited" in found["inertia.panda_joint1.Izz"].reason
    assert found["inertia.panda_joint7.mx"].value is not None


def test_friction_is_unsure_where_a_gain_of_the_effort_fits_far_better(
    truth: Truth, panda: VMSModel
) -> None:
    samples = recording(panda, truth, np.random.default_rng(10), PERFECT)
    scaled = samples.torque * [1.0, 1.0, 1.0, 1.15, 1.0, 1.0, 1.0]
    for torque, joint, is_doubted in ((scaled, 4, True), (scaled, 2, False)):
        found = identify(panda, replace(samples, torque=torque), settings=PLAIN)
        meaning = found[f"friction.panda_joint{joint}.coulomb"].meaning
        assert ("a gain of the effort fits far better" in meaning) == is_doubted
    plain = identify(panda, samples, settings=PLAIN)
    assert not any("a gain of the effort" in p.meaning for p in plain.claims)


def test_all_is_unsure_where_a_fast_vibration_is_seen_as_a_slow_one(
    truth: Truth, panda: VMSModel
) -> None:
    samples = recording(panda, truth, np.random.default_rng(6)).select(slice(None, None, 10))
    wave = 20.0 * np.sin(2.0 * np.pi * 49.7 * samples.t)  # 0.3 Hz at a rate of 25 Hz
    for vibration in (0.0 * wave, wave):
        torque = samples.torque + np.outer(vibration, np.eye(7)[0])
        found = identify(panda, replace(samples, torque=torque), settings=PLAIN)
        assert len(found.claims) > 10
        assert found["payload_mass"].is_sure == (not vibration.any())
        assert all(p.meaning for p in found.claims) == vibration.any()


def test_the_friction_of_a_joint_whose_effort_alone_is_late_is_within_its_interval(
    panda: VMSModel,
) -> None:
    bare = random_truth(panda, np.random.default_rng(1), 1e-9)
    samples = recording(panda, bare, np.random.default_rng(101), duration=10.0)
    for joint, delay in ((2, 0.01), (2, 0.03), (3, 0.03)):
        torque = samples.torque.copy()
        torque[:, joint] = np.interp(samples.t - delay, samples.t, torque[:, joint])
        found = identify(panda, replace(samples, torque=torque), ("friction",), settings=PLAIN)
        for term in ("viscous", "coulomb"):
            name = f"friction.panda_joint{joint + 1}.{term}"
            p = found[name]
            assert p.contains(bare.values[name]) or p.meaning.startswith("unsure")


def test_nothing_is_claimed_of_a_robot_that_stands(truth: Truth, panda: VMSModel) -> None:
    samples = recording(panda, truth, np.random.default_rng(9), still=tuple(range(7)))
    found = identify(panda, samples, settings=PLAIN)
    assert not found.claims
    assert "nothing moved" in found["payload_mass"].reason


def test_the_centre_of_no_load_is_not_claimed(panda: VMSModel) -> None:
    truth = random_truth(panda, np.random.default_rng(5), 1e-6)
    samples = recording(panda, truth, np.random.default_rng(7))
    found = identify(panda, samples, settings=PLAIN)
    assert found["payload_mass"].contains(0.0)
    assert found["payload_centre_x"].value is None


def _centres(mean: np.ndarray, spread: np.ndarray) -> list[Parameter]:
    """The centre of a load whose mass and first moment (4,) have a spread (4,4)."""
    rest, factor = np.zeros(6), 1e-3 * np.eye(10)
    factor[:4, :4] = spread.T
    whole, none = np.concatenate([mean, rest]), np.zeros(1)
    solution = Estimate(whole, factor, np.eye(10), none, none, none, none, 1000)
    return _payload(payload_unknowns(6.0), range(10), solution, whole)[1:4]


def test_an_interval_of_a_centre_is_as_wide_as_mass_and_moment_make_it() -> None:
    mean, spread = np.array([2.0, 0.6, -0.4, 0.2]), np.diag([0.05, 0.02, 0.03, 0.04])
    spread[1:, 0] = 0.03, -0.02, 0.01
    drawn = mean + np.random.default_rng(3).normal(size=(200_000, 4)) @ spread.T
    deviation = (drawn[:, 1:] / drawn[:, :1]).std(axis=0)
    for p, centre, size in zip(_centres(mean, spread), mean[1:] / 2.0, deviation, strict=True):
        assert p.value == pytest.approx(centre)
        assert p.high - p.low == pytest.approx(2.0 * student(999) * size, rel=0.01)


def test_a_centre_is_claimed_where_it_is_known_to_five_centimetres() -> None:
    mean, spread = np.array([2.0, 0.0, 0.0, 0.0]), np.diag([1e-3, 0.09, 0.11, 0.01])
    x, y, z = _centres(mean, spread)
    assert x.value == pytest.approx(0.0, abs=1e-12)
    assert y.value is None
    assert y.reason == "not excited: the data leave 11% of what is not known of it"
    assert z.value == pytest.approx(0.0, abs=1e-12)


def test_a_load_is_unsure_that_lowers_no_error_or_ends_at_a_bound() -> None:
    mass = Parameter("payload_mass", "payload", "kg", 1.3, 1.0, 1.5)
    centre = Parameter("payload_centre_z", "payload", "m", -0.4, -0.5, -0.3)
    other = Parameter("gain.a", "gains", "1", 1.0, 0.9, 1.1)
    far = {"payload_centre_z": replace(centre, low=-0.9, high=-0.8)}
    assert _with_load_or_doubt((mass, centre, other), 0.5, {}) == (mass, centre, other)
    for parts, share, energy, why in (
        ((mass, centre), 1.6, {}, "unsure, because the load hardly lowers the error on held-out"),
        ((mass, replace(centre, at_bound=True)), 0.5, {}, "unsure, because the load has its"),
        ((mass, centre), 0.5, far, "unsure, because the load has another centre_z by the balances"),
    ):
        unsure, place, gain = _with_load_or_doubt((*parts, other), share, energy)
        assert (unsure.value, gain) == (1.3, other)
        assert unsure.meaning.startswith(why)
        assert (place.value, place.reason) == (None, unsure.meaning)


def test_a_load_that_stands_in_for_a_wrong_arm_is_not_reported(panda: VMSModel) -> None:
    bare = random_truth(panda, np.random.default_rng(5), 1e-9)
    samples = recording(panda, bare, np.random.default_rng(6), duration=8.0)
    wrong = panda.pinocchio
    wrong.inertias[4].mass *= 2.0
    model = VMSModel.from_pinocchio(wrong, "panda_link8")
    found = identify(model, samples, settings=Settings(energy=False, inertia=False))
    mass = found["payload_mass"]
    assert mass.value is None or mass.contains(0.0) or mass.meaning.startswith("unsure, because")
    assert not [one for one in findings(model, samples, found) if one.kind == "payload"]


def test_friction_that_is_known_is_not_estimated(truth: Truth, panda: VMSModel) -> None:
    samples = recording(panda, truth, np.random.default_rng(6))

    def law(rate: np.ndarray) -> np.ndarray:
        return truth.viscous * rate + truth.coulomb * np.tanh(rate / 0.01) + truth.offset

    settings = replace(PLAIN, energy=True, inertia=False)  # the description is exact
    found = identify(panda, samples, ("payload",), friction=law, settings=settings)
    assert {p.kind for p in found.parameters} == {"payload", "timing"}
    # A load is expected to be at most half the arm.
    prior = {u.name: u.deviation for u in found.unknowns}
    arm = sum(link.mass for link in list(panda.pinocchio.inertias)[1:])
    assert prior["payload.m"] == pytest.approx(0.5 * arm)
    for mass in (found["payload_mass"], found.energy["payload_mass"]):
        assert mass.contains(truth.values["payload_mass"])
        assert mass.high - mass.low < 0.02 * mass.high


def test_friction_found_without_a_load_serves_to_find_the_load(
    truth: Truth, panda: VMSModel
) -> None:
    gain = np.array([11.0, 0.9, 1.05, 9.7, 1.0, 1.2, 0.85])  # N m/A or nearly one
    bare = random_truth(panda, np.random.default_rng(5), 1e-9)

    def currents(of: Truth, seed: int) -> MotionSamples:
        s = recording(panda, of, np.random.default_rng(seed))
        return MotionSamples(s.t, s.q, s.v, s.torque / gain)

    first = identify(
        panda, [currents(bare, 1), currents(bare, 2)], ("gains", "friction"), settings=PLAIN
    )
    for joint, factor in zip(panda.joint_names[:4], gain, strict=False):
        assert first[f"gain.{joint}"].value == pytest.approx(factor, rel=0.05)
    prior = first.posterior
    second = identify(panda, currents(truth, 3), ("payload",), prior=prior, settings=PLAIN)
    assert second["payload_mass"].contains(truth.values["payload_mass"])
    assert second["payload_mass"].value == pytest.approx(truth.values["payload_mass"], rel=0.05)


def test_a_load_that_noise_hides_is_within_the_intervals_of_gains(panda: VMSModel) -> None:
    claimed = []
    for seed, mass in ((0, 0.3), (4, 0.1)):
        rng = np.random.default_rng(seed)
        loaded = random_truth(panda, rng, mass)
        s = recording(panda, loaded, rng, Defects(effort=0.6), duration=8.0)
        currents = replace(s, torque=s.torque / 10.0)
        found = identify(panda, currents, ("gains", "friction"), settings=PLAIN)
        claimed += [p for p in found.claims if p.kind == "gains"]
    assert len(claimed) > 5
    assert all(p.contains(10.0) for p in claimed)


def test_no_gain_is_claimed_where_a_load_that_nobody_told_of_explains_the_efforts(
    truth: Truth, panda: VMSModel
) -> None:
    asked, bare = ("gains", "friction"), random_truth(panda, np.random.default_rng(5), 1e-9)
    unloaded = recording(panda, bare, np.random.default_rng(6), duration=8.0)
    found = identify(panda, unloaded, asked, settings=PLAIN)
    gains = [p for p in found.claims if p.kind == "gains"]
    assert len(gains) == 7
    assert all(p.contains(1.0) for p in gains)
    small = replace(bare, payload=pin.Inertia(0.3, np.array([0.0, 0.02, 0.05]), 1e-3 * np.eye(3)))
    for loaded in (truth, small):
        samples = recording(panda, loaded, np.random.default_rng(6), duration=8.0)
        found = identify(panda, samples, asked, settings=PLAIN)
        assert [p.name for p in found.claims if p.kind != "timing"] == []
        (one,) = findings(panda, samples, found)
        assert one.text == found["gain.panda_joint5"].reason
        assert "unsure, because an unknown load (payload) explains" in one.text
        # Nor does a later identification believe any.
        assert set(found.posterior.names) <= {"timing.effort_lag"}


def test_base_parameters_give_every_energy_of_the_robot(panda: VMSModel) -> None:
    regressor = EnergyRegressor(panda)
    base = base_parameters(regressor)
    # As many as its torques have [Gaz et al. 2019].
    assert len(base.names) == 43
    rng = np.random.default_rng(3)
    q = np.array([panda.random_configuration(rng) for _ in range(200)])
    rows = regressor.rows(q, rng.normal(size=(200, 7)))
    rows = rows - rows.mean(axis=0)
    other = regressor.parameters + rng.normal(size=regressor.parameters.size)
    # What the combinations do not see, no energy sees.
    unseen = other - np.linalg.pinv(base.matrix) @ (base.matrix @ other)
    np.testing.assert_allclose(rows @ unseen, 0.0, atol=1e-6)
    assert base.meanings[0] == "Izz of panda_joint1 + Iyy of panda_joint2"


def test_wrong_inertia_of_a_link_is_corrected(panda: VMSModel) -> None:
    bare = random_truth(panda, np.random.default_rng(5), 1e-9)
    motions = [recording(panda, bare, np.random.default_rng(seed)) for seed in (4, 5)]
    wrong = panda.pinocchio
    wrong.inertias[4].mass *= 1.15
    model = VMSModel.from_pinocchio(wrong, "panda_link8")
    found = identify(model, motions, ("inertia",), settings=PLAIN)
    assert found.unaccounted < 0.05 * found.unaccounted_before
    regressor = EnergyRegressor(panda)
    truth = base_parameters(regressor)
    values = dict(zip(truth.names, truth.matrix @ regressor.parameters, strict=True))
    claimed = [p for p in found.claims if p.kind == "inertia"]
    assert 5 <= len(claimed) <= len(values)
    assert np.mean([p.contains(values[p.name]) for p in claimed]) > 0.75
    # What a link weighs beyond the fourth joint moves the third joint's first moment.
    moment = found["inertia.panda_joint3.mx"]
    assert moment.contains(values["inertia.panda_joint3.mx"])
    before = base_parameters(EnergyRegressor(model))
    given = dict(zip(before.names, before.matrix @ EnergyRegressor(model).parameters, strict=True))
    assert not moment.contains(given["inertia.panda_joint3.mx"])


def test_mistakes_are_reported_in_one_sentence(truth: Truth, panda: VMSModel) -> None:
    samples = recording(panda, truth, np.random.default_rng(6))
    with pytest.raises(OptionError, match="colour cannot be identified; choose from payload"):
        identify(panda, samples, ("colour",))
    with pytest.raises(OptionError, match="scale"):
        identify(panda, samples, ("gains", "inertia"))
    with pytest.raises(OptionError, match="no recording"):
        identify(panda, [])
    with pytest.raises(StateError, match="q of the samples must have 12 columns"):
        identify(robots.load("hextilt"), samples)
    short = MotionSamples(samples.t[:5], samples.q[:5], samples.v[:5], samples.torque[:5])
    block = VMSModel.from_urdf(
        """<robot name="block"><link name="block"><inertial><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link></robot>"""
    )
    with pytest.raises(OptionError, match="has no joints, from whose efforts it is identified"):
        identify(block, samples)
    wrenches = {panda.end_effector: np.zeros((len(samples), 6))}
    without_efforts = replace(samples, torque=0.0 * samples.torque, wrenches=wrenches)
    with pytest.raises(StateError, match="the recording has no efforts"):
        identify(panda, without_efforts)
    with pytest.raises(StateError, match="20 samples"):
        identify(panda, short)


def test_efforts_that_are_currents_give_gains_and_nothing_else(
    truth: Truth, panda: VMSModel
) -> None:
    samples = recording(panda, truth, np.random.default_rng(6))
    gains = np.array([12.0, -9.0, 13.0, 8.0, 10.0, 11.0, 14.0])
    currents = replace(samples, torque=samples.torque / gains)
    found = identify(panda, currents, settings=PLAIN)
    assert not [p for p in found.claims if p.kind in ("payload", "friction")]
    assert "the efforts are no torques" in found["payload_mass"].reason
    assert [one.kind for one in findings(panda, currents, found)] == ["efforts"]
    bare = random_truth(panda, np.random.default_rng(5), 1e-9)
    unloaded = recording(panda, bare, np.random.default_rng(6))
    currents = replace(unloaded, torque=unloaded.torque / gains)
    found = identify(panda, currents, ("gains",), settings=PLAIN)
    for joint, gain in zip(panda.joint_names[:4], gains, strict=False):
        assert found[f"gain.{joint}"].value == pytest.approx(gain, rel=0.03)
    rubbing = unloaded.torque * (1.0 + 0.1 * np.sign(unloaded.torque * unloaded.v))
    found = identify(panda, replace(currents, torque=rubbing / gains), ("gains", "friction"))
    assert found["friction.panda_joint2.load"].contains(0.1)
    assert found["friction.panda_joint4.load"].contains(0.1)


def test_friction_of_a_motor_that_moves_two_joints_is_told_from_theirs(
    truth: Truth, panda: VMSModel
) -> None:
    samples = recording(panda, truth, np.random.default_rng(6))
    motors = np.eye(7)
    motors[5, 4] = 1.0
    rate = smoothed_velocity(samples.t, samples.q)[0] @ motors[5]
    viscous, coulomb = 0.4, 0.6  # of the size of that of the joints
    effort = viscous * rate + coulomb * np.tanh(rate / SLIP)
    driven = replace(samples, torque=samples.torque + effort[:, None] * motors[5], motors=motors)
    found = identify(panda, driven, ("friction",), settings=PLAIN)
    assert found["friction.panda_joint6.motor_viscous"].contains(viscous)
    assert found["friction.panda_joint6.motor_coulomb"].contains(coulomb)
    for joint in panda.joint_names[4:6]:
        dry = f"friction.{joint}.coulomb"
        assert found[dry].contains(truth.values[dry])
        both = truth.values[f"friction.{joint}.viscous"] + viscous
        assert found[f"friction.{joint}.viscous"].contains(both)
        assert found[f"friction.{joint}.viscous"].value == pytest.approx(both, rel=0.05)
    apart = identify(panda, replace(driven, motors=None), ("friction",), settings=PLAIN)
    assert apart.error["panda_joint6"][0] > 2.0 * found.error["panda_joint6"][0]


def test_a_joint_whose_effort_means_nothing_is_left_out(truth: Truth, panda: VMSModel) -> None:
    rng = np.random.default_rng(6)
    samples = recording(panda, truth, rng)
    torque = samples.torque.copy()
    torque[:, 1] = rng.normal(size=len(torque))
    found = identify(panda, replace(samples, torque=torque), settings=PLAIN)
    assert "left out" in found["friction.panda_joint2.coulomb"].reason
    assert found["payload_mass"].value == pytest.approx(truth.values["payload_mass"], rel=0.02)
    assert "panda_joint2" not in found.error


def test_a_camera_carries_no_payload() -> None:
    description = robots.get("panda").description()
    camera = (
        '<link name="camera_optical_frame"/><joint name="camera" type="fixed">'
        '<parent link="panda_link7"/><child link="camera_optical_frame"/></joint></robot>'
    )
    seeing = description.replace("</robot>", camera)
    model = VMSModel.from_urdf(seeing, end_effector="camera_optical_frame")
    assert payload_frame(model) == "panda_hand_tcp"
    blind = VMSModel.from_urdf(
        seeing.replace("panda_hand", "panda_part").replace("_tcp", "_end"),
        end_effector="camera_optical_frame",
    )
    with pytest.raises(OptionError, match="looks like a sensor, which carries no payload"):
        payload_frame(blind)


def test_a_wrong_inertia_is_corrected_where_held_out_time_asks_for_it(
    truth: Truth, panda: VMSModel
) -> None:
    samples = recording(panda, truth, np.random.default_rng(6))
    wrong = panda.pinocchio
    wrong.inertias[3].mass *= 1.15
    wrong.inertias[5].mass *= 0.85
    model = VMSModel.from_pinocchio(wrong, "panda_link8")
    found = identify(model, samples, settings=PLAIN)
    kept = identify(model, samples, settings=Settings(energy=False, inertia=False))
    assert len(found.unknowns) > len(kept.unknowns)
    assert found.error["panda_joint4"][0] < 0.8 * kept.error["panda_joint4"][0]
    assert found["payload_mass"].contains(truth.values["payload_mass"])
    viscous = found["friction.panda_joint4.viscous"]
    assert viscous.contains(truth.values["friction.panda_joint4.viscous"])


def test_friction_of_gears_never_takes_the_place_of_the_efforts(
    truth: Truth, panda: VMSModel
) -> None:
    # Friction of the size of the efforts, in which the model is hardly seen.
    heavy = replace(truth, viscous=np.full(7, 150.0), coulomb=np.full(7, 12.0), offset=np.zeros(7))
    heavy = replace(heavy, payload=random_truth(panda, np.random.default_rng(5), 1e-9).payload)
    samples = recording(panda, heavy, np.random.default_rng(6), Defects(effort=0.3), duration=8.0)
    found = identify(panda, samples, ("gains", "friction"), settings=PLAIN)
    loads = [p for p in found.claims if p.name.endswith(".load")]
    assert all(p.value < 0.5 for p in loads)
    gains = {p.joint: p for p in found.parameters if p.kind == "gains"}
    assert all(p.contains(1.0) for p in gains.values() if p.value is not None)
    assert gains["panda_joint7"].reason.startswith("friction alone fits nearly as well as any gain")
    # It tells a later identification no more than was known before.
    assert found.posterior.mean[found.posterior.names.index("gain.panda_joint7")] == 1.0
