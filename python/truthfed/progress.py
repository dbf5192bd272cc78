"""Progress of long work: a bar of tqdm, or a function of yours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: ``True`` shows a bar of tqdm, a function is called with the parts that are done and all parts, ``None`` is silent.
Progress = bool | Callable[[int, int], None] | None


@contextmanager
def counting(progress: Progress, total: int, unit: str) -> Iterator[Callable[[], None] | None]:
    """A function to call after each part."""
    if not progress:
        yield None
    elif progress is True:
        from tqdm.auto import tqdm

        with tqdm(total=total, unit=f" {unit}") as bar:
            yield lambda: bar.update() and None
    else:
        told, count = progress, 0

        def step() -> None:
            nonlocal count
            count += 1
            told(count, total)

        yield step
