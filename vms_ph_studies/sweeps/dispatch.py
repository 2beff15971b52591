# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluation of points by the workers of a Dask cluster, which plans, repeats and balances."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from vms_ph_dynamics.errors import VmsPhError

from .evaluation import Record, evaluate_points
from .points import Point
from .target import Target

if TYPE_CHECKING:
    from distributed import Client

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
