"""How a call is timed, and the seed that every measurement shares."""

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SEED = 1
MEASURE_SECONDS = 0.2


#: What tells seconds: those that pass, or those that the processor works for this process, which other processes do not move.
Clock = Callable[[], float]


def timed(run: Callable[[], T], clock: Clock = time.perf_counter) -> tuple[float, T]:
    """Seconds and result of a call."""
    start = clock()
    result = run()
    return clock() - start, result


def repeated(run: Callable[[], tuple[float, T]]) -> tuple[float, T]:
    """Median of the seconds `run` returns, over as many calls as fill the time of a measurement."""
    start = time.perf_counter()
    samples = []
    while not samples or time.perf_counter() - start < MEASURE_SECONDS:
        seconds, result = run()
        samples.append(seconds)
    return statistics.median(samples), result
