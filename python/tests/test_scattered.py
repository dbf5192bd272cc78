"""Sweeps on Ray and joblib: the bytes of one machine, continued after an end of any kind, and errors that name the cell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import truthfed as tf
from conftest import SMALL
from test_process import started
from test_simulation import GRID, tree

import truthfed.joblib
import truthfed.ray


class Own(tf.Mechanism):
    """Like the clock. No worker has the file of this class."""

    def run(self, round: tf.Round) -> tf.Outcome:
        return round.solve("clock")


class Breaks(tf.Mechanism):
    def run(self, round: tf.Round) -> tf.Outcome:
        raise KeyError("mine")


def cost(client: int, stats: tf.Statistics) -> float:
    return 5 + 0.1 * stats.samples


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(params=["ray", "joblib"])
def sweep(request: pytest.FixtureRequest) -> Callable[..., tf.Swept]:
    if request.param == "ray":
        request.getfixturevalue("cluster")
        return truthfed.ray.sweep
    return lambda *args, **options: truthfed.joblib.sweep(*args, n_jobs=2, **options)


def test_workers_give_the_bytes_of_one_machine(sweep, tmp_path: Path) -> None:
    one = tf.sweep(SMALL, grid=GRID, seeds=3, out=tmp_path / "one", frames="numpy")
    told: list[tuple[int, int]] = []
    many = sweep(
        SMALL, tmp_path / "many", grid=GRID, seeds=3, cells_per_task=5, frames="numpy", progress=lambda *done: told.append(done)
    )
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
    assert told == [(done, 12) for done in range(1, 13)]
    for name in ("totals", "clients", "rounds"):
        ours, theirs = getattr(many, name), getattr(one, name)
        assert list(ours) == list(theirs)
        for column in ours:
            np.testing.assert_array_equal(ours[column], theirs[column])
    # A file of a sweep, as the command takes it; nothing is left to compute.
    file = tmp_path / "many/sweep.toml"
    again = sweep(file, tmp_path / "many", frames="numpy", progress=lambda *done: pytest.fail("it ran"))
    np.testing.assert_array_equal(again.totals["regret"], one.totals["regret"])


def test_a_sweep_goes_on_with_the_cells_that_are_missing(sweep, tmp_path: Path) -> None:
    tf.sweep(SMALL, grid=GRID, seeds=2, out=tmp_path / "one")
    tf.prepared(SMALL, grid=GRID, seeds=2).run((1, 3), out=tmp_path / "rest")
    told: list[tuple[int, int]] = []
    sweep(SMALL, tmp_path / "rest", grid=GRID, seeds=2, progress=lambda *done: told.append(done))
    assert len(told) == 5 and tree(tmp_path / "rest") == tree(tmp_path / "one")


def test_own_mechanisms_and_costs_travel_to_the_workers(sweep, tmp_path: Path) -> None:
    grid = {"mechanism": ["clock", Own()]}
    tf.sweep(SMALL, grid=grid, seeds=2, cost=cost, out=tmp_path / "one")
    runs = sweep(SMALL, tmp_path / "many", grid=grid, seeds=2, cost=cost, cells_per_task=1, frames="numpy")
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
    clock, own = np.split(runs.totals["incentive"], 2)
    np.testing.assert_array_equal(clock, own)


def test_a_cell_that_fails_is_named_and_the_others_stay(sweep, tmp_path: Path) -> None:
    grid = {"mechanism": ["clock", Breaks()]}
    with pytest.raises(tf.CellError, match=r"cell 2 \(rounds.mechanism = 'breaks', seed 1\) failed: KeyError: 'mine'") as caught:
        sweep(SMALL, tmp_path, grid=grid, seeds=2, cells_per_task=4)
    assert (caught.value.cell, caught.value.point, caught.value.seed) == (2, {"rounds.mechanism": "breaks"}, 1)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(tf.CellError) as caught:
        sweep(SMALL, tmp_path, grid=grid, seeds=2, cells_per_task=2)
    assert caught.value.cell in (2, 3)
    # The folder can be used again, and says that it is not complete.
    known = tf.prepared(SMALL, grid=grid, seeds=2).gather(tmp_path).known
    assert {cell for cell, _ in known} <= {0, 1}


def test_a_worker_that_dies_is_an_error_that_names_its_cells(cluster, tmp_path: Path) -> None:
    class Dies(tf.Mechanism):
        def run(self, round: tf.Round) -> tf.Outcome:
            os._exit(1)

    with pytest.raises(tf.TruthfedError, match="cells 0 to 1 were lost with their worker"):
        truthfed.ray.sweep(SMALL, tmp_path, grid={"mechanism": [Dies()]}, seeds=2)


def test_what_is_wrong_is_said_before_any_worker_starts(sweep, tmp_path: Path) -> None:
    for options, field in [
        ({"grid": {"rounds.coverage": [2.0]}}, "rounds.coverage"),
        ({}, "grid"),
        ({"grid": GRID, "seeds": 0}, "seeds"),
        ({"grid": GRID, "cells_per_task": 0}, "cells_per_task"),
    ]:
        with pytest.raises(tf.ConfigError) as caught:
            sweep(SMALL, tmp_path / "out", **options)
        assert caught.value.field == field


def test_only_cells_of_the_sweep_are_kept(tmp_path: Path) -> None:
    cells = tf.prepared(SMALL, grid=GRID, seeds=2)
    gathering = cells.gather(tmp_path)
    with pytest.raises(tf.TruthfedError, match="being written"):
        cells.gather(tmp_path)
    [(_, totals, _)] = cells.run_cells([1])
    for cells_given, words in [
        ([(8, tf_json(totals))], "cell 8: it must be below 8"),
        ([(0, tf_json(totals))], "cell 0 has totals of seed 2: it must be seed 1"),
        ([(1, "{}")], "it must be totals as JSON"),
    ]:
        with pytest.raises(tf.ConfigError, match=words):
            gathering.keep(cells_given)
    gathering.keep([(1, tf_json(totals))])
    assert gathering.known == [(1, totals)]
    with pytest.raises(tf.ConfigError, match="cell 9: it must be below 8"):
        cells.run_cells([0, 9])
    with pytest.raises(tf.TruthfedError, match="7 of 8 cells are missing"):
        gathering.finish()


def tf_json(totals: dict) -> str:
    import json

    return json.dumps(totals)


@pytest.mark.parametrize("host", ["ray", "joblib"])
def test_ctrl_c_ends_a_sweep_and_the_same_call_goes_on(host: str, tmp_path: Path) -> None:
    code = f"""
import os, signal, sys, truthfed as tf, truthfed.{host} as host
signal.signal(signal.SIGINT, signal.default_int_handler)
def told(done, total):
    if done == 1:
        print("first", flush=True)
options = {{"workers": 2}} if "{host}" == "ray" else {{"n_jobs": 2}}
try:
    host.sweep({{"world.clients": 5}}, "out", grid={{"world.steps": [100, int(sys.argv[1])]}}, seeds=2, cells_per_task=2, progress=told, **options)
    print("done", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with started([sys.executable, "-c", code, "7000000"], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as worker:
        assert worker.stdout is not None and worker.stdout.readline() == "first\n"
        worker.send_signal(signal.SIGINT)
        assert worker.stdout.readline() == "interrupted\n"
        assert worker.wait(60) == 0
    assert len(list((tmp_path / "out/cells").iterdir())) == 2
    done = subprocess.run([sys.executable, "-c", code, "200"], capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert done.stdout == "first\ndone\n", done.stderr
    tf.sweep({"world.clients": 5}, grid={"world.steps": [100, 200]}, seeds=2, out=tmp_path / "one")
    assert tree(tmp_path / "out") == tree(tmp_path / "one")
