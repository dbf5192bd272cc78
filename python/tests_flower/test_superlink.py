"""The example on a SuperLink with SuperNodes of their own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import CONFIG
from links import link


@pytest.mark.parametrize("signed", [False, True])
def test_two_supernodes_settle_two_rounds(signed: bool, tmp_path: Path, program: Path) -> None:
    env = {}
    if signed:
        terms = {
            "bandit.dimension": CONFIG["world.dimension"],
            "reward": 3,
            "reserve": 10000,
            "purse": 100000,
            "daily_purse": 1000000,
            "quality.rule": "flag",
            "gap_ms": 0,
        }
        changes = [part for key, value in terms.items() for part in ("--set", f"terms.{key}={value}")]
        init = [program, "init", tmp_path / "fed", "--member", "c0", "--member", "c1", *changes]
        subprocess.run(init, check=True, capture_output=True)
        env = {"TRUTHFED_FEDERATION": str(tmp_path / "fed")}
    with link(tmp_path, nodes=2, env=env) as superlink:
        result = superlink.run(num_nodes=2, num_rounds=2)
    assert result["refusals"] == []
    assert len(result["records"]) == 2
    for record in result["records"]:
        settled = record["ending"]["Settled"]
        assert {name for name, _ in settled["paid"]} <= {"c0", "c1"} and settled["paid"] and settled["defaulted"] == []
    assert result["settled"]["samples"] > 0
    if signed:
        verify = [program, "ledger", "verify", tmp_path / "fed", "--member", tmp_path / "fed/members/c0", "--json"]
        found = json.loads(subprocess.run(verify, check=True, capture_output=True, text=True).stdout)
        assert found["ledger"]["rounds"] == 2 and found["receipts"]["receipts"] > 0
