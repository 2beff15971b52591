"""The vms-ph command line, one file for each command."""

import os
import sys

from vms_ph_dynamics.errors import VmsPhError

_INTERRUPTED = 130  # as a shell has it


def main() -> None:
    """Run the command line; a user's mistake ends in one sentence and exit code 1."""
    # A real ROS 2 looks at the values that users type in only when asked to.
    os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")
    try:
        # Here, so that Ctrl-C is quiet while the commands are imported, too.
        import typer

        from .app import make_app

        try:
            make_app()(prog_name="vms-ph")
        except VmsPhError as error:
            typer.secho(f"error: {error}", fg=typer.colors.RED, err=True)
            sys.exit(1)
        except ImportError as error:
            if "pip install 'vms-ph[" not in str(error):  # what an extra of this package brings
                raise
            typer.secho(f"error: {error}", fg=typer.colors.RED, err=True)
            sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


__all__ = ["main"]
