# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The ledger of a motion closes, and says where energy went that it does not know of."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import trapezoid

from vms_ph_dynamics import Array, ModelError, StateError, VMSModel
from vms_ph_dynamics.energy.joint_friction import JointFriction
from vms_ph_dynamics.energy.ledger import (
    Ledger,
    LedgerWriter,
    ResidualWindows,
    _doubling_errors,
    port_supplies,
    unaccounted_intervals,
)
from vms_ph_dynamics.energy.samples import MotionSamples, SampleNoise, quantisation, white_noise


def moving(model: VMSModel, seconds: float = 2.0, rate: float = 1000.0) -> MotionSamples:
    """A motion by sines with the efforts that it needs."""
    t = np.arange(round(seconds * rate) + 1) / rate
    turn = 1.0 + 0.5 * np.arange(model.n)
    angle = turn * t[:, None] + np.arange(model.n)
    q, v = 0.4 * np.sin(angle), 0.4 * turn * np.cos(angle)
    a = -0.4 * turn**2 * np.sin(angle)
    tree = model.tree.pinocchio
    data = tree.createData()
    effort = np.array([pin.rnea(tree, data, *row) for row in zip(q, v, a, strict=True)])
    return MotionSamples(t, q, v, effort)


def cut(samples: MotionSamples, begin: int, end: int) -> MotionSamples:
    parts = (samples.t, samples.q, samples.v, samples.torque)
    return MotionSamples(
        *(part[begin:end].copy() for part in parts), zero_order_hold=samples.zero_order_hold
    )


def ledger_of(model: VMSModel, samples: MotionSamples, **options: object) -> Ledger:
    writer = LedgerWriter(model, **options)  # type: ignore[arg-type]
    writer.add(samples, False)
    return writer.ledger()


def energies(model: VMSModel, samples: MotionSamples) -> Array:
    states = model.evaluate_batch(samples.q, samples.v)
    return states.kinetic_energy + states.potential_energy


def test_the_ledger_of_a_known_motion_closes_within_the_bound_that_it_states(
    panda: VMSModel,
) -> None:
    ledger = ledger_of(panda, moving(panda, rate=200.0))
    assert abs(ledger.unaccounted) < ledger.sampling_bound < 1e-3 * ledger.gross
    assert ledger.largest_unaccounted <= ledger.sampling_bound
    assert ledger.residual_effort.max() < 0.05


def test_the_bound_falls_with_the_square_of_the_period(panda: VMSModel) -> None:
    coarse, fine = (ledger_of(panda, moving(panda, rate=rate)) for rate in (100.0, 200.0))
    # Of its part for jumps with the power 5/2.
    assert 3.9 < coarse.sampling_bound / fine.sampling_bound < 2**2.5
    assert coarse.unaccounted / fine.unaccounted == pytest.approx(4.0, rel=0.15)


def test_jumps_between_samples_are_within_the_bound(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    # Efforts that jump at random times: of each, the samples show the new value a little late.
    samples = moving(panda, rate=1000.0)
    jumps = np.cumsum(rng.normal(size=samples.t.size) * (rng.random(samples.t.size) < 0.05))
    torque = samples.torque + jumps[:, None]
    extra = trapezoid(jumps[:, None] * samples.v, samples.t, axis=0).sum()
    every = slice(None, None, 10)
    arrays = (samples.t, samples.q, samples.v, torque)
    ledger = ledger_of(panda, MotionSamples(*(part[every].copy() for part in arrays)))
    assert abs(ledger.unaccounted + extra) < ledger.sampling_bound < 0.05 * ledger.gross


def test_gross_is_the_sum_of_the_integrals_of_the_sizes_of_the_powers(panda: VMSModel) -> None:
    samples = moving(panda)
    power = np.abs(samples.torque * samples.v)
    by_joint = trapezoid(power, samples.t, axis=0)
    ledger = ledger_of(panda, samples)
    np.testing.assert_allclose(ledger.gross_by_joint, by_joint, rtol=1e-12)
    assert ledger.gross == pytest.approx(by_joint.sum())


def test_blocks_give_the_same_ledger_as_the_whole(panda: VMSModel) -> None:
    samples = moving(panda, 1.0)
    whole = ledger_of(panda, samples)
    writer = LedgerWriter(panda)
    for begin in range(0, 1000, 100):
        writer.add(cut(samples, begin, begin + 101), begin > 0)
    parts = writer.ledger()
    for name in ("unaccounted", "stored", "gross", "largest_unaccounted", "duration", "samples"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), abs=1e-12), name
    np.testing.assert_allclose(parts.residual_effort, whole.residual_effort, atol=1e-9)
    np.testing.assert_allclose(parts.time, whole.time)


@pytest.mark.parametrize("block", [7, 30, 250, 400])
def test_a_steady_residual_has_its_size_however_its_samples_come_in_blocks(block: int) -> None:
    windows, dt, effort = ResidualWindows(2), np.full(400, 4e-3), np.array([3.0, -0.5])
    for k in range(0, 400, block):
        step = dt[k : k + block]
        windows.add(step[:, None] * effort, step)
    np.testing.assert_allclose(windows.root_mean_square, np.abs(effort), rtol=1e-9)


def test_friction_that_is_known_is_dissipated_and_that_which_is_not_disappears_at_its_joint(
    panda: VMSModel,
) -> None:
    samples = moving(panda)
    friction = JointFriction.none(panda)
    friction = replace(friction, viscous=np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0]))
    rubbed = replace(samples, torque=samples.torque - friction.force(samples.v))
    known = ledger_of(panda, rubbed, friction=friction)
    lost = trapezoid(5.0 * samples.v[:, 2] ** 2, samples.t)
    assert known.dissipated_by_joint[2] == pytest.approx(lost, rel=1e-9)
    assert abs(known.unaccounted) < known.sampling_bound
    unknown = ledger_of(panda, rubbed)
    assert unknown.unaccounted == pytest.approx(-lost, rel=1e-3)
    assert unknown.residual_by_joint[2] == pytest.approx(-lost, rel=1e-3)
    assert np.abs(np.delete(unknown.residual_by_joint, 2)).max() < 1e-3 * lost
    assert unknown.residual_by_joint.sum() == pytest.approx(unknown.unaccounted, rel=1e-3)


def test_a_push_is_found_in_time_and_at_its_joints(panda: VMSModel) -> None:
    samples = moving(panda, 4.0)
    pushed = samples.torque.copy()
    during = (samples.t > 1.0) & (samples.t < 1.5)
    pushed[during, 3] += 4.0 * np.sign(samples.v[during, 3])
    ledger = ledger_of(panda, replace(samples, torque=pushed))
    brought = -trapezoid((pushed - samples.torque)[:, 3] * samples.v[:, 3], samples.t)
    found = unaccounted_intervals(ledger)
    assert found[0].energy == pytest.approx(brought, rel=0.2)
    assert sum(a.energy for a in found) == pytest.approx(brought, rel=0.05)
    assert min(a.begin for a in found) == pytest.approx(1.0, abs=0.11)
    assert max(a.end for a in found) == pytest.approx(1.5, abs=0.11)
    assert next(iter(found[0].energies)) == panda.joint_names[3]


def test_a_joint_that_supplies_energy_violates_passivity_and_one_that_rubs_does_not(
    panda: VMSModel,
) -> None:
    samples = moving(panda)
    torque = samples.torque.copy()
    torque[:, 1] += 2.0 * samples.v[:, 1]
    torque[:, 5] -= 2.0 * samples.v[:, 5]
    torque[:, 0] -= 3e-3 * samples.v[:, 0]  # more than the noise, a hundred thousandth of the gross
    by_name = {s.name: s for s in port_supplies(ledger_of(panda, replace(samples, torque=torque)))}
    assert by_name[panda.joint_names[5]].violates
    assert not by_name[panda.joint_names[1]].violates
    assert by_name[panda.joint_names[0]].largest_supply > 0.0
    assert not by_name[panda.joint_names[0]].violates


def test_what_happens_in_a_gap_is_not_accounted(panda: VMSModel) -> None:
    samples = moving(panda)
    writer = LedgerWriter(panda)
    writer.add(cut(samples, 0, 700), False)
    writer.add(cut(samples, 1200, 2001), False)
    ledger = writer.ledger()
    assert ledger.gaps == 1
    assert ledger.duration == pytest.approx(1.499)
    assert abs(ledger.unaccounted) < 1e-4
    stored = energies(panda, samples)
    assert ledger.unobserved == pytest.approx(stored[1200] - stored[699])


def test_held_efforts_do_work_by_what_the_joints_move(panda: VMSModel) -> None:
    samples = replace(moving(panda), zero_order_hold=True)
    work = (samples.torque[:-1] * np.diff(samples.q, axis=0)).sum(0)
    np.testing.assert_allclose(ledger_of(panda, samples).supplied_by_joint, work, rtol=1e-12)


def test_recorded_port_energies_are_used_and_begin_anew_after_a_reset(panda: VMSModel) -> None:
    samples = moving(panda)
    stored = energies(panda, samples)
    resets = np.where(samples.t < 1.0, 0.0, 1.0)
    supplied = stored - np.where(samples.t < 1.0, stored[0], stored[1000])
    supplied = supplied + 0.25 * samples.t  # of which friction takes as much again
    exact = {"torque": supplied, "dissipated": 0.25 * samples.t, "resets": resets}
    exact["torque"][::2] = np.nan
    writer = LedgerWriter(panda)
    writer.add(samples, False, exact)
    ledger = writer.ledger()
    assert ledger.unaccounted == pytest.approx(0.0, abs=1e-9)
    assert ledger.largest_unaccounted < 1e-9
    assert ledger.recorded["dissipated"] == pytest.approx(0.25 * (0.998 + 0.998))
    assert ledger.stored == pytest.approx(ledger.supplied - ledger.dissipated)
    assert abs(ledger.from_samples) < 1e-3


def test_noise_of_the_samples_lies_within_the_band(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    samples = moving(panda, 0.3)
    sizes = (1e-5, 2e-3, 0.1)
    noise = SampleNoise(*(np.full(7, size) for size in sizes))
    found, inside = [], 0
    for _ in range(40):
        q, v, torque = (
            value + rng.normal(size=value.shape) * size
            for value, size in zip((samples.q, samples.v, samples.torque), sizes, strict=True)
        )
        ledger = ledger_of(panda, MotionSamples(samples.t.copy(), q, v, torque), noise=noise)
        inside += abs(ledger.unaccounted) < ledger.band[-1]
        found.append(ledger.unaccounted)
    # Nor is the band wider than the noise makes it; the deviation of 40 draws is known to 11 %.
    assert ledger.band[-1] - ledger.sampling_bound == pytest.approx(1.96 * np.std(found), rel=0.4)
    # Of 40 draws with 95 % each, fewer than 33 have a probability of 1e-3.
    assert inside >= 33


def test_the_noise_and_the_quantum_of_samples_are_found(rng: np.random.Generator) -> None:
    t = np.linspace(0.0, 10.0, 5000)[:, None]
    smooth = np.sin(t)
    noisy = smooth + 0.01 * rng.normal(size=smooth.shape)
    assert white_noise(noisy)[0] == pytest.approx(0.01, rel=0.1)
    assert white_noise(smooth)[0] < 1e-6
    stepped = np.round(smooth / 0.004) * 0.004
    assert quantisation(stepped)[0] == pytest.approx(0.004)
    assert quantisation(noisy)[0] == 0.0
    assert white_noise(stepped)[0] >= 0.004 / np.sqrt(12.0)


def test_a_sigmoid_is_a_friction_of_joints(panda: VMSModel) -> None:
    a, b, c = 0.6, 5.0, 0.03
    offset = 0.5 * a - a / (1.0 + np.exp(-b * c))
    ones = np.ones(7)
    zero = np.zeros(7)
    friction = JointFriction(zero, 0.5 * a * ones, 2.0 / b * ones, c * ones, offset * ones)
    rates = np.linspace(-1.0, 1.0, 7)
    sigmoid = a / (1.0 + np.exp(-b * (rates + c))) - a / (1.0 + np.exp(-b * c))
    np.testing.assert_allclose(friction.force(rates), -sigmoid, atol=1e-12)
    with pytest.raises(ModelError, match="must not be negative"):
        JointFriction(-ones, zero, ones, zero, zero)


def test_a_ledger_without_samples_is_refused(panda: VMSModel) -> None:
    with pytest.raises(StateError, match="no sample"):
        LedgerWriter(panda).ledger()
    with pytest.raises(StateError, match="not a frame"):
        LedgerWriter(panda, ("hand",))


def test_the_band_is_that_of_the_noise_of_each_quantity(panda: VMSModel) -> None:
    samples = moving(panda, 0.5, 100.0)
    tree = panda.pinocchio
    data = tree.createData()
    weights = [pin.computeGeneralizedGravity(tree, data, q) for q in samples.q]
    momenta = []
    for q, v in zip(samples.q, samples.v, strict=True):
        upper = np.triu(pin.crba(tree, data, q))
        momenta.append((upper + np.triu(upper, 1).T) @ v)
    sizes, none = 1e-3 * np.arange(1, 8), np.zeros(7)

    def variance(*noise: Array) -> Array:
        ledger = ledger_of(panda, samples, noise=SampleNoise(*noise))
        without = ledger_of(panda, samples, noise=SampleNoise(none, none, none))
        return ((ledger.band - without.band) / 1.96) ** 2

    def of_states(gradient: list[Array]) -> Array:
        energy = ((np.array(gradient) * sizes) ** 2).sum(1)
        return energy + energy[0]  # the change has the noise of both its ends

    np.testing.assert_allclose(variance(sizes, none, none), of_states(weights), rtol=1e-6)

    # An effort acts over a sample: the noise of each adds its power over a period.
    def of_work(rate: Array) -> Array:
        flow = ((rate * sizes) ** 2).sum(1)
        return np.concatenate([[0.0], np.cumsum(0.5 * (flow[1:] + flow[:-1]) * 1e-4)])

    np.testing.assert_allclose(variance(none, none, sizes), of_work(samples.v), rtol=1e-6)
    expected = of_states(momenta) + of_work(samples.torque)
    np.testing.assert_allclose(variance(none, sizes, none), expected, rtol=1e-6)


def test_unaccounted_energy_is_compared_with_the_largest_exchange(panda: VMSModel) -> None:
    brief = ledger_of(panda, moving(panda, 0.02, 200.0))
    assert brief.exchanged == max(brief.gross, abs(brief.stored)) < 1.0
    assert replace(brief, stored=-50.0).exchanged == 50.0
    assert replace(brief, supplied_by_port=np.array([70.0, -20.0])).exchanged == 90.0
    assert replace(brief, recorded={"torque": -60.0}).exchanged == 60.0


def test_a_port_violates_passivity_by_more_than_the_band_at_the_end(panda: VMSModel) -> None:
    samples = moving(panda, 1.0, 200.0)
    torque = samples.torque.copy()
    torque[:, 5] -= 2.0 * samples.v[:, 5]
    ledger = ledger_of(panda, replace(samples, torque=torque))
    name = panda.joint_names[5]
    supplied = trapezoid(2.0 * samples.v[:, 5] ** 2, samples.t)
    for last, violates in ((0.9, True), (1.1, False)):
        band = np.zeros_like(ledger.band)
        band[-1] = last * supplied
        (one,) = (p for p in port_supplies(replace(ledger, band=band)) if p.name == name)
        assert one.largest_supply == one.rise == pytest.approx(supplied, rel=1e-2)
        assert (one.rise_begin, one.time, one.rise_end) == (0.0, 1.0, 1.0)
        assert one.violates is violates


def test_the_bound_compares_every_pair_of_intervals_with_one_step_over_both() -> None:
    t = np.array([0.0, 0.1, 0.3, 0.4, 0.6, 0.7])  # the last interval has no partner
    power = np.array([1.0, 3.0, 2.0, -1.0, 4.0, 9.0])
    change, square = _doubling_errors(power, np.diff(t)[:, None]).T
    fine = (0.2 + 0.5, 0.05 + 0.3)
    coarse = (0.3 * 1.5, 0.3 * 3.0)
    expected = [0.0, coarse[0] - fine[0], 0.0, coarse[1] - fine[1], 0.0]
    np.testing.assert_allclose(change, expected, atol=1e-15)
    np.testing.assert_allclose(square, np.square(expected), atol=1e-15)
    assert not _doubling_errors(power[:2], np.diff(t[:2])[:, None]).any()


def test_numbers_of_friction_are_those_of_all_joints_and_finite() -> None:
    friction = JointFriction(np.ones(3), np.array([1.0, 2.0, 3.0]), shift=np.array(0.5))
    np.testing.assert_array_equal(friction.shift, [0.5, 0.5, 0.5])
    for wrong in (np.ones(2), np.array([1.0, np.nan, 1.0])):
        with pytest.raises(ModelError, match="coulomb friction must be one number per joint"):
            JointFriction(np.ones(3), wrong)
