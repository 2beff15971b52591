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
_MIN_SHARED_ITEMS = 6


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
    results: dict[int, Result] = {}
    in_process = (workers or local_cores()) == 1 or len(items) < _MIN_SHARED_ITEMS
    if in_process or find_spec("distributed") is None:
        for k, item in enumerate(items):
            results[k] = function(item)
            report(len(results) / len(items))
        return list(results.values())
    from distributed import as_completed

    with connected(workers=workers) as client:
        futures = client.map(function, items, pure=False)
        places = {future.key: k for k, future in enumerate(futures)}
        for future in as_completed(futures):
            results[places[future.key]] = future.result()
            report(len(results) / len(items))
    return [results[k] for k in range(len(items))]
