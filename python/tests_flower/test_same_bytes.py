"""One seed gives the same rounds in the simulator, in Python, and on Flower."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import truthfed as tf
from conftest import CONFIG, federation
from links import link
from truthfed import toml
from truthfed.flower import Strategy


def documents(folder: Path) -> list[dict[str, Any]]:
    """Every round that a simulation wrote."""
    lines = gzip.decompress((folder / "rounds/seed-1.jsonl.gz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines]


def assert_same(strategy: Strategy, folder: Path) -> None:
    """That a strategy had the rounds of a simulation, to the last bit."""
    simulated = documents(folder)
    settled = [record["ending"]["Settled"] for record in strategy.records]
    assert len(simulated) > 3 and strategy.refusals == []
    assert [ending["spec"] for ending in settled] == simulated
    table = tf.frames.read_csv((folder / "rounds.csv").read_text())
    assert [record["opened"] // 1000 for record in strategy.records] == table["step"]
    paid = [sum(micros for _, micros in ending["paid"]) / 1e6 for ending in settled]
    assert paid == table["payments"]
    # The base of a round is everything that was settled before it; the last one's is delivered on top.
    for before, after in zip(simulated, simulated[1:], strict=False):
        winners = tf.Round.from_json(json.dumps(before)).solve("clock").winners
        grams = [offer["gram"] for offer in before["offers"] if offer["client"] in winners]
        np.testing.assert_allclose(np.asarray(after["base"]), np.asarray(before["base"]) + np.sum(grams, axis=0), rtol=1e-12)


def simulate(folder: Path, program: Path) -> Path:
    """The folder of the simulation, by the command and by Python."""
    (folder / "config.toml").write_text(toml.written(CONFIG))
    args = [program, "simulate", "config.toml", "--seeds", "1", "--out", "command"]
    subprocess.run(args, cwd=folder, check=True, capture_output=True)
    tf.simulate(CONFIG, seeds=1, out=folder / "python", documents=True)
    assert documents(folder / "command") == documents(folder / "python")
    return folder / "command"


def test_nodes_that_run_ahead_have_the_rounds_of_the_simulator(tmp_path: Path, program: Path) -> None:
    strategy, grid = federation(tmp_path / "members")
    strategy.start(grid, num_rounds=100)
    assert_same(strategy, simulate(tmp_path, program))


def test_a_simulation_of_flower_has_the_rounds_of_the_simulator(tmp_path: Path, program: Path) -> None:
    with link(tmp_path / "flower") as superlink:
        result = superlink.run(num_nodes=8, num_rounds=100)
    assert result["refusals"] == []
    strategy, grid = federation(tmp_path / "members")
    strategy.start(grid, num_rounds=100)
    assert result["records"] == strategy.records
    # Everything that is settled, to the last bit.
    settled = strategy.settled
    assert result["settled"] == {"samples": settled.samples, "gram": settled.gram.tolist(), "moment": settled.moment.tolist()}
    assert_same(strategy, simulate(tmp_path, program))
