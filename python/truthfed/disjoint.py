"""A bandit for each arm, for hosts whose arms have names and whose contexts have features.

Arms with features of their own need one :class:`truthfed.LinUCB` only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truthfed._core import LinUCB

Arm = TypeVar("Arm", bound=Hashable)


class Disjoint:
    """LinUCB with one parameter for each arm. `settings` are those of a :class:`truthfed.LinUCB`.

    >>> bandits = Disjoint(dim=1, alpha=0.1)
    >>> for _ in range(20):
    ...     bandits.update("left", [1.0], reward=0.0)
    ...     bandits.update("right", [1.0], reward=1.0)
    >>> bandits.pull(["left", "right"], [1.0])
    'right'
    """

    def __init__(self, dim: int, **settings: Any) -> None:
        self._new = LinUCB(dim, **settings)
        self._bandits: dict[Hashable, LinUCB] = {}

    def scores(self, arms: Iterable[Hashable], contexts: ArrayLike) -> NDArray[np.float64]:
        """The optimistic estimate of each arm (columns) in each context (rows)."""
        rows = np.atleast_2d(np.asarray(contexts, dtype=float))
        return np.stack([self._bandits.get(arm, self._new).scores(rows) for arm in arms], axis=1)

    def pull(self, arms: Sequence[Arm], context: ArrayLike) -> Arm:
        """The arm with the largest score; of equals, the first."""
        return arms[int(self.scores(arms, context)[0].argmax())]

    def update(self, arm: Hashable, context: ArrayLike, reward: float) -> None:
        """Learns the reward of an arm."""
        if arm not in self._bandits:
            self._bandits[arm] = self._new.copy()
        self._bandits[arm].update(context, reward)
