# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Datasets in the layout of LeRobot v3, written and read without LeRobot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE = "chunk-000/file-000.parquet"
COUNTS = ("frame_index", "episode_index", "index", "task_index")


def write_dataset(
    root: Path,
    fps: int,
    names: Sequence[str],
    episodes: Sequence[tuple[np.ndarray, np.ndarray]],
    task: str,
) -> None:
    """Write episodes of one task: observed states and actions, each (frames, n)."""
    lengths = [len(actions) for _, actions in episodes]
    frames, ends = sum(lengths), np.cumsum(lengths)
    index = np.concatenate([np.arange(length) for length in lengths])
    columns = {
        "observation.state": np.concatenate([states for states, _ in episodes]),
        "action": np.concatenate([actions for _, actions in episodes]),
        "timestamp": index / fps,
        "frame_index": index,
        "episode_index": np.repeat(np.arange(len(episodes)), lengths),
        "index": np.arange(frames),
        "task_index": np.zeros(frames),
    }
    features, arrays, statistics = {}, {}, {}
    for key, values in columns.items():
        kind = "int64" if key in COUNTS else "float32"
        is_vector = values.ndim == 2
        shape, words = ([len(names)], list(names)) if is_vector else ([1], None)
        features[key] = {"dtype": kind, "shape": shape, "names": words}
        flat = pa.array(values.astype(kind).ravel())
        arrays[key] = pa.FixedSizeListArray.from_arrays(flat, len(names)) if is_vector else flat
        rows = values.reshape(frames, -1).astype(float)
        measures = {f.__name__: f(rows, axis=0).tolist() for f in (np.min, np.max, np.mean, np.std)}
        statistics[key] = {**measures, "count": [frames]}
    here = {"data/chunk_index": 0, "data/file_index": 0}
    here |= {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
    rows_of_episodes = [
        {"episode_index": k, "tasks": [task], "length": n, **here}
        | {"dataset_from_index": int(end) - n, "dataset_to_index": int(end)}
        for k, (n, end) in enumerate(zip(lengths, ends, strict=True))
    ]
    # The words of a task are the index of a table of pandas.
    tasks = pa.table({"task_index": [0], "__index_level_0__": [task]})
    columns_of_pandas = [
        {"name": None, "field_name": name, "pandas_type": kind, "numpy_type": dtype}
        for name, kind, dtype in (
            ("task_index", "int64", "int64"),
            ("__index_level_0__", "unicode", "object"),
        )
    ]
    columns_of_pandas[0]["name"] = "task_index"
    pandas = {"index_columns": ["__index_level_0__"], "columns": columns_of_pandas}
    pandas |= {"column_indexes": [], "pandas_version": "2.2.3"}
    tables = {
        f"data/{FILE}": pa.table(arrays),
        f"meta/episodes/{FILE}": pa.Table.from_pylist(rows_of_episodes),
        "meta/tasks.parquet": tasks.replace_schema_metadata({"pandas": json.dumps(pandas)}),
    }
    for name, table in tables.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, root / name)
    pattern = "chunk-{chunk_index:03d}/file-{file_index:03d}"
    info = {
        "codebase_version": "v3.0",
        "robot_type": "simulated_arm",
        "total_episodes": len(episodes),
        "total_frames": frames,
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": fps,
        "splits": {"train": f"0:{len(episodes)}"},
        "data_path": f"data/{pattern}.parquet",
        "video_path": None,
        "features": features,
    }
    for name, content in (("info", info), ("stats", statistics)):
        (root / f"meta/{name}.json").write_text(json.dumps(content, indent=4), "utf-8")


def read_actions(root: Path) -> tuple[list[str], list[np.ndarray]]:
    """Return the names of the actions, and those of each episode, (frames, n)."""
    info = json.loads((root / "meta/info.json").read_text("utf-8"))
    file = info["data_path"].format(chunk_index=0, file_index=0)
    table = pq.read_table(root / file, columns=["episode_index", "action"])
    actions = np.array(table["action"].to_pylist(), float)
    episode = table["episode_index"].to_numpy()
    each = [actions[episode == k] for k in range(info["total_episodes"])]
    return info["features"]["action"]["names"], each
