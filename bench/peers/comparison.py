"""numpy beside truthfed: everything measured on the same round or setting, and where they disagree."""

import argparse
import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .auction import Round
from .binary import call, measure_truthfed, simulate_truthfed
from .measurement import Measurement, measure_batched, measure_lazy, measure_loop
from .simulation import Setting, Simulated, simulate
from .timing import SEED, timed

PAYMENT_TOLERANCE = 1e-6
# Runs of the simulation in numpy.
SIMULATIONS = 20


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


def compare_simulations(binary: str) -> SimulationComparison:
    """Simulates truthfed's default setting in both programs."""
    print("measuring a simulation ...", file=sys.stderr)
    setting, truthfed = simulate_truthfed(binary)
    runs = [timed(lambda seed=seed: simulate(setting, seed)) for seed in range(SEED, SEED + SIMULATIONS)]
    seconds, regrets = zip(*runs, strict=True)
    return SimulationComparison(setting, Simulated(statistics.median(seconds), list(regrets)), truthfed)


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
