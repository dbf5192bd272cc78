"""Rounds, outcomes and certificates, against vectors that were not made by this code."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import truthfed as tf
from conftest import ROOT

VECTORS = sorted((ROOT / "crates/truthfed/tests/vectors").glob("round-*.json"))


def parts(dim: int = 2, clients: int = 4) -> dict:
    """The arguments of a valid round."""
    data = np.random.default_rng(1).normal(size=(clients, 10, dim))
    return {
        "base": np.eye(dim),
        "grams": np.einsum("nki,nkj->nij", data, data),
        "asks": [3.0, 5, "9.5", Decimal("0.000001")][:clients],
        "clients": ["ann", "bob", "cyd", "dan"][:clients],
        "reserve": 100,
    }


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vectors_give_the_expected_winners_and_payments(path: Path) -> None:
    vector = json.loads(path.read_text())
    given = vector["round"]
    round = tf.Round(
        given["base"],
        [offer["gram"] for offer in given["offers"]],
        [offer["ask"] for offer in given["offers"]],
        clients=[offer["client"] for offer in given["offers"]],
        coverage=given["coverage"],
        reserve=given["reserve"],
        ridge=given["lambda"],
    )
    assert len(vector["expected"]) >= 6
    for mechanism, expected in vector["expected"].items():
        outcome = round.solve(mechanism)
        assert outcome.winners == sorted(expected)
        assert outcome.micros.dtype == np.int64
        for paid, payment in zip(outcome.micros, (expected[name] for name in outcome.winners), strict=True):
            assert payment is None or abs(paid - payment * 1e6) <= 1.001
    assert len(VECTORS) >= 8


def test_an_outcome_says_who_wins_what_and_why() -> None:
    round = tf.Round(np.zeros((1, 1)), np.full((3, 1, 1), 4.0), [3, 5, 9], clients=["ann", "bob", "cyd"], reserve=100)
    outcome = round.solve("clock")
    assert outcome.winners == ["ann", "bob"] and outcome.indices.tolist() == [0, 1]
    assert outcome.payments.tolist() == [9.0, 9.0] and outcome.micros.tolist() == [9_000_000, 9_000_000]
    assert outcome.to_dict() == {"ann": 9.0, "bob": 9.0} and not outcome.essential.any()
    assert (outcome.social_cost, outcome.incentive, len(outcome)) == (8.0, 18.0, 2)
    assert outcome.coverage >= outcome.target == 0.5
    assert outcome.certify() is None and outcome.certify(round) is None and round.certify(outcome) is None
    assert json.loads(outcome.to_json())["mechanism"] == "clock"
    assert repr(outcome) == "<Outcome of clock: 2 of 3 clients win, ask 8 and are paid 18>"


def test_money_is_exact_to_the_micro_unit() -> None:
    asks = ["999999999999.999999", "0.000001", 12, Decimal("1.25e1"), 0.1 + 0.2, np.float32(0.5), np.int64(7)]
    round = tf.Round([[0.0]], np.ones((7, 1, 1)), asks, reserve="1000000000000")
    assert round.micros.tolist() == [999_999_999_999_999_999, 1, 12_000_000, 12_500_000, 300_000, 500_000, 7_000_000]
    assert round.clients == [f"c{i}" for i in range(7)]


def test_the_parts_of_a_round_come_back() -> None:
    given = parts()
    round = tf.Round(**given, coverage=0.3, purse=50, ridge=0.5)
    np.testing.assert_array_equal(round.base, given["base"])
    np.testing.assert_allclose(round.grams, given["grams"])
    assert (round.coverage, round.reserve, round.purse, round.ridge, round.dim, len(round)) == (0.3, 50, 50, 0.5, 2, 4)
    assert round.clients == given["clients"] and round.turned_away == []
    assert tf.Round(**{**given, "reserve": 4}).turned_away == ["bob", "cyd"]
    assert round.with_purse().purse is None and round.with_coverage(0.9).coverage == 0.9


@pytest.mark.parametrize(
    ("change", "field", "bound"),
    [
        ({"asks": [1, 2, 3, -1]}, "asks[3]", "at least 0"),
        ({"asks": np.array([1, np.nan, 3, 4])}, "asks[1]", "a finite decimal number"),
        ({"asks": [1, 2, 3, 2e12]}, "asks[3]", "at most 1000000000000"),
        ({"asks": [1, 2, 3, "0.0000001"]}, "asks[3]", "a multiple of 0.000001"),
        ({"asks": [1, 2, 3, object()]}, "asks[3]", "a number of units, or a decimal as text"),
        ({"asks": [1, 2, 3]}, "grams", "3 by 2 by 2, a matrix for each ask"),
        ({"asks": [], "grams": np.empty((0, 2, 2)), "clients": []}, "asks", "at least one offer"),
        ({"base": [[1.0, 0.0]]}, "base", "a square matrix"),
        ({"base": np.empty((0, 0))}, "base", "a square matrix"),
        ({"base": [[1.0, 2.0], [2.0, 1.0]]}, "base", "positive semi-definite: no eigenvalue below -1e-5 times the trace"),
        ({"base": [[1.0, np.inf], [np.inf, 1.0]]}, "base[0][1]", "finite and at most 1e15 in size"),
        ({"base": [[1.0, 0.0], [0.1, 1.0]]}, "base[1][0]", "equal to its mirror within 1e-9 of its size"),
        ({"grams": np.stack([np.eye(2)] * 3 + [-np.eye(2)])}, "grams[3]", "positive semi-definite: no eigenvalue below -1e-5 times the trace"),
        ({"grams": np.full((4, 2, 2), np.nan)}, "grams[0][0][0]", "finite and at most 1e15 in size"),
        ({"clients": ["a", "b", "c"]}, "clients", "4 names, one for each ask"),
        ({"clients": ["a", "b", "c", "a"]}, "clients[3]", "in one offer only"),
        ({"clients": ["a", "b", "c", ""]}, "clients[3]", "a name of 1 to 128 bytes without control characters"),
        ({"clients": ["a", "b", "c", 7]}, "clients[3]", "a name"),
        ({"coverage": 0.0}, "coverage", "above 0 and at most 1"),
        ({"coverage": float("nan")}, "coverage", "above 0 and at most 1"),
        ({"reserve": -1}, "reserve", "at least 0"),
        ({"purse": "much"}, "purse", "a finite decimal number"),
        ({"ridge": 0.0}, "ridge", "above 0 and at most 1e15"),
    ],
)
def test_a_wrong_part_is_named_with_its_bound(change: dict, field: str, bound: str) -> None:
    with pytest.raises(tf.RoundError) as caught:
        tf.Round(**{**parts(), **change})
    assert (caught.value.field, caught.value.bound) == (field, bound)


def test_a_wrong_mechanism_or_parameter_is_named() -> None:
    round = tf.Round.generate(3, 2)
    for call, field, bound in [
        (lambda: round.solve("clok"), "mechanism", "be one of"),
        (lambda: round.solve(7), "mechanism", "the name of a mechanism, or an object with a method run(round)"),
        (lambda: round.solve("ratchet", epsilon=-1.0), "epsilon", "lie between 1e-9 and 1e9"),
        (lambda: round.solve("clock", epsilon=1.0), "epsilon", "is not a parameter of clock"),
        (lambda: round.level(["nobody"]), "clients[0]", "the name of an admitted client"),
        (lambda: round.level([0, 0]), "clients", "clients that are each named once"),
        (lambda: round.with_ask("nobody", 1), "client", "the name of an admitted client"),
        (lambda: tf.Round.generate(0, 2), "clients", "in 1..=10000000"),
        (lambda: tf.Round.generate(2, 513), "dim", "in 1..=512"),
        (lambda: tf.Round.from_json('{"schema": 1}'), "schema", "JSON of the fields that a round has"),
    ]:
        with pytest.raises(tf.RoundError) as caught:
            call()
        assert caught.value.field == field and caught.value.bound.startswith(bound), (field, caught.value.bound)


def test_a_mechanism_that_gives_up_says_why() -> None:
    with pytest.raises(tf.Refused, match="at most 128 clients"):
        tf.Round.generate(129, 2).solve("vcg")
    with pytest.raises(tf.Refused, match="purse"):
        tf.Round.varied(1).with_purse(5).solve("greedy")


def test_payments_that_are_not_critical_are_not_certified() -> None:
    round = tf.Round.generate(10, 2, seed=1)
    with pytest.raises(tf.NotCertified, match="would still win") as caught:
        round.solve("inc-feducb").certify()
    assert caught.value.violations and pickle.loads(pickle.dumps(caught.value)).violations == caught.value.violations
    for mechanism in ("clock", "greedy", "ratchet", "vcg"):
        round.solve(mechanism).certify()
    with pytest.raises(tf.RoundError, match="other clients"):
        round.solve().certify(tf.Round.varied(3))


def test_compare_has_a_row_for_each_mechanism_of_the_catalog() -> None:
    round = tf.Round.generate(12, 2, seed=3)
    table = round.compare(frames="numpy")
    assert table["mechanism"].tolist() == [row["name"] for row in tf.mechanisms()]
    of = dict(zip(table["mechanism"], table["social_cost"], strict=True))
    assert of["vcg"] <= of["clock"] == round.solve("clock").social_cost
    large = tf.Round.generate(200, 2).compare(["clock", "vcg"], frames="numpy")
    assert large["refused"][0] == "" and "128" in large["refused"][1] and np.isnan(large["optimum_ratio"]).all()


def test_a_round_and_its_outcome_are_written_and_pickled(tmp_path: Path) -> None:
    round = tf.Round.varied(7)
    round.save(tmp_path / "round.json")
    for again in (tf.Round.load(tmp_path / "round.json"), pickle.loads(pickle.dumps(round))):
        assert again.to_json() == round.to_json()
    outcome = round.solve("ratchet", epsilon=0.5)
    again = pickle.loads(pickle.dumps(outcome))
    assert again == outcome and again.mechanism == "ratchet" and outcome != round.solve("everyone")


def test_levels_gains_and_losses_are_log_determinants() -> None:
    given = parts()
    round = tf.Round(**given)

    def level(seats: list[int]) -> float:
        whole = given["base"] + 0.1 * np.eye(2) + sum((given["grams"][seat] for seat in seats), np.zeros((2, 2)))
        return float(np.linalg.slogdet(whole)[1])

    for seats in ([], [0], [1, 3], [0, 1, 2, 3]):
        assert round.level(seats) == pytest.approx(level(seats), abs=1e-9)
        assert round.covers(seats) == (level(seats) >= level([0, 1, 2, 3]) + np.log(0.5))
    others = [level([other for other in range(4) if other != seat]) for seat in range(4)]
    np.testing.assert_allclose(round.losses(), level([0, 1, 2, 3]) - np.array(others), atol=1e-9)
    assert round.level(["bob", "dan"]) == round.level([3, 1])
    assert round.with_ask("bob", 7).asks.tolist() == [3.0, 7.0, 9.5, 0.000001]
