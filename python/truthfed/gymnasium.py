"""Environments of Gymnasium: the arms of a client, and the ask of a client in an auction. Needs ``truthfed[gymnasium]``.

Both are registered, as ``truthfed/Arms-v0`` and ``truthfed/Ask-v0``, when this module is imported.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from truthfed._core import Round
from truthfed.errors import InputError


class Arms(gym.Env):
    """A linear bandit: the observation has a row for each arm, the action is the number of one, the reward is linear with noise.

    Arms and the hidden parameter have length 1. ``info["regret"]`` is what the best arm would have given more, without noise.

    >>> import truthfed as tf
    >>> environment, bandit = Arms(steps=300), tf.LinUCB(dim=5)
    >>> arms, _ = environment.reset(seed=1)
    >>> regret, over = 0.0, False
    >>> while not over:
    ...     chosen = bandit.pull(arms)
    ...     after, reward, _, over, info = environment.step(chosen)
    ...     bandit.update(arms[chosen], reward)
    ...     arms, regret = after, regret + info["regret"]
    >>> regret / 300 < 0.1
    True
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, dim: int = 5, arms: int = 25, steps: int = 1000, noise: float = 0.1) -> None:
        for name, value in (("dim", dim), ("arms", arms), ("steps", steps)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                bound = "a whole number of at least 1"
                raise InputError(f"{name} is {value!r}: it must be {bound}", name, bound)
        if not (0.0 <= noise < np.inf):
            raise InputError(f"noise is {noise!r}: it must be finite and at least 0", "noise", "finite and at least 0")
        self.steps, self.noise = steps, noise
        self.observation_space = spaces.Box(-1.0, 1.0, (arms, dim), np.float64)
        self.action_space = spaces.Discrete(arms)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Another parameter, and the arms of the first step."""
        super().reset(seed=seed)
        _, dim = self.observation_space.shape
        [self._theta] = self._directions(1, dim)
        self._step = 0
        return self._draw(), {}

    def step(self, action: Any) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """The reward of an arm, and the next arms."""
        means = self._arms @ self._theta
        reward = float(means[action] + self.noise * self.np_random.standard_normal())
        self._step += 1
        info = {"regret": float(means.max() - means[action])}
        return self._draw(), reward, False, self._step >= self.steps, info

    def _draw(self) -> NDArray[np.float64]:
        self._arms = self._directions(*self.observation_space.shape)
        return self._arms.copy()

    def _directions(self, rows: int, dim: int) -> NDArray[np.float64]:
        drawn = self.np_random.standard_normal((rows, dim))
        return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


class Ask(gym.Env):
    """One client in auctions: it sees what its data costs it, asks, and earns its payment minus that cost if it wins.

    Every step is another round of as many `clients`, whose others ask their costs. The observation is the client's cost over the
    reserve, and so is the action. Under a mechanism that is truthful, no policy earns more than the identity;
    ``info["truth"]`` is what that would have earned.

    >>> environment = Ask(mechanism="clock", clients=6, dim=2)
    >>> cost, _ = environment.reset(seed=1)
    >>> for _ in range(50):
    ...     cost, earned, _, _, info = environment.step(cost * 1.5)
    ...     assert earned <= info["truth"]
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, mechanism: Any = "clock", clients: int = 10, dim: int = 2, steps: int = 100) -> None:
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            bound = "a whole number of at least 1"
            raise InputError(f"steps is {steps!r}: it must be {bound}", "steps", bound)
        Round.generate(clients, dim).solve(mechanism)  # what is wrong with them is said here
        self.mechanism, self.clients, self.dim, self.steps = mechanism, clients, dim, steps
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float64)
        self.action_space = spaces.Box(0.0, 1.0, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """The first round."""
        super().reset(seed=seed)
        self._step = 0
        return self._draw(), {}

    def step(self, action: Any) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """What an ask earns, and the next round."""
        share = float(np.clip(np.asarray(action, dtype=float).reshape(-1)[0], 0.0, 1.0))
        earned = self._earned(self._round.with_ask(self._client, share * self._round.reserve))
        info = {"truth": self._earned(self._round)}
        self._step += 1
        return self._draw(), earned, False, self._step >= self.steps, info

    def _earned(self, round: Round) -> float:
        outcome = round.solve(self.mechanism)
        won = np.flatnonzero(np.array(outcome.winners) == self._client)
        return float((outcome.micros[won] - self._cost).sum() / 1e6)

    def _draw(self) -> NDArray[np.float64]:
        self._round = Round.generate(self.clients, self.dim, seed=int(self.np_random.integers(2**32)))
        chosen = int(self.np_random.integers(len(self._round.clients)))
        self._client, self._cost = self._round.clients[chosen], int(self._round.micros[chosen])
        return np.array([self._round.asks[chosen] / self._round.reserve])


gym.register("truthfed/Arms-v0", Arms)
gym.register("truthfed/Ask-v0", Ask)
