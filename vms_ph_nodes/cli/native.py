"""vms-ph native: builds the C++ core for this environment."""

import typer


def native() -> None:
    """Build the C++ core of this checkout and install it as the module vms_ph_native."""
    from vms_ph_io import native_build

    typer.echo("Building the C++ core; the first build takes one or two minutes.")
    folder = native_build.install(native_build.build())
    typer.echo(f"vms_ph_native is installed in {folder}")
