"""The agent of a running federation, asked over HTTP on this machine."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from truthfed.errors import AgentError


class Agent:
    """A running agent (``truthfed agent BUNDLE --listen 127.0.0.1:7501``).

    :meth:`choose` returns what to play; pass the decision with the reward to :meth:`learn`. `token` is sent as a bearer token.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout

    def choose(self, arms: ArrayLike) -> tuple[int, str]:
        """The index of the arm to play, and the decision that belongs to it."""
        reply = self._call("/choose", {"arms": np.asarray(arms, dtype=float).tolist()})
        return int(reply["index"]), str(reply["decision"])

    def learn(self, decision: str, reward: float) -> None:
        """Tells the reward of a decision. It is kept once this returns."""
        self._call("/learn", {"decision": decision, "reward": float(reward)})

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
