# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The same function of many arguments, on all cores of this machine."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TypeVar

from .cluster import connected, local_cores

Item = TypeVar("Item")
Result = TypeVar("Result")

# Fewer than this are computed in this process, as further ones take a second or two to start.
_FEWEST_TO_SHARE = 6


def local_map(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[Result]:
    """Return the function of each item, in their order.

    Without Dask everything is computed in this process.

    Args:
        function: a function of a module.
        items: its arguments.
        workers: number of processes; 0 for one per core.
        progress: receives the share of the items that are done.
    """
    report = progress or (lambda share: None)
    found: dict[int, Result] = {}
    alone = (workers or local_cores()) == 1 or len(items) < _FEWEST_TO_SHARE
    if alone or find_spec("distributed") is None:
        for k, item in enumerate(items):
            found[k] = function(item)
            report(len(found) / len(items))
        return list(found.values())
    from distributed import as_completed

    with connected(workers=workers) as client:
        futures = client.map(function, items, pure=False)
        places = {future.key: k for k, future in enumerate(futures)}
        for future in as_completed(futures):
            found[places[future.key]] = future.result()
            report(len(found) / len(items))
    return [found[k] for k in range(len(items))]
