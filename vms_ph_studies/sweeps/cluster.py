# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluation of points by the workers of this machine or of a Dask cluster.

Dask plans, repeats and balances.
"""

import logging
import os
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vms_ph_dynamics import VmsPhError

from .evaluation import Record, evaluate_points
from .parameters import Point
from .target import Target

if TYPE_CHECKING:
    from distributed import Client

_CONNECTION_TIMEOUT = "10s"
# Ctrl-C reaches all processes of a terminal; the client ends its workers itself.
_PRELOAD = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


def local_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def connected(address: str = "", workers: int = 0) -> "Iterator[Client]":
    """Yield a client of a Dask cluster.

    Args:
        address: address of the scheduler, like ``tcp://127.0.0.1:8786``, or path of its scheduler
            file; empty for processes of this machine, which end with the context.
        workers: number of those processes; 0 for one per core.

    Raises:
        VmsPhError: there is no scheduler at this address.
        ImportError: Dask is not installed.
    """
    try:
        import dask
        import distributed
    except ImportError:
        raise ImportError(
            "sweeps on several processes need Dask: pip install 'vms-ph[sweep]'"
        ) from None
    # A worker that ends is replaced, and what it computed is computed again: nothing to report.
    for name in ("scheduler", "nanny", "core", "worker", "client", "comm"):
        logging.getLogger(f"distributed.{name}").setLevel(logging.CRITICAL)
    if not address:
        with (
            tempfile.TemporaryDirectory(prefix="vms-ph-sweep-") as scratch,
            dask.config.set({"temporary-directory": scratch}),
            distributed.LocalCluster(
                n_workers=workers or local_cores(),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # any port: several may run at once
                silence_logs=logging.CRITICAL,
                preload=[_PRELOAD],
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    location = {"scheduler_file": address} if Path(address).is_file() else {"address": address}
    try:
        client = distributed.Client(**location, timeout=_CONNECTION_TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        raise VmsPhError(
            f"there is no Dask scheduler at '{address}' ({reason}); start one with "
            "'dask scheduler', and give the address that it prints, like tcp://127.0.0.1:8786"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_CONNECTION_TIMEOUT)
        except TimeoutError:
            raise VmsPhError(
                f"the scheduler at '{address}' has no workers; start some with 'dask worker "
                f"{address} --nthreads 1', on any machine with this version of vms-ph"
            ) from None
        yield client


# Points are sent in batches of about this duration, s: short to lose little, long enough that
# sending them takes no time.
_BATCH = 1.0
_MAX_BATCH = 500
# Batches that wait at the scheduler for each worker.
_QUEUED_BATCHES = 3


def evaluated(
    client: "Client", target: Target, points: Iterable[Point], limit: float | None = None
) -> Iterator[list[Record]]:
    """Yield the records of points as they come in, in any order.

    The scheduler gives what a worker leaves behind to the others. Points whose batch ended several
    workers are computed again, one at a time with nothing beside them; the one that ends its
    workers even then has failed.

    Raises:
        VmsPhError: the connection to the cluster is lost, or its workers cannot load the target.
    """
    suspects: list[Point] = []
    for sent, records in _batches(client, target, points, limit):
        if records is None:
            suspects += sent
        else:
            yield records
    for point in suspects:
        for _, records in _batches(client, target, [point], limit):
            if records is None:
                error = "KilledWorker: every process that computed this point has ended"
                records = [Record(point.id, {}, error)]
            yield records


def _batches(
    client: "Client", target: Target, points: Iterable[Point], limit: float | None
) -> Iterator[tuple[list[Point], list[Record] | None]]:
    """Yield each batch with its records; with None if it ended several workers."""
    from distributed import as_completed

    waiting, size = deque(points), 1
    sent: dict[Any, list[Point]] = {}
    complete = as_completed(loop=client.loop)
    while waiting or sent:
        workers = max(1, sum(client.nthreads().values()))
        while waiting and len(sent) < workers * (1 + _QUEUED_BATCHES):
            # Towards the end the batches become smaller, so that all workers end together.
            count = max(1, min(size, len(waiting) // (2 * workers)))
            batch = [waiting.popleft() for _ in range(min(count, len(waiting)))]
            # Pure tasks of the same content would be computed once, also after a failure.
            future = client.submit(evaluate_points, target, batch, limit, pure=False)
            sent[future.key] = batch
            complete.add(future)
        future = next(complete)
        batch, records = sent.pop(future.key), _records(future)
        if records is not None:
            spent = sum(record.seconds for record in records) / len(batch)
            fitting = int(_BATCH / spent) if spent > 0.0 else _MAX_BATCH
            size = max(1, min(fitting, 4 * size, _MAX_BATCH))
        yield batch, records


def _records(future: Any) -> list[Record] | None:
    from distributed import CancelledError, KilledWorker

    # A complete future may be computed again, if the worker that kept its result has ended since:
    # its status says nothing, and its result is waited for.
    try:
        records: list[Record] = future.result()
        return records
    except KilledWorker:
        return None
    except Exception as error:
        if isinstance(error, CancelledError) or future.status != "error":
            raise VmsPhError(
                "the connection to the cluster is lost; what is computed is kept, and the same "
                "command continues"
            ) from None
        if isinstance(error, VmsPhError):
            raise VmsPhError(f"on a worker: {error}") from None
        raise VmsPhError(
            f"on a worker: {type(error).__name__}: {error}; install the same packages on all "
            "workers"
        ) from None
