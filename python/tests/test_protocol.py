"""Coordinator and members over messages: a round from end to end, restarts, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import truthfed as tf
from conftest import SMALL
from truthfed import toml
from truthfed._core import Seen

NAMES = ["a", "b", "c"]


def terms(**changes: object) -> tf.Terms:
    raw = json.loads(tf.Terms.default().to_json())
    raw["bandit"]["dimension"] = 3
    return tf.Terms(json.dumps({**raw, "capacity": "auto", "gap_ms": 0, **changes}))


def learned(name: str, terms: tf.Terms, steps: int) -> tf.Member:
    """A member that has learned something, different for each name."""
    member = tf.Member(name, terms)
    draw = np.random.default_rng(ord(name))
    for _ in range(steps):
        arms = draw.normal(size=(4, 3)) / 4
        chosen = member.choose(arms)
        member.learn(arms[chosen], float(arms[chosen].sum()))
    return member


def said(member: tf.Member) -> list[str]:
    return list(iter(member.poll, None))


def federation(steps: int = 40) -> tuple[tf.Coordinator, dict[str, tf.Member]]:
    agreed = terms()
    return tf.Coordinator(agreed, NAMES), {name: learned(name, agreed, steps) for name in NAMES}


def price(data: tf.Statistics) -> int:
    return data.samples


def carry(coordinator: tf.Coordinator, members: dict[str, tf.Member], now: int = 0) -> list[dict]:
    """Carries messages until nobody has anything to say; returns what happened."""
    happened: list[dict] = []
    while True:
        requests = [(name, request) for name, member in members.items() for request in said(member)]
        for name, request in requests:
            assert coordinator.handle(now, name, request)
        news = [json.loads(output) for output in iter(coordinator.poll, None)]
        happened += news
        for name, member in members.items():
            for notice in coordinator.notices(name, member.closed) if news else []:
                member.handle(notice, price)
        if not requests and not news:
            return happened


def test_a_round_is_opened_awarded_delivered_and_settled() -> None:
    coordinator, members = federation()
    members["b"].open_round(price)
    happened = carry(coordinator, members)
    assert [next(iter(output)) for output in happened] == ["Opened", "Awarded", "Ended"]
    record = happened[-1]["Ended"]
    settled = record["ending"]["Settled"]
    assert record["asked_by"] == "b" and settled["outcome"]["mechanism"] == "clock"
    # What was decided is what the auction decides by itself.
    outcome = tf.Round.from_json(json.dumps(settled["spec"])).solve("clock")
    assert settled["paid"] == [[name, int(micros)] for name, micros in zip(outcome.winners, outcome.micros, strict=True)]
    assert coordinator.closed == 1 and coordinator.settled.samples == 40 * len(outcome.winners)
    for name, member in members.items():
        assert member.closed == 1 and member.in_flight is None
        assert member.unshared.samples == (0 if name in outcome.winners else 40)


def test_a_member_and_a_coordinator_go_on_as_they_were_saved(tmp_path: Path) -> None:
    (coordinator, members), (other, others) = federation(), federation()
    for member in (members["a"], others["a"]):
        member.open_round(price)
    for name, member in list(others.items()):
        member.save(tmp_path / name)
        others[name] = pickle.loads(pickle.dumps(tf.Member.load(tmp_path / name).copy()))
    first, again = carry(coordinator, members), carry(other, others)
    assert first == again
    resumed = tf.Coordinator.from_json(other.to_json(), pickle.loads(pickle.dumps(other.terms)))
    assert resumed.to_json() == coordinator.to_json() and resumed.terms == coordinator.terms
    assert {name: member.to_json() for name, member in members.items()} == {name: member.to_json() for name, member in others.items()}
    np.testing.assert_array_equal(resumed.settled.gram, coordinator.settled.gram)


def test_a_phase_ends_at_its_deadline_and_who_does_not_deliver_is_not_paid() -> None:
    coordinator, members = federation()
    members["a"].open_round(price)
    [offer] = said(members["a"])
    assert coordinator.handle(5, "a", offer) and not coordinator.handle(5, "a", offer)
    assert (coordinator.open, coordinator.deadline, coordinator.awarded, coordinator.awaited) == (1, 5005, False, ["b", "c"])
    coordinator.tick(5005)
    assert coordinator.awarded and coordinator.awaited == ["a"]
    coordinator.tick(99_999)
    ended = [json.loads(output) for output in iter(coordinator.poll, None)][-1]["Ended"]
    assert ended["ending"]["Settled"]["defaulted"] == ["a"] and ended["ending"]["Settled"]["paid"] == []
    assert coordinator.open is None and coordinator.settled.samples == 0


def test_refusals_have_the_codes_of_the_service() -> None:
    coordinator, members = federation()
    members["a"].open_round(price)
    [offer] = said(members["a"])
    few = json.loads(offer)
    few["Offer"]["samples"] = 1
    stranger = json.loads(offer)
    stranger["Offer"]["offer"]["client"] = "b"
    for name, request, code in [
        ("d", '"Sync"', "not-a-member"),
        ("a", '{"Decline":7}', "stale-round"),
        ("b", offer, "other-member"),
        ("a", json.dumps(stranger), "other-member"),
        ("a", json.dumps(few), "trace-too-large"),
    ]:
        with pytest.raises(tf.Rejected) as caught:
            coordinator.handle(0, name, request)
        assert (caught.value.code, caught.value.wait_ms) == (code, None), str(caught.value)
        assert pickle.loads(pickle.dumps(caught.value)).code == code
    coordinator = tf.Coordinator(terms(gap_ms=700), ["a"])
    coordinator.handle(0, "a", offer)
    coordinator.tick(10_000)
    with pytest.raises(tf.Rejected, match="at the earliest: in 600 ms") as caught:
        coordinator.handle(10_100, "a", offer.replace('"round":1', '"round":2'))
    assert (caught.value.code, caught.value.wait_ms) == ("too-soon", 600)


@pytest.mark.parametrize(
    ("call", "error", "field", "bound"),
    [
        (lambda: terms(gap_ms=-1), tf.TermsError, "text.gap_ms", "the JSON of terms"),
        (lambda: terms(gap_ms=10**9), tf.TermsError, "gap_ms", "lie in 0..=86400000"),
        (lambda: terms(coverage=0), tf.TermsError, "coverage", "above 0 and at most 1"),
        (lambda: terms(mechanism={"name": "clok"}), tf.TermsError, "mechanism.name", "be one of"),
        (lambda: tf.Terms("{"), tf.TermsError, "text", "the JSON of terms"),
        (lambda: tf.Member("", terms()), tf.MemberError, "name", "a name of 1 to 128 bytes"),
        (lambda: tf.Member("a", terms()).choose(np.eye(2)), tf.MemberError, "arms[0]", "of dimension 3"),
        (lambda: tf.Member("a", terms()).learn([1, 2], 0.0), tf.MemberError, "arm", "of dimension 3"),
        (lambda: tf.Member("a", terms()).learn([1, 2, 3], float("nan")), tf.MemberError, "reward", "finite and at most"),
        (lambda: tf.Member("a", terms()).handle('{"Opened":[1]}', price), tf.MemberError, "notice.Opened", "the JSON of a notice"),
        (lambda: tf.Member.from_json("{}"), tf.MemberError, "text", "the JSON of a member"),
        (lambda: tf.Coordinator(terms(), ["a", 3]), tf.MessageError, "members[1]", "a name"),
        (lambda: tf.Coordinator(terms(), ["a"]).handle(0, "a", "NaN"), tf.MessageError, "request", "the JSON of a request"),
        (lambda: tf.Coordinator(terms(), ["a"]).handle(0, "a", '{"Deliver":[1,[1e999]]}'), tf.MessageError, "request.Deliver", "the JSON"),
        (lambda: Seen("", 1, 25), tf.ConfigError, "client", "below 25"),
        (lambda: Seen("", 1, 0).play(0), tf.ConfigError, "choice", "the index of an arm"),
    ],
)
def test_what_is_wrong_is_named_with_its_bound(call, error: type[tf.InputError], field: str, bound: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert caught.value.field.startswith(field) and caught.value.bound.startswith(bound), (caught.value.field, caught.value.bound)


def test_what_a_price_raises_is_raised_and_changes_nothing() -> None:
    member = learned("a", terms(), 40)
    before = member.to_json()
    with pytest.raises(ZeroDivisionError):
        member.open_round(lambda data: 1 // 0)
    with pytest.raises(tf.MemberError) as caught:
        member.handle('{"Opened":[1,null]}', lambda data: -1)
    assert caught.value.field == "ask" and member.to_json() == before
    # A price may look at its member.
    member.handle('{"Opened":[1,null]}', lambda data: None if member.unshared.samples == data.samples else 1)
    assert said(member) == ['{"Decline":1}']


def test_a_client_sees_what_it_sees_in_the_simulator_whenever_it_looks() -> None:
    text = toml.written(SMALL)
    steps = list(iter(Seen(text, 4, 2).advance, None))
    assert [moment for moment, _ in steps] == [1000 * step for step in range(3, 301, 5)]
    moment, arms = Seen(text, 4, 2).advance(after=150_000)
    assert moment == 153_000
    np.testing.assert_array_equal(arms, dict(steps)[moment])
