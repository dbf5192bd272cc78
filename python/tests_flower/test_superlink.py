"""The example on a SuperLink with SuperNodes of their own."""

from __future__ import annotations

from pathlib import Path

import truthfed as tf
from conftest import CONFIG
from links import link
from truthfed.flower import Simulated


def test_two_supernodes_settle_two_rounds(tmp_path: Path) -> None:
    with link(tmp_path, nodes=2) as superlink:
        result = superlink.run(num_nodes=2, num_rounds=2)
    assert result["refusals"] == []
    assert len(result["records"]) == 2
    for record in result["records"]:
        settled = record["ending"]["Settled"]
        assert {name for name, _ in settled["paid"]} <= {"c0", "c1"} and settled["paid"] and settled["defaulted"] == []
    coordinator = tf.Coordinator.from_json(result["coordinator"], Simulated(CONFIG, 1, 0).terms)
    assert coordinator.members == ["c0", "c1"] and coordinator.closed == 2 and coordinator.settled.samples > 0
