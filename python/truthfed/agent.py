"""The agent of a running federation, asked over HTTP on this machine."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from truthfed.errors import AgentError, InputError


class Agent:
    """A running agent (``truthfed agent BUNDLE --listen 127.0.0.1:7501``).

    :meth:`choose` returns what to play; pass the decision with the reward to :meth:`learn`. The agent answers only who shows its
    token: name the file that it wrote, ``agent.token`` in its bundle, as `token_file`, or give the text as `token`.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        timeout: float = 30.0,
        token_file: str | os.PathLike[str] | None = None,
    ) -> None:
        if token is not None and token_file is not None:
            raise InputError("token_file is given beside token: name one of them", "token_file", "one of them")
        self.url = url.rstrip("/")
        self._token = token if token_file is None else Path(token_file).read_text(encoding="ascii").strip()
        self._timeout = timeout

    def choose(self, arms: ArrayLike) -> tuple[int, str]:
        """The index of the arm to play, and the decision that belongs to it."""
        reply = self._call("/choose", {"arms": np.asarray(arms, dtype=float).tolist()})
        return int(reply["index"]), str(reply["decision"])

    def learn(self, decision: str, reward: float) -> None:
        """Tells the reward of a decision. It is kept once this returns."""
        self._call("/learn", {"decision": decision, "reward": float(reward)})

    def choose_each(self, sets: Sequence[ArrayLike]) -> list[tuple[int, str]]:
        """As :meth:`choose`, from each of several sets of arms: all decisions are kept, or none."""
        each = [np.asarray(arms, dtype=float).tolist() for arms in sets]
        choices = self._call("/choose-each", {"each": each})["choices"]
        return [(int(choice["index"]), str(choice["decision"])) for choice in choices]

    def learn_each(self, rewards: Iterable[tuple[str, float]]) -> None:
        """As :meth:`learn`, pairs of decision and reward in this order: all of them are learned, or none."""
        each = [{"decision": decision, "reward": float(reward)} for decision, reward in rewards]
        self._call("/learn-each", {"each": each})

    def receipts(self) -> list[dict[str, Any]]:
        """Every receipt that the agent holds, as the coordinator signed it."""
        receipts: list[dict[str, Any]] = self._call("/receipts", None)["receipts"]
        return receipts

    def status(self) -> dict[str, Any]:
        """What the agent says about itself."""
        return self._call("/status", None)

    def _call(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"content-type": "application/json"})
        if self._token is not None:
            request.add_header("authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as reply:
                answer: dict[str, Any] = json.load(reply)
                return answer
        except urllib.error.HTTPError as error:
            raise _refused(path, error) from error
        except (urllib.error.URLError, TimeoutError) as error:
            raise AgentError(f"{self.url} cannot be reached: {error}", "unreachable") from error

    def __repr__(self) -> str:
        return f"Agent({self.url!r})"


def _refused(path: str, error: urllib.error.HTTPError) -> AgentError:
    try:
        refusal = json.loads(error.read())["error"]
        return AgentError(f"{path}: {refusal['message']}", str(refusal["code"]))
    except (ValueError, KeyError, TypeError):
        return AgentError(f"{path}: {error}", str(error.code))
