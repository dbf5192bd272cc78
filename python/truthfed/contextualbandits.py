"""LinUCB as a policy of contextualbandits, for its evaluators: `evaluateFullyLabeled`, `evaluateRejectionSampling`.

These take any object with its methods, so this module needs nothing but numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truthfed.disjoint import Disjoint
from truthfed.errors import BanditError


class Policy:
    """A policy with a parameter for each of `nchoices` arms, which are numbers from 0 on.

    >>> policy = Policy(2, alpha=0.1).fit([[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1], [1.0, 0.0, 0.0, 1.0])
    >>> policy.predict([[0.0], [1.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self, nchoices: int, ridge: float = 0.1, noise: float = 0.1, delta: float = 0.1, alpha: float | None = None
    ) -> None:
        if isinstance(nchoices, bool) or not isinstance(nchoices, int) or nchoices < 1:
            bound = "a whole number of at least 1"
            raise BanditError(f"nchoices is {nchoices!r}: it must be {bound}", "nchoices", bound)
        self.nchoices = nchoices
        self._settings: dict[str, Any] = {"ridge": ridge, "noise": noise, "delta": delta, "alpha": alpha}
        Disjoint(1, **self._settings)
        self._arms: Disjoint | None = None

    def fit(self, X: ArrayLike, a: ArrayLike, r: ArrayLike, **ignored: Any) -> Policy:
        """Forgets everything, and learns rewards `r` of arms `a` in contexts `X`."""
        self._arms = None
        return self.partial_fit(X, a, r)

    def partial_fit(self, X: ArrayLike, a: ArrayLike, r: ArrayLike, **ignored: Any) -> Policy:
        """Learns rewards `r` of arms `a` in contexts `X`."""
        rows, chosen = self._rows(X), np.asarray(a)
        rewards = np.asarray(r, dtype=float)
        if chosen.shape != (len(rows),) or rewards.shape != chosen.shape:
            bound = f"{len(rows)} each, one for each row of X"
            raise BanditError(f"a has shape {chosen.shape} and r {rewards.shape}: they must be {bound}", "a", bound)
        if chosen.size and not (0 <= chosen.min() and chosen.max() < self.nchoices):
            bound = f"between 0 and {self.nchoices - 1}"
            raise BanditError(f"a has arms {chosen.min()} to {chosen.max()}: they must be {bound}", "a", bound)
        for row, arm, reward in zip(rows, chosen.tolist(), rewards.tolist(), strict=True):
            self._known(rows.shape[1]).update(arm, row, reward)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The score of each arm in each context."""
        rows = self._rows(X)
        return self._known(rows.shape[1]).scores(range(self.nchoices), rows)

    def predict(self, X: ArrayLike, **ignored: Any) -> NDArray[np.int64]:
        """The arm with the largest score in each context; of equals, the first."""
        return np.asarray(self.decision_function(X).argmax(axis=1), dtype=np.int64)

    def _known(self, dim: int) -> Disjoint:
        if self._arms is None:
            self._arms = Disjoint(dim, **self._settings)
        return self._arms

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        rows = np.asarray(X, dtype=float)
        if rows.ndim != 2:
            bound = "an array of contexts by features"
            raise BanditError(f"X has shape {rows.shape}: it must be {bound}", "X", bound)
        return np.hstack([np.ones((len(rows), 1)), rows])
