"""Times the numpy auctions on one round, and says what a measurement of an auction is."""

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .auction import Batched, Greedy, Lazy, Loop, Payments, Round, log_det
from .timing import Clock, repeated, timed

LOOP_LIMIT_SECONDS = 20.0
BATCHED_LIMIT_SECONDS = 60.0
SAMPLED_PAYMENTS = 3


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


def measure(method: type[Greedy], auction: Round, clock: Clock = time.perf_counter) -> Measurement:
    """Times the whole auction."""

    def run() -> Payments:
        greedy = method(auction)
        return greedy.payments(greedy.walk().picks)

    seconds, payments = repeated(lambda: timed(run, clock))
    return Measurement(seconds, set(payments), payments)


def measure_lazy(auction: Round, clock: Clock = time.perf_counter) -> Measurement:
    """Times `lazy`, with the log determinants of its last run."""

    def run() -> tuple[Payments, LogDets]:
        greedy = Lazy(auction)
        winners = greedy.walk().picks
        select = greedy.evaluations
        payments = greedy.payments(winners)
        return payments, LogDets(select, greedy.evaluations - select)

    seconds, (payments, log_dets) = repeated(lambda: timed(run, clock))
    return Measurement(seconds, set(payments), payments, log_dets=log_dets)


def measure_loop(auction: Round, winners: int) -> Measurement | None:
    """Times `loop` unless it would take too long, given the number of winners."""
    matrix = auction.base + auction.grams[0]
    evaluation, _ = repeated(lambda: timed(lambda: log_det(matrix)))
    evaluations_per_walk = winners * len(auction.asks) - winners * (winners - 1) / 2
    if evaluation * evaluations_per_walk * (winners + 1) > LOOP_LIMIT_SECONDS:
        return None
    return measure(Loop, auction)


def measure_batched(auction: Round, clock: Clock = time.perf_counter) -> Measurement:
    """Times `batched`; if that would take too long, extrapolates from the payments of a few winners."""

    def select() -> tuple[Batched, list[int]]:
        greedy = Batched(auction)
        return greedy, greedy.walk().picks

    selecting, (greedy, winners) = timed(select, clock)
    pricing, _ = timed(lambda: greedy.payments(winners[:1]), clock)
    if selecting + pricing * len(winners) <= BATCHED_LIMIT_SECONDS:
        return measure(Batched, auction, clock)
    sample = [winners[i] for i in np.linspace(0, len(winners) - 1, SAMPLED_PAYMENTS).astype(int)]
    pricing, payments = timed(lambda: greedy.payments(sample), clock)
    seconds = selecting + pricing * len(winners) / len(sample)
    return Measurement(seconds, {auction.clients[winner] for winner in winners}, payments, extrapolated=True)
