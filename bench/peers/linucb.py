"""A LinUCB step in numpy, choosing and learning, and the time it takes."""

import numpy as np

from .auction import Floats
from .timing import SEED, repeated, timed

LINUCB_ARMS = 25
LINUCB_DIMENSIONS = [5, 25, 100, 200]
LINUCB_CONTEXTS = 100
LINUCB_PASSES = 10
LINUCB_ALPHA = 1.0


def linucb_step(
    arms: Floats, rewards: Floats, inverse: Floats, theta: Floats, alpha: float
) -> tuple[int, float]:
    """Chooses an arm and learns from its reward; `inverse` and `theta` are updated in place.

    Returns the arm and by how much the determinant grew.
    """
    projected = arms @ inverse
    scores = arms @ theta + alpha * np.sqrt((projected * arms).sum(1))
    chosen = int(scores.argmax())
    context, direction = arms[chosen], projected[chosen]
    growth = 1.0 + float(direction @ context)
    scaled = direction / growth
    theta += scaled * (rewards[chosen] - context @ theta)
    inverse -= scaled[:, None] * direction
    return chosen, growth


def linucb_seconds(dimension: int) -> float:
    """Seconds per step, choosing and learning."""
    random = np.random.default_rng(SEED)
    contexts = random.standard_normal((LINUCB_CONTEXTS, LINUCB_ARMS, dimension))
    contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
    rewards = contexts @ random.standard_normal(dimension)
    rewards += 0.1 * random.standard_normal(rewards.shape)

    def run() -> None:
        inverse, theta = np.eye(dimension), np.zeros(dimension)
        for _ in range(LINUCB_PASSES):
            for arms, reward in zip(contexts, rewards, strict=True):
                linucb_step(arms, reward, inverse, theta, LINUCB_ALPHA)

    seconds, _ = repeated(lambda: timed(run))
    return seconds / (LINUCB_CONTEXTS * LINUCB_PASSES)
