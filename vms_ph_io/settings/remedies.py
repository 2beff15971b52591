# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What is used in place of names of other libraries, of config/names/remedies.yaml."""

from collections.abc import Mapping
from functools import cache

from ..installation import share_directory
from .yaml_files import read_mapping

_read = cache(read_mapping)


def remedies(owner: str) -> Mapping[str, str]:
    """Return the names of other libraries that an object, function or package lacks, by remedy."""
    entries: Mapping[str, str] = _read(share_directory() / "config/names/remedies.yaml")[owner]
    return entries
