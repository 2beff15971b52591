# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The vms-ph command line."""

import errno
import os
import sys

from vms_ph_dynamics import VmsPhError

_SIGINT_EXIT_CODE = 130  # the exit code of a shell after SIGINT

# Errors of a file that whoever runs a command can mend.
_WRITE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}


def main() -> None:
    """Run the command line; a user error is printed as one sentence, with exit code 1."""
    # A real ROS 2 checks the values that users type in only when this is enabled.
    os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")
    try:
        # Imported here so that Ctrl-C prints no traceback while the commands are imported.
        import typer

        from vms_ph_io.installation import command_name
        from vms_ph_io.settings.bounded_text import writing_failure

        from .app import make_app

        try:
            _check_encoding(sys.argv[1:])
            make_app()(prog_name=command_name())
        except (VmsPhError, ImportError, OSError) as error:
            message = str(error)
            if isinstance(error, OSError) and error.errno in _WRITE_ERRORS:
                message = writing_failure(error.filename or "a file", error)
            # Of import errors those that name an extra of this package to install.
            elif not isinstance(error, VmsPhError) and "pip install 'vms-ph[" not in message:
                raise
            typer.secho(f"error: {message}", fg=typer.colors.RED, err=True)
            sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(_SIGINT_EXIT_CODE)


def _check_encoding(arguments: list[str]) -> None:
    """Raise an error if a word on the command line is not text: it could not even be printed."""
    for argument in arguments:
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError:
            raise VmsPhError(f"the argument {argument!r} is not text in UTF-8") from None


__all__ = ["main"]
