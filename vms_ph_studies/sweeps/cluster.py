# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Connection to workers: those of this machine, or a Dask cluster by its address."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vms_ph_dynamics.errors import VmsPhError

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
