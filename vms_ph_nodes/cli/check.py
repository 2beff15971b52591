"""vms-ph check: validates a robot description and prints its model."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from vms_ph_dynamics.errors import InertiaWarning, VmsPhError


def check(
    robot: str = typer.Argument(help="the path of a URDF, xacro or MJCF file, or a bundled robot"),
    base: str = typer.Option("auto", help="auto, fixed, planar or floating"),
    end_effector: str = typer.Option("", help="frame of a link or joint; default: the last link"),
    inertia: Annotated[
        str, typer.Option(help="inertias of no body: auto, strict, repair or as_given")
    ] = "auto",
) -> None:
    """Check a robot description and print its model."""
    import numpy as np

    from vms_ph_dynamics import VMSModel
    from vms_ph_io import read_urdf, robots
    from vms_ph_io.urdf import check_urdf

    known = robots.get(robot) if robot in robots.names() else None
    if known is not None:
        xml, name = known.description(), known.path().name
    else:
        xml, name = read_urdf(robot), Path(robot).name
    own_base = "auto" if known is None else known.base
    findings = check_urdf(xml, own_base if base == "auto" else base, inertia)  # type: ignore[arg-type]
    for warning in findings.warnings:
        typer.secho(f"warning: {warning}", fg=typer.colors.YELLOW, err=True)
    for error in findings.errors:
        typer.secho(f"error: {error}", fg=typer.colors.RED, err=True)
    if findings.errors:
        hint = "; --inertia repair takes the repaired inertias" if findings.defects else ""
        raise VmsPhError(f"{name} is not valid: {len(findings.errors)} error(s), see above{hint}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InertiaWarning)  # the findings say the same
        if known is not None:
            own = None if base == "auto" else base
            model = known.model(xml, own, end_effector or None, inertia=inertia)
        else:
            model = VMSModel.from_urdf(
                xml,
                base,  # type: ignore[arg-type]
                end_effector or None,
                inertia=inertia,  # type: ignore[arg-type]
            )
    # At zero a mass matrix may be singular (a point mass on its joint), at home it is not.
    q = model.neutral_configuration() if known is None else model.configuration(known.home)
    inertias = np.linalg.eigvalsh(model.evaluate(q, np.zeros(model.nv)).M)
    least, most = inertias[0], inertias[-1]
    singular = least <= 1e-12 * most
    typer.echo(f"{name} is valid")
    typer.echo(f"  name          {model.name}")
    typer.echo(f"  base          {model.base} (b = {model.b})")
    typer.echo(f"  joints        {model.n}: {', '.join(model.joint_names)}")
    typer.echo(f"  end effector  {model.end_effector}")
    typer.echo(f"  moving mass   {model.total_mass:.6g} kg")
    state = "singular here" if singular else f"positive definite, condition {most / least:.3g}"
    typer.echo(f"  mass matrix   {state}")
    if findings.defects:
        left = len(findings.defects) - len(model.repairs)
        typer.echo(f"  inertias      {len(model.repairs)} repaired, {left} with defects as given")
