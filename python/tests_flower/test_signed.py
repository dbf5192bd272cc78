"""Federations on Flower with a store: members sign, everything is in the ledger, and nobody speaks for another."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import truthfed as tf
from conftest import CONFIG, Here, simulated
from flwr.app import ConfigRecord, Message, RecordDict
from truthfed.flower import Strategy, client_app, disk, wire
from truthfed.flower.signing import SigningNode

MEMBERS = [f"c{number}" for number in range(CONFIG["world.clients"])]
#: A round is worth it early, all offer what they have, rewards and prices are those of simulated clients, and payments do not wait.
TERMS = {
    "bandit.dimension": CONFIG["world.dimension"],
    "trigger.threshold": 2.6,
    "reward": 3,
    "reserve": 10000,
    "purse": 100000,
    "daily_purse": 1000000,
    "quality.rule": "flag",
    "least_samples": 1,
}


@pytest.fixture
def init(program: Path, tmp_path: Path) -> Callable[..., Path]:
    """Makes the folder of a federation of the simulated clients."""

    def made(name: str = "fed", **terms: Any) -> Path:
        settings = {**TERMS, "gap_ms": 0, **terms}
        changes = [part for key, value in settings.items() for part in ("--set", f"terms.{key}={value}")]
        names = [part for member in MEMBERS for part in ("--member", member)]
        subprocess.run([program, "init", tmp_path / name, *names, *changes], check=True, capture_output=True)
        return tmp_path / name

    return made


def grid_of(folder: Path) -> Here:
    return Here(client_app(simulated, folder / "members", signed=True), len(MEMBERS))


def federation(folder: Path, **options: Any) -> tuple[Strategy, Here]:
    return Strategy(store=folder, **options), grid_of(folder)


def plain(folder: Path, num_rounds: int, **options: Any) -> Strategy:
    """The rounds of the same members under the same terms, without signatures."""
    terms = tf.Terms((folder / "members/c0/terms.json").read_text())
    strategy = Strategy(terms, **options)
    strategy.start(Here(client_app(simulated, folder / "plain"), len(MEMBERS)), num_rounds=num_rounds)
    return strategy


def told(program: Path, *args: str | Path) -> Any:
    done = subprocess.run([program, *args, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def decided(records: list[dict[str, Any]]) -> list[Any]:
    return [(record["round"], record["opened"], record["ending"]) for record in records]


def test_signed_rounds_are_those_of_members_that_do_not_sign_and_the_ledger_has_them(init: Callable[..., Path], program: Path) -> None:
    folder = init()
    strategy, grid = federation(folder, nodes=8)
    strategy.start(grid, num_rounds=100)
    unsigned = plain(folder, 100, nodes=8)
    assert strategy.refusals == [] and len(strategy.records) > 3
    assert strategy.records == unsigned.records
    for part in ("gram", "moment"):
        np.testing.assert_array_equal(getattr(strategy.settled, part), getattr(unsigned.settled, part))
    strategy.close()
    verified = told(program, "ledger", "verify", folder)
    assert verified["problem"] is None and verified["rounds"] == len(strategy.records)
    endings = [record["ending"]["Settled"] for record in strategy.records]
    for name in MEMBERS:
        # What the coordinator's ledger says of a member is what the member holds receipts for.
        statement = told(program, "ledger", "statement", folder, name)
        paid = sum(micros for ending in endings for to, micros in ending["paid"] if to == name)
        offers = sum(offer["client"] == name for ending in endings for offer in ending["spec"]["offers"])
        assert (statement["totals"]["offers"], statement["totals"]["posted_micros"]) == (offers, paid)
        agreed = told(program, "ledger", "verify", folder, "--member", folder / "members" / name)
        # Each offer was taken, and won or lost; a winner's delivery was taken, and paid.
        won = sum(to == name for ending in endings for to, _ in ending["paid"])
        assert agreed["receipts"]["receipts"] == 2 * offers + 2 * won


@pytest.mark.parametrize("stops_at", range(1, 10))
def test_a_round_goes_on_where_the_coordinator_stopped(stops_at: int, init: Callable[..., Path], program: Path) -> None:
    folder = init()
    whole = plain(folder, 3, nodes=8)
    strategy, grid = federation(folder, nodes=8)
    heard = []

    def stop(asked: Message, reply: Message) -> list[Message]:
        # In the middle of an exchange: some members have heard, and nobody hears what they reply.
        if len(grid.exchanges) == stops_at:
            heard.append(asked)
            if len(heard) == 2 or grid.exchanges[-1][1] == 1:
                raise KeyboardInterrupt
        return [reply]

    grid.spoil = stop
    with pytest.raises(KeyboardInterrupt):
        strategy.start(grid, num_rounds=3)
    strategy.close()
    again, grid = federation(folder, nodes=8)
    again.start(grid, num_rounds=3 - len(strategy.records))
    assert again.refusals == []
    assert decided(strategy.records + again.records) == decided(whole.records)
    again.close()
    assert told(program, "ledger", "verify", folder)["rounds"] == 3


def test_a_node_that_stopped_while_it_followed_learns_everything_once(init: Callable[..., Path]) -> None:
    folder = init()
    strategy, grid = federation(folder, nodes=8)
    strategy.start(grid, num_rounds=2)
    strategy.close()
    context = next(iter(grid._contexts.values()))
    source, path = simulated(context), folder / "members/c0/flower.json"
    node = SigningNode(source, folder / "members")
    moment = json.loads(path.read_text())["moment"]
    unshared = node._unshared()
    del node
    for before, expected in ((unshared, 0), (unshared + 1, moment)):
        disk.save(path, {"moment": 0, "to": moment, "unshared": before})
        assert SigningNode(source, folder / "members")._moment == expected


Change = Callable[[dict[str, Any]], dict[str, Any]]


def forged(change: Callable[[dict[str, Any]], None]) -> Change:
    """Changes what was signed."""

    def changed(body: dict[str, Any]) -> dict[str, Any]:
        said = json.loads(body["request"])
        change(said)
        return {**body, "request": json.dumps(said)}

    return changed


def signed_part(said: dict[str, Any]) -> dict[str, Any]:
    (content,) = said.values()
    part: dict[str, Any] = next(value for value in content.values() if isinstance(value, dict))["content"]
    return part


LIES: dict[str, tuple[str, bool, Change, str]] = {
    "a lower price than was signed": (wire.OFFER, True, forged(lambda said: signed_part(said).update(ask_micros=1)), "bad-signature"),
    "another member's offer": (
        wire.OFFER,
        True,
        forged(lambda said: signed_part(said)["context"].update(member="c0")),
        "other-member",
    ),
    "an offer for another round": (wire.OFFER, True, forged(lambda said: signed_part(said)["context"].update(round=9)), "stale-round"),
    "no request": (wire.OFFER, True, lambda body: {}, "malformed"),
    "a request that is no JSON": (wire.OFFER, True, lambda body: {**body, "request": "{"}, "truncated"),
    "an unknown request": (wire.OFFER, True, lambda body: {**body, "request": '{"sync":{}}'}, "wrong-type"),
    "what it never wanted": (wire.OFFER, False, lambda body: {**body, "wanted": {"have": 10**9}}, "malformed"),
    "another's name": (wire.HELLO, False, lambda body: {**body, "greeting": body["greeting"].replace('"c3"', '"c0"')}, "bad-signature"),
    "no greeting": (wire.HELLO, False, lambda body: {**body, "greeting": 3}, "malformed"),
    "another moment": (wire.DELIVER, False, forged(lambda said: signed_part(said)["moment"].append(1.0)), "bad-signature"),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_a_member_did_not_sign_is_refused_and_the_round_goes_on(lie: str, init: Callable[..., Path], program: Path) -> None:
    kind, has_round, change, code = LIES[lie]
    folder = init(coverage=1.0)
    strategy, grid = federation(folder, nodes=8)

    def spoil(asked: Message, reply: Message) -> list[Message]:
        about = json.loads(asked.content["truthfed"]["json"])
        if asked.metadata.dst_node_id != 4 or asked.metadata.message_type != kind or bool(about.get("opened")) != has_round:
            return [reply]
        body = change(json.loads(reply.content["truthfed"]["json"]))
        return [Message(RecordDict({"truthfed": ConfigRecord({"json": json.dumps(body)})}), reply_to=asked)]

    grid.spoil = spoil
    strategy.start(grid, num_rounds=2)
    assert {refusal.node for refusal in strategy.refusals} == {4} and strategy.refusals[0].code == code, strategy.refusals
    assert len(strategy.records) == 2
    strategy.close()
    assert told(program, "ledger", "verify", folder)["rounds"] == 2


def test_a_greeting_counts_once(init: Callable[..., Path]) -> None:
    folder = init()
    office = tf._core.Office(folder)
    member = tf._core.SigningMember(folder / "members/c1", folder / "members/c1/agent.db")
    asked, other = "00" * 16, "11" * 16
    assert office.greeted(asked, member.greet(asked)) == "c1"
    with pytest.raises(tf.Rejected, match="challenge") as caught:
        office.greeted(other, member.greet(asked))
    assert caught.value.code == "bad-nonce"
    with pytest.raises(tf.InputError, match="32 hexadecimal digits"):
        member.greet("zz")


def test_a_node_answers_no_other_federation_and_needs_its_own_bundle(init: Callable[..., Path]) -> None:
    ours, theirs = init("ours"), init("theirs")
    strategy = Strategy(store=theirs, nodes=8)
    strategy.start(grid_of(ours), num_rounds=1)
    assert [refusal.code for refusal in strategy.refusals] == 8 * ["failed"]
    assert "federation" in strategy.refusals[0].message and strategy.records == []
    shutil.rmtree(ours / "members/c0")
    shutil.copytree(ours / "members/c1", ours / "members/c0")
    with pytest.raises(tf.MemberError, match="is of c1"):
        SigningNode(simulated(next(iter(grid_of(ours)._contexts.values()))), ours / "members")


def test_a_member_that_is_added_takes_part_from_the_next_start(init: Callable[..., Path]) -> None:
    folder = init()
    roster = folder / "roster"
    (folder / "kept").mkdir()
    shutil.move(roster / "c7.pem", folder / "kept/c7.pem")
    strategy, grid = federation(folder, nodes=8)
    strategy.start(grid, num_rounds=1)
    assert [(refusal.code, refusal.node) for refusal in strategy.refusals] == [("not-a-member", 8)]
    strategy.close()
    shutil.move(folder / "kept/c7.pem", roster / "c7.pem")
    strategy, grid = federation(folder, nodes=8)
    strategy.start(grid, num_rounds=1)
    assert strategy.refusals == [] and "c7" in strategy.coordinator.members


def test_a_store_is_one_strategys(init: Callable[..., Path], tmp_path: Path) -> None:
    folder = init()
    strategy = Strategy(store=folder)
    with pytest.raises(tf.TruthfedError, match="holds the lease"):
        Strategy(store=folder)
    strategy.close()
    with pytest.raises(tf.TruthfedError, match="is closed"):
        strategy.coordinator.tick(0)
    Strategy(store=folder).close()
    with pytest.raises(tf.TruthfedError, match="federation.toml is missing"):
        Strategy(store=tmp_path / "nothing")


@pytest.mark.parametrize(
    ("options", "field"),
    [({}, "terms"), ({"terms": True}, "terms"), ({"members": ["a"]}, "members"), ({"path": "x.json"}, "path")],
)
def test_terms_are_those_of_the_store_or_given(options: dict[str, Any], field: str, tmp_path: Path) -> None:
    given = {key: tf.Terms.default() if value is True else value for key, value in options.items()}
    with pytest.raises(tf.InputError) as caught:
        Strategy(**given, **({"store": tmp_path} if options else {}))
    assert caught.value.field == field
