"""How a call is timed, and the seed that every measurement shares."""

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SEED = 1
MEASURE_SECONDS = 0.2


def timed(run: Callable[[], T]) -> tuple[float, T]:
    """Seconds and result of a call."""
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def repeated(run: Callable[[], tuple[float, T]]) -> tuple[float, T]:
    """Median of the seconds `run` returns, over as many calls as fill the time of a measurement."""
    start = time.perf_counter()
    samples = []
    while not samples or time.perf_counter() - start < MEASURE_SECONDS:
        seconds, result = run()
        samples.append(seconds)
    return statistics.median(samples), result
