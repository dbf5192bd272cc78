"""The coordinator: it asks for offers, pays the winners by the mechanism of the terms, and shares what they deliver."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

from federation.world import CONFIG, SEED
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from truthfed.flower import Simulated, Strategy

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    nodes, rounds = (int(context.run_config[key]) for key in ("num-nodes", "num-rounds"))
    if "TRUTHFED_FEDERATION" in os.environ:
        strategy = Strategy(store=os.environ["TRUTHFED_FEDERATION"], nodes=nodes)
    else:
        strategy = Strategy(Simulated(CONFIG, SEED, client=0).terms, nodes=nodes)
    with closing(strategy):
        strategy.start(grid, num_rounds=rounds)
        settled = strategy.settled
    for record in strategy.records:
        paid = record["ending"]["Settled"]["paid"]
        print(f"round {record['round']}: " + ", ".join(f"{name} is paid {micros / 1e6}" for name, micros in paid))
    if context.run_config["out"]:
        refusals = [vars(refusal) for refusal in strategy.refusals]
        sums = {"samples": settled.samples, "gram": settled.gram.tolist(), "moment": settled.moment.tolist()}
        result = {"records": strategy.records, "refusals": refusals, "settled": sums}
        Path(str(context.run_config["out"])).write_text(json.dumps(result), encoding="utf-8")
