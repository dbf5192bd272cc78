"""Sweeps on Ray: on this machine, or on a cluster. Needs ``truthfed[ray]``; the wheel must be installed on the nodes.

Ray's report of its own usage is off, unless ``RAY_USAGE_STATS_ENABLED`` says otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray import cloudpickle

from truthfed import toml
from truthfed.errors import TruthfedError
from truthfed.progress import Progress
from truthfed.scattered import Engine, Ran, gathered, packed, run_task
from truthfed.simulation import Cost, Path, Swept, prepared


def sweep(
    config: toml.Config,
    out: Path,
    address: str | None = None,
    *,
    grid: Mapping[str, Iterable[Any]] | None = None,
    seeds: int | None = None,
    cost: Cost | None = None,
    workers: int | None = None,
    cells_per_task: int | None = None,
    frames: str | None = None,
    progress: Progress = None,
) -> Swept:
    """Like :func:`truthfed.sweep`, with the cells computed by tasks of Ray: the same folder, to the last byte.

    Without a `grid`, `config` is the path of a sweep, as the command `truthfed sweep` takes it. `address` is that of a cluster
    (``auto``, ``ray://host:10001``). Without one, Ray is used as it was started before, or is started here for the time of the sweep,
    with as many `workers` as the machine has processors. Only this process writes `out`. Mechanisms and costs of your own travel along.

    Raises :class:`truthfed.CellError`, which names the cell that failed. Tasks that were done are in the folder: the same call
    continues there, as it does after Ctrl-C.
    """
    cells = prepared(config, grid=grid, seeds=seeds, cost=cost)
    with _cluster(address, workers):
        count = workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        return gathered(
            cells, out, _engine(packed(cells, cloudpickle)), workers=count, cells_per_task=cells_per_task, frames=frames, progress=progress
        )


@contextmanager
def _cluster(address: str | None, workers: int | None) -> Iterator[None]:
    """Ray as it runs already, or for the time of some work."""
    if ray.is_initialized():
        yield
        return
    local: dict[str, Any] = {} if address else {"num_cpus": workers, "include_dashboard": False}
    ray.init(address=address, log_to_driver=False, logging_level="WARNING", **local)
    try:
        yield
    finally:
        ray.shutdown()


def _engine(sweep: bytes) -> Engine:
    # A worker that dies is replaced, and its task run again, as often as Ray does by default.
    task = ray.remote(num_cpus=1)(run_task)

    def run(todo: Sequence[list[int]]) -> Generator[Ran]:
        shipped = ray.put(sweep)
        waiting = {task.remote(shipped, numbers): numbers for numbers in todo}
        try:
            while waiting:
                [ready, *_], _ = ray.wait(list(waiting), num_returns=1)
                numbers = waiting.pop(ready)
                try:
                    yield ray.get(ready)
                except ray.exceptions.RayError as lost:
                    raise TruthfedError(f"cells {numbers[0]} to {numbers[-1]} were lost with their worker: {lost}") from lost
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)

    return run
