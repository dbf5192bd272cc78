"""Simulations and sweeps: the same as the command line's, in tables; parts, own code, and mistakes."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
import truthfed as tf
from conftest import SMALL
from truthfed import frames, toml
from truthfed.intervals import paired

GRID = {"mechanism": ["clock", "greedy"], "rounds.coverage": [0.3, 0.6]}


class Mine(tf.Mechanism):
    """Like the clock, under another name."""

    def run(self, round: tf.Round) -> tf.Outcome:
        return round.solve("clock")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def read(path: Path) -> dict[str, list]:
    return frames.read_csv(path.read_text())


def test_a_simulation_writes_the_bytes_of_the_command_and_has_its_tables(tmp_path: Path, program: Path) -> None:
    (tmp_path / "config.toml").write_text(toml.written(SMALL))
    runs = tf.simulate(SMALL, seeds=3, out=tmp_path / "ours", documents=True, frames="numpy")
    subprocess.run([program, "simulate", "config.toml", "--seeds", "3", "--out", "theirs"], cwd=tmp_path, check=True, capture_output=True)
    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")
    for name in ("clients", "rounds", "curves"):
        table = read(tmp_path / "theirs" / f"{name}.csv")
        ours = getattr(runs, name)
        assert list(ours) == list(table)
        for column, values in table.items():
            np.testing.assert_array_equal(ours[column], np.asarray(values))
    last = [step for step, seed in enumerate(runs.curves["seed"]) if runs.curves["step"][step] == 300]
    np.testing.assert_array_equal(runs.totals["incentive"], runs.curves["incentive"][last])
    assert tf.simulate(tmp_path / "config.toml", seeds=3, frames="numpy").totals["regret"].tolist() == runs.totals["regret"].tolist()


def test_a_sweep_writes_the_bytes_of_the_command_and_has_its_tables(tmp_path: Path, program: Path) -> None:
    runs = tf.sweep(SMALL, grid=GRID, seeds=2, out=tmp_path / "ours", frames="numpy")
    (tmp_path / "sweep.toml").write_bytes((tmp_path / "ours/sweep.toml").read_bytes())
    subprocess.run([program, "sweep", "sweep.toml", "--out", "theirs"], cwd=tmp_path, check=True, capture_output=True)
    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")
    results = read(tmp_path / "theirs/results.csv")
    assert sorted(runs.totals) == sorted(results)
    for column, values in results.items():
        np.testing.assert_array_equal(runs.totals[column], np.asarray(values))
    assert len(runs.clients["utility"]) == 2 * 2 * 2 * 5
    assert sum(runs.totals["rounds"]) == len(runs.rounds["payments"])
    # What was computed is taken over; tables of clients are computed again where they are asked for.
    again = tf.sweep(SMALL, grid=GRID, seeds=2, out=tmp_path / "ours", frames="numpy", progress=lambda done, total: pytest.fail("it ran"))
    np.testing.assert_array_equal(again.totals["regret"], runs.totals["regret"])
    for column in runs.clients:
        np.testing.assert_array_equal(again.clients[column], runs.clients[column])
    runs.write(tmp_path / "written")
    for name in ("results.csv", "summary.csv", "sweep.toml"):
        assert (tmp_path / "written" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


def test_parts_are_collected_to_the_bytes_of_one_run(tmp_path: Path, program: Path) -> None:
    tf.sweep(SMALL, grid=GRID, seeds=2, out=tmp_path / "one")
    sweep = pickle.loads(pickle.dumps(tf.prepared(SMALL, grid=GRID, seeds=2)))
    assert len(sweep) == 8 and [cell for cell, _, _ in sweep.run((2, 3))] == [1, 4, 7]
    for part in (1, 2):
        sweep.run((part, 3), out=tmp_path / "parts")
    with pytest.raises(tf.TruthfedError, match="2 of 8 cells are missing"):
        sweep.collect(tmp_path / "parts")
    args = [program, "sweep", tmp_path / "one/sweep.toml", "--out", tmp_path / "parts", "--part", "3/3"]
    assert subprocess.run(args, check=True, capture_output=True, text=True).stdout.startswith("2 of 8 cells are in ")
    totals = sweep.collect(tmp_path / "parts")
    assert tree(tmp_path / "parts") == tree(tmp_path / "one") and len(totals) == 8
    with pytest.raises(tf.ConfigError) as caught:
        sweep.run((4, 3))
    assert caught.value.field == "part"


def test_own_mechanisms_and_costs_are_swept_like_others() -> None:
    seen = []

    def cost(client: int, stats: tf.Statistics) -> float:
        assert stats.gram.shape == (3, 3) and stats.moment.shape == (3,) and stats.dim == 3
        seen.append(client)
        return 5 + 0.1 * stats.samples

    runs = tf.sweep(SMALL, grid={"mechanism": ["clock", Mine()]}, seeds=2, cost=cost, frames="numpy")
    assert runs.totals["rounds.mechanism"].tolist() == ["clock", "clock", "mine", "mine"]
    for figure in ("regret", "incentive", "social_cost", "participations"):
        clock, mine = np.split(runs.totals[figure], 2)
        np.testing.assert_array_equal(clock, mine)
    assert set(seen) == set(range(5))
    one = tf.simulate(SMALL, seeds=2, mechanism=Mine(), cost=lambda client, stats: 5 + 0.1 * stats.samples, frames="numpy")
    np.testing.assert_array_equal(one.totals["incentive"], clock * 0 + runs.totals["incentive"][2:])
    assert runs.paired("incentive", against="clock")[0].interval.mean == 0.0


def test_what_a_cost_or_a_mechanism_raises_is_raised_and_stops_the_sweep() -> None:
    class Broken(tf.Mechanism):
        def run(self, round: tf.Round) -> tf.Outcome:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tf.sweep(SMALL, grid={"mechanism": ["clock", Broken()]}, seeds=2)
    with pytest.raises(ZeroDivisionError):
        tf.simulate({**SMALL, "world.steps": 7_000_000}, seeds=1, cost=lambda client, stats: 1 / 0)
    with pytest.raises(tf.ConfigError) as caught:
        tf.simulate(SMALL, seeds=1, cost=lambda client, stats: float("nan"))
    assert (caught.value.field, caught.value.bound) == ("cost", "finite and at least 0")
    with pytest.raises(RuntimeError, match="enough"):

        def told(done: int, total: int) -> None:
            raise RuntimeError("enough")

        tf.simulate({**SMALL, "world.steps": 1000}, seeds=1000, progress=told)


@pytest.mark.parametrize(
    ("call", "field", "bound"),
    [
        (lambda: tf.simulate({"world.clients": 0}), "world.clients", "lie between 1 and 100000"),
        (lambda: tf.simulate({"world": {"noise": -1.0}}), "world.noise", "lie between 0 and 1000"),
        (lambda: tf.simulate({"rounds.mechanism": "clok"}), "rounds.mechanism", "be one of everyone"),
        (lambda: tf.simulate({"clients.many": 3}), "config", "keys of a configuration"),
        (lambda: tf.simulate({"steps": 3}), "steps", "of the form section.key"),
        (lambda: tf.simulate({"world.clients": None}), "world.clients", "a number, a bool, a text or a list"),
        (lambda: tf.simulate({"world.clients": "many"}), "config", "keys of a configuration"),
        (lambda: tf.simulate(seeds=0), "seeds", "a whole number from 1"),
        (lambda: tf.simulate(mechanism=Mine), "mechanism", "the name of a mechanism"),
        (lambda: tf.sweep(SMALL, grid={}), "grid", "lists of values by key"),
        (lambda: tf.sweep(SMALL, grid={"world.clients": []}), "world.clients", "the list is empty"),
        (lambda: tf.sweep(SMALL, grid={"rounds.coverage": [0.5, 2.0]}), "rounds.coverage", "be above 0 and at most 1"),
        (lambda: tf.sweep(SMALL, grid={"mechanism": [Mine(), Mine()]}), "rounds.mechanism", ""),
    ],
)
def test_a_wrong_key_is_named_with_its_bound(call, field: str, bound: str) -> None:
    with pytest.raises(tf.ConfigError) as caught:
        call()
    assert caught.value.field == field and caught.value.bound.startswith(bound), (caught.value.field, caught.value.bound)


def test_differences_are_taken_seed_by_seed() -> None:
    runs = tf.sweep(SMALL, grid=GRID, seeds=4, frames="numpy")
    found = runs.paired("utility", against="clock", ci=0.9)
    assert [difference.point for difference in found] == [{"rounds.mechanism": "greedy", "rounds.coverage": c} for c in (0.3, 0.6)]
    clients = runs.clients
    for difference in found:
        at = clients["rounds.coverage"] == difference.point["rounds.coverage"]
        sums = {
            (name, seed): clients["utility"][at & (clients["rounds.mechanism"] == name) & (clients["seed"] == seed)].sum()
            for name in ("clock", "greedy")
            for seed in (1, 2, 3, 4)
        }
        values = [sums["greedy", seed] - sums["clock", seed] for seed in (1, 2, 3, 4)]
        half = 2.353363 * np.std(values, ddof=1) / 2
        assert difference.interval.mean == pytest.approx(np.mean(values))
        assert difference.interval.high - difference.interval.mean == pytest.approx(half, rel=1e-6)
    assert len(runs.paired("regret", against=0.3, by="coverage")) == 2
    for call, field in [
        (lambda: runs.paired("nothing", against="clock"), "figure"),
        (lambda: runs.paired("regret", against="vcg"), "against"),
        (lambda: runs.paired("regret", against="clock", by="world.clients"), "by"),
    ]:
        with pytest.raises(tf.ConfigError) as caught:
            call()
        assert caught.value.field == field
    with pytest.raises(tf.InputError, match="ci is 1.5"):
        paired([1.0], [1.0], 1.5)


def test_a_plot_is_saved_as_the_command_draws_it(tmp_path: Path, program: Path) -> None:
    runs = tf.sweep(SMALL, grid=GRID, seeds=2, out=tmp_path / "grid")
    plot = runs.plot("rounds.coverage", "incentive")
    args = [program, "plot", "grid", "-x", "rounds.coverage", "-y", "incentive", "--width", "3.3in", "--out", "figure"]
    subprocess.run(args, cwd=tmp_path, check=True, capture_output=True)
    for kind in (".pdf", ".svg", ".png", ".csv"):
        assert plot.save(tmp_path / f"fig{kind}", width="3.3in").read_bytes() == (tmp_path / f"figure{kind}").read_bytes()
    assert plot._repr_svg_().startswith("<svg")
    with pytest.raises(tf.InputError) as caught:
        plot.save(tmp_path / "fig.jpg")
    assert caught.value.field == "path"
    with pytest.raises(tf.TruthfedError, match="no column `nothing`"):
        runs.plot("rounds.coverage", "nothing").save(tmp_path / "fig.pdf")


def test_frames_are_those_of_the_library_that_is_installed() -> None:
    runs = {library: tf.simulate(SMALL, seeds=2, frames=library) for library in (None, "pandas", "polars", "numpy")}
    pandas, polars = runs["pandas"], runs["polars"]
    assert type(runs[None].totals) is type(pandas.totals)
    assert pandas.totals["regret"].tolist() == polars.totals["regret"].to_list() == runs["numpy"].totals["regret"].tolist()
    assert pandas.clients["client"].tolist() == polars.clients["client"].to_list()
    with pytest.raises(tf.InputError, match="frames is 'excel'"):
        frames.frame({}, "excel")


def test_progress_is_told_part_by_part() -> None:
    told: list[tuple[int, int]] = []
    tf.sweep(SMALL, grid=GRID, seeds=2, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 8) for done in range(1, 9)]
    tf.simulate(SMALL, seeds=2, progress=True)


def test_the_defaults_have_comments() -> None:
    assert "[world]" in tf.default_config() and json.loads(json.dumps(tf.mechanisms()))[0]["name"] == "everyone"


def test_texts_of_any_kind_survive_toml(tmp_path: Path) -> None:
    for text in ('say "x"', "a\\b", "tab\t", "ü€𝄞", "\x7f"):
        assert toml.tomllib.loads(toml.written({"a.b": text})) == {"a": {"b": text}}
    for value in (1e-300, float("inf"), True, 10**15, [1.5, 2.0], np.float64(0.1), np.int32(3)):
        assert toml.tomllib.loads(toml.written({"a.b": value}))["a"]["b"] == value
