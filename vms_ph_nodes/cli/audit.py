# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph audit and plot: where the energy of a recorded motion came from and went."""

import json
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from vms_ph_dynamics import VmsPhError

if TYPE_CHECKING:
    from vms_ph_io.audits.certificate import RecordedCertificate
    from vms_ph_io.robots.robot_settings import RobotSettings


def audit(
    context: typer.Context,
    recording: Path = typer.Argument(
        help="the folder of a run, a rosbag2 or ROS 1 bag, or a CSV, NPZ, MAT or Parquet file"
    ),
    robot: str = typer.Option(
        "", help="a bundled robot, or the path of a URDF, xacro or MJCF file; default: recorded"
    ),
    base: str = typer.Option("", help="auto, fixed, planar or floating; default: the robot's"),
    end_effector: str = typer.Option("", help="frame of the end-effector wrench"),
    locked_joints: str = typer.Option("", help="joints to lock: 'name name=position ...'"),
    inertia: str = typer.Option("", help="inertias of no body: auto, strict, repair or as_given"),
    gravity: str = typer.Option("", help="gravity, m/s^2: '0 0 -9.81'"),
    columns: Path = typer.Option(None, help="column map (YAML) of a CSV, NPZ, MAT or Parquet file"),
    propose: bool = typer.Option(False, help="write a column map of the file, and its evidence"),
    topic: list[str] = typer.Option(None, help="ROLE=TOPIC; roles: joints, base, wrench.FRAME"),
    joint: list[str] = typer.Option(None, help="JOINT=RECORDED: a joint's name in the recording"),
    effort: str = typer.Option("torque", help="opposite, without_gravity; 'JOINT=GAIN ...'"),
    commanded: bool = typer.Option(False, help="efforts are commands, held to the next sample"),
    friction: str = typer.Option("", help="urdf, none, or a friction file; default: as recorded"),
    as_recorded: bool = typer.Option(False, help="leave clock and velocities as they are"),
    identify: str = typer.Option(
        "", help="payload, friction, gains, armature, inertia, drag; commas between"
    ),
    also: list[Path] = typer.Option(None, help="a further recording to identify from"),
    reference: list[str] = typer.Option(None, help="FILE=KG or FILE=KG@SESSION: a load, or 0 kg"),
    payload_frame: str = typer.Option("", help="frame of the payload; default: the end effector"),
    prior: Path = typer.Option(None, help="prior.json of an earlier identification"),
    certificate: bool = typer.Option(False, help="certify the energy given through the ports"),
    budget: float = typer.Option(None, min=0.0, help="energy to certify, J; with --certificate"),
    load_friction: bool | None = typer.Option(None, help="friction may grow with a gear's load"),
    out: Path = typer.Option(None, help="folder for the report (HTML, PNG, CSV, JSON, bag)"),
    as_json: bool = typer.Option(False, "--json", help="print one JSON document"),
) -> None:
    """Say where the energy of a recorded motion came from and went, by joint and port.

    For instance: vms-ph audit run/bag --robot panda --out run/audit
    """
    from vms_ph_io.audits import audit_motion, document, lines, recorded_robot, write_report
    from vms_ph_io.audits import identified as identification
    from vms_ph_io.recordings import RecordingError, read_recording
    from vms_ph_io.recordings.column_map import ColumnMap, read_map
    from vms_ph_io.recordings.motion import MotionOptions, RecordedMotion
    from vms_ph_io.robots.robot_settings import RobotSettings, named_numbers

    from .progress import shown_progress

    if budget is not None and not certificate:
        raise VmsPhError("--budget needs --certificate")
    if (also or prior or reference) and not identify:
        raise VmsPhError(
            "--also, --prior and --reference need --identify, for instance --identify payload"
        )
    settings = RobotSettings(
        robot, base, end_effector, gravity=gravity, locked_joints=locked_joints, inertia=inertia
    )
    if propose:
        column_map = ColumnMap(Path(), (), {}) if columns is None else read_map(columns)
        if column_map != ColumnMap(column_map.folder, (), {}, abs(column_map.rate)):
            raise VmsPhError(f"with --propose, a map gives the rate alone; {columns} gives more")
        _propose(recording, settings, out, column_map.rate)
        return
    reference_loads = _parse_references(reference)
    kinds = [kind.strip() for kind in identify.split(",") if kind.strip()]
    prior_estimate = None
    if kinds:
        # Before the recording is read, which may take long.
        from vms_ph_dynamics.identification.result import checked_kinds

        checked_kinds(kinds)
        prior_estimate = None if prior is None else identification.read_prior(prior)
    topics, recorded_names = _parse_pairs(topic, "topic"), _parse_pairs(joint, "joint")
    words = effort.replace(",", " ").split()
    meaning = " ".join(word for word in words if "=" not in word) or "torque"
    gains = named_numbers(" ".join(word for word in words if "=" in word), "--effort", True)
    with shown_progress() as progress:
        read_file = partial(read_recording, columns=columns, topics=topics, progress=progress)
        loaded_recording = read_file(recording)
        model, description = recorded_robot(loaded_recording, settings, warn)
        wrench_topics = {
            role.partition(".")[2]: name for role, name in topics.items() if role[:7] == "wrench."
        }
        signals = recorded_names, meaning, gains, commanded, as_recorded
        options = MotionOptions(*signals, wrench_topics, topics.get("base", ""))
        try:
            joint_friction, friction_name = _chosen_friction(friction, model)
            motion = RecordedMotion(loaded_recording, model, options)
            if certificate:
                from vms_ph_io.audits.certificate import certify

                _print_certificate(certify(motion, budget, progress), out, as_json)
                return
            result = audit_motion(motion, joint_friction, friction_name, progress)
            result = replace(result, options=_typed_options(context))
            identified = None
            if kinds:
                no_friction = "none" if "friction" in kinds else ""  # nothing is known of it then

                def read_motion(path: Path) -> RecordedMotion:
                    if path == recording:
                        return motion
                    return RecordedMotion(read_file(path), model, options)

                reference_motions = [
                    identification.RecordedReference(path.stem, mass, read_motion(path), session)
                    for path, mass, session in reference_loads
                ]
                result, identified = identification.with_identification(
                    result,
                    [motion, *map(read_motion, also or ())],
                    kinds,
                    frame=payload_frame,
                    friction=None if friction in ("", "urdf", no_friction) else joint_friction,
                    prior=prior_estimate,
                    load_friction=load_friction,
                    references=reference_motions,
                )
            else:
                result = identification.with_findings(result, motion)
        except RecordingError as error:
            if robot or not loaded_recording.description:
                raise
            raise RecordingError(f"{error}\n(the model is that of the recording)") from None
    if as_json:
        typer.echo(json.dumps(document(result), indent=2))
    else:
        appendix = () if identified is None else identification.identified_lines(result, identified)
        for line in (*lines(result), *appendix):
            typer.echo(line)
    if out is not None:
        files = write_report(result, out)
        if identified is not None:
            files += identification.write_identified(result, identified, description, out)
        typer.echo(f"report     {files[0]}", err=as_json)


def _typed_options(context: typer.Context) -> tuple[tuple[str, str], ...]:
    """Return names and values of the options in the command line; the argument has no name."""
    options = list[tuple[str, str]]()
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE":
            value = context.params[str(parameter.name)]
            name = (parameter.secondary_opts if value is False else parameter.opts)[0]
            words = value if isinstance(value, list) else ["" if isinstance(value, bool) else value]
            options += [(name * name.startswith("-"), str(word)) for word in words]
    return tuple(options)


def _propose(recording: Path, settings: "RobotSettings", out: Path | None, rate: float) -> None:
    """Print the column map that is proposed for a file, and write it beside it or to a folder."""
    from vms_ph_io.recordings.from_columns import ARRAY_SUFFIXES, TEXT_SUFFIXES
    from vms_ph_io.recordings.proposal import propose

    if recording.suffix.lower() not in (*ARRAY_SUFFIXES, *TEXT_SUFFIXES):
        suffixes = ", ".join((*TEXT_SUFFIXES, *ARRAY_SUFFIXES))
        raise VmsPhError(
            f"{recording.name} is no file of columns ({suffixes}); a bag in SI units needs no "
            "column map: leave --propose out; any other first becomes a file of columns: vms-ph "
            f"bag export {recording} FILE.csv --topics /joint_states"
        )
    if not settings.robot:
        raise VmsPhError("--propose needs the robot, by whose limits it judges: give --robot")
    proposal = propose(recording, settings.model(settings.description(warn)), rate=rate)
    typer.echo(proposal.text, nl=False)
    path = (out or recording.parent) / f"{recording.stem}.map.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(proposal.text, encoding="utf-8")
    questions = [row.question for row in proposal.evidence if row.question]
    verdict = "sure" if proposal.is_sure else f"not sure: {'; '.join(questions)}"
    typer.echo(f"{verdict}\nwritten {path}; use it as --columns {shlex.quote(str(path))}", err=True)


def _print_certificate(certificate: "RecordedCertificate", out: Path | None, as_json: bool) -> None:
    from vms_ph_io.settings.bounded_text import writing

    document = json.dumps(certificate.document(), indent=2)
    typer.echo(document if as_json else "\n".join(certificate.lines()))
    if out is not None:
        path = out / "certificate.json"
        with writing(path):
            out.mkdir(parents=True, exist_ok=True)
            path.write_text(document + "\n")
        typer.echo(f"report     {path}", err=as_json)
    if certificate.verdict == "excess":
        raise typer.Exit(1)


def _chosen_friction(choice: str, model: Any) -> tuple[Any, str]:
    """Return the friction that is chosen, and its name; None for that of the recording."""
    from vms_ph_dynamics.energy.joint_friction import JointFriction
    from vms_ph_io.settings.friction_file import read_friction

    if choice in ("", "urdf"):
        return (JointFriction.from_model(model), "URDF") if choice else (None, "")
    if choice == "none":
        return JointFriction.none(model), "none"
    return read_friction(Path(choice), model), Path(choice).name


def _parse_pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        name, separator, value = text.partition("=")
        if not (name and separator and value):
            raise VmsPhError(f"--{option} must have the form NAME=VALUE; given: '{text}'")
        pairs[name] = value
    return pairs


def _parse_references(texts: list[str] | None) -> list[tuple[Path, float, str]]:
    """Return path, load in kg, and session of the references."""
    references = []
    for text in texts or ():
        path, _, mass_and_session = text.rpartition("=")
        mass_text, _, session = mass_and_session.partition("@")
        try:
            load_mass = float(mass_text)
        except ValueError:
            load_mass = float("nan")
        if not path or not 0.0 <= load_mass < float("inf"):
            raise VmsPhError(
                "--reference must have the form FILE=KG or FILE=KG@SESSION, with the mass of the "
                f"load or 0; given: '{text}'"
            )
        references.append((Path(path), load_mass, session))
    return references


def warn(warning: str) -> None:
    """Print a warning in the terminal."""
    typer.secho(f"warning: {warning}", fg=typer.colors.YELLOW, err=True)


def plot(
    run: Path = typer.Argument(help="a bag, or the folder of a run of the demo"),
    out: Path = typer.Option(
        Path(),
        help="PNG file; default: RUN/energy.png, or BAG_energy.png beside the bag",
        show_default=False,
    ),
) -> None:
    """Plot the energies, port powers and task error of a recorded run to a PNG file."""
    from vms_ph_io.audits.plots import plot_run
    from vms_ph_io.audits.run_record import read_run
    from vms_ph_io.bag.metadata import bag_path

    run_record = read_run(run)
    bag = bag_path(run).resolve()
    # Bags that stand side by side have pictures of their own.
    prefix = "" if bag.name == "bag" else f"{bag.stem if bag.is_file() else bag.name}_"
    plot_file = bag.parent / f"{prefix}energy.png" if out == Path() else out
    try:
        plot_run(run_record, plot_file)
    except (OSError, ValueError) as error:
        raise VmsPhError(f"{plot_file} cannot be written as a picture: {error}") from None
    typer.echo(plot_file)
