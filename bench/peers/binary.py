"""Runs the truthfed binary, and times its auctions and its simulation."""

import json
import statistics
import subprocess
from pathlib import Path
from typing import Any

from .measurement import LogDets, Measurement
from .simulation import Setting, Simulated
from .timing import repeated, timed

# Timings of truthfed's process.
PROCESSES = 3
PROCESS_SECONDS = 0.5
FIRST_SEEDS = 50


class TruthfedError(Exception):
    """truthfed could not be run, or failed."""


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
        return outcome["seconds"], outcome

    seconds, outcome = repeated(run)
    payments = {winner["client"]: float(winner["payment"]) for winner in outcome["winners"]}
    return Measurement(seconds, set(payments), payments, log_dets=LogDets(**outcome["log_dets"]))


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
