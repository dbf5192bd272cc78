"""The estimate of a LinUCB as a regressor of scikit-learn. Needs ``truthfed[sklearn]``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from truthfed._core import LinUCB


class Regressor(RegressorMixin, BaseEstimator):
    """Ridge regression that learns row by row and knows how wide its estimates are.

    The ridge holds for the intercept too. ``bandit_`` is the :class:`truthfed.LinUCB` behind it.

    >>> model = Regressor(ridge=1e-3).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> mean, std = model.predict([[3.0]], return_std=True)
    >>> round(float(mean[0]), 1)
    7.0
    """

    def __init__(self, ridge: float = 0.1, fit_intercept: bool = True) -> None:
        self.ridge = ridge
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike) -> Regressor:
        """Forgets everything, and learns."""
        return self._learn(X, y, reset=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Regressor:
        """Learns more rows."""
        return self._learn(X, y, reset=not hasattr(self, "bandit_"))

    def _learn(self, X: ArrayLike, y: ArrayLike, reset: bool) -> Regressor:
        X, y = validate_data(self, X, y, reset=reset, y_numeric=True, dtype=np.float64)
        rows = self._rows(X)
        if reset:
            self.bandit_ = LinUCB(rows.shape[1], ridge=float(self.ridge))
        self.bandit_.partial_fit(rows, np.asarray(y, dtype=np.float64))
        theta = self.bandit_.theta
        self.coef_ = theta[: self.n_features_in_]
        self.intercept_ = float(theta[-1]) if self.fit_intercept else 0.0
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """The mean of each row; with `return_std` also its width, the square root of x' V^-1 x."""
        check_is_fitted(self)
        rows = self._rows(validate_data(self, X, reset=False, dtype=np.float64))
        if return_std:
            return self.bandit_.predict(rows, return_std=True)
        return self.bandit_.predict(rows)

    def _rows(self, X: Any) -> NDArray[np.float64]:
        return np.hstack([X, np.ones((X.shape[0], 1))]) if self.fit_intercept else np.ascontiguousarray(X)
