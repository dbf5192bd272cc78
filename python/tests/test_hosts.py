"""LinUCB in the evaluation loops of other packages, and what their own checks say."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
import truthfed as tf
from conftest import python
from truthfed.disjoint import Disjoint

HOSTS = ("coba", "river", "sklearn", "gymnasium", "ray", "joblib", "contextualbandits")


def test_truthfed_needs_none_of_its_hosts() -> None:
    done = python(f"import sys, truthfed; print([name for name in {HOSTS} if name in sys.modules])")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def experiment(processes: int) -> list[tuple]:
    import coba as cb
    from truthfed.coba import Learner

    environments = cb.Environments.from_linear_synthetic(300, n_actions=4, n_context_features=3, n_action_features=0, seed=[1, 2])
    learners = [Learner(ridge=1.0, alpha=0.3), Learner(), cb.RandomLearner()]
    result = cb.Experiment(environments, learners).run(processes=processes, quiet=True)
    return sorted(zip(*(result.interactions[name] for name in ("environment_id", "learner_id", "index", "reward")), strict=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_coba_runs_it_and_two_processes_give_the_same() -> None:
    rows = experiment(1)
    assert len(rows) == 2 * 3 * 300
    means = [np.mean([reward for _, learner, _, reward in rows if learner == number]) for number in range(3)]
    assert min(means[:2]) > means[2] + 0.1, means
    assert experiment(2) == rows


def test_coba_gets_the_choices_of_a_linucb_on_its_features() -> None:
    from coba.encodings import InteractionsEncoder
    from truthfed.coba import Learner

    numbers = np.random.default_rng(4)
    learner, bandit = Learner(ridge=0.5, alpha=0.7), tf.LinUCB(1 + 2 + 6, ridge=0.5, alpha=0.7)
    encoder = InteractionsEncoder([1, "a", "ax"])
    actions = [(1.0, 0.0), (0.0, 1.0)]
    for _ in range(60):
        context = numbers.standard_normal(3).tolist()
        rows = np.array([encoder.encode(x=context, a=action) for action in actions])
        chosen = bandit.pull(rows)
        assert learner.predict(context, actions) == (actions[chosen], 1.0)
        assert [learner.score(context, actions, action) for action in actions] == [float(i == chosen) for i in (0, 1)]
        reward = float(numbers.standard_normal())
        learner.learn(context, actions[chosen], reward, 1.0)
        bandit.update(rows[chosen], reward)
    assert learner.params["family"] == "truthfed.LinUCB"
    assert Learner().predict(None, actions) == (actions[0], 1.0)
    with pytest.raises(tf.BanditError, match="sparse"):
        Learner().predict({"a": 1.0}, actions)
    with pytest.raises(tf.BanditError, match="actions is empty"):
        Learner().score(None, [], None)


def log(steps: int = 2000) -> list[tuple]:
    """Arms are drawn at random; each is good in one half of the contexts."""
    rng = random.Random(3)
    rows = []
    for _ in range(steps):
        context = {"x": rng.uniform(-1, 1), "y": rng.uniform(-1, 1)}
        arm = rng.choice(["left", "right"])
        rows.append((["left", "right"], context, arm, context["x"] * (1 if arm == "right" else -1) + rng.gauss(0, 0.1)))
    return rows


def by_hand(arm: str, context: dict[str, float]) -> list[float]:
    return [context["x"] * (1 if arm == "right" else -1), context["y"]]


@pytest.mark.parametrize("features", [None, by_hand])
def test_river_evaluates_it_offline(features) -> None:
    from river import bandit
    from truthfed.river import Policy

    rows = log()
    reward, used = bandit.evaluate_offline(Policy(features=features), rows)
    # The best would get 0.5 in the mean, chance 0.
    assert used > 800 and reward.get() / used > 0.4, (used, reward.get() / used)
    chance, took = bandit.evaluate_offline(bandit.RandomPolicy(seed=1), rows)
    assert chance.get() / took < 0.1
    # The same by hand.
    arms, shared, total, n = Disjoint(3), tf.LinUCB(2), 0.0, 0
    for names, context, arm, gained in rows:
        row = [1.0, context["x"], context["y"]]
        pulled = arms.pull(names, row) if features is None else names[shared.pull([by_hand(name, context) for name in names])]
        if pulled == arm:
            arms.update(arm, row, gained)
            shared.update(by_hand(arm, context), gained)
            total, n = total + gained, n + 1
    assert (n, reward.get()) == (used, pytest.approx(total))


def test_river_copies_it_and_runs_it_on_its_environments() -> None:
    import gymnasium
    from river import bandit
    from truthfed.river import Policy

    copy = Policy(ridge=0.3, burn_in=2, features=by_hand).clone()
    assert (copy.ridge, copy.burn_in, copy.features) == (0.3, 2, by_hand)
    # An environment without contexts: arms have means only.
    environment = gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=300)
    policy = Policy(alpha=1.0)
    arms = range(environment.action_space.n)
    history = []
    environment.reset(seed=1)
    rng = random.Random(1)
    for _ in range(1000):
        arm = rng.choice(arms)
        history.append((list(arms), None, arm, float(environment.unwrapped.step(arm)[1])))
    _, used = bandit.evaluate_offline(policy, history)
    assert used > 20
    with pytest.raises(tf.BanditError, match="context has 'new'"):
        policy.pull(list(arms), {"new": 1.0})


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_wrong_with_it() -> None:
    from sklearn.utils.estimator_checks import check_estimator
    from truthfed.sklearn import Regressor

    for ridge, intercept in product((0.1, 1e-3), (True, False)):
        checks = check_estimator(Regressor(ridge=ridge, fit_intercept=intercept))
        assert len(checks) > 30 and {check["status"] for check in checks} <= {"passed", "skipped"}


def test_scikit_learn_searches_its_ridge_in_a_pipeline() -> None:
    from sklearn.datasets import make_regression
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from truthfed.sklearn import Regressor

    X, y = make_regression(200, 6, noise=5.0, random_state=1)
    pipeline = make_pipeline(StandardScaler(), Regressor())
    search = GridSearchCV(pipeline, {"regressor__ridge": [1e-3, 0.1, 1e3]}).fit(X, y)
    assert search.best_score_ > 0.95 and search.best_params_["regressor__ridge"] < 1e3
    ours, theirs = Regressor(ridge=0.7, fit_intercept=False).fit(X, y), Ridge(alpha=0.7, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    half = Regressor(ridge=0.7, fit_intercept=False).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    np.testing.assert_array_equal(half.coef_, ours.coef_)
    mean, std = ours.predict(X[:3], return_std=True)
    inverse = np.linalg.inv(X.T @ X + 0.7 * np.eye(6))
    np.testing.assert_allclose(std, np.sqrt(np.einsum("ij,jk,ik->i", X[:3], inverse, X[:3])), rtol=1e-9)
    np.testing.assert_allclose(mean, theirs.predict(X[:3]), rtol=1e-9)


def test_contextualbandits_evaluates_it() -> None:
    from contextualbandits.evaluation import evaluateFullyLabeled, evaluateRejectionSampling
    from truthfed.contextualbandits import Policy

    numbers = np.random.default_rng(1)
    X = numbers.standard_normal((1500, 4))
    best = (X @ numbers.standard_normal((4, 3))).argmax(axis=1)
    labels = np.eye(3)[best]
    for online in (True, False):
        means = evaluateFullyLabeled(Policy(3, alpha=0.5), X.copy(), labels.copy(), online=online, update_freq=100)
        assert means[-1] > 0.75, means
    arms = numbers.integers(3, size=1500)
    mean, used = evaluateRejectionSampling(Policy(3, alpha=0.5), X, arms, (arms == best).astype(float), partial_fit=True)
    assert mean > 0.65 and used > 350, (mean, used)


def test_a_wrong_log_is_refused_with_its_bound() -> None:
    from truthfed.contextualbandits import Policy

    for call, field in [
        (lambda: Policy(0), "nchoices"),
        (lambda: Policy(2, ridge=0.0), "ridge"),
        (lambda: Policy(2).predict([1.0]), "X"),
        (lambda: Policy(2).fit([[1.0]], [2], [0.0]), "a"),
        (lambda: Policy(2).fit([[1.0]], [0, 1], [0.0]), "a"),
    ]:
        with pytest.raises(tf.BanditError) as caught:
            call()
        assert caught.value.field == field and caught.value.bound


@pytest.mark.parametrize("name", ["Arms", "Ask"])
def test_gymnasium_finds_nothing_wrong_with_its_environments(name: str) -> None:
    import gymnasium
    from gymnasium.utils.env_checker import check_env
    from truthfed import gymnasium as ours

    check_env(getattr(ours, name)(), skip_render_check=True)
    made = gymnasium.make(f"truthfed/{name}-v0", steps=5)
    made.reset(seed=7)
    over = [made.step(made.action_space.sample())[3] for _ in range(5)]
    assert over == [False] * 4 + [True]
    with pytest.raises(tf.InputError) as caught:
        getattr(ours, name)(steps=0)
    assert caught.value.field == "steps"


def test_a_linucb_learns_the_arms_of_an_environment() -> None:
    from truthfed.gymnasium import Arms

    def regret(choose) -> float:
        environment, lost = Arms(dim=3, arms=10, steps=400), 0.0
        arms, _ = environment.reset(seed=5)
        for _ in range(400):
            chosen = choose(arms)
            after, reward, _, _, info = environment.step(chosen)
            if choose != blind:
                bandit.update(arms[chosen], reward)
            arms, lost = after, lost + info["regret"]
        return lost

    def blind(arms: np.ndarray) -> int:
        return 0

    bandit = tf.LinUCB(3)
    assert regret(bandit.pull) < 0.1 * regret(blind)


def test_no_ask_earns_more_than_the_truth_except_where_the_ask_is_paid() -> None:
    from truthfed.gymnasium import Ask

    gained = {}
    for mechanism, factor in product(("clock", "greedy", "inc-feducb"), (0.5, 1.5)):
        environment = Ask(mechanism, clients=6, steps=60)
        cost, _ = environment.reset(seed=2)
        gains = []
        for _ in range(60):
            cost, earned, _, _, info = environment.step(cost * factor)
            gains.append(earned - info["truth"])
        gained[mechanism, factor] = max(gains)
    assert all(gained[name, factor] <= 0.0 for name in ("clock", "greedy") for factor in (0.5, 1.5)), gained
    assert gained["inc-feducb", 1.5] > 0.0
