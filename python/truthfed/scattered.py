"""A sweep whose cells are computed by workers elsewhere, some cells a task, and kept here as they come in.

The folder has the same bytes as if one machine had run it. It is written here only: workers need no common file system. If it is
interrupted, or a cell fails, tasks that came in stay, and the same call continues there.

Not here: who the workers are. :mod:`truthfed.ray` and :mod:`truthfed.joblib` start them.
"""

from __future__ import annotations

import json
import pickle
import site
import sys
import sysconfig
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from truthfed import _core
from truthfed.errors import CellError, ConfigError
from truthfed.progress import Progress, counting
from truthfed.simulation import Cell, Path, Swept

#: Bounds of the cells of a task: fewer cost more for their travel than for their work, more lose much when a worker dies.
LEAST, MOST = 10, 50
#: Tasks for each worker, so that the last ones end at about the same time.
TASKS_PER_WORKER = 4


@dataclass(frozen=True)
class Failed:
    """A cell that failed on a worker."""

    cell: int
    words: str
    #: What was raised there, pickled; none if it cannot be.
    raised: bytes | None


#: What a worker sends back: the cells that it ran, or one that failed.
Ran = tuple[list[Cell], Failed | None]
#: Runs tasks, which are numbers of cells, somewhere, and yields what came back in any order.
Engine = Callable[[Sequence[list[int]]], Generator[Ran]]


def packed(cells: _core.Sweep, cloudpickle: Any) -> bytes:
    """A sweep to be sent to workers, with the code of mechanisms and costs that is not installed there."""
    _, (_, mechanisms, cost) = cells.__reduce__()
    with _by_value({type(own).__module__ for own in mechanisms} | {getattr(cost, "__module__", None)}, cloudpickle):
        return bytes(cloudpickle.dumps(cells))


@contextmanager
def _by_value(names: Iterable[str | None], cloudpickle: Any) -> Iterator[None]:
    modules = [sys.modules[name] for name in names if name in sys.modules and name != "__main__" and not _is_installed(sys.modules[name])]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _is_installed(module: ModuleType) -> bool:
    """Whether workers have it too: it is of Python or of a package, not a file of the user."""
    file = getattr(module, "__file__", None)
    places = [*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("stdlib")]
    return file is None or any(file.startswith(place) for place in places)


def run_task(sweep: bytes, numbers: Sequence[int]) -> Ran:
    """Runs cells on a worker, one after the other; if one fails, that is all there is to say."""
    cells: _core.Sweep = pickle.loads(sweep)
    ran: list[int] = []
    try:
        return cells.run_cells(numbers, lambda: ran.append(1)), None
    except Exception as raised:
        failed = Failed(numbers[len(ran)], traceback.format_exception_only(raised)[-1].strip(), _pickled(raised))
        return [], failed


def _pickled(raised: BaseException) -> bytes | None:
    try:
        text = pickle.dumps(raised)
        pickle.loads(text)
    except Exception:
        return None
    return text


def tasks(missing: Sequence[int], workers: int, cells_per_task: int | None) -> list[list[int]]:
    """Cells in tasks of equal size: 10 to 50 of them, unless the size is given.

    >>> [len(task) for task in tasks(range(1000), workers=2, cells_per_task=None)]
    [50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50]
    >>> [len(task) for task in tasks(range(25), workers=8, cells_per_task=None)]
    [10, 10, 5]
    """
    size = cells_per_task
    if size is None:
        size = min(max(len(missing) // (TASKS_PER_WORKER * workers), LEAST), MOST)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        bound = "a whole number of at least 1"
        raise ConfigError(f"cells_per_task is {size!r}: it must be {bound}", "cells_per_task", bound)
    return [list(missing[start : start + size]) for start in range(0, len(missing), size)]


def gathered(
    cells: _core.Sweep,
    out: Path,
    engine: Engine,
    *,
    workers: int,
    cells_per_task: int | None,
    frames: str | None,
    progress: Progress,
) -> Swept:
    """Runs on an engine the cells that the folder `out` does not have, and completes it."""
    gathering = cells.gather(out)
    found: list[Cell] = [(cell, totals, None) for cell, totals in gathering.known]
    known = {cell for cell, _, _ in found}
    missing = [cell for cell in range(len(cells)) if cell not in known]
    todo = tasks(missing, workers, cells_per_task)
    try:
        # Closed at once after a failure: the tasks that are left must end before the caller goes on.
        with closing(engine(todo)) as running, counting(progress, len(missing), "cells") as done:
            for ran, failed in running:
                gathering.keep([(cell, json.dumps(totals)) for cell, totals, _ in ran])
                found += ran
                if done is not None:
                    for _ in ran:
                        done()
                if failed is not None:
                    raise _error(cells, failed)
        gathering.finish()
    finally:
        # It has the folder for itself, and a traceback that someone keeps would keep it.
        del gathering
    return Swept(cells, sorted(found, key=lambda cell: cell[0]), None, frames)


def _error(cells: _core.Sweep, failed: Failed) -> CellError:
    point = dict(zip(cells.keys, cells.points[failed.cell // cells.seeds], strict=True))
    seed = failed.cell % cells.seeds + 1
    keys = ", ".join(f"{key} = {value!r}" for key, value in point.items())
    error = CellError(f"cell {failed.cell} ({keys}, seed {seed}) failed: {failed.words}", failed.cell, point, seed)
    if failed.raised is not None:
        # An exception whose class only workers have is told by its words.
        with suppress(Exception):
            error.__cause__ = pickle.loads(failed.raised)
    return error
