"""Simulated federations: runs and sweeps, and their tables."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from truthfed import _core, toml
from truthfed._core import Statistics
from truthfed.errors import ConfigError
from truthfed.frames import Columns, frame, read_csv, stacked
from truthfed.intervals import Interval, paired
from truthfed.mechanism import Mechanism
from truthfed.plotting import Plot
from truthfed.progress import Progress, counting

#: The true cost of a client's data, by the number of the client.
Cost = Callable[[int, Statistics], float]
Path = str | os.PathLike[str]
#: What became of a cell of a sweep: its number, its totals, and its tables of clients and rounds unless it was taken from disk.
Cell = tuple[int, dict[str, Any], tuple[str, str] | None]


@dataclass(frozen=True)
class Difference:
    """A figure of a point minus that of the reference, seed by seed."""

    point: dict[str, Any]
    figure: str
    interval: Interval


class Runs:
    """The runs of a simulation or a sweep, as tidy tables: :attr:`totals`, :attr:`clients`, :attr:`rounds`."""

    def __init__(self, totals: Columns, keys: Sequence[str], library: str | None) -> None:
        self._totals = totals
        self._keys = list(keys)
        self._library = library

    @cached_property
    def totals(self) -> Any:
        """A row for each run: the keys of the grid, the seed, and every figure."""
        return frame(self._totals, self._library)

    @cached_property
    def clients(self) -> Any:
        """A row for each client of each run."""
        return frame(self._table("clients"), self._library)

    @cached_property
    def rounds(self) -> Any:
        """A row for each round of each run."""
        return frame(self._table("rounds"), self._library)

    def _table(self, name: str) -> Columns:
        raise NotImplementedError

    def _figure(self, figure: str) -> list[tuple[tuple[Any, ...], int, float]]:
        """Point, seed and value of each run; what only clients have is added up."""
        table = self._totals if figure in self._totals else self._table("clients")
        if figure not in table or figure in (*self._keys, "seed", "client"):
            known = [name for name in (*self._totals, *self._table("clients")) if name not in (*self._keys, "seed", "client")]
            bound = "one of " + ", ".join(dict.fromkeys(known))
            raise ConfigError(f"figure is {figure!r}: it must be {bound}", "figure", bound)
        sums: dict[tuple[tuple[Any, ...], int], float] = {}
        points = zip(*(table[key] for key in self._keys), strict=True) if self._keys else ((),) * len(table["seed"])
        for point, seed, value in zip(points, table["seed"], table[figure], strict=True):
            sums[point, seed] = sums.get((point, seed), 0.0) + value
        return [(point, seed, value) for (point, seed), value in sums.items()]

    def paired(self, figure: str, against: Any, by: str = "rounds.mechanism", ci: float = 0.95) -> list[Difference]:
        """Differences of a figure from those points whose key `by` is `against`, seed by seed, with confidence intervals.

        What the other keys of the grid have is the same on both sides.
        """
        by = toml.SHORT.get(by, by)
        if by not in self._keys:
            bound = "a key of the grid: " + ", ".join(self._keys)
            raise ConfigError(f"by is {by!r}: it must be {bound}", "by", bound)
        place = self._keys.index(by)
        values: dict[tuple[Any, ...], dict[int, float]] = {}
        for point, seed, value in self._figure(figure):
            values.setdefault(point, {})[seed] = value
        if not any(point[place] == against for point in values):
            bound = "one of " + ", ".join(dict.fromkeys(str(point[place]) for point in values))
            raise ConfigError(f"against is {against!r}: it must be {bound}", "against", bound)
        found = []
        for point, ours in values.items():
            if point[place] == against:
                continue
            theirs = values[(*point[:place], against, *point[place + 1 :])]
            interval = paired([ours[seed] for seed in ours], [theirs[seed] for seed in ours], ci)
            found.append(Difference(dict(zip(self._keys, point, strict=True)), figure, interval))
        return found


class Simulated(Runs):
    """The runs of one configuration; :attr:`curves` has them over time."""

    def __init__(self, totals: Columns, tables: tuple[str, str, str], library: str | None) -> None:
        super().__init__(totals, (), library)
        self._texts = dict(zip(("clients", "rounds", "curves"), tables, strict=True))

    @cached_property
    def curves(self) -> Any:
        """A row for each of some 250 moments of each run."""
        return frame(self._table("curves"), self._library)

    def _table(self, name: str) -> Columns:
        return read_csv(self._texts[name])


class Swept(Runs):
    """The runs of a sweep."""

    def __init__(self, sweep: _core.Sweep, cells: list[Cell], jobs: int | None, library: str | None) -> None:
        self._sweep, self._jobs = sweep, jobs
        self._runs = {cell: totals for cell, totals, _ in cells}
        self._texts = {cell: tables for cell, _, tables in cells}
        points = sweep.points
        self._points = {cell: dict(zip(sweep.keys, points[cell // sweep.seeds], strict=True)) for cell in self._runs}
        rows = ((self._points[cell], {name: [value] for name, value in run.items()}) for cell, run in self._runs.items())
        super().__init__(stacked(rows), sweep.keys, library)

    def _table(self, name: str) -> Columns:
        place = ("clients", "rounds").index(name)
        missing = [cell for cell, tables in self._texts.items() if tables is None]
        for cell in missing:
            # Files of cells have no tables: the run is repeated, with the same result.
            [(_, _, self._texts[cell])] = self._sweep.run((cell + 1, len(self._sweep)), self._jobs)
        tables = {cell: texts[place] for cell, texts in self._texts.items() if texts is not None}
        return stacked((self._points[cell], read_csv(text)) for cell, text in tables.items())

    def write(self, out: Path) -> int:
        """Writes `results.csv` and the like, as the command `truthfed sweep` does; returns the number of files."""
        return self._sweep.write(out, [json.dumps(self._runs[cell]) for cell in range(len(self._sweep))])

    def plot(self, x: str, y: str | Sequence[str], *, by: Sequence[str] = (), log_x: bool = False, log_y: bool = False) -> Plot:
        """Columns of the totals over a key of the grid: a line for each value of the other keys, or bars over names."""
        ys = [y] if isinstance(y, str) else list(y)
        return Plot(self.write, toml.SHORT.get(x, x), ys, [toml.SHORT.get(key, key) for key in by], log_x, log_y)


def simulate(
    config: toml.Config = None,
    *,
    seeds: int = 5,
    mechanism: str | Mechanism | None = None,
    cost: Cost | None = None,
    out: Path | None = None,
    documents: bool = False,
    frames: str | None = None,
    progress: Progress = None,
) -> Simulated:
    """Runs a federation under seeds 1 to `seeds`.

    `config` has values by ``section.key`` (``truthfed simulate --print-config`` lists them) or is the path of a TOML file. With `out`,
    the folder of the command `truthfed simulate` is written; `documents` adds every round to it.

    >>> import truthfed as tf
    >>> runs = tf.simulate({"world.clients": 5, "world.steps": 500}, seeds=2, frames="numpy")
    >>> runs.totals["steps"].tolist(), len(runs.clients["utility"])
    ([500, 500], 10)
    """
    flat = toml.keys(config)
    own = _take_own(flat, mechanism)
    with counting(progress, seeds, "runs") as done:
        totals, tables = _core.simulate(toml.written(flat), _count("seeds", seeds), own, cost, out, documents, done)
    columns = {name: [run[name] for run in totals] for name in totals[0]}
    return Simulated(columns, tables, frames)


def sweep(
    config: toml.Config = None,
    *,
    grid: Mapping[str, Iterable[Any]],
    seeds: int = 5,
    cost: Cost | None = None,
    out: Path | None = None,
    jobs: int | None = None,
    frames: str | None = None,
    progress: Progress = None,
) -> Swept:
    """Runs every combination of the values of a grid, each under seeds 1 to `seeds`.

    Keys of the grid are those of a configuration; values of ``mechanism`` can be mechanisms of your own. With `out`, cells are kept in
    that folder: if it is interrupted, the same call continues where it stopped.

    >>> import truthfed as tf
    >>> runs = tf.sweep({"world.clients": 4, "world.steps": 200}, seeds=2, frames="numpy",
    ...                 grid={"mechanism": ["clock", "greedy"]})
    >>> runs.totals["rounds.mechanism"].tolist()
    ['clock', 'clock', 'greedy', 'greedy']
    """
    cells = prepared(config, grid=grid, seeds=seeds, cost=cost)
    with counting(progress, len(cells), "cells") as done:
        ran = cells.run(None, jobs, out, done)
    return Swept(cells, ran, jobs, frames)


def prepared(
    config: toml.Config, *, grid: Mapping[str, Iterable[Any]] | None = None, seeds: int | None = None, cost: Cost | None = None
) -> _core.Sweep:
    """The cells of a sweep, to be run in parts: `run((i, n))` runs the i-th of n parts. It can be pickled.

    Without a `grid`, `config` is the path of a sweep, as the command `truthfed sweep` takes it.
    """
    if grid is None:
        if config is None or isinstance(config, Mapping):
            bound = "lists of values by key, or config the path of a TOML file with [sweep.grid]"
            raise ConfigError(f"grid is missing: it must be {bound}", "grid", bound)
        if seeds is not None:
            bound = "left out where the file of the sweep has them"
            raise ConfigError(f"seeds is {seeds}: it must be {bound}", "seeds", bound)
        return _core.Sweep(pathlib.Path(config).read_text(encoding="utf-8"), [], cost)
    flat = toml.keys(config)
    own = _take_own(flat, None)
    lines = []
    for name, values in grid.items():
        key, listed = toml.SHORT.get(name, name), list(values)
        if key == "rounds.mechanism":
            listed = [_name_of(value, own) for value in listed]
        lines.append(f"{json.dumps(key, ensure_ascii=False)} = {toml.text(key, listed)}\n")
    text = f"{toml.written(flat)}[sweep]\nseeds = {_count('seeds', 5 if seeds is None else seeds)}\n[sweep.grid]\n{''.join(lines)}"
    return _core.Sweep(text, own, cost)


def _take_own(flat: dict[str, Any], mechanism: str | Mechanism | None) -> list[Any]:
    """The mechanism of a configuration if it is not of the catalog; its name takes its place."""
    own: list[Any] = []
    chosen = mechanism if mechanism is not None else flat.get("rounds.mechanism")
    if chosen is not None:
        flat["rounds.mechanism"] = _name_of(chosen, own)
    return own


def _name_of(mechanism: Any, own: list[Any]) -> str:
    if isinstance(mechanism, str):
        return mechanism
    if not callable(getattr(mechanism, "run", None)) or isinstance(mechanism, type):
        bound = "the name of a mechanism, or an object with a method run(round)"
        raise ConfigError(f"mechanism is {mechanism!r}: it must be {bound}", "mechanism", bound)
    if not any(known is mechanism for known in own):
        own.append(mechanism)
    return str(getattr(mechanism, "name", type(mechanism).__name__))


def _count(field: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100_000:
        bound = "a whole number from 1 to 100000"
        raise ConfigError(f"{field} is {value!r}: it must be {bound}", field, bound)
    return value
