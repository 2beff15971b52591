# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulation, its bag, and the audit of the bag: the same energies."""

import json
from pathlib import Path

import numpy as np
import pytest
from recorded_motions import samples_of, simulated, write_bag

from vms_ph_controllers import CartesianImpedance
from vms_ph_dynamics import Friction, VMSModel, VmsPhError
from vms_ph_dynamics.energy.joint_friction import JointFriction
from vms_ph_dynamics.simulation.contact import Body, MujocoEngine, Scene, Shape
from vms_ph_io import robots, simulate
from vms_ph_io.audits import Audit, answers, audit, document, lines, write_report
from vms_ph_io.audits.certificate import certify
from vms_ph_io.audits.identified import with_identification
from vms_ph_io.recordings import Series, read_recording
from vms_ph_io.recordings import motion as recorded_motion
from vms_ph_io.recordings.fields import read_fields
from vms_ph_io.recordings.motion import MotionOptions, RecordedMotion


def audited(model: VMSModel, bag: Path, **options: object) -> Audit:
    return audit(
        bag,
        model,
        MotionOptions(**options),  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> tuple[VMSModel, Path, float]:
    """A Panda with friction that is pushed at its end effector."""
    model = robots.load("panda")
    bag = tmp_path_factory.mktemp("panda") / "bag"
    q = model.configuration(robots.get("panda").home)
    push = np.array([3.0, 0.0, 4.0, 0.0, 0.0, 0.0])
    live = write_bag(model, simulated(model, q, 0.6, True, push), bag, Friction.from_model(model))
    return model, bag, live


def test_the_audit_of_a_bag_equals_the_live_balance(pushed: tuple[VMSModel, Path, float]) -> None:
    model, bag, live = pushed
    done = audited(model, bag)
    shown = repr(done).splitlines()
    assert len(shown) <= 10
    assert f"'{model.name}'" in shown[0]
    assert "stored" in shown[1]
    assert "unaccounted" in shown[-1]
    assert done.ledger.unaccounted == pytest.approx(live, abs=1e-9)
    (live_power,) = read_fields(bag, ["/vms_ph/power"])[0].values()
    for name, ours in (
        ("stored", done.ledger.series["kinetic"] + done.ledger.series["potential"]),
        ("unaccounted_energy", done.ledger.series["unaccounted"]),
    ):
        theirs = live_power.rows(0, len(live_power))[:, live_power.columns.index(name)]
        assert len(theirs) == 601
        np.testing.assert_allclose(theirs - theirs[0], ours - ours[0], atol=1e-9)
    assert done.ledger.largest_unaccounted < 1e-9
    assert done.friction == "URDF"
    assert done.ledger.recorded["wrench_end_effector"] != 0.0


def test_a_certificate_says_that_port_energies_are_interrupted(
    pushed: tuple[VMSModel, Path, float],
) -> None:
    model, bag, _ = pushed
    recording = read_recording(bag)
    exact = certify(RecordedMotion(recording, model))
    assert exact.method == "port energies that the simulation has integrated"
    assert exact.uncertainty == 0.0
    assert recording.port_energies is not None
    table = recording.port_energies.table
    rows = np.delete(np.arange(len(table)), 300)  # a message that was lost
    recording.port_energies = Series.make("/vms_ph/port_energy", table.columns[1:])
    recording.port_energies.table.extend(table.times[rows], table.rows(0, len(table))[rows])
    interrupted = certify(RecordedMotion(recording, model))
    assert interrupted.method.endswith("by the trapezoidal rule where these are interrupted")
    assert interrupted.uncertainty > 0.0
    # The error of the trapezoidal rule with steps of 1 ms, relative to the energy.
    assert abs(interrupted.supplied - exact.supplied) < 1e-4 * abs(exact.supplied)


def test_samples_alone_give_the_same_within_the_bound_that_is_stated(
    pushed: tuple[VMSModel, Path, float],
) -> None:
    model, bag, _ = pushed
    done = audited(model, bag)
    ledger = done.ledger
    assert abs(ledger.from_samples) <= ledger.sampling_bound < 1e-3 * ledger.gross
    for name, energy in (
        ("torque", ledger.supplied_by_joint.sum()),
        ("wrench_end_effector", ledger.supplied_by_port[0]),
        ("dissipated", ledger.dissipated_by_joint.sum()),
    ):
        assert energy == pytest.approx(ledger.recorded[name], abs=ledger.sampling_bound), name


def test_ports_that_close_do_not_hide_friction_that_the_description_lacks(tmp_path: Path) -> None:
    def law(q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
        return -20.0 * np.sin(q)

    friction, panda = Friction(np.full(7, 0.5), np.zeros(7)), robots.load("panda")
    simulate(panda, law, 0.5, effects=friction).save(tmp_path / "b")
    done = audit(tmp_path / "b")  # the bag of a model has the URDF that it was loaded from
    assert not simulate(panda.without_gravity(), law, 0.1).description
    text = "\n".join(answers(done))
    assert "By its port energies the recording adds up" in text
    assert "By positions and efforts" in text
    assert "No problem" not in text
    assert "The joints seem to have friction" in text


def test_the_recorded_energy_of_a_contact_explains_what_positions_and_efforts_lack(
    tmp_path: Path,
) -> None:
    pytest.importorskip("mujoco")
    panda = robots.load("panda")
    q, law = panda.home.copy(), CartesianImpedance(panda)
    q[[1, 3, 5, 6]] = -0.3, -2.2, 3.47, 0.785
    wall = Scene("wall", "", (Body("wall", (Shape("box", (0.1, 1.2, 1.2)),), _at(0.68, 0.0, 0.6)),),
                 (Shape("sphere", (0.02,), _at(0.0, 0.0, 0.13)),))  # fmt: skip
    run = simulate(panda, law, 0.3, reference=[0.7, 0.0, 0.7], q=q, effects=[MujocoEngine(wall)])
    bag = run.save(tmp_path / "b")
    done = audit(bag)
    assert done.ledger.from_samples == pytest.approx(done.other_energies["contact"], abs=1e-3)
    text = "\n".join(said := answers(done))
    assert f"lack the contact ({done.other_energies['contact']:+.3g} J), which explains" in text
    assert said[-1] == "No problem was found."
    assert "no torque" not in (signals := "\n".join(lines(done)))
    assert "opposite" not in signals
    with pytest.raises(VmsPhError, match="it had a port contact, whose forces are not recorded"):
        with_identification(done, [RecordedMotion(done.recording, panda)], ["friction"])
    # As a robot of unknown friction nothing is exact, and the contact is no fault of a joint.
    text = "\n".join(answers(audit(bag, friction=JointFriction.none(panda))))
    assert "the forces of contact are not recorded" in text
    assert "sign" not in text


def _at(*position: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = position
    return pose


def test_a_moving_base_is_audited_from_its_odometry(tmp_path: Path) -> None:
    model = robots.load("satellite_panda")
    q = model.configuration(robots.get("panda").home)
    live = write_bag(model, simulated(model, q, 0.3), tmp_path / "bag")
    done = audited(model, tmp_path / "bag")
    ledger = done.ledger
    assert ledger.unaccounted == pytest.approx(live, abs=1e-9)
    assert ledger.momenta == ("base", *model.joint_names)
    assert abs(ledger.from_samples) <= ledger.sampling_bound
    assert ledger.residual_by_joint.sum() == pytest.approx(
        ledger.from_samples, abs=ledger.sampling_bound
    )


def test_held_commands_give_the_energy_of_the_port_exactly(tmp_path: Path) -> None:
    model = robots.load("panda")
    q = model.configuration(robots.get("panda").home)
    samples = list(simulated(model, q, 0.3))
    # What acts from a sample on: the mean of both sides less half of what acted before.
    torque = [samples[0].torque]
    for sample in samples[1:]:
        torque.append(2.0 * sample.torque - torque[-1])
    rows = np.column_stack(
        [
            [s.time for s in samples], [s.q for s in samples], [s.v for s in samples], torque
        ]
    )  # fmt: skip
    names = [f"{w}.{j}" for w in ("position", "velocity", "effort") for j in model.joint_names]
    file = tmp_path / "run.csv"
    np.savetxt(file, rows, "%.17g", ",", header=",".join(["time", *names]), comments="")
    done = audited(model, file, commanded=True, as_recorded=True)
    supplied = samples[-1].port_energy["torque"] - samples[0].port_energy["torque"]
    assert done.ledger.supplied == pytest.approx(supplied, abs=1e-9)


def test_a_truncated_bag_is_audited_as_far_as_it_goes(
    pushed: tuple[VMSModel, Path, float], tmp_path: Path
) -> None:
    model, bag, _ = pushed
    (whole,) = bag.glob("*.mcap")
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    done = audited(model, cut)
    assert 100 < done.ledger.samples < 601
    assert done.ledger.largest_unaccounted < 1e-9
    assert any("as far as it goes" in note for note in done.recording.notes)
    first = next(lines(done))
    assert first.startswith("Not all was read: cut.mcap is not complete: read as far as it goes")
    assert first.endswith(f"All below is of the {done.ledger.duration:.3f} s that were.")
    assert document(done)["answers"][0] == first


def test_the_report_is_one_page_a_picture_and_tables(
    pushed: tuple[VMSModel, Path, float], tmp_path: Path
) -> None:
    model, bag, _ = pushed
    done = audited(model, bag)
    page, picture, table, text = write_report(done, tmp_path / "report")
    html = page.read_text()
    assert html.count("plotly.js v") == 1
    assert "sankey" in html
    assert "src=" not in html.split("</head>")[1]
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = np.genfromtxt(table, delimiter=",", names=True)
    assert rows["unaccounted"][-1] == pytest.approx(done.ledger.unaccounted)
    read = json.loads(text.read_text())
    assert read["gross"] == pytest.approx(done.ledger.gross)
    assert set(read["ledger"]["joint"]) == set(model.joint_names)
    assert set(read["ledger"]["port"]) >= {"torque", "wrench_end_effector"}


def test_the_entries_of_the_balance_add_up(pushed: tuple[VMSModel, Path, float]) -> None:
    model, bag, _ = pushed
    done = audited(model, bag)
    found = document(done)
    ledger = found["ledger"]
    parts = ledger["supplied"] - ledger["dissipated"] + ledger["unaccounted"]
    assert ledger["stored"] == pytest.approx(parts, abs=1e-12)


def test_the_clock_and_velocities_of_a_simulation_are_taken_as_they_are(
    pushed: tuple[VMSModel, Path, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, bag, _ = pushed
    # Contacts that chatter from sample to sample look like a lag.
    monkeypatch.setattr(recorded_motion, "lag_of", lambda *signals: (0.004, True))
    motion = RecordedMotion(read_recording(bag), model)
    assert not motion.conditioning.lag_corrected
    assert motion.conditioning.clock == "stamps"
    file = tmp_path / "run.csv"
    samples = samples_of(motion)
    names = [f"{w}.{j}" for w in ("position", "velocity", "effort") for j in model.joint_names]
    rows = np.column_stack([samples.t, samples.q, samples.v, samples.torque])
    np.savetxt(file, rows, "%.17g", ",", header=",".join(["time", *names]), comments="")
    assert RecordedMotion(read_recording(file), model).conditioning.lag_corrected


@pytest.mark.parametrize("name", ["satellite_panda", "bluerov2_alpha5", "omnidirectional_panda"])
def test_the_bag_of_a_bundled_vehicle_is_audited_with_its_gravity_fluid_and_base(
    name: str, tmp_path: Path
) -> None:
    model = robots.load(name)
    law = np.r_[np.zeros(model.b), 0.3 * np.ones(model.n)]
    simulate(model, lambda q, v, dt: law, 0.2).save(tmp_path / "bag")
    done = audit(tmp_path / "bag")
    assert (done.model.base, done.model.fluid is None) == (model.base, model.fluid is None)
    np.testing.assert_array_equal(done.model.gravity, model.gravity)
    assert done.ledger.largest_unaccounted < 1e-4 * done.ledger.exchanged
    if model.fluid is not None:
        assert not model.in_fluid(model.fluid).urdf
