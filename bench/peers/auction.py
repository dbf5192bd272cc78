"""The greedy information auction in numpy, in three ways: `Loop`, `Batched` and `Lazy`."""

import heapq
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Payments = dict[str, float]

MET_WITHIN = 1e-9
# From this many numbers in a stack, Cholesky and its diagonal take less time than slogdet.
CHOLESKY_FROM = 2000
# Stale gains that `lazy` evaluates at once: the fastest of 1 to 16, or close to it, at every size.
LAZY_BATCH = 4


@dataclass(frozen=True)
class Round:
    """The admitted offers of a round, sorted by client."""

    clients: list[str]
    asks: Floats
    grams: Floats
    base: Floats
    coverage: float
    reserve: float

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "Round":
        """Reads the JSON form; `base` gets the ridge."""
        reserve = float(document["reserve"])
        offers = [offer for offer in document["offers"] if float(offer["ask"]) <= reserve]
        offers.sort(key=lambda offer: offer["client"])
        base = np.array(document["base"], dtype=float)
        dimension = len(base)
        return cls(
            clients=[offer["client"] for offer in offers],
            asks=np.array([offer["ask"] for offer in offers], dtype=float),
            grams=np.array([offer["gram"] for offer in offers], dtype=float).reshape(
                -1, dimension, dimension
            ),
            base=base + document["lambda"] * np.eye(dimension),
            coverage=document["coverage"],
            reserve=reserve,
        )


@dataclass
class Walk:
    """A greedy run: who was picked, what each added, and what the client left out would have added."""

    picks: list[int] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    own_gains: list[float] = field(default_factory=list)
    met: bool = False


def log_det(matrix: Floats) -> float:
    """log det of one positive definite matrix."""
    return float(np.linalg.slogdet(matrix)[1])


def log_dets(matrices: Floats) -> Floats:
    """log det of each of a stack of positive definite matrices."""
    if matrices.size < CHOLESKY_FROM:
        return np.linalg.slogdet(matrices)[1]
    diagonals = np.linalg.cholesky(matrices).diagonal(axis1=1, axis2=2)
    return 2.0 * np.log(diagonals).sum(axis=1)


class Greedy(ABC):
    """Best gain per ask first until the target is met; every winner is paid its critical value."""

    def __init__(self, auction: Round) -> None:
        self.round = auction
        self.total = auction.base + auction.grams.sum(axis=0)
        self.base_level = log_det(auction.base)
        self.target = log_det(self.total) + math.log(auction.coverage) - MET_WITHIN

    @abstractmethod
    def walk(self, without: int | None = None) -> Walk:
        """The greedy run, without one client if given."""

    def payment(self, winner: int) -> float:
        """The critical value of a winner, or the reserve if it is essential."""
        walk = self.walk(without=winner)
        if not walk.met:
            return self.round.reserve
        replacing = self.round.asks[walk.picks] * np.array(walk.own_gains) / np.array(walk.gains)
        return min(self.round.reserve, float(replacing.max()))

    def payments(self, winners: list[int]) -> Payments:
        """The payments of some winners by client."""
        return {self.round.clients[winner]: self.payment(winner) for winner in winners}


class EvaluateAll(Greedy):
    """A greedy that evaluates all remaining clients at every step."""

    @abstractmethod
    def levels(self, matrix: Floats, clients: NDArray[np.intp]) -> Floats:
        """log det of the matrix with each client's data added."""

    def walk(self, without: int | None = None) -> Walk:
        asks, grams = self.round.asks, self.round.grams
        own = np.array([] if without is None else [without], dtype=np.intp)
        rest = np.delete(np.arange(len(asks)), own)
        matrix, level, walk = self.round.base, self.base_level, Walk()
        while level < self.target and rest.size:
            levels = self.levels(matrix, np.append(rest, own))
            gains = levels - level
            best = int(value_for_money(gains[: rest.size], asks[rest]).argmax())
            if gains[best] <= 0:
                break
            walk.picks.append(int(rest[best]))
            walk.gains.append(gains[best])
            walk.own_gains.extend(gains[rest.size :])
            matrix, level = matrix + grams[rest[best]], levels[best]
            rest = np.delete(rest, best)
        walk.met = bool(level >= self.target)
        return walk


def value_for_money(gains: Floats, asks: Floats) -> Floats:
    """Gain per ask; a gain at ask zero is infinite, no gain is worth nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gains > 0, gains / asks, 0.0)


class Loop(EvaluateAll):
    """One slogdet call per client."""

    def levels(self, matrix: Floats, clients: NDArray[np.intp]) -> Floats:
        return np.array([log_det(matrix + self.round.grams[client]) for client in clients])


class Batched(EvaluateAll):
    """One call for all clients."""

    def levels(self, matrix: Floats, clients: NDArray[np.intp]) -> Floats:
        return log_dets(matrix + self.round.grams[clients])


# The value with its sign turned, the client, the step at which its gain was evaluated, the gain.
Entry = tuple[float, int, int, float]


class Turn(NamedTuple):
    """Where a run stands before a pick."""

    step: int
    level: float
    heap: list[Entry]


class Lazy(Greedy):
    """Gains only fall as more is bought, so earlier gains are bounds: only the top of a heap is evaluated."""

    def __init__(self, auction: Round) -> None:
        super().__init__(auction)
        self.asks = auction.asks.tolist()
        self.evaluations = 0
        first_gains = (self.levels(auction.base + auction.grams) - self.base_level).tolist()
        first_heap = [self.entry(client, gain, 0) for client, gain in enumerate(first_gains)]
        heapq.heapify(first_heap)
        self.start = Turn(0, self.base_level, first_heap)
        # The turns of the main run by winner, each with the heap of the others.
        self.turns: dict[int, Turn] = {}
        # The matrix before each step of the main run, and of the payment run under way.
        self.main = np.empty((len(self.asks) + 1, *auction.base.shape))
        self.main[0] = auction.base
        self.branch = np.empty_like(self.main)

    def levels(self, matrices: Floats) -> Floats:
        """log det of each of a stack, counted."""
        self.evaluations += len(matrices)
        return log_dets(matrices)

    def entry(self, client: int, gain: float, step: int) -> Entry:
        """Best value first, ties to the smaller client."""
        ask = self.asks[client]
        value = 0.0 if gain <= 0 else math.inf if ask == 0 else gain / ask
        return (-value, client, step, gain)

    def walk(self, without: int | None = None) -> Walk:
        """The greedy run; without a winner of the run before, from its turn on."""
        if without is None:
            return self.run(self.start, self.main, self.turns)
        turn = self.turns[without]
        self.branch[turn.step] = self.main[turn.step]
        walk = self.run(turn, self.branch, None)
        before = self.branch[turn.step : turn.step + len(walk.picks)]
        levels = turn.level + np.cumsum([0.0, *walk.gains[:-1]])
        walk.own_gains = (self.levels(before + self.round.grams[without]) - levels).tolist()
        return walk

    def run(self, turn: Turn, matrices: Floats, turns: dict[int, Turn] | None) -> Walk:
        """Picks from a turn on; fills in the matrix before each step, and the turns if wanted."""
        step, level, heap = turn.step, turn.level, turn.heap.copy()
        walk = Walk()
        while level < self.target and heap:
            while heap[0][2] < step:
                self.evaluate_top(heap, matrices[step], level, step)
            _, client, _, gain = heapq.heappop(heap)
            if gain <= 0:
                break
            if turns is not None:
                turns[client] = Turn(step, level, heap.copy())
            walk.picks.append(client)
            walk.gains.append(gain)
            np.add(matrices[step], self.round.grams[client], out=matrices[step + 1])
            step, level = step + 1, level + gain
        walk.met = level >= self.target
        return walk

    def evaluate_top(self, heap: list[Entry], matrix: Floats, level: float, step: int) -> None:
        """Evaluates the stale gains at the top of the heap anew."""
        stale: list[int] = []
        while heap and heap[0][2] < step and len(stale) < LAZY_BATCH:
            stale.append(heapq.heappop(heap)[1])
        gains = self.levels(matrix + self.round.grams[stale]) - level
        for client, gain in zip(stale, gains.tolist(), strict=True):
            heapq.heappush(heap, self.entry(client, gain, step))

    def payments(self, winners: list[int]) -> Payments:
        without = self.levels(self.total - self.round.grams[winners])
        essential = {winner for winner, level in zip(winners, without, strict=True) if level < self.target}
        rest = super().payments([winner for winner in winners if winner not in essential])
        return rest | {self.round.clients[winner]: self.round.reserve for winner in essential}
