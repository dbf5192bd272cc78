"""What the greedy information auction costs in numpy, beside truthfed, on the same rounds in the same run.

For every size, truthfed writes a generated round; three numpy scripts and the truthfed binary then choose
the winners and price all of them:

loop     a Python loop, one slogdet per client and step
batched  one stack of log determinants for all remaining clients at every step
lazy     stale gains in a heap as bounds, only the top few are evaluated anew, in one stack; a payment run
         starts at the winner's own turn, with the matrix and the bounds the main run had there; a winner's
         own gains along its payment run are one stack, and who is essential is one stack for all

A stack of matrices goes through Cholesky where that is faster than slogdet.

Everything runs on one thread. Reading the round is not timed on either side: truthfed's figures are the
seconds it reports for selecting and pricing. Winners must be the same and payments equal within 1e-6
(absolute plus relative; truthfed pays whole micro-units), otherwise the exit code is 1.

A second table gives the log determinants that `lazy` and truthfed evaluate, a third the time of a LinUCB step
(choose and learn) in numpy; truthfed's is in `make bench`.

A fourth table gives the time of a whole simulation of the paper's setting, which is truthfed's default. numpy
runs a loop with a kept inverse and one vectorised score per step, and the greedy auction without any payment;
truthfed runs `simulate --threads 1`, `clock` with all payments, timed as a process with start and output,
over as many seeds as fill half a second. Random numbers differ: the exit code is 1 if numpy's mean regret is
outside the range of truthfed's.
"""

import argparse
import heapq
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

# Read when numpy starts.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Floats = NDArray[np.float64]
Payments = dict[str, float]

SEED = 1
MET_WITHIN = 1e-9
PAYMENT_TOLERANCE = 1e-6
LOOP_LIMIT_SECONDS = 20.0
BATCHED_LIMIT_SECONDS = 60.0
SAMPLED_PAYMENTS = 3
MEASURE_SECONDS = 0.2
SHOWN_DIFFERENCES = 10
# From this many numbers in a stack, Cholesky and its diagonal take less time than slogdet.
CHOLESKY_FROM = 2000
# Stale gains that `lazy` evaluates at once: the fastest of 1 to 16, or close to it, at every size.
LAZY_BATCH = 4

LINUCB_ARMS = 25
LINUCB_DIMENSIONS = [5, 25, 100]
LINUCB_CONTEXTS = 100
LINUCB_PASSES = 10
LINUCB_ALPHA = 1.0

# Runs of the simulation in numpy, and timings of truthfed's process.
SIMULATIONS = 20
PROCESSES = 3
PROCESS_SECONDS = 0.5
FIRST_SEEDS = 50


class TruthfedError(Exception):
    """truthfed could not be run, or failed."""


# The auction in numpy.


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


# Measuring.


class Size(NamedTuple):
    """The size of a generated round."""

    clients: int
    dimension: int

    @classmethod
    def parse(cls, text: str) -> "Size":
        """Reads `clients,dimension`."""
        try:
            clients, dimension = (int(part) for part in text.split(","))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not clients,dimension such as 25,5") from None
        if min(clients, dimension) < 1:
            raise argparse.ArgumentTypeError(f"{text!r}: clients and dimension must be at least 1")
        return cls(clients, dimension)

    def __str__(self) -> str:
        return f"{self.clients},{self.dimension}"


DEFAULT_SIZES = [Size(25, 5), Size(1000, 5), Size(25, 25), Size(1000, 25)]


class LogDets(NamedTuple):
    """How many log determinants were evaluated."""

    select: int
    price: int


@dataclass(frozen=True)
class Measurement:
    """Seconds for selecting and pricing all, who won, and the payments as far as they were computed."""

    seconds: float
    winners: set[str]
    payments: Payments
    extrapolated: bool = False
    log_dets: LogDets | None = None


def timed(run: Callable[[], T]) -> tuple[float, T]:
    """Seconds and result of a call."""
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def repeated(run: Callable[[], tuple[float, T]]) -> tuple[float, T]:
    """Median of the seconds `run` returns, over as many calls as fill the time of a measurement."""
    start = time.perf_counter()
    samples = []
    while not samples or time.perf_counter() - start < MEASURE_SECONDS:
        seconds, result = run()
        samples.append(seconds)
    return statistics.median(samples), result


def measure(method: type[Greedy], auction: Round) -> Measurement:
    """Times the whole auction."""

    def run() -> Payments:
        greedy = method(auction)
        return greedy.payments(greedy.walk().picks)

    seconds, payments = repeated(lambda: timed(run))
    return Measurement(seconds, set(payments), payments)


def measure_lazy(auction: Round) -> Measurement:
    """Times `lazy`, with the log determinants of its last run."""

    def run() -> tuple[Payments, LogDets]:
        greedy = Lazy(auction)
        winners = greedy.walk().picks
        select = greedy.evaluations
        payments = greedy.payments(winners)
        return payments, LogDets(select, greedy.evaluations - select)

    seconds, (payments, log_dets) = repeated(lambda: timed(run))
    return Measurement(seconds, set(payments), payments, log_dets=log_dets)


def measure_loop(auction: Round, winners: int) -> Measurement | None:
    """Times `loop` unless it would take too long, given the number of winners."""
    matrix = auction.base + auction.grams[0]
    evaluation, _ = repeated(lambda: timed(lambda: log_det(matrix)))
    evaluations_per_walk = winners * len(auction.asks) - winners * (winners - 1) / 2
    if evaluation * evaluations_per_walk * (winners + 1) > LOOP_LIMIT_SECONDS:
        return None
    return measure(Loop, auction)


def measure_batched(auction: Round) -> Measurement:
    """Times `batched`; if that would take too long, extrapolates from the payments of a few winners."""

    def select() -> tuple[Batched, list[int]]:
        greedy = Batched(auction)
        return greedy, greedy.walk().picks

    selecting, (greedy, winners) = timed(select)
    pricing, _ = timed(lambda: greedy.payments(winners[:1]))
    if selecting + pricing * len(winners) <= BATCHED_LIMIT_SECONDS:
        return measure(Batched, auction)
    sample = [winners[i] for i in np.linspace(0, len(winners) - 1, SAMPLED_PAYMENTS).astype(int)]
    pricing, payments = timed(lambda: greedy.payments(sample))
    seconds = selecting + pricing * len(winners) / len(sample)
    return Measurement(seconds, {auction.clients[winner] for winner in winners}, payments, extrapolated=True)


# truthfed.


def call(binary: str, *arguments: str) -> str:
    """Standard output of truthfed."""
    try:
        done = subprocess.run([binary, *arguments], capture_output=True, text=True, check=True)
    except OSError as error:
        raise TruthfedError(f"cannot run {binary}: {error.strerror} (cargo build --release)") from error
    except subprocess.CalledProcessError as error:
        command = " ".join([binary, *arguments])
        raise TruthfedError(f"{command}: exit code {error.returncode}: {error.stderr.strip()}") from error
    return done.stdout


def measure_truthfed(binary: str, file: Path, mechanism: str) -> Measurement:
    """Times a mechanism by the seconds truthfed reports."""

    def run() -> tuple[float, dict[str, Any]]:
        arguments = ["--threads", "1", "--mechanism", mechanism, "--json"]
        outcome = json.loads(call(binary, "auction", str(file), *arguments))
        return outcome["seconds"]["select"] + outcome["seconds"]["price"], outcome

    seconds, outcome = repeated(run)
    payments = {winner["client"]: float(winner["payment"]) for winner in outcome["winners"]}
    return Measurement(seconds, set(payments), payments, log_dets=LogDets(**outcome["log_dets"]))


# One size of the auction.


@dataclass(frozen=True)
class Comparison:
    """All measurements on one round."""

    size: Size
    loop: Measurement | None
    batched: Measurement
    lazy: Measurement
    greedy: Measurement
    clock: Measurement

    def numpy(self) -> dict[str, Measurement | None]:
        """The measurements of numpy by column name."""
        return {"loop": self.loop, "batched": self.batched, "lazy": self.lazy}

    def columns(self) -> dict[str, Measurement | None]:
        """All measurements by column name."""
        return self.numpy() | {"truthfed greedy": self.greedy, "truthfed clock": self.clock}

    def counted(self) -> dict[str, Measurement]:
        """The measurements that counted log determinants, by column name."""
        return {name: entry for name, entry in self.columns().items() if entry and entry.log_dets}

    def ratios(self) -> dict[str, float]:
        """How many times as long numpy takes."""
        return {
            "batched/truthfed": self.batched.seconds / self.greedy.seconds,
            "lazy/truthfed": self.lazy.seconds / self.greedy.seconds,
        }

    def differences(self) -> list[str]:
        """Where numpy and truthfed disagree."""
        return [
            f"{self.size} {name}: {difference}"
            for name, measurement in self.numpy().items()
            if measurement
            for difference in differences(measurement, self.greedy)
        ]


def differences(numpy: Measurement, truthfed: Measurement) -> list[str]:
    """Clients that win only once, and payments that are not equal."""
    found = [f"{client} wins only in numpy" for client in sorted(numpy.winners - truthfed.winners)]
    found += [f"{client} wins only in truthfed" for client in sorted(truthfed.winners - numpy.winners)]
    for client in sorted(numpy.payments.keys() & truthfed.payments.keys()):
        ours, theirs = numpy.payments[client], truthfed.payments[client]
        if abs(ours - theirs) > PAYMENT_TOLERANCE * (1.0 + abs(theirs)):
            found.append(f"{client} is paid {ours!r} in numpy, {theirs!r} in truthfed")
    return found


def compare(binary: str, size: Size, folder: Path) -> Comparison:
    """Generates a round and measures everything on it."""
    print(f"measuring {size} ...", file=sys.stderr)
    file = folder / f"round-{size.clients}-{size.dimension}.json"
    call(binary, "auction", "--generate", str(size), "--seed", str(SEED), "--write", str(file))
    auction = Round.from_document(json.loads(file.read_text()))
    lazy = measure_lazy(auction)
    return Comparison(
        size,
        loop=measure_loop(auction, len(lazy.winners)),
        batched=measure_batched(auction),
        lazy=lazy,
        greedy=measure_truthfed(binary, file, "greedy"),
        clock=measure_truthfed(binary, file, "clock"),
    )


# LinUCB.


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


# A whole simulation.


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


@dataclass(frozen=True)
class SimulationComparison:
    """One setting in numpy and in truthfed."""

    setting: Setting
    numpy: Simulated
    truthfed: Simulated

    def columns(self) -> dict[str, Simulated]:
        """Both by program and mechanism."""
        return {
            "numpy, greedy without payments": self.numpy,
            f"truthfed, {self.setting.rounds['mechanism']} with payments": self.truthfed,
        }

    def steps_per_second(self, simulated: Simulated) -> float:
        """Of all clients together."""
        return self.setting.world["steps"] / simulated.seconds

    def ratio(self) -> float:
        """How many times as long numpy takes."""
        return self.numpy.seconds / self.truthfed.seconds

    def differences(self) -> list[str]:
        """Whether numpy's mean regret is one that truthfed's runs do not show."""
        mean = statistics.mean(self.numpy.regrets)
        low, high = min(self.truthfed.regrets), max(self.truthfed.regrets)
        if low <= mean <= high:
            return []
        return [f"simulation: mean regret {mean:.1f} in numpy, {low:.1f} to {high:.1f} in truthfed"]


def simulate_truthfed(binary: str) -> tuple[Setting, Simulated]:
    """Times `truthfed simulate` as a process, over as many seeds as it takes to time it well."""

    def run(seeds: int) -> tuple[float, str]:
        return timed(lambda: call(binary, "simulate", "--seeds", str(seeds), "--threads", "1", "--json"))

    seeds = FIRST_SEEDS
    while run(seeds)[0] < PROCESS_SECONDS:
        seeds *= 2
    seconds, outputs = zip(*(run(seeds) for _ in range(PROCESSES)), strict=True)
    output = json.loads(outputs[-1])
    regrets = [seed["regret"] for seed in output["seeds"]]
    return Setting.from_config(output["config"]), Simulated(statistics.median(seconds) / seeds, regrets)


def compare_simulations(binary: str) -> SimulationComparison:
    """Simulates truthfed's default setting in both programs."""
    print("measuring a simulation ...", file=sys.stderr)
    setting, truthfed = simulate_truthfed(binary)
    runs = [timed(lambda seed=seed: simulate(setting, seed)) for seed in range(SEED, SEED + SIMULATIONS)]
    seconds, regrets = zip(*runs, strict=True)
    return SimulationComparison(setting, Simulated(statistics.median(seconds), list(regrets)), truthfed)


# Printing.


def duration(measurement: Measurement | None) -> str:
    """Seconds with a unit, `~` when extrapolated, `-` when not measured."""
    if measurement is None:
        return "-"
    mark = "~" if measurement.extrapolated else ""
    for unit, scale in [("s", 1.0), ("ms", 1e3)]:
        if measurement.seconds * scale >= 1.0:
            return f"{mark}{measurement.seconds * scale:.2f} {unit}"
    return f"{mark}{measurement.seconds * 1e6:.1f} us"


def table(rows: list[list[str]]) -> str:
    """Rows as aligned columns, the first to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        for row in rows
    )
    return "\n".join("  ".join(line) for line in lines)


def auction_table(comparisons: list[Comparison]) -> str:
    """One row per size."""
    first = comparisons[0]
    rows = [["size", "winners", *first.columns(), *first.ratios()]]
    for comparison in comparisons:
        durations = [duration(measurement) for measurement in comparison.columns().values()]
        ratios = [f"{ratio:.1f}" for ratio in comparison.ratios().values()]
        if comparison.batched.extrapolated:
            ratios[0] = f"~{ratios[0]}"
        rows.append([str(comparison.size), str(len(comparison.greedy.winners)), *durations, *ratios])
    return table(rows)


def log_dets_table(comparisons: list[Comparison]) -> str:
    """One row per size and program that counts."""
    rows = [["size", "program", "winners", "select", "price", "price per winner"]]
    for comparison in comparisons:
        for name, measurement in comparison.counted().items():
            winners, (select, price) = len(measurement.winners), measurement.log_dets
            per_winner = f"{price / winners:.1f}" if winners else "-"
            rows.append([str(comparison.size), name, str(winners), str(select), str(price), per_winner])
    return table(rows)


def linucb_table(linucb: dict[int, float]) -> str:
    """One row per dimension."""
    rows = [["dimension", "us per step"]]
    rows += [[str(dimension), f"{seconds * 1e6:.1f}"] for dimension, seconds in linucb.items()]
    return table(rows)


def simulation_table(simulation: SimulationComparison) -> str:
    """One row per program."""
    rows = [["program", "runs", "regret", "ms per run", "steps/s"]]
    for name, simulated in simulation.columns().items():
        regret, milliseconds = statistics.mean(simulated.regrets), simulated.seconds * 1e3
        speed = f"{simulation.steps_per_second(simulated):.0f}"
        rows.append([name, str(len(simulated.regrets)), f"{regret:.1f}", f"{milliseconds:.2f}", speed])
    return table(rows)


def agreement(differences: list[str]) -> str:
    """Whether numpy and truthfed agree, and if not, the first places where."""
    if not differences:
        return (
            f"winners and payments agree (payments within {PAYMENT_TOLERANCE:g}), so do the ranges of regret"
        )
    return "\n".join(
        [f"numpy and truthfed DISAGREE in {len(differences)} places:", *differences[:SHOWN_DIFFERENCES]]
    )


@dataclass(frozen=True)
class Results:
    """Everything that was measured."""

    auctions: list[Comparison]
    linucb: dict[int, float]
    simulation: SimulationComparison

    def differences(self) -> list[str]:
        """Where numpy and truthfed disagree."""
        found = [difference for comparison in self.auctions for difference in comparison.differences()]
        return found + self.simulation.differences()


def text_report(results: Results) -> str:
    """The tables for people."""
    world = results.simulation.setting.world
    return f"""\
Greedy auction, all winners priced, one thread (Python {platform.python_version()}, numpy {np.__version__})

{auction_table(results.auctions)}

- not run: would take over {LOOP_LIMIT_SECONDS:.0f} s    ~ extrapolated from {SAMPLED_PAYMENTS} payments
{agreement(results.differences())}

Log determinants evaluated

{log_dets_table(results.auctions)}

LinUCB in numpy, {LINUCB_ARMS} arms, choose and learn

{linucb_table(results.linucb)}

Simulation: {world["clients"]} clients, dimension {world["dimension"]}, {world["steps"]} steps

{simulation_table(results.simulation)}

numpy/truthfed: {results.simulation.ratio():.1f} (the process of truthfed is timed from start to end)"""


def json_report(results: Results) -> str:
    """The same as one JSON object."""
    simulation, differences = results.simulation, results.differences()
    auctions = [
        {
            "clients": comparison.size.clients,
            "dimension": comparison.size.dimension,
            "winners": len(comparison.greedy.winners),
            "seconds": {name: entry and entry.seconds for name, entry in comparison.columns().items()},
            "extrapolated": [
                name for name, entry in comparison.columns().items() if entry and entry.extrapolated
            ],
            "ratios": comparison.ratios(),
            "log_dets": {name: entry.log_dets._asdict() for name, entry in comparison.counted().items()},
        }
        for comparison in results.auctions
    ]
    steps = [
        {"arms": LINUCB_ARMS, "dimension": dimension, "microseconds_per_step": seconds * 1e6}
        for dimension, seconds in results.linucb.items()
    ]
    programs = {
        name: {
            "runs": len(simulated.regrets),
            "mean_regret": statistics.mean(simulated.regrets),
            "milliseconds_per_run": simulated.seconds * 1e3,
            "steps_per_second": simulation.steps_per_second(simulated),
        }
        for name, simulated in simulation.columns().items()
    }
    report = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "agree": not differences,
        "differences": differences,
        "auctions": auctions,
        "linucb": steps,
        "simulation": {"programs": programs, "ratio": simulation.ratio()},
    }
    return json.dumps(report, indent=1)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example:\n  python bench/peer_numpy.py --truthfed target/release/truthfed --sizes 25,5 25,25",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--truthfed", default="target/release/truthfed", help="the binary (%(default)s)")
    parser.add_argument(
        "--sizes",
        nargs="+",
        type=Size.parse,
        default=DEFAULT_SIZES,
        metavar="N,D",
        help=f"clients,dimension of the rounds ({' '.join(map(str, DEFAULT_SIZES))})",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    return parser.parse_args()


def main() -> int:
    """Measures, prints, and returns the exit code."""
    arguments = parse_arguments()
    try:
        with tempfile.TemporaryDirectory() as folder:
            auctions = [compare(arguments.truthfed, size, Path(folder)) for size in arguments.sizes]
        simulation = compare_simulations(arguments.truthfed)
    except TruthfedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    linucb = {dimension: linucb_seconds(dimension) for dimension in LINUCB_DIMENSIONS}
    results = Results(auctions, linucb, simulation)
    print(json_report(results) if arguments.json else text_report(results))
    return 1 if results.differences() else 0


if __name__ == "__main__":
    sys.exit(main())
