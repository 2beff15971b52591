# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The address of the page, with the token without which its server sends nothing.

The token does not stand in a command line, in a message or in the value of a parameter, which other
users of the machine read: a launch hands it to the page in an environment variable.
"""

import os
import re
import secrets

from vms_ph_dynamics import VmsPhError

HOST = "127.0.0.1"  # reachable from this machine only

_VARIABLE = "VMS_PH_PAGE_TOKEN"


def page_token(setting: str = "auto") -> str:
    """Return the token of a page, also of one that this process starts; empty: it has none.

    Args:
        setting: ``auto`` for that of the environment variable VMS_PH_PAGE_TOKEN, or else a new one;
            ``off`` for none; or the token.

    Raises:
        VmsPhError: it cannot be part of an address, or is too short.
    """
    if setting == "off":
        return ""
    token = setting
    if setting == "auto":
        token = os.environ.get(_VARIABLE, "").strip() or secrets.token_urlsafe(24)
        os.environ[_VARIABLE] = token
    if not re.fullmatch(r"[A-Za-z0-9_.~-]{8,200}", token):
        raise VmsPhError(
            "token must be auto, off, or 8 to 200 letters, digits, dots, tildes, underscores and "
            f"hyphens; the given one has {len(token)} characters"
        )
    return token


def page_address(port: int, token: str, origins: str = "") -> str:
    """Return where a browser shows the page: on this machine, and at the allowed origins.

    Args:
        port: on 127.0.0.1.
        token: see :func:`page_token`.
        origins: origins besides the page's own, separated by spaces.
    """
    query = f"/?token={token}" if token else ""
    return ", ".join(f"{origin}{query}" for origin in [f"http://{HOST}:{port}", *origins.split()])
