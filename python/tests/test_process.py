"""Signals, forks, threads and faults."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
import truthfed as tf
from conftest import SMALL, python
from truthfed import _core

LONG = {
    "simulate": "tf.simulate({'world.steps': 7_000_000}, seeds=4)",
    "sweep": "tf.sweep({'world.steps': 7_000_000}, grid={'world.clients': [2, 3]})",
    "audit": "tf.audit('truth-fedban', random=10_000_000)",
    "own": "tf.audit(Mine(), random=10_000_000)",
    "run": "tf.LinUCB(500).run(np.zeros((20_000, 2, 500)) + .1, np.zeros((20_000, 2)))",
    "solve": "tf.Round.generate(100, 3).solve('vcg', node_limit=10**12)",
    "reproduce": "tf.reproduce(sys.argv[1] if sys.argv[1:] else 'out')",
}


@contextmanager
def started(args: list, **options) -> Iterator[subprocess.Popen]:
    """A process that hears SIGINT, which whatever runs in the background of a shell does not; killed in the end."""
    with subprocess.Popen(args, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_long_work_soon(name: str, tmp_path) -> None:
    code = f"""
import sys, numpy as np, truthfed as tf
class Mine(tf.Mechanism):
    def run(self, round):
        return round.solve("greedy")
print("ready", flush=True)
try:
    {LONG[name]}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    import os
    os._exit(7)
"""
    with started([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as worker:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
        time.sleep(0.4)
        assert worker.poll() is None
        worker.send_signal(signal.SIGINT)
        # All of it would take far longer.
        assert worker.wait(30) == 7 and worker.stdout.read() == "interrupted\n"


def test_an_interrupted_session_goes_on() -> None:
    code = """
import signal, threading, os, time, truthfed as tf
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    tf.simulate({"world.steps": 7_000_000}, seeds=2)
except KeyboardInterrupt:
    pass
print(tf.simulate({"world.steps": 200}, seeds=2, frames="numpy").totals["steps"].tolist())
"""
    done = python(code)
    assert (done.returncode, done.stdout) == (0, "[200, 200]\n"), done.stderr


def test_the_command_ends_at_ctrl_c_as_the_binary_does(command, program) -> None:
    for tool in (command, program):
        with started([tool, "simulate", "--set", "world.steps=7000000"], stderr=subprocess.DEVNULL) as worker:
            time.sleep(1.0)
            worker.send_signal(signal.SIGINT)
            assert worker.wait(30) == -signal.SIGINT


def test_a_child_that_was_forked_after_threads_started_works_on() -> None:
    code = """
import os, truthfed as tf
round = tf.Round.generate(3000, 4, seed=1)
before = round.solve("clock").incentive
tf.simulate({"world.steps": 300}, seeds=4)
child = os.fork()
if child == 0:
    assert tf.Round.generate(3000, 4, seed=1).solve("clock").incentive == before
    tf.simulate({"world.steps": 300}, seeds=4)
    tf.audit("greedy", random=50)
    os._exit(5)
_, status = os.waitpid(child, 0)
assert round.solve("clock").incentive == before
print(os.waitstatus_to_exitcode(status))
"""
    done = python(code)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr


def _solve(round: tf.Round) -> tuple[list[str], list[int]]:
    outcome = round.solve("greedy")
    return outcome.winners, outcome.micros.tolist()


def _draw(bandit: tf.LinUCB) -> str:
    bandit.update(np.ones(bandit.dim) / 2, 1.0)
    return bandit.to_json()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_rounds_and_bandits_travel_to_other_processes(method: str) -> None:
    rounds = [tf.Round.varied(seed) for seed in range(4)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as workers:
        assert list(workers.map(_solve, rounds)) == [_solve(round) for round in rounds]
        [there] = workers.map(_draw, [tf.LinUCB(3)])
        assert there == _draw(tf.LinUCB(3))


def test_joblib_runs_rounds_sweeps_and_own_mechanisms() -> None:
    joblib = pytest.importorskip("joblib")

    class Mine(tf.Mechanism):
        def run(self, round: tf.Round) -> tf.Outcome:
            return round.solve("clock")

    rounds = [tf.Round.varied(seed) for seed in range(4)]
    outcomes = joblib.Parallel(2)(joblib.delayed(lambda round: round.solve("clock"))(round) for round in rounds)
    assert outcomes == [round.solve("clock") for round in rounds]
    cells = tf.prepared(SMALL, grid={"mechanism": ["clock", Mine()]}, seeds=2, cost=lambda client, stats: 3.0)
    parts = joblib.Parallel(2)(joblib.delayed(lambda part: cells.run((part, 2)))(part) for part in (1, 2))
    assert sorted(cell for part in parts for cell in part) == sorted(cells.run())


def test_other_threads_of_python_run_while_rust_works() -> None:
    ticks = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    tf.simulate({"world.steps": 20_000}, seeds=2)
    took = time.monotonic() - start
    stop.set()
    thread.join()
    # With the lock held there would be none between the first and the last step.
    inside = [tick for tick in ticks if start < tick < start + took]
    assert len(inside) > 2, (len(inside), took)


def test_threads_solve_at_the_same_time_what_calls_back_into_python() -> None:
    class Mine(tf.Mechanism):
        def run(self, round: tf.Round) -> tf.Outcome:
            round.losses()
            return round.solve("greedy")

    results: list[float] = []
    round = tf.Round.generate(30, 3, seed=2)
    threads = [threading.Thread(target=lambda: results.append(round.solve(Mine()).incentive)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [round.solve("greedy").incentive] * 8


def test_a_fault_of_ours_is_an_exception_like_others() -> None:
    with pytest.raises(tf.InternalError, match="a pair for each seed"):
        _core.paired([1.0], [1.0, 2.0], 0.95)
    assert issubclass(tf.InternalError, RuntimeError)
    assert len(tf.Round.generate(3, 2).solve()) > 0
