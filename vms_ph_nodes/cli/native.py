# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph native: builds the C++ core for this environment."""

import os
import re

import typer

from .progress import shown_progress


def native() -> None:
    """Build the C++ core of this checkout and install it as the module vms_ph_native."""
    from vms_ph_io.build import native_background, native_build

    typer.echo("Building the C++ core; the first build takes about two minutes.")
    native_background.stop()
    with shown_progress() as draw:

        def show(line: str) -> None:
            if step := re.match(r"\[(\d+)/(\d+)\]", line):
                draw(int(step[1]) / int(step[2]), "")

        built = native_build.build(targets=native_background.TARGETS, listener=show)
    folder = native_build.install(built)
    native_background.write_build_record(os.environ.get("VMS_PH_NATIVE_SOURCES", ""))
    typer.echo(f"vms_ph_native is installed in {folder}")
