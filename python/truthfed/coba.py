"""LinUCB as a learner of coba, for its experiments on one or more processes. Needs ``truthfed[coba]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from coba.encodings import InteractionsEncoder
from coba.primitives import Learner as Host
from numpy.typing import NDArray

from truthfed._core import LinUCB
from truthfed.errors import BanditError


class Learner(Host):
    """A learner with one parameter for all actions. `features` are coba's: ``a`` an action, ``x`` a context, ``ax`` their products.

    >>> import coba as cb
    >>> environments = cb.Environments.from_linear_synthetic(200, n_actions=3, seed=1)
    >>> result = cb.Experiment(environments, Learner(alpha=0.5)).run(quiet=True)
    >>> len(result.interactions)
    200
    """

    def __init__(
        self,
        ridge: float = 0.1,
        noise: float = 0.1,
        delta: float = 0.1,
        alpha: float | None = None,
        features: Sequence[str | float] = (1, "a", "ax"),
    ) -> None:
        LinUCB(1, ridge, noise, delta, alpha)  # wrong settings are refused here, not in the first step of an experiment
        self._settings: dict[str, Any] = {"ridge": ridge, "noise": noise, "delta": delta, "alpha": alpha}
        self._features = list(features)
        # Without a context, products with one are nothing.
        self._encoders = {True: list(features), False: [name for name in features if "x" not in str(name)]}
        self._bandit: LinUCB | None = None

    @property
    def params(self) -> Mapping[str, Any]:
        """What results record of it."""
        return {"family": "truthfed.LinUCB", **self._settings, "features": self._features}

    def score(self, context: Any, actions: Sequence[Any], action: Any) -> float:
        """The probability with which it takes an action: 0 or 1."""
        return float(actions[self._pull(context, actions)] == action)

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float]:
        """The action with the largest score; of equals, the first."""
        return actions[self._pull(context, actions)], 1.0

    def learn(self, context: Any, action: Any, reward: float, probability: float) -> None:
        """Learns the reward of an action."""
        [row] = self._rows(context, [action])
        self._of(row.size).update(row, reward)

    def _pull(self, context: Any, actions: Sequence[Any]) -> int:
        rows = self._rows(context, actions)
        return self._of(rows.shape[1]).pull(rows)

    def _of(self, dim: int) -> LinUCB:
        if self._bandit is None:
            self._bandit = LinUCB(dim, **self._settings)
        return self._bandit

    def _rows(self, context: Any, actions: Sequence[Any]) -> NDArray[np.float64]:
        # Made anew each time: coba asks whether there is a score with no context and no actions, and that must change nothing.
        encoder = InteractionsEncoder(self._encoders[bool(context)])
        rows = [encoder.encode(x=context or [], a=action) for action in actions]
        if not rows:
            raise BanditError("actions is empty: it must be at least one", "actions", "at least one")
        if any(isinstance(row, Mapping) for row in rows):
            bound = "numbers: make texts and dicts dense first, as by environments.dense() or .finalize()"
            raise BanditError(f"the features of an action are sparse: they must be {bound}", "features", bound)
        return np.array(rows, dtype=float)
