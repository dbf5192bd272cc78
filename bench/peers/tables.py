"""The output: the results as tables for people, or as one JSON object."""

import json
import platform
import statistics

import numpy as np

from .comparison import PAYMENT_TOLERANCE, Comparison, Results, SimulationComparison
from .linucb import LINUCB_ARMS
from .measurement import LOOP_LIMIT_SECONDS, SAMPLED_PAYMENTS, Measurement

SHOWN_DIFFERENCES = 10


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
