"""What tests of Flower share: a simulated federation, and a grid within this process."""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity
from truthfed import Terms
from truthfed.flower import Simulated, Strategy, client_app

ROOT = Path(__file__).resolve().parents[2]
# The world of the example.
CONFIG: dict[str, Any] = runpy.run_path(str(ROOT / "examples/flower/federation/world.py"))["CONFIG"]


@pytest.fixture
def program() -> Path:
    """The binary of the command line, which `make test-python` builds."""
    return Path(os.environ["TRUTHFED_BINARY"])


class Here(Grid):
    """Nodes 1 to n, which answer within this process. `spoil` may replace what a node replies, by none, one or several messages."""

    def __init__(self, app: ClientApp, nodes: int) -> None:
        # A message says who sends it, which is the task that this process is.
        TaskIdentity.run_id, TaskIdentity.task_id, TaskIdentity.node_id = 1, 1, 0
        self._app = app
        self.spoil: Callable[[Message, Message], list[Message]] = lambda asked, reply: [reply]
        self._contexts = {
            node: Context(1, node, {"partition-id": node - 1, "num-partitions": nodes}, RecordDict(), {}) for node in range(1, nodes + 1)
        }
        self.exchanges: list[tuple[str, int]] = []

    def get_node_ids(self) -> Iterable[int]:
        return list(self._contexts)

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        asked = list(messages)
        if asked:
            self.exchanges.append((asked[0].metadata.message_type, len(asked)))
        return [reply for message in asked for reply in self.spoil(message, self._answer(message))]

    def _answer(self, message: Message) -> Message:
        try:
            return self._app(message, self._contexts[message.metadata.dst_node_id])
        except Exception as error:  # As a SuperNode does.
            return Message(Error(0, repr(error)), reply_to=message)

    def set_run(self, run: Any) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Any:
        raise NotImplementedError

    def create_message(self, *args: Any, **options: Any) -> Message:
        raise NotImplementedError

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        raise NotImplementedError

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        raise NotImplementedError


def simulated(context: Context) -> Simulated:
    """The client of a simulation that a node is."""
    return Simulated(CONFIG, seed=1, client=int(context.node_config["partition-id"]))


def federation(folder: Path, terms: dict[str, Any] | None = None, **options: Any) -> tuple[Strategy, Here]:
    """A strategy for the simulated clients, with some of their terms changed, and a grid of them."""
    raw = json.loads(Simulated(CONFIG, 1, 0).terms.to_json())
    return Strategy(Terms(json.dumps({**raw, **(terms or {})})), **options), Here(client_app(simulated, folder), CONFIG["world.clients"])
