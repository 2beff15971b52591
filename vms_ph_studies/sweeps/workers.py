# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluation of points by processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from .evaluation import Record, evaluate_points
from .parameters import Point
from .target import Target

# Points are sent in batches of about this duration, s: short to lose little, long enough that
# sending them takes no time.
_BATCH_SECONDS = 1.0
_MAX_BATCH = 500
# Batches that wait for each process.
_QUEUED_BATCHES = 3


def local_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def evaluate_parallel(
    target: Target, points: Iterable[Point], limit: float | None = None, workers: int = 0
) -> Generator[list[Record], None, None]:
    """Yield the records of points as they come in, in any order.

    A process that ends is replaced. The points that were with the processes then are computed
    again, one at a time on each; those that were there when one ends again, alone. A point that
    ends its process even then has failed.

    Args:
        target: the function.
        points: its points.
        limit: longest accepted duration of one of them, s; None for any.
        workers: number of processes; 0 for one per core.

    Raises:
        TargetError: the target cannot be loaded.
    """
    worker_count = workers or local_cores()
    retry_points: list[Point] = []
    suspect_points: list[Point] = []
    for batch, records in _batches(target, points, limit, worker_count, _MAX_BATCH):
        if records is None:
            retry_points += batch
        else:
            yield records
    for batch, records in _batches(target, retry_points, limit, worker_count, 1):
        if records is None:
            suspect_points += batch
        else:
            yield records
    for point in suspect_points:
        for _, records in _batches(target, [point], limit, 1, 1):
            error = "BrokenProcessPool: every process that computed this point has ended"
            yield [Record(point.id, {}, error)] if records is None else records


def _batches(
    target: Target, points: Iterable[Point], limit: float | None, worker_count: int, max_size: int
) -> Iterator[tuple[list[Point], list[Record] | None]]:
    """Yield each batch of at most so many points with its records; with None if it was lost."""
    queue, next_size = deque(points), 1
    capacity = worker_count * (1 + _QUEUED_BATCHES) if max_size > 1 else worker_count
    while queue:
        pending_batches: dict[Future[list[Record]], list[Point]] = {}
        try:
            with _pool(worker_count) as pool:
                while queue or pending_batches:
                    while queue and len(pending_batches) < capacity:
                        # Towards the end batches become smaller: all processes end together.
                        batch_size = max(1, min(next_size, len(queue) // (2 * worker_count)))
                        batch = [queue[k] for k in range(batch_size)]
                        pending_batches[pool.submit(evaluate_points, target, batch, limit)] = batch
                        for _ in batch:
                            queue.popleft()
                    for future in wait(pending_batches, return_when=FIRST_COMPLETED).done:
                        records = future.result()
                        duration = sum(record.seconds for record in records) / len(records)
                        fit_size = int(_BATCH_SECONDS / duration) if duration > 0.0 else max_size
                        next_size = max(1, min(fit_size, 4 * next_size, max_size))
                        yield pending_batches.pop(future), records
        except BrokenProcessPool:
            for batch in pending_batches.values():
                yield batch, None


@contextmanager
def _pool(worker_count: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, which end at once with the context."""
    earlier_processes = multiprocessing.active_children()
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(worker_count, mp_context=context, initializer=_end_with_parent)
    try:
        yield pool
    finally:
        for process in multiprocessing.active_children():
            if process not in earlier_processes:
                process.terminate()
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this process with the one that started it, and leave Ctrl-C to that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
