"""The coordinator in a ServerApp.

A round of Flower is a round of the federation, in three exchanges:

1. ``query.offer`` to all: takes over what was settled, and brings the offers that would open a round. The earliest one that the
   coordinator accepts opens it. (A node that is new is asked for its name before, by ``query.hello``.)
2. ``query.offer`` to all others, with the round that was opened: brings an offer or none. The mechanism decides.
3. ``train.deliver`` to the winners. What they deliver is settled and paid.

Nodes are not trusted. Whatever a reply has wrong becomes a :class:`Refusal`, and the round goes on without it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from logging import INFO, WARNING, getLogger
from pathlib import Path
from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp import strategy as flower

from truthfed._core import Coordinator, Office, Statistics, Terms
from truthfed.errors import InputError, MessageError, Rejected
from truthfed.flower import wire
from truthfed.flower.desk import desk

_log = getLogger("truthfed.flower")
#: Seconds between two looks for nodes that connect: a node needs longer to start.
LOOK_EVERY = 0.5


@dataclass(frozen=True)
class Refusal:
    """Why a reply of a node was not used; `code` is one of docs/errors.md, or ``no-reply`` or ``failed``."""

    round: int
    node: int
    member: str | None
    code: str
    message: str


@dataclass(frozen=True)
class _Opening:
    """The offer that opened the last round."""

    round: int
    moment: int
    member: str

    def told(self) -> dict[str, Any]:
        return {"round": self.round, "moment": self.moment, "member": self.member}


class Strategy(flower.Strategy):
    """Pays members for data by an auction, and shares what they deliver.

    `members` are the names of those who may take part; without it, everyone who says hello is enrolled. A node speaks for one
    member, and a member has one node. The first round waits until so many `nodes` are there; they, and replies, have `timeout` seconds.
    Without `live`, nobody is asked again once no node has a reason for a round. With `path`, the coordinator is kept in that file from
    round to round, and goes on from there.

    With `store`, the folder of a federation that ``truthfed init`` made, terms and members are those of the folder. Members show that
    they are who they say, and sign what they offer and deliver; everything is in the ledger of the folder before it is answered with a
    receipt. A strategy that was stopped goes on within the round. :meth:`close` it before another one, or a command that changes the
    ledger, takes the folder.

    After :meth:`start`, :attr:`records` has every round that ended, :attr:`refusals` what was refused, :attr:`settled` the sums.
    """

    def __init__(
        self,
        terms: Terms | None = None,
        members: Iterable[str] | None = None,
        *,
        nodes: int = 1,
        timeout: float = 600.0,
        live: bool = False,
        path: str | os.PathLike[str] | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        self._desk = desk(terms, members, None if path is None else Path(path), None if store is None else Path(store))
        _check_quota(self.coordinator.terms)
        #: How each round ended, as the JSON of docs/protocol.md.
        self.records: list[dict[str, Any]] = []
        self.refusals: list[Refusal] = []
        self._nodes, self._timeout, self._live = nodes, timeout, live
        #: Whose node it is, and what that member has.
        self._members: dict[int, str] = {}
        self._have: dict[int, Any] = {}
        self._opening = None if self._desk.opening is None else _Opening(**self._desk.opening)
        #: The coordinator's clock, and the earliest moment at which a round may open.
        self._now, self._earliest = self._desk.now, self._desk.earliest
        self._idle = False

    @property
    def coordinator(self) -> Coordinator | Office:
        """Takes what members say, and decides rounds."""
        return self._desk.coordinator

    def close(self) -> None:
        """Gives a store back."""
        if isinstance(self.coordinator, Office):
            self.coordinator.close()

    @property
    def settled(self) -> Statistics:
        """Everything that is settled."""
        return self.coordinator.settled

    def summary(self) -> None:
        """Logs what the federation is."""
        _log.log(INFO, "%r, terms %s", self.coordinator, self.coordinator.terms.to_json())

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord | None = None,
        num_rounds: int = 3,
        timeout: float | None = None,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> flower.Result:
        """Runs rounds. What is settled is the arrays ``gram`` and ``moment``."""
        arrays = self._arrays() if initial_arrays is None else initial_arrays
        wait = self._timeout if timeout is None else timeout
        result = super().start(grid, arrays, num_rounds, wait, train_config, evaluate_config, evaluate_fn)
        if self._desk.signs:
            self._tell(grid)
        return result

    def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Iterable[Message]:
        """Opens a round, if a node has a reason, and has the mechanism decide; returns what winners are told."""
        if self._idle and not self._live:
            return []
        self._greet(grid)
        if self.coordinator.open is None and not self._open(grid):
            return []
        if not self.coordinator.awarded:
            self._take_offers(grid)
        awaited = set(self.coordinator.awaited)
        return [self._message(node, wire.DELIVER) for node, name in self._members.items() if name in awaited]

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Settles what winners delivered. Who did not deliver is not paid."""
        if self.coordinator.open is None:
            return None, None
        waits = {node for node, name in self._members.items() if name in self.coordinator.awaited}
        self._hand_in(self._read(replies, waits))
        self._end_phase()
        record = self.records[-1]
        settled = record["ending"].get("Settled", {}) if isinstance(record["ending"], dict) else {}
        paid = settled.get("paid", [])
        figures = {"round": record["round"], "paid": len(paid), "payments_micros": sum(micros for _, micros in paid)}
        return self._arrays(), MetricRecord({**figures, "settled_samples": self.settled.samples})

    def configure_evaluate(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Iterable[Message]:
        """Nothing is evaluated: members are paid for what their data adds."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Nothing is evaluated."""
        return None

    def _arrays(self) -> ArrayRecord:
        return ArrayRecord({"gram": Array(self.settled.gram), "moment": Array(self.settled.moment)})

    def _refuse(self, node: int, code: str, message: str) -> None:
        refusal = Refusal(self.coordinator.closed + 1, node, self._members.get(node), code, message)
        self.refusals.append(refusal)
        _log.log(WARNING, "round %d: node %d (%s): %s: %s", refusal.round, node, refusal.member, code, message)

    def _greet(self, grid: Grid) -> None:
        """Binds every node that is new to the member that it speaks for."""
        new = [node for node in self._connected(grid) if node not in self._members]
        asked = [Message(wire.content(self._desk.hello(node)), node, wire.HELLO) for node in new]
        for node, said in self._read(self._exchange(grid, asked), set(new)):
            try:
                if node in self._members:
                    raise Rejected(f"this node is {self._members[node]}'s already", "other-member")
                name, have = self._desk.greeted(node, said)
                if name in self._members.values():
                    raise Rejected(f"{name} has a node already: each member has one, each node is one member", "other-member")
                self._members[node], self._have[node] = name, have
            except Rejected as rejected:
                self._refuse(node, rejected.code, str(rejected))
            except MessageError as error:
                self._refuse(node, "malformed", str(error))

    def _connected(self, grid: Grid) -> list[int]:
        give_up = time.monotonic() + (0 if self._members else self._timeout)
        while len(nodes := list(grid.get_node_ids())) < self._nodes and time.monotonic() < give_up:
            time.sleep(LOOK_EVERY)
        return nodes

    def _open(self, grid: Grid) -> bool:
        """Opens the next round by the earliest offer that is reason enough for one; whether there was any."""
        # A phase that waited for its deadline has taken time: no round opens in the past.
        earliest = max(self._earliest, self._now)
        asked = [self._message(node, wire.OFFER, earliest=earliest) for node in self._members]
        claims: dict[int, tuple[int, str, str | None]] = {}
        said_anything = False
        for node, said in self._read(self._exchange(grid, asked), set(self._members)):
            said_anything = True
            try:
                self._have[node] = self._desk.heard(said)
                if said.get("moment") is None:
                    continue
                request = None if self._desk.signs else self._desk.request(said)
                claim = (wire.whole(said, "moment", self._now, wire.LAST), self._members[node], request)
            except MessageError as error:
                self._refuse(node, "malformed", str(error))
                continue
            if claims.setdefault(node, claim) != claim:
                self._refuse(node, "conflicting-retry", "it replied before with another offer: the first stands")
        self._idle = said_anything and not claims
        waits = []
        for node, (moment, name, request) in sorted(claims.items(), key=lambda claim: claim[1]):
            before, self._opening = self._opening, _Opening(self.coordinator.closed + 1, moment, name)
            wait = self._ask_opener(grid, node) if request is None else self._take(node, name, request, moment)
            if self.coordinator.open is not None:
                self._now = moment
                self._drain()
                return True
            self._opening = before
            waits.append(None if wait is None else moment + wait)
        # Nobody may open a round yet.
        self._earliest = max([self._earliest, *(at for at in waits if at is not None)])
        return False

    def _ask_opener(self, grid: Grid, node: int) -> int | None:
        """Has the member that would open a round sign its offer. If it is too early for one: by how many milliseconds."""
        assert self._opening is not None and isinstance(self.coordinator, Office)
        moment, name = self._opening.moment, self._opening.member
        try:
            self.coordinator.check_opens(moment, name)
        except Rejected as rejected:
            self._refuse(node, rejected.code, str(rejected))
            return rejected.wait_ms
        for _, said in self._read(self._exchange(grid, [self._message(node, wire.OFFER, opened=True)]), {node}):
            self._hand_in_one(node, said, moment)
        return None

    def _take_offers(self, grid: Grid) -> None:
        """Brings the offers of those who did not open the round. Those that came in time are decided among."""
        awaited = set(self.coordinator.awaited)
        nodes = [node for node, name in self._members.items() if name in awaited]
        asked = [self._message(node, wire.OFFER, opened=True) for node in nodes]
        self._hand_in(self._read(self._exchange(grid, asked), set(nodes)))
        self._drain()
        if not self.coordinator.awarded:
            self._end_phase()

    def _hand_in(self, replies: Iterable[tuple[int, dict[str, Any]]]) -> None:
        for node, said in replies:
            self._hand_in_one(node, said, self._now)
        self._drain()

    def _hand_in_one(self, node: int, said: dict[str, Any], moment: int) -> None:
        try:
            request = self._desk.request(said)
        except MessageError as error:
            self._refuse(node, "malformed", str(error))
        else:
            self._take(node, self._members[node], request, moment)

    def _tell(self, grid: Grid) -> None:
        """Brings all members how the last round ended, which no other round does."""
        asked = [self._message(node, wire.NEWS) for node in self._members]
        for node, said in self._read(self._exchange(grid, asked), set(self._members)):
            try:
                self._have[node] = self._desk.heard(said)
            except MessageError as error:
                self._refuse(node, "malformed", str(error))

    def _take(self, node: int, name: str, request: str, moment: int) -> int | None:
        """Hands a request to the coordinator. If it is too early for a round: by how many milliseconds."""
        try:
            self.coordinator.handle(moment, name, request)
        except Rejected as rejected:
            self._refuse(node, rejected.code, str(rejected))
            return rejected.wait_ms
        except InputError as error:
            self._refuse(node, "malformed", str(error))
        return None

    def _end_phase(self) -> None:
        """Lets the deadline of the phase pass, as all replies there will be are in."""
        deadline = self.coordinator.deadline
        if deadline is not None:
            self._now = max(self._now, deadline)
            self.coordinator.tick(self._now)
        self._drain()

    def _drain(self) -> None:
        """Keeps what happened."""
        while (output := self.coordinator.poll()) is not None:
            said = json.loads(output)
            if "Ended" in said:
                self.records.append(said["Ended"])
                self._desk.save(self._now, self._earliest, None if self._opening is None else self._opening.told())

    def _message(self, node: int, kind: str, **more: Any) -> Message:
        """A message with what the member of a node is to hear."""
        opening = None if self._opening is None else self._opening.told()
        body = {**self._desk.brings(self._members[node], self._have[node]), "opening": opening, **more}
        return Message(wire.content(body), node, kind, group_id=str(self.coordinator.closed + 1))

    def _exchange(self, grid: Grid, messages: list[Message]) -> Iterable[Message]:
        return grid.send_and_receive(messages, timeout=self._timeout) if messages else []

    def _read(self, replies: Iterable[Message], asked: set[int]) -> list[tuple[int, dict[str, Any]]]:
        """What nodes replied, by node, in the order of arrival."""
        read, silent = [], set(asked)
        for reply in replies:
            node = reply.metadata.src_node_id
            silent.discard(node)
            if node not in asked:
                self._refuse(node, "wrong-phase", "it was not asked")
            elif reply.has_error():
                self._refuse(node, "failed", str(reply.error.reason))
            else:
                try:
                    read.append((node, wire.body(reply)))
                except MessageError as error:
                    self._refuse(node, "malformed", str(error))
        for node in sorted(silent):
            self._refuse(node, "no-reply", f"no reply within {self._timeout} s")
        return sorted(read, key=lambda pair: pair[0])


def _check_quota(terms: Terms) -> None:
    """Refuses a quota."""
    if json.loads(terms.to_json()).get("quota", {}).get("samples", 0):
        bound = "0: a node that runs ahead does not know how much is due by then"
        raise InputError(f"quota.samples is set: it must be {bound}", "quota.samples", bound)
