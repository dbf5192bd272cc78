"""LinUCB as a contextual policy of River, for `river.bandit.evaluate_offline`. Needs ``truthfed[river]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from river import bandit

from truthfed._core import LinUCB
from truthfed.disjoint import Disjoint
from truthfed.errors import BanditError

Context = Mapping[str, float] | None


class Policy(bandit.base.ContextualPolicy):
    """A policy with a parameter for each arm; or with one for all, if `features` gives the vector of an arm in a context.

    Contexts are dicts whose names are those of the first one. A missing name is 0, an unknown one an error. Without a context, an arm
    has a mean only.

    >>> from river import bandit
    >>> log = [(["a", "b"], {"night": float(step % 2)}, "ab"[step // 2 % 2], float(step % 2 == step // 2 % 2)) for step in range(400)]
    >>> reward, used = bandit.evaluate_offline(Policy(alpha=0.5), log)
    >>> reward.get() / used > 0.9
    True
    """

    def __init__(
        self,
        ridge: float = 0.1,
        noise: float = 0.1,
        delta: float = 0.1,
        alpha: float | None = None,
        features: Callable[[Any, Context], ArrayLike] | None = None,
        reward_obj: Any = None,
        burn_in: int = 0,
    ) -> None:
        super().__init__(reward_obj=reward_obj, burn_in=burn_in)
        LinUCB(1, ridge, noise, delta, alpha)  # wrong settings are refused here, not in the first step of a log
        # River copies a policy by the names of its arguments.
        self.ridge, self.noise, self.delta, self.alpha, self.features = ridge, noise, delta, alpha, features
        self._names: list[str] | None = None
        self._arms: Disjoint | None = None
        self._shared: LinUCB | None = None

    def _settings(self) -> dict[str, Any]:
        return {"ridge": self.ridge, "noise": self.noise, "delta": self.delta, "alpha": self.alpha}

    def _pull(self, arm_ids: Sequence[Any], context: Context) -> Any:
        arms = list(arm_ids)
        if self.features is None:
            row = self._row(context)
            return self._disjoint(row.size).pull(arms, row)
        rows = np.array([self.features(arm, context) for arm in arms], dtype=float)
        return arms[self._one(rows.shape[1]).pull(rows)]

    def update(self, arm_id: Any, context: Context, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learns the reward of an arm that was pulled in a context."""
        [reward] = reward_args
        if self.features is None:
            row = self._row(context)
            self._disjoint(row.size).update(arm_id, row, reward)
        else:
            row = np.asarray(self.features(arm_id, context), dtype=float)
            self._one(row.size).update(row, reward)
        super().update(arm_id, context, reward, **reward_kwargs)

    def _disjoint(self, dim: int) -> Disjoint:
        if self._arms is None:
            self._arms = Disjoint(dim, **self._settings())
        return self._arms

    def _one(self, dim: int) -> LinUCB:
        if self._shared is None:
            self._shared = LinUCB(dim, **self._settings())
        return self._shared

    def _row(self, context: Context) -> NDArray[np.float64]:
        """A constant, and the features of a context in the order of their names."""
        features = context or {}
        if self._names is None:
            self._names = sorted(features)
        unknown = sorted(set(features) - set(self._names))
        if unknown:
            bound = "with no other features than the first: " + ", ".join(self._names)
            raise BanditError(f"context has {unknown[0]!r}: it must be {bound}", "context", bound)
        return np.array([1.0, *(features.get(name, 0.0) for name in self._names)])
