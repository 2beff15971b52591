# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph native: builds the C++ core for this environment."""

import re

import typer

from .progress import shown_progress


def native() -> None:
    """Build the C++ core of this checkout and install it as the module vms_ph_native."""
    from vms_ph_io.build import native_build

    typer.echo("Building the C++ core; the first build takes about two minutes.")
    native_build.require_compiler()
    native_build.install_packages()
    with shown_progress() as draw:

        def show(line: str) -> None:
            if step := re.match(r"\[(\d+)/(\d+)\]", line):
                draw(int(step[1]) / int(step[2]), "")

        built = native_build.build(targets=native_build.TARGETS, listener=show)
    folder = native_build.install(built)
    typer.echo(f"vms_ph_native is installed in {folder}")
