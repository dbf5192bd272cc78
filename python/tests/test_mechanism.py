"""Mechanisms in Python: run, certified, audited, and wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import truthfed as tf


class CheapestFirst(tf.Mechanism):
    """Buys the cheapest until the target is met; pays what they ask, or their critical values."""

    def __init__(self, critical: bool = True) -> None:
        self.critical = critical
        self.parameters = {"critical": critical}

    def select(self, round: tf.Round) -> list[int]:
        winners: list[int] = []
        for seat in np.lexsort((np.arange(len(round)), round.micros)):
            if round.covers(winners):
                break
            winners.append(int(seat))
        return winners

    def run(self, round: tf.Round) -> dict[str, str]:
        winners = self.select(round)
        return {round.clients[seat]: f"{self._payment(round, seat) / 1_000_000:.6f}" for seat in winners}

    def _payment(self, round: tf.Round, seat: int) -> int:
        wins, most = int(round.micros[seat]), int(round.reserve * 1_000_000)
        while self.critical and wins < most:
            middle = wins + (most - wins + 1) // 2
            if seat in self.select(round.with_ask(seat, f"{middle / 1_000_000:.6f}")):
                wins = middle
            else:
                most = middle - 1
        return wins


class Like(tf.Mechanism):
    """Does what another one does."""

    def __init__(self, other: str) -> None:
        self.other = other

    def run(self, round: tf.Round) -> tf.Outcome:
        return round.solve(self.other)


def rounds(count: int) -> list[tf.Round]:
    return [tf.Round.varied(seed) for seed in range(count)]


def test_a_mechanism_that_pays_critical_values_is_certified() -> None:
    for round in rounds(15):
        outcome = round.solve(CheapestFirst())
        assert outcome.mechanism == "cheapest-first"
        outcome.certify()


def test_a_mechanism_that_pays_the_asks_is_refuted_by_certificate_and_audit() -> None:
    with pytest.raises(tf.NotCertified):
        tf.Round.generate(8, 2, seed=1).solve(CheapestFirst(critical=False)).certify()
    audit = tf.audit(CheapestFirst(critical=False), random=40)
    assert not audit.holds("truthful") and audit.holds("ir") and audit.rounds == 40
    found = audit.counterexample("truthful")
    assert found is not None and found.reproduces and found.property == "truthful"
    [(client, ask)] = found.lies
    assert ask != dict(zip(found.round.clients, found.round.asks, strict=True))[client]
    assert '"critical":false' in found.to_json() and "cheapest-first" in found.to_json()


def test_an_audit_of_the_same_rules_in_python_and_in_rust_finds_the_same() -> None:
    own, built_in = tf.audit(Like("clock"), random=30), tf.audit("clock", random=30)
    assert [row.cases for row in own.verdicts.values()] == [row.cases for row in built_in.verdicts.values()]
    assert own.holds("truthful") and own.counterexample("truthful") is None
    assert own.economics["social_cost"]["mean"] == built_in.economics["social_cost"]["mean"]
    assert own.frame("numpy")["violations"].tolist() == built_in.frame("numpy")["violations"].tolist()


def test_an_audit_of_given_rounds_checks_what_it_is_asked_to() -> None:
    audit = tf.audit("greedy", random=0, rounds=rounds(5), check=["truthful"])
    assert audit.rounds == 5 and list(audit.verdicts) == ["truthful"]
    with pytest.raises(tf.InputError) as caught:
        audit.holds("collusion")
    assert caught.value.bound == "one of truthful"
    with pytest.raises(tf.InputError, match="one of the properties that were checked"):
        audit.counterexample("collusion")
    with pytest.raises(tf.InputError, match="property is `nice`"):
        tf.audit("greedy", check=["nice"])


def test_an_outcome_of_another_mechanism_is_taken_over() -> None:
    for round in rounds(10):
        own, other = round.solve(Like("greedy")), round.solve("greedy")
        assert (own.winners, own.micros.tolist(), own.mechanism) == (other.winners, other.micros.tolist(), "like")
        own.certify()
        assert pickle.loads(pickle.dumps(own)) == own


class Wrong(tf.Mechanism):
    def __init__(self, result: object) -> None:
        self.result = result

    def run(self, round: tf.Round) -> object:  # type: ignore[override]
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.mark.parametrize("where", ["solve", "audit"])
@pytest.mark.parametrize("raised", [KeyError("mine"), ZeroDivisionError("mine")])
def test_what_a_mechanism_raises_is_raised(where: str, raised: Exception) -> None:
    with pytest.raises(type(raised), match="mine"):
        tf.Round.varied(1).solve(Wrong(raised)) if where == "solve" else tf.audit(Wrong(raised), random=50)


def test_a_mechanism_can_refuse_a_round() -> None:
    with pytest.raises(tf.Refused, match="too dull"):
        tf.Round.varied(1).solve(Wrong(tf.Refused("too dull")))
    audit = tf.audit(Wrong(tf.Refused("too dull")), random=5)
    assert all(row.cases == 0 and row.refused > 0 for row in audit.verdicts.values() if row.property != "optimum")


@pytest.mark.parametrize(
    ("result", "field"),
    [
        (None, "run"),
        (7, "run"),
        ("ab", "run"),
        ({"nobody": 1}, "client"),
        ([(10_000, 1)], "client"),
        ({"a": -1}, "payment of a"),
        ({"a": float("nan")}, "payment of a"),
        ([("a", 1), (0, 1)], "run"),
    ],
)
def test_a_result_that_is_no_outcome_is_named(result: object, field: str) -> None:
    round = tf.Round([[0.0]], [[[1.0]], [[2.0]]], [1, 2], clients=["a", "b"])
    with pytest.raises(tf.RoundError) as caught:
        round.solve(Wrong(result))
    assert caught.value.field == field


def test_a_mechanism_without_run_says_so() -> None:
    with pytest.raises(NotImplementedError, match="method run"):
        tf.Round.varied(1).solve(tf.Mechanism())
    with pytest.raises(tf.RoundError, match="method run"):
        tf.Round.varied(1).solve(CheapestFirst)
    with pytest.raises(tf.RoundError, match="yours has its own"):
        tf.Round.varied(1).solve(CheapestFirst(), epsilon=1.0)
