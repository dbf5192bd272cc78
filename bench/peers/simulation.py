"""A whole simulation in numpy: clients that learn with LinUCB and share what an auction buys."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .auction import Batched, Floats, Round, log_det, log_dets
from .linucb import linucb_step


@dataclass(frozen=True)
class Setting:
    """What is simulated, as truthfed's configuration says."""

    world: dict[str, Any]
    learning: dict[str, Any]
    rounds: dict[str, Any]
    costs: dict[str, Any]

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Setting":
        """Of the configuration that truthfed prints with its results."""
        return cls(config["world"], config["learning"], config["rounds"], config["costs"])

    def threshold(self) -> float:
        """The paper's communication threshold."""
        t, n, d = (self.world[key] for key in ("steps", "clients", "dimension"))
        epochs = math.ceil(d * math.log1p(t / (self.learning["lambda"] * d)))
        strict = (1.0 - 1.0 / math.e) * math.log(self.rounds["coverage"])
        first = t / (n * n * d * math.log(t))
        return first - math.sqrt(t * t / (n * n * d * epochs * math.log(t))) * strict


class Federation:
    """What all clients know, one row each, and what each has not shared."""

    def __init__(self, setting: Setting, random: np.random.Generator) -> None:
        clients, dimension = setting.world["clients"], setting.world["dimension"]
        self.setting = setting
        self.names = [str(client) for client in range(clients)]
        self.bases = random.uniform(setting.costs["base_low"], setting.costs["base_high"], clients)
        self.ridge = setting.learning["lambda"] * np.eye(dimension)
        self.settled_gram, self.settled_moment = np.zeros((dimension, dimension)), np.zeros(dimension)
        self.grams, self.moments = np.zeros((clients, dimension, dimension)), np.zeros((clients, dimension))
        self.refresh()

    def refresh(self) -> None:
        """Computes inverses, estimates and determinants anew, and starts to count from here."""
        matrices = self.ridge + self.settled_gram + self.grams
        self.inverses = np.linalg.inv(matrices)
        self.thetas = (self.inverses @ (self.settled_moment + self.moments)[:, :, None])[:, :, 0]
        self.log_det_ratios = (log_dets(matrices) - log_det(self.ridge)).tolist()
        self.steps, self.nats = [0] * len(self.names), [0.0] * len(self.names)

    def exploration(self, client: int) -> float:
        """The width of a client's confidence set."""
        learning = self.setting.learning
        confidence = self.log_det_ratios[client] + 2.0 * math.log(1.0 / learning["delta"])
        return learning["sigma"] * math.sqrt(confidence) + math.sqrt(learning["lambda"])

    def step(self, client: int, arms: Floats, rewards: Floats) -> int:
        """One client chooses an arm and learns."""
        inverse, theta = self.inverses[client], self.thetas[client]
        chosen, growth = linucb_step(arms, rewards, inverse, theta, self.exploration(client))
        context, nats = arms[chosen], math.log(growth)
        self.grams[client] += context[:, None] * context
        self.moments[client] += rewards[chosen] * context
        self.log_det_ratios[client] += nats
        self.nats[client] += nats
        self.steps[client] += 1
        return chosen

    def share(self) -> None:
        """A round: the winners' data reaches everyone."""
        auction = Round(
            clients=self.names,
            asks=self.setting.costs["weight"] * np.linalg.det(self.grams) + self.bases,
            grams=self.grams,
            base=self.ridge + self.settled_gram,
            coverage=self.setting.rounds["coverage"],
            reserve=self.setting.rounds["reserve"],
        )
        winners = Batched(auction).walk().picks
        self.settled_gram += self.grams[winners].sum(axis=0)
        self.settled_moment += self.moments[winners].sum(axis=0)
        self.grams[winners], self.moments[winners] = 0.0, 0.0
        self.refresh()


def simulate(setting: Setting, seed: int) -> float:
    """The regret of a whole run."""
    random, world = np.random.default_rng(seed), setting.world
    count, dimension, per_step = world["arm_count"], world["dimension"], world["arms_per_step"]
    arms = random.standard_normal((count, dimension)) * np.sqrt(np.arange(dimension, 0, -1) / dimension)
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    hidden = random.standard_normal(dimension)
    means = arms @ (hidden / np.linalg.norm(hidden))
    noises = world["noise"] * random.standard_normal(world["steps"])
    federation, threshold, regret = Federation(setting, random), setting.threshold(), 0.0
    for step, noise in enumerate(noises):
        client = step % world["clients"]
        shown = random.choice(count, per_step, replace=False, shuffle=False)
        expected = means[shown]
        chosen = federation.step(client, arms[shown], expected + noise)
        regret += float(expected.max() - expected[chosen])
        if federation.steps[client] * federation.nats[client] > threshold:
            federation.share()
    return regret


class Simulated(NamedTuple):
    """Seconds of one run, and the regrets of all runs."""

    seconds: float
    regrets: list[float]
