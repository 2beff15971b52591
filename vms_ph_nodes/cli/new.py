# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph new: writes a package of the user's own for a robot."""

import importlib.util
import warnings
from pathlib import Path

import typer

from vms_ph_dynamics.errors import InertiaWarning
from vms_ph_io.installation import command_name, python


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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InertiaWarning)
        package = NewPackage(name, settings, law, maintainer, email, license_name).write(folder)
    for warning in caught:
        typer.secho(f"warning: {warning.message}", fg=typer.colors.YELLOW, err=True)
    for file in sorted(p for p in package.rglob("*") if p.is_file()):
        typer.echo(f"  {file}")
    missing = "" if importlib.util.find_spec("pytest") else "; needs pytest"
    typer.echo("next:")
    typer.echo(
        f"  {command_name()} launch {package}/launch/{name}.launch.xml web:=true push_period:=5"
    )
    typer.echo(f"  {python()} -m pytest {package}/test        # the law holds the robot{missing}")
