"""LinUCB against its definition in numpy, and in the habits of other libraries."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import truthfed as tf


def log(steps: int = 200, arms: int = 7, dim: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Arms of unit length and noisy linear rewards."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(steps, arms, dim))
    contexts /= np.linalg.norm(contexts, axis=2, keepdims=True)
    theta = rng.normal(size=dim)
    return contexts, contexts @ theta + 0.1 * rng.normal(size=(steps, arms))


class Plain:
    """LinUCB by its definition, solved anew at every step."""

    def __init__(self, dim: int, alpha: float | None = None) -> None:
        self.gram, self.moment, self.alpha = 0.1 * np.eye(dim), np.zeros(dim), alpha

    def estimates(self, arms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inverse = np.linalg.inv(self.gram)
        return arms @ (inverse @ self.moment), np.sqrt(np.einsum("ki,ij,kj->k", arms, inverse, arms))

    def exploration(self) -> float:
        ratio = np.linalg.slogdet(self.gram)[1] - len(self.moment) * np.log(0.1)
        return self.alpha if self.alpha is not None else 0.1 * np.sqrt(ratio + 2 * np.log(10)) + np.sqrt(0.1)

    def scores(self, arms: np.ndarray) -> np.ndarray:
        mean, width = self.estimates(arms)
        return mean + self.exploration() * width

    def update(self, arm: np.ndarray, reward: float) -> None:
        self.gram += np.outer(arm, arm)
        self.moment += reward * arm


@pytest.mark.parametrize("alpha", [None, 1.0, 0.0])
def test_pull_scores_and_predict_are_those_of_the_definition(alpha: float | None) -> None:
    arms, rewards = log()
    ours, plain = tf.LinUCB(dim=4, alpha=alpha), Plain(4, alpha)
    for shown, given in zip(arms, rewards, strict=True):
        scores = plain.scores(shown)
        np.testing.assert_allclose(ours.scores(shown), scores, rtol=1e-8)
        chosen = ours.pull(shown)
        assert scores[chosen] >= scores.max() - 1e-9
        ours.update(shown[chosen], given[chosen])
        plain.update(shown[chosen], given[chosen])
    mean, std = ours.predict(arms[0], return_std=True)
    expected = plain.estimates(arms[0])
    np.testing.assert_allclose(mean, expected[0], rtol=1e-8)
    np.testing.assert_allclose(std, expected[1], rtol=1e-8)
    np.testing.assert_allclose(ours.predict(arms[0]), mean)
    np.testing.assert_allclose(ours.exploration, plain.exploration())
    np.testing.assert_allclose(ours.gram + 0.1 * np.eye(4), plain.gram)
    np.testing.assert_allclose(ours.moment, plain.moment)
    assert ours.samples == 200


def test_a_whole_log_is_played_as_step_by_step() -> None:
    arms, rewards = log(steps=2500)
    stepwise, at_once = tf.LinUCB(4), tf.LinUCB(4)
    chosen = []
    for shown, given in zip(arms, rewards, strict=True):
        chosen.append(stepwise.pull(shown))
        stepwise.update(shown[chosen[-1]], given[chosen[-1]])
    assert at_once.run(arms, rewards).tolist() == chosen
    assert at_once.to_json() == stepwise.to_json()


def test_partial_fit_learns_like_update_and_returns_the_bandit() -> None:
    arms, rewards = log(steps=50, arms=1)
    one, other = tf.LinUCB(4), tf.LinUCB(4)
    assert one.partial_fit(arms[:, 0], rewards[:, 0]) is one
    for shown, given in zip(arms, rewards, strict=True):
        other.update(shown[0], given[0])
    assert one.to_json() == other.to_json()


@pytest.mark.parametrize(
    "convert",
    [
        lambda arms: arms.tolist(),
        np.asfortranarray,
        lambda arms: np.repeat(arms, 2, axis=0)[::2],
        lambda arms: arms.astype(object),
        lambda arms: [tuple(row) for row in arms],
    ],
)
def test_whatever_holds_the_same_numbers_gives_the_same_choice(convert) -> None:
    arms, rewards = log()
    bandit = tf.LinUCB(4).partial_fit(arms[:, 0], rewards[:, 0])
    for shown in arms:
        assert bandit.pull(convert(shown)) == bandit.pull(shown)


def test_floats_of_32_bits_ints_and_bools_are_converted() -> None:
    bandit = tf.LinUCB(2)
    bandit.update(np.array([1, 0]), 1)
    bandit.update([True, False], np.float32(1))
    arms = np.array([[1, 0], [0, 1]])
    for kind in (np.float32, np.int64, np.uint8, bool):
        assert bandit.scores(arms.astype(kind)).tolist() == bandit.scores(arms.astype(float)).tolist()


@pytest.mark.parametrize(
    ("call", "field", "bound"),
    [
        (lambda b: b.pull([[1, float("nan"), 0]]), "arms[0]", "finite and below 1e100 in size"),
        (lambda b: b.pull(np.ones((2, 2))), "arms", "of dimension 3"),
        (lambda b: b.pull(np.ones(3)), "arms", "an array of 2 dimensions"),
        (lambda b: b.pull(np.empty((0, 3))), "arms", "at least one arm"),
        (lambda b: b.pull([["a", "b", "c"]]), "arms", "an array of numbers"),
        (lambda b: b.pull(np.ones((1, 3), dtype=complex)), "arms", "an array of numbers"),
        (lambda b: b.pull([[1, 2, 3], [1, 2]]), "arms", "an array of numbers"),
        (lambda b: b.pull(None), "arms", "an array of 2 dimensions"),
        (lambda b: b.update([1, 2], 0.0), "arm", "of dimension 3"),
        (lambda b: b.update([1, 2, float("inf")], 0.0), "arm", "finite and at most 1e6 in size"),
        (lambda b: b.update([1, 2, 3], float("nan")), "reward", "finite and at most 1e6 in size"),
        (lambda b: b.partial_fit(np.ones((2, 3)), [1.0]), "y", "2 rewards, one for each row of x"),
        (lambda b: b.partial_fit(np.ones((2, 3)), [1.0, 1e9]), "y[1]", "finite and at most 1e6 in size"),
        (lambda b: b.predict([[1e300, 1e300, 1e300]]), "x[0]", "finite and below 1e100 in size"),
        (lambda b: b.run(np.ones((5, 2, 3)), np.ones((4, 2))), "rewards", "5 steps of 2 rewards, one for each arm"),
        (lambda b: b.run(np.full((5, 2, 3), np.nan), np.ones((5, 2))), "arms[0][0]", "finite and below 1e100 in size"),
        (lambda b: b.refresh([[1, 2, 0], [3, 1, 0], [0, 0, 1]], [0, 0, 0], 1), "gram[1][0]", "equal to its mirror within 1e-9 of its size"),
        (lambda b: b.refresh(-np.eye(3), [0, 0, 0], 1), "gram", "statistics that some data can have"),
        (lambda b: tf.LinUCB(dim=0), "dim", "in 1..=512"),
        (lambda b: tf.LinUCB(dim=-1), "dim", "in 1..=512"),
        (lambda b: tf.LinUCB(3, ridge=0.0), "ridge", "between 1e-9 and 1e9"),
        (lambda b: tf.LinUCB(3, noise=float("nan")), "noise", "between 0 and 1e9"),
        (lambda b: tf.LinUCB(3, delta=1.0), "delta", "above 0 and below 1"),
        (lambda b: tf.LinUCB(3, alpha=-1.0), "alpha", "between 0 and 1e9"),
        (lambda b: tf.LinUCB.from_json("{}"), "text", "the JSON of a bandit that was saved"),
    ],
)
def test_a_wrong_argument_is_named_with_its_bound_and_changes_nothing(call, field: str, bound: str) -> None:
    bandit = tf.LinUCB(3)
    bandit.update([0.6, 0.8, 0.0], 1.0)
    before = bandit.to_json()
    with pytest.raises(tf.BanditError) as caught:
        call(bandit)
    assert (caught.value.field, caught.value.bound) == (field, bound)
    assert isinstance(caught.value, ValueError) and str(caught.value).startswith(field.split("[")[0])
    assert pickle.loads(pickle.dumps(caught.value)).bound == bound
    assert bandit.to_json() == before


def test_a_bandit_is_saved_pickled_and_copied_to_the_last_bit(tmp_path: Path) -> None:
    arms, rewards = log()
    bandit = tf.LinUCB(4, alpha=0.7)
    bandit.run(arms, rewards)
    bandit.save(tmp_path / "b.json")
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]
    for again in (tf.LinUCB.load(str(tmp_path / "b.json")), pickle.loads(pickle.dumps(bandit)), bandit.copy()):
        assert again.to_json() == bandit.to_json() and again.alpha == 0.7
        again.update(arms[0][0], 0.0)
        assert again.samples == bandit.samples + 1
    with pytest.raises(FileNotFoundError):
        tf.LinUCB.load(tmp_path / "nothing.json")


def test_refresh_replaces_what_is_known() -> None:
    arms, rewards = log(steps=60, arms=1)
    bandit = tf.LinUCB(4).partial_fit(arms[:, 0], rewards[:, 0])
    other = tf.LinUCB(4)
    other.refresh(bandit.gram, bandit.moment, bandit.samples)
    np.testing.assert_allclose(other.theta, bandit.theta, rtol=1e-9)
    assert other.information == pytest.approx(bandit.information)


def test_a_bandit_that_another_thread_teaches_meanwhile_plays_no_log() -> None:
    arms, rewards = log(steps=60_000, arms=10)
    bandit = tf.LinUCB(4)
    with ThreadPoolExecutor(1) as threads:
        played = threads.submit(bandit.run, arms, rewards)
        bandit.update(arms[0, 0], 1.0)
        try:
            played.result()
            assert bandit.samples == 60_001, "the update came before the log, or after it"
        except tf.BanditError as error:
            assert error.field == "self" and bandit.samples == 1


def test_threads_that_share_a_bandit_lose_no_sample() -> None:
    arms, rewards = log(steps=400, arms=1)
    bandit = tf.LinUCB(4)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda row: bandit.update(arms[row, 0], rewards[row, 0]), range(400)))
    assert bandit.samples == 400
    assert repr(bandit) == "LinUCB(dim=4, ridge=0.1, noise=0.1, delta=0.1) after 400 samples"
