# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph plot: the energies, powers and task error of a recorded run."""

from pathlib import Path

import typer

from vms_ph_dynamics import VmsPhError


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

    record = read_run(run)
    bag = bag_path(run).resolve()
    # Bags that stand side by side have pictures of their own.
    begin = "" if bag.name == "bag" else f"{bag.stem if bag.is_file() else bag.name}_"
    file = bag.parent / f"{begin}energy.png" if out == Path() else out
    try:
        plot_run(record, file)
    except (OSError, ValueError) as error:
        raise VmsPhError(f"{file} cannot be written as a picture: {error}") from None
    typer.echo(file)
