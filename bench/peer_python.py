"""What the Python package costs beside numpy, on the same numbers in the same run. Everything runs on one thread, and all times are
processor time of this process: what else the machine does takes caches from both sides alike, and adds nothing to either.

First table: one step of LinUCB with 25 arms, `pull` and `update` from Python, beside two numpy programs.

rank-1    keeps the inverse by rank-1 updates and scores all arms of a step in one call (bench/peers/linucb.py)
textbook  as the algorithm is printed: inverts the matrix at every step, scores arm by arm

Second table: a whole log by one call of `run`, per step, beside rank-1 in a loop.

Third table: `solve("greedy")` with all payments beside the numpy auctions `batched` and `lazy` of bench/peers/auction.py.

The three must choose the same arms and winners, and pay the same within 1e-6; otherwise the exit code is 1.
"""

import argparse
import json
import os
import sys
import time

# Read when numpy and truthfed start, which the imports below do.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", RAYON_NUM_THREADS="1")

import numpy as np
import truthfed as tf
from peers.auction import Floats, Round
from peers.comparison import Size, differences
from peers.linucb import LINUCB_ALPHA, LINUCB_ARMS, LINUCB_DIMENSIONS, linucb_step
from peers.measurement import Measurement, measure_batched, measure_lazy
from peers.tables import duration, table
from peers.timing import SEED, repeated, timed

# Steps of a log: the matrix is well conditioned by then, and textbook takes some seconds at d = 100.
STEPS = 1000


def log(dimension: int) -> tuple[Floats, Floats]:
    """Arms and rewards of a log, in which the reward of every arm is known."""
    random = np.random.default_rng(SEED)
    arms = random.standard_normal((STEPS, LINUCB_ARMS, dimension))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    # Of equal lengths, all arms would have the same score at the first step, and rounding would choose.
    arms *= random.uniform(0.5, 1.0, (STEPS, LINUCB_ARMS, 1))
    rewards = arms @ random.standard_normal(dimension) + 0.1 * random.standard_normal(arms.shape[:2])
    return arms, rewards


def rank_1(arms: Floats, rewards: Floats) -> list[int]:
    """The choices of numpy with a kept inverse."""
    inverse, theta = np.eye(arms.shape[2]), np.zeros(arms.shape[2])
    return [linucb_step(arm, reward, inverse, theta, LINUCB_ALPHA)[0] for arm, reward in zip(arms, rewards, strict=True)]


def textbook(arms: Floats, rewards: Floats) -> list[int]:
    """The choices of the algorithm as it is printed."""
    matrix, moment, choices = np.eye(arms.shape[2]), np.zeros(arms.shape[2]), []
    for step, reward in zip(arms, rewards, strict=True):
        inverse = np.linalg.inv(matrix)
        theta = inverse @ moment
        scores = [theta @ arm + LINUCB_ALPHA * np.sqrt(arm @ inverse @ arm) for arm in step]
        chosen = int(np.argmax(scores))
        matrix += np.outer(step[chosen], step[chosen])
        moment += reward[chosen] * step[chosen]
        choices.append(chosen)
    return choices


def bandit(dimension: int) -> tf.LinUCB:
    """The same bandit in truthfed."""
    return tf.LinUCB(dimension, ridge=1.0, alpha=LINUCB_ALPHA)


def steps(arms: Floats, rewards: Floats) -> list[int]:
    """The choices of truthfed, call by call."""
    ours, choices = bandit(arms.shape[2]), []
    for step, reward in zip(arms, rewards, strict=True):
        chosen = ours.pull(step)
        ours.update(step[chosen], reward[chosen])
        choices.append(chosen)
    return choices


def whole(arms: Floats, rewards: Floats) -> list[int]:
    """The choices of truthfed, by one call."""
    return bandit(arms.shape[2]).run(arms, rewards).tolist()


PROGRAMS = {"rank-1": rank_1, "textbook": textbook, "pull + update": steps, "run": whole}


def solve(size: Size) -> dict[str, Measurement]:
    """Each auction on one round."""
    auction = tf.Round.generate(*size, seed=SEED)
    peer = Round.from_document(json.loads(auction.to_json()))
    seconds, outcome = repeated(lambda: timed(lambda: auction.solve("greedy"), time.process_time))
    payments = dict(zip(outcome.winners, outcome.payments.tolist(), strict=True))
    truthfed = Measurement(seconds, set(payments), payments)
    return {"batched": measure_batched(peer, time.process_time), "lazy": measure_lazy(peer, time.process_time), "truthfed": truthfed}


def ratio(numpy: Measurement, ours: Measurement) -> str:
    """How many times as long numpy takes, rounded down."""
    mark = "~" if numpy.extrapolated else ""
    return f"{mark}{int(10 * numpy.seconds / ours.seconds) / 10}"


def main() -> int:
    """Measures, prints, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=Size.parse, default=[Size(1000, 10)], metavar="N,D", help="of the rounds (1000,10)")
    arguments = parser.parse_args()
    found: list[str] = []
    single, logs = [["d", *list(PROGRAMS)[:3], "rank-1/ours", "textbook/ours"]], [["d", "rank-1", "run", "rank-1/ours"]]
    for dimension in LINUCB_DIMENSIONS:
        arms, rewards = log(dimension)
        measured, choices = {}, {}
        for name, program in PROGRAMS.items():
            seconds, choices[name] = repeated(lambda program=program: timed(lambda: program(arms, rewards), time.process_time))
            measured[name] = Measurement(seconds / STEPS, set(), {})
        found += [f"d = {dimension}: {name} chooses other arms than run" for name in PROGRAMS if choices[name] != choices["run"]]
        times = {name: duration(measurement) for name, measurement in measured.items()}
        numpy, ours = measured["rank-1"], measured["pull + update"]
        single.append([str(dimension), *list(times.values())[:3], ratio(numpy, ours), ratio(measured["textbook"], ours)])
        logs.append([str(dimension), times["rank-1"], times["run"], ratio(numpy, measured["run"])])
    auctions = [["size", "winners", "batched", "lazy", "truthfed", "batched/ours", "lazy/ours"]]
    for size in arguments.sizes:
        each = solve(size)
        ours = each["truthfed"]
        auctions.append([str(size), str(len(ours.winners)), *map(duration, each.values()), *(ratio(each[name], ours) for name in ("batched", "lazy"))])
        found += [f"{size} {name}: {text}" for name in ("batched", "lazy") for text in differences(each[name], ours)]
    print(f"Processor time. A step of LinUCB, {LINUCB_ARMS} arms, from Python\n{table(single)}\n")
    print(f"A step within a log of {STEPS}\n{table(logs)}\n")
    print(f'solve("greedy") with all payments\n{table(auctions)}')
    for difference in found[:10]:
        print(f"error: {difference}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
