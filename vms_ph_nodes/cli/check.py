# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph check and new: what a robot description is, and a package of the user's own for it."""

import importlib.util
import os
import warnings
from pathlib import Path

import typer

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.errors import InertiaWarning
from vms_ph_io.installation import command_name, python

from .audit import warn


def check(
    robot: str = typer.Argument(help="the path of a URDF, xacro or MJCF file, or a bundled robot"),
    base: str = typer.Option("auto", help="auto, fixed, planar or floating"),
    end_effector: str = typer.Option(
        "", help="frame of a link or joint; default: the farthest link of the longest chain"
    ),
    inertia: str = typer.Option("auto", help="wrong inertias: auto, strict, repair or as_given"),
    locked_joints: str = typer.Option("", help="joints to lock: 'name name=position ...'"),
    xacro: list[str] = typer.Option([], help="argument of a xacro file, name:=value; repeatable"),
) -> None:
    """Say what a robot description is, what is wrong with it, and what to type next."""
    import numpy as np

    from vms_ph_io import read_urdf, robots
    from vms_ph_io.descriptions.recommendations import base_origin, next_commands, recommendations
    from vms_ph_io.descriptions.urdf import check_urdf
    from vms_ph_io.robots.robot_settings import RobotSettings

    robot = " ".join([robot, *xacro])
    bundled_robot = robots.get(robot) if robot in robots.names() else None
    settings = RobotSettings(
        robot, base, end_effector, inertia=inertia, locked_joints=locked_joints
    )
    if bundled_robot is not None:
        xml, name = bundled_robot.description(), bundled_robot.path().name
    else:
        is_file = settings.is_file or os.path.isfile(robot)
        xml, name = read_urdf(robot) if is_file else settings.description(), Path(robot).name
    default_base = "auto" if bundled_robot is None else bundled_robot.base
    findings = check_urdf(xml, default_base if base == "auto" else base, inertia)  # type: ignore[arg-type]
    for warning in findings.warnings:
        warn(warning)
    for error in findings.errors:
        typer.secho(f"error: {error}", fg=typer.colors.RED, err=True)
    if findings.errors:
        hint = "; --inertia repair takes the repaired inertias" if findings.defects else ""
        raise VmsPhError(f"{name} is not valid: {len(findings.errors)} error(s), see above{hint}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # the findings say the same
        model = settings.model(xml)
    # At zero a mass matrix may be singular (a point mass on its joint), at home it is not.
    home_evaluation = model.evaluate(model.home, np.zeros(model.nv))
    lowest, highest = np.linalg.eigvalsh(home_evaluation.M)[[0, -1]]
    typer.echo(f"{name} is valid")
    typer.echo(f"  name          {model.name}")
    base_reason = "" if bundled_robot is not None else base_origin(model, base)
    typer.echo(f"  base          {model.base} (b = {model.b}{base_reason and ', ' + base_reason})")
    typer.echo(f"  joints        {model.n}: {', '.join(model.joint_names)}")
    guess_note = "" if bundled_robot is not None or end_effector else " (guess; see --end-effector)"
    typer.echo(f"  end effector  {model.end_effector}{guess_note}")
    positions = zip(model.joint_names, model.joint_positions(model.home), strict=True)
    home = ", ".join(f"{name} at {position:.4g}" for name, position in positions if position)
    home = f"{home}, the others at zero" if home else "every joint at zero"
    is_stated = bundled_robot is not None or "<home" in xml
    home_note = "" if is_stated else " (guessed: zero, or the middle of limits that exclude it)"
    typer.echo(f"  home          {home}{home_note}")
    typer.echo(f"  moving mass   {model.total_mass:.6g} kg")
    definiteness = f"positive definite, condition {highest / max(lowest, 1e-300):.3g}"
    typer.echo(f"  mass matrix   {definiteness if lowest > 1e-12 * highest else 'singular here'}")
    if findings.defects:
        count = len(findings.defects) - len(model.repairs)
        typer.echo(f"  inertias      {len(model.repairs)} repaired, {count} with defects as given")
    for sentence in recommendations(model):
        typer.echo(f"  note: {sentence}")
    typer.echo("next:")
    for line in next_commands(robot, base, end_effector, inertia):
        typer.echo(f"  {line}")


def new(
    name: str = typer.Argument(help="name of the package, in lower case"),
    robot: str = typer.Option(..., help="the path of a URDF, xacro or MJCF file"),
    base: str = typer.Option("", help="auto, fixed, planar or floating"),
    end_effector: str = typer.Option("", help="frame of the end-effector wrench"),
    inertia: str = typer.Option("", help="auto, strict, repair or as_given"),
    law: str = typer.Option(
        "", help="class name of a law of vms_ph, or package.module:Class; default: one of its own"
    ),
    folder: Path = typer.Option(Path(), help="folder in which the package is made"),
    maintainer: str = typer.Option("maintainer", help="name in its package.xml"),
    email: str = typer.Option("maintainer@example.com", help="address in its package.xml"),
    license_name: str = typer.Option("Apache-2.0", "--license", help="licence in its package.xml"),
) -> None:
    """Write a small package for a robot: description, parameters, launch file, law and a test.

    For instance: vms-ph new my_drone --robot drone.urdf --base floating
    """
    from vms_ph_io.build.new_package import NewPackage
    from vms_ph_io.robots.robot_settings import RobotSettings

    settings = RobotSettings(robot=robot, base=base, end_effector=end_effector, inertia=inertia)
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always", InertiaWarning)
        package = NewPackage(name, settings, law, maintainer, email, license_name).write(folder)
    for warning in caught_warnings:
        warn(str(warning.message))
    for file in sorted(path for path in package.rglob("*") if path.is_file()):
        typer.echo(f"  {file}")
    note = "" if importlib.util.find_spec("pytest") else "; needs pytest"
    typer.echo("next:")
    typer.echo(
        f"  {command_name()} launch {package}/launch/{name}.launch.xml web:=true push_period:=5"
    )
    typer.echo(f"  {python()} -m pytest {package}/test        # the law holds the robot{note}")
