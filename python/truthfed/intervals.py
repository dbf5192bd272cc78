"""Means with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truthfed import _core
from truthfed.errors import InputError


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


def paired(ours: Sequence[float], theirs: Sequence[float], ci: float = 0.95) -> Interval:
    """The mean of the differences of pairs, with its interval by Student's t.

    >>> print(paired([3.0, 4.0, 5.5], [1.0, 1.0, 1.0]))
    3.167 [0.04086, 6.292]
    """
    if not 0.0 < ci < 1.0:
        raise InputError(f"ci is {ci!r}: it must be above 0 and below 1", "ci", "above 0 and below 1")
    mean, half = _core.paired(list(ours), list(theirs), ci)
    return Interval(mean, mean - half, mean + half)
