"""Sweeps on the workers of joblib: processes of this machine, or whatever backend `joblib.parallel_config` names. Needs ``truthfed[joblib]``."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

import cloudpickle
import joblib

from truthfed import toml
from truthfed.progress import Progress
from truthfed.scattered import Ran, gathered, packed, run_task
from truthfed.simulation import Cost, Path, Swept, prepared


def sweep(
    config: toml.Config,
    out: Path,
    n_jobs: int | None = None,
    *,
    grid: Mapping[str, Iterable[Any]] | None = None,
    seeds: int | None = None,
    cost: Cost | None = None,
    cells_per_task: int | None = None,
    frames: str | None = None,
    progress: Progress = None,
) -> Swept:
    """Like :func:`truthfed.sweep`, with the cells computed by workers of joblib: the same folder, to the last byte.

    `n_jobs` is joblib's: -1 takes all processors, none what `joblib.parallel_config` says. The rest is as in
    :func:`truthfed.ray.sweep`.
    """
    cells = prepared(config, grid=grid, seeds=seeds, cost=cost)
    sent = packed(cells, cloudpickle)
    parallel = joblib.Parallel(n_jobs, return_as="generator_unordered", pre_dispatch="all")

    def run(todo: Sequence[list[int]]) -> Generator[Ran]:
        results = parallel(joblib.delayed(run_task)(sent, numbers) for numbers in todo)
        try:
            for ran in results:  # `yield from` would close them before the filter below
                yield ran
        finally:
            with warnings.catch_warnings():
                # joblib warns about tasks that nobody waits for; after a failure that is meant.
                warnings.simplefilter("ignore")
                results.close()

    workers = max(joblib.effective_n_jobs(n_jobs), 1)
    return gathered(cells, out, run, workers=workers, cells_per_task=cells_per_task, frames=frames, progress=progress)
