"""What a strategy decides with: a coordinator in memory, or the ledger of a federation's folder. Both have the same methods."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from truthfed._core import Coordinator, Office, Terms
from truthfed.errors import InputError, Rejected
from truthfed.flower import disk, wire


class Plain:
    """A coordinator in memory, which is kept in a file between two rounds if there is a path. Nothing is signed."""

    #: Whether members sign what they say: an offer is asked for once it is known who opens the round.
    signs = False

    def __init__(self, terms: Terms, names: list[str] | None, path: Path | None) -> None:
        self.coordinator = Coordinator(terms, names or [])
        #: From where the strategy goes on: its clock, the earliest moment for a round, and the last opening.
        self.now, self.earliest = 0, 0
        self.opening: dict[str, Any] | None = None
        self._terms, self._enrols, self._path = json.loads(terms.to_json()), names is None, path
        if path is not None and (saved := disk.load(path)) is not None:
            self._go_on(terms, names, path, saved)

    def _go_on(self, terms: Terms, names: list[str] | None, path: Path, saved: dict[str, Any]) -> None:
        if saved["terms"] != self._terms:
            bound = f"those of the federation in {path}"
            raise InputError(f"terms are others: they must be {bound}", "terms", bound)
        self.coordinator = Coordinator.from_json(saved["coordinator"], terms)
        self.now, self.earliest, self.opening = saved["now"], saved["earliest"], saved["opening"]
        for name in names or []:
            self.coordinator.enrol(name)
        for name in [] if names is None else set(self.coordinator.members) - set(names):
            self.coordinator.revoke(self.now, name)

    def hello(self, node: int) -> dict[str, Any]:
        """What a new node is asked."""
        return {"terms": self._terms, "closed": self.coordinator.closed}

    def greeted(self, node: int, said: dict[str, Any]) -> tuple[str, Any]:
        """Whose node it is, and what that member has."""
        name: str = wire.field(said, "member", str, "the name of a member")
        closed = wire.whole(said, "closed", 0, self.coordinator.closed)
        if self._enrols:
            self.coordinator.enrol(name)
        if name not in self.coordinator.members:
            raise Rejected(f"{name} is not a member of this federation", "not-a-member")
        return name, closed

    def heard(self, said: dict[str, Any]) -> Any:
        """What a member has after it was brought the news."""
        return self.coordinator.closed

    def brings(self, name: str, have: Any) -> dict[str, Any]:
        """What a member is brought."""
        return {"notices": [json.loads(notice) for notice in self.coordinator.notices(name, have)]}

    def request(self, said: dict[str, Any]) -> str:
        """The request in a reply."""
        return json.dumps(wire.present(said, "request", "a request"))

    def save(self, now: int, earliest: int, opening: dict[str, Any] | None) -> None:
        """Keeps what the strategy goes on from, when a round has ended."""
        if self._path is not None:
            kept = {"terms": self._terms, "coordinator": self.coordinator.to_json(), "opening": opening}
            disk.save(self._path, {**kept, "now": now, "earliest": earliest})


class Signed:
    """The folder of a federation with its ledger: whatever is taken is written there first, and receipted."""

    signs = True

    def __init__(self, folder: Path) -> None:
        self.coordinator = Office(folder)
        self.now = self.earliest = self.coordinator.now
        self.opening: dict[str, Any] | None = None
        if (opened := self.coordinator.opened) is not None:
            # The round that was open when it stopped goes on.
            self.opening = {"round": self.coordinator.open, "moment": opened, "member": ""}
        self._challenges: dict[int, str] = {}

    def hello(self, node: int) -> dict[str, Any]:
        self._challenges[node] = secrets.token_hex(16)
        return {"federation": self.coordinator.federation, "challenge": self._challenges[node]}

    def greeted(self, node: int, said: dict[str, Any]) -> tuple[str, Any]:
        greeting = wire.field(said, "greeting", str, "the greeting of a member, as JSON")
        # A challenge is used once.
        return self.coordinator.greeted(self._challenges.pop(node), greeting), self.heard(said)

    def heard(self, said: dict[str, Any]) -> Any:
        wanted = wire.field(said, "wanted", dict, "what a member wants")
        have = wire.whole(wanted, "have", 0, self.coordinator.closed)
        waiting = {} if wanted.get("waiting") is None else {"waiting": wire.whole(wanted, "waiting", 0, self.coordinator.closed)}
        return json.dumps({"have": have, **waiting})

    def brings(self, name: str, have: Any) -> dict[str, Any]:
        return {"parcel": self.coordinator.parcel(name, have)}

    def request(self, said: dict[str, Any]) -> str:
        request: str = wire.field(said, "request", str, "a signed request, as JSON")
        return request

    def save(self, now: int, earliest: int, opening: dict[str, Any] | None) -> None:
        """Nothing: it is all in the ledger."""


def desk(terms: Terms | None, members: Iterable[str] | None, path: Path | None, store: Path | None) -> Plain | Signed:
    """The desk that is asked for."""
    if store is None:
        if terms is None:
            bound = "given, unless a store has them"
            raise InputError(f"terms are missing: they must be {bound}", "terms", bound)
        return Plain(terms, None if members is None else list(members), path)
    for name, given in (("terms", terms), ("members", members), ("path", path)):
        if given is not None:
            bound = "left out with a store, whose folder has the terms, the members and what to go on from"
            raise InputError(f"{name} is given beside a store: it must be {bound}", name, bound)
    return Signed(store)
