"""Rounds on Flower within this process: what is exchanged, what hostile nodes get, and what survives."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import truthfed as tf
import truthfed.flower
from conftest import federation
from flwr.app import ConfigRecord, Message, RecordDict
from truthfed.flower import Strategy, wire

#: The node that misbehaves. It opens the first round if it is honest.
LIAR = 4
MEMBER = "c3"


def said(reply: Message) -> dict[str, Any]:
    return json.loads(reply.content["truthfed"]["json"])


def saying(body: dict[str, Any], asked: Message) -> Message:
    return Message(RecordDict({"truthfed": ConfigRecord({"json": json.dumps(body)})}), reply_to=asked)


def settled(strategy: Strategy) -> list[list[str]]:
    """Who was paid in each round."""
    return [[name for name, _ in record["ending"]["Settled"]["paid"]] for record in strategy.records]


def test_a_round_takes_three_exchanges_and_only_winners_deliver(tmp_path: Path) -> None:
    strategy, grid = federation(tmp_path)
    result = strategy.start(grid, num_rounds=2)
    kinds = [kind for kind, _ in grid.exchanges]
    assert kinds == [wire.HELLO] + 2 * [wire.OFFER, wire.OFFER, wire.DELIVER]
    sizes = [size for _, size in grid.exchanges]
    winners = [len(names) for names in settled(strategy)]
    assert sizes == [8, 8, 7, winners[0], 8, 7, winners[1]] and 0 < winners[0] < 8
    assert strategy.refusals == [] and strategy.coordinator.closed == 2
    assert result.arrays["gram"].numpy().tolist() == strategy.settled.gram.tolist()
    paid = sum(micros for _, micros in strategy.records[1]["ending"]["Settled"]["paid"])
    assert result.train_metrics_clientapp[2]["payments_micros"] == paid > 0


def test_nobody_is_asked_once_no_node_has_a_reason_for_a_round(tmp_path: Path) -> None:
    strategy, grid = federation(tmp_path)
    strategy.start(grid, num_rounds=100)
    rounds = strategy.coordinator.closed
    assert 3 < rounds < 99 and len(grid.exchanges) == 1 + 3 * rounds + 1


def decided(records: list[dict[str, Any]]) -> list[Any]:
    return [(record["round"], record["opened"], record["ending"]) for record in records]


def test_members_and_coordinator_go_on_after_a_restart_as_if_there_was_none(tmp_path: Path) -> None:
    whole, grid = federation(tmp_path / "whole")
    whole.start(grid, num_rounds=6)
    records = []
    for _ in range(3):
        strategy, grid = federation(tmp_path / "parts", path=tmp_path / "coordinator.json")
        strategy.start(grid, num_rounds=2)
        records += strategy.records
    assert records == whole.records and strategy.coordinator.to_json() == whole.coordinator.to_json()
    # Who begins anew has forgotten rounds in which its members took part.
    fresh, grid = federation(tmp_path / "parts")
    fresh.start(grid, num_rounds=1)
    assert {refusal.code for refusal in fresh.refusals} == {"failed"} and len(fresh.refusals) == 8
    assert "rounds are missing" in fresh.refusals[0].message
    with pytest.raises(tf.InputError, match="terms are others"):
        federation(tmp_path, terms={"gap_ms": 1}, path=tmp_path / "coordinator.json")


@pytest.mark.parametrize("stops_at", range(1, 8))
def test_a_round_that_the_coordinator_left_is_held_again_with_the_same_offers(stops_at: int, tmp_path: Path) -> None:
    terms = {"trigger": {"since": "round", "threshold": 2.6}}
    whole, grid = federation(tmp_path / "whole", terms)
    whole.start(grid, num_rounds=3)
    strategy, grid = federation(tmp_path / "members", terms, path=tmp_path / "coordinator.json")

    heard = []

    def stop(asked: Message, reply: Message) -> list[Message]:
        # In the middle of an exchange: some members have heard, and nobody hears what they reply.
        if len(grid.exchanges) == stops_at:
            heard.append(asked)
            if len(heard) == 2:
                raise KeyboardInterrupt
        return [reply]

    grid.spoil = stop
    with pytest.raises(KeyboardInterrupt):
        strategy.start(grid, num_rounds=3)
    ended = strategy.records
    again, grid = federation(tmp_path / "members", terms, path=tmp_path / "coordinator.json")
    again.start(grid, num_rounds=3 - len(ended))
    assert decided(ended + again.records) == decided(whole.records)
    assert again.coordinator.to_json() == whole.coordinator.to_json()
    assert {refusal.code for refusal in again.refusals} <= {"trigger-not-met"}


Change = Callable[[dict[str, Any]], dict[str, Any] | list[dict[str, Any]] | None]


def spoiled(kind: str, phase: Callable[[dict[str, Any]], bool], change: Change) -> Callable[[Message, Message], list[Message]]:
    """Lets the liar say something else, when a message of a kind asks it."""

    def spoil(asked: Message, reply: Message) -> list[Message]:
        about = asked.metadata
        if about.dst_node_id != LIAR or about.message_type != kind or not phase(said(asked)):
            return [reply]
        changed = change(said(reply))
        each = changed if isinstance(changed, list) else [changed]
        return [saying(body, asked) for body in each if body is not None]

    return spoil


def in_offer(**changes: Any) -> Change:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        offer = body["request"]["Offer"]
        offer["offer"].update({key: value for key, value in changes.items() if key in offer["offer"]})
        offer.update({key: value for key, value in changes.items() if key in offer})
        return body

    return change


def twice(other: Change) -> Change:
    return lambda body: [json.loads(json.dumps(body)), other(body)]


def delivering(round: int, *moment: float) -> dict[str, Any]:
    return {"request": {"Deliver": [round, list(moment)]}}


OPENING, OPENED = (lambda asked: not asked.get("opened")), (lambda asked: bool(asked.get("opened")))
LIES: dict[str, tuple[str, Callable[[dict[str, Any]], bool], Change, str]] = {
    "no samples": (wire.OFFER, OPENED, in_offer(samples=0), "data-without-samples"),
    "too large a matrix": (wire.OFFER, OPENED, in_offer(gram=[1e6, 0, 0, 0, 0, 0]), "trace-too-large"),
    "too many samples": (wire.OFFER, OPENED, in_offer(samples=10**9), "too-many-samples"),
    "another member's offer": (wire.OFFER, OPENED, in_offer(client="c0"), "other-member"),
    "no such matrix": (wire.OFFER, OPENED, in_offer(gram=[1e300] * 6), "malformed"),
    "NaN": (wire.OFFER, OPENED, in_offer(ask=float("nan")), "malformed"),
    "two offers": (wire.OFFER, OPENED, twice(in_offer(ask=1)), "conflicting-retry"),
    "an old round": (wire.OFFER, OPENED, in_offer(round=0), "stale-round"),
    "no request": (wire.OFFER, OPENED, lambda body: {}, "malformed"),
    "silence": (wire.OFFER, OPENED, lambda body: None, "no-reply"),
    "delivery unasked": (wire.OFFER, OPENED, lambda body: delivering(body["request"]["Offer"]["round"], 0, 0, 0), "wrong-phase"),
    "an opening of the past": (wire.OFFER, OPENING, lambda body: {**body, "moment": -1}, "malformed"),
    "an opening at no time": (wire.OFFER, OPENING, lambda body: {**body, "moment": True}, "malformed"),
    "an opening without samples": (wire.OFFER, OPENING, lambda body: {**in_offer(samples=0)(body), "moment": 0}, "data-without-samples"),
    "an opening that is not worth it": (wire.OFFER, OPENING, lambda body: {**in_offer(gram=[0] * 6)(body), "moment": 0}, "trigger-not-met"),
    "two openings": (wire.OFFER, OPENING, twice(lambda body: {**body, "moment": body["moment"] + 1}), "conflicting-retry"),
    "no opening in time": (wire.OFFER, OPENING, lambda body: None, "no-reply"),
    "another's name": (wire.HELLO, lambda asked: True, lambda body: {**body, "member": "c0"}, "other-member"),
    "no name": (wire.HELLO, lambda asked: True, lambda body: {**body, "member": ""}, "malformed"),
    "rounds that never were": (wire.HELLO, lambda asked: True, lambda body: {**body, "closed": 10**30}, "malformed"),
    "a false moment": (wire.DELIVER, lambda asked: True, lambda body: delivering(body["request"]["Deliver"][0], 1e9, 0, 0), "moment-out-of-range"),
    "a moment of NaN": (wire.DELIVER, lambda asked: True, lambda body: delivering(1, float("inf")), "malformed"),
    "no delivery": (wire.DELIVER, lambda asked: True, lambda body: None, "no-reply"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_hostile_reply_is_refused_by_name_and_the_round_goes_on(lie: str, tmp_path: Path) -> None:
    kind, phase, change, code = LIES[lie]
    # With all offers needed, the liar wins if it has offered. The offer that opens a round must be worth it.
    strategy, grid = federation(tmp_path, terms={"coverage": 1.0, "trigger": {"since": "round", "threshold": 2.6}})
    grid.spoil = spoiled(kind, phase, change)
    strategy.start(grid, num_rounds=2)
    mine = [refusal for refusal in strategy.refusals if refusal.node == LIAR]
    assert mine == strategy.refusals and mine[0].code == code, strategy.refusals
    rounds = settled(strategy)
    assert len(rounds) == 2 and all(len(names) >= 7 for names in rounds)
    # It is in if its first reply was right, or if its lie was only about opening the round.
    assert all((MEMBER in names) == (lie == "two offers" or phase is OPENING) for names in rounds)


def test_bytes_that_are_no_message_are_refused(tmp_path: Path) -> None:
    strategy, grid = federation(tmp_path)
    contents = [
        RecordDict(),
        RecordDict({"truthfed": ConfigRecord({"json": 3})}),
        RecordDict({"truthfed": ConfigRecord({"json": "[" * 100_000})}),
        RecordDict({"truthfed": ConfigRecord({"json": "[]"})}),
        RecordDict({"other": ConfigRecord({"json": "{}"})}),
    ]

    def spoil(asked: Message, reply: Message) -> list[Message]:
        return [Message(content, reply_to=asked) for content in contents] if asked.metadata.dst_node_id == LIAR else [reply]

    grid.spoil = spoil
    strategy.start(grid, num_rounds=1)
    assert [refusal.code for refusal in strategy.refusals] == len(contents) * ["malformed"]
    assert len(strategy.records) == 1 and MEMBER not in strategy.coordinator.members


def test_only_those_who_are_members_take_part(tmp_path: Path) -> None:
    strategy, grid = federation(tmp_path, members=["c0", "c1", "c2"])
    strategy.start(grid, num_rounds=1)
    assert [refusal.code for refusal in strategy.refusals] == 5 * ["not-a-member"]
    assert set(settled(strategy)[0]) <= {"c0", "c1", "c2"} and strategy.coordinator.members == ["c0", "c1", "c2"]


def test_a_gap_between_rounds_is_waited_for(tmp_path: Path) -> None:
    strategy, grid = federation(tmp_path, terms={"gap_ms": 400_000})
    strategy.start(grid, num_rounds=6)
    first, second = strategy.records[:2]
    assert second["opened"] - first["closed"] >= 400_000
    assert {refusal.code for refusal in strategy.refusals} == {"too-soon"}


def test_a_round_that_waited_for_its_deadline_holds_nobody_up(tmp_path: Path) -> None:
    # Others would open the next round while this one still waits for the liar's offer.
    strategy, grid = federation(tmp_path, terms={"offers_ms": 100_000})
    grid.spoil = spoiled(wire.OFFER, OPENED, lambda body: None)
    strategy.start(grid, num_rounds=4)
    assert {(refusal.node, refusal.code) for refusal in strategy.refusals} == {(LIAR, "no-reply")}
    assert len(strategy.records) == 4
    opened, closed = ([record[at] for record in strategy.records] for at in ("opened", "closed"))
    assert all(before <= after for before, after in zip(closed, opened[1:], strict=False))
    assert max(after - before for before, after in zip(opened, closed, strict=True)) >= 100_000


def test_terms_with_a_quota_are_refused(tmp_path: Path) -> None:
    with pytest.raises(tf.InputError) as caught:
        federation(tmp_path, terms={"quota": {"samples": 10}})
    assert caught.value.field == "quota.samples"


@pytest.mark.parametrize("name", [name for _, name, _ in pkgutil.iter_modules(truthfed.flower.__path__, "truthfed.flower.")])
def test_the_examples_of_docstrings_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
