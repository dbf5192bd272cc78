"""The tables of `truthfed simulate` and `truthfed sweep` load into pandas in two lines and say what the program says.

Usage: test_tidy.py TRUTHFED, the binary to run. `make tidy` runs it in an environment of its own.
"""

import json
import os
import subprocess
import sys
import tempfile

TRUTHFED = os.path.abspath(sys.argv[1])
if not os.path.exists(TRUTHFED):
    sys.exit(f"there is no {TRUTHFED}: build it first (cargo build, or make test)")
SMALL = ["world.clients=6", "world.dimension=3", "world.steps=600", "behaviour.kind=over", "behaviour.factor=1.5",
         "behaviour.share=0.5", "faults.dropout=0.2"]
GRID = """
[world]
clients = 5
steps = 300
[sweep]
seeds = 3
[sweep.grid]
"rounds.mechanism" = ["clock", "alone"]
"rounds.coverage" = [0.3, 0.5]
"""


def run(*args):
    return subprocess.run([TRUTHFED, *args], check=True, capture_output=True, text=True).stdout


def simulated():
    settings = [part for setting in SMALL for part in ("--set", setting)]
    return json.loads(run("simulate", "--seeds", "3", "--out", "run", "--no-rounds", "--json", *settings))


def test_every_offer_is_a_row(totals):
    import pandas
    offers = pandas.read_csv("run/offers.csv.gz")

    assert not offers.duplicated(["seed", "round", "client"]).any()
    assert set(offers.behaviour) == {"truthful", "over"}
    factor = offers.behaviour.map({"truthful": 1.0, "over": 1.5})
    assert (offers.ask - factor * offers.true_cost).abs().max() < 1e-6
    assert (offers.gain >= 0).all() and (offers.payment[offers.won == 0] == 0).all()
    assert (offers.paid[offers.delivered == 0] == 0).all() and (offers.won >= offers.delivered).all()
    paid = offers.groupby("seed").paid.sum()
    cost = offers[offers.delivered == 1].groupby("seed").true_cost.sum()
    for seed in totals["seeds"]:
        assert abs(paid[seed["seed"]] - seed["incentive"]) < 1e-6
        assert abs(cost[seed["seed"]] - seed["social_cost"]) < 1e-6


def test_the_other_tables_are_tidy_too(totals):
    import pandas
    rounds, clients, curves = (pandas.read_csv(f"run/{name}.csv") for name in ("rounds", "clients", "curves"))

    offers = pandas.read_csv("run/offers.csv.gz")
    settled = rounds[rounds.ending == "settled"].set_index(["seed", "round"])
    assert (settled.offers == offers.groupby(["seed", "round"]).client.count()).all()
    assert (settled.winners == offers.groupby(["seed", "round"]).won.sum()).all()
    utility = offers.groupby(["seed", "client"]).utility.sum()
    assert (clients.set_index(["seed", "client"]).utility - utility).abs().max() < 1e-6
    last = curves.groupby("seed").last()
    assert [last.regret[seed["seed"]] for seed in totals["seeds"]] == [seed["regret"] for seed in totals["seeds"]]


def test_a_sweep_has_a_row_for_each_point_and_seed():
    with open("sweep.toml", "w") as file:
        file.write(GRID)
    run("sweep", "sweep.toml", "--out", "grid")
    import pandas
    results = pandas.read_csv("grid/results.csv")

    assert len(results) == 2 * 2 * 3
    means = results.groupby(["rounds.mechanism", "rounds.coverage"]).regret.mean()
    summary = pandas.read_csv("grid/summary.csv").set_index(["rounds.mechanism", "rounds.coverage"])
    assert (summary.regret_mean - means).abs().max() < 1e-9
    assert (results[results["rounds.mechanism"] == "alone"].rounds == 0).all()


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        totals = simulated()
        test_every_offer_is_a_row(totals)
        test_the_other_tables_are_tidy_too(totals)
        test_a_sweep_has_a_row_for_each_point_and_seed()
        os.chdir("/")
    print("tidy: offers, rounds, clients, curves and results load into pandas and agree with the program")


main()
