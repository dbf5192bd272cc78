"""The agent of a federation that really runs."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import truthfed as tf


@pytest.fixture
def agent(tmp_path: Path, command: Path) -> Iterator[tf.Agent]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ["--set", "terms.bandit.dimension=2", "--set", f'listen="127.0.0.1:{port}"']
    subprocess.run([command, "init", "fed", "--members", "1", *settings], cwd=tmp_path, check=True, capture_output=True)
    started = [command, "agent", "fed/members/m1", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(started, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if found := re.search(r"application=127\.0\.0\.1:(\d+)", line):
                break
        else:
            pytest.fail(said)
        yield tf.Agent(f"http://127.0.0.1:{found[1]}/", token_file=tmp_path / "fed/members/m1/agent.token")
        process.terminate()
        process.stderr.read()


def test_an_agent_chooses_learns_and_refuses(agent: tf.Agent) -> None:
    arms = np.array([[1.0, 0.0], [0.6, 0.8]])
    for _ in range(20):
        index, decision = agent.choose(arms)
        agent.learn(decision, 1.0 if index == 1 else 0.0)
    assert agent.choose(arms.tolist())[0] == 1
    assert agent.status()
    with pytest.raises(tf.AgentError, match="dimension") as caught:
        agent.choose([[1.0, 2.0, 3.0]])
    assert caught.value.code
    with pytest.raises(tf.AgentError):
        agent.learn("99-00000000", 1.0)


def test_many_are_chosen_and_learned_at_once_or_none(agent: tf.Agent) -> None:
    sets = [np.array([[1.0, 0.0], [0.6, 0.8]]), [[0.0, 1.0]]]
    choices = agent.choose_each(sets)
    assert [index for index, _ in choices][1] == 0
    agent.learn_each((decision, 0.5) for _, decision in choices)
    assert agent.status()["known"] == 2 and agent.receipts() == []
    with pytest.raises(tf.AgentError, match=r"each\[1\]"):
        agent.choose_each([[[1.0, 0.0]], [[1.0]]])


def test_an_agent_answers_only_who_shows_its_token(agent: tf.Agent) -> None:
    for token in (None, "0" * 64):
        with pytest.raises(tf.AgentError) as caught:
            tf.Agent(agent.url, token=token).status()
        assert caught.value.code == "no-token"
    with pytest.raises(tf.InputError) as twice:
        tf.Agent(agent.url, token="x", token_file="y")
    assert twice.value.field == "token_file"


def test_an_agent_that_is_not_there_is_named() -> None:
    with pytest.raises(tf.AgentError, match="cannot be reached") as caught:
        tf.Agent("http://127.0.0.1:9", token="secret").status()
    assert caught.value.code == "unreachable" and "secret" not in repr(tf.Agent("http://127.0.0.1:9", token="secret"))
