"""A member in a ClientApp.

A node runs ahead of the others until it has learned enough for a round, and offers. Of all nodes, the earliest opens the round; the
others then play up to the same moment, and offer as well. What they had played beyond it is forgotten. So the rounds are those of
nodes that act in the order of time, whichever node is faster.

What a member is lives on disk, and is written before a reply is sent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from truthfed._core import Member, Terms
from truthfed.errors import MemberError, MessageError
from truthfed.flower import disk, wire
from truthfed.flower.playing import play, run_ahead
from truthfed.flower.signing import SigningNode
from truthfed.flower.source import Source


def client_app(source: Callable[[Context], Source], folder: str | os.PathLike[str], *, signed: bool = False) -> ClientApp:
    """A ClientApp for members that keep their state in a folder, one file each.

    `source` makes the data and the price of the node with that context. Nodes of one machine can share the folder. Members that are
    `signed` have their bundles there, each in a folder of the member's name, and sign what they say: their strategy has a store.
    """
    app = ClientApp()

    def serve(phase: str) -> Callable[[Message, Context], Message]:
        def served(message: Message, context: Context) -> Message:
            made = source(context)
            node = SigningNode(made, Path(folder)) if signed else Node(made, Path(folder))
            answer: Callable[[dict[str, Any]], dict[str, Any]] = getattr(node, phase)
            return Message(wire.content(answer(wire.body(message))), reply_to=message)

        return served

    app.query("hello")(serve("hello"))
    app.query("offer")(serve("offer"))
    app.train("deliver")(serve("deliver"))
    if signed:
        app.query("news")(serve("news"))
    return app


class Node:
    """A member with its data, for the time of one message."""

    def __init__(self, source: Source, folder: Path) -> None:
        self._source = source
        self._path = folder / (quote(source.name, safe="") + ".json")
        #: The round and the moment up to which it is the member of everybody's past.
        self._round, self._moment = 0, 0
        self._terms: str | None = None
        self._member: Member | None = None
        #: The member at a later moment, with the offer by which it would open the next round.
        self._ahead: tuple[int, Member] | None = None
        saved = disk.load(self._path)
        if saved is not None:
            self._round, self._moment, self._terms = saved["round"], saved["moment"], saved["terms"]
            self._member = Member.from_json(saved["member"])
            if saved["ahead"] is not None:
                self._ahead = (saved["ahead"][0], Member.from_json(saved["ahead"][1]))

    def hello(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Says who it is, and takes over the terms."""
        terms = Terms(json.dumps(asked.get("terms")))
        closed = wire.whole(asked, "closed", 0, wire.LAST)
        if self._member is None:
            self._member, self._terms = Member(self._source.name, terms), terms.to_json()
            self._save()
        elif self._terms != terms.to_json() or self._member.closed > closed:
            bound = "those of the federation in whose rounds this member took part, with all of them"
            message = f"terms are not the ones in {self._path}, or rounds are missing: they must be {bound}"
            raise MemberError(message, "terms", bound)
        return {"member": self._source.name, "closed": self._member.closed}

    def offer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Offers to the open round, or runs ahead until it would open one."""
        member = self._hear(asked)
        requests = _said(member)
        if asked.get("opened"):
            reply = {"request": _last(requests, "Offer", "Decline")}
        else:
            self._run_ahead(member, wire.whole(asked, "earliest", 0, wire.LAST))
            moment, later = self._ahead or (None, None)
            reply = {"moment": moment, "request": None if later is None else _last(_said(later.copy()), "Offer")}
        self._save()
        return reply

    def deliver(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Delivers what it offered and won with."""
        requests = _said(self._hear(asked))
        self._save()
        return {"request": _last(requests, "Deliver")}

    def _hear(self, asked: dict[str, Any]) -> Member:
        """Goes to the moment of the round that was opened last, and takes in the notices."""
        if self._member is None:
            raise MessageError("message comes before hello: it must follow one", "message", "after hello")
        opened = asked.get("opening")
        if opened is not None and opened["round"] > self._round:
            self._go_to(opened["round"], opened["moment"], opened["member"] == self._source.name)
        for notice in asked.get("notices", []):
            self._member.handle(json.dumps(notice), self._source.ask)
        return self._member

    def _go_to(self, round: int, moment: int, is_opener: bool) -> None:
        assert self._member is not None
        if is_opener and self._ahead is not None and self._ahead[0] == moment:
            self._member = self._ahead[1]
            _said(self._member)
        else:
            for event in self._source.events(self._moment):
                if event.moment > moment:
                    break
                play(self._member, event)
        self._round, self._moment, self._ahead = round, max(self._moment, moment), None

    def _run_ahead(self, member: Member, earliest: int) -> None:
        self._ahead, later = None, member.copy()
        if later.in_flight is not None:
            # The coordinator stopped before that round ended, and holds it again: the same offer stands.
            later.handle(json.dumps({"Opened": [later.in_flight, None]}), self._source.ask)
            self._ahead = (self._moment, later)
            return
        moment = run_ahead(later, self._source, self._moment, earliest)
        self._ahead = None if moment is None else (moment, later)

    def _save(self) -> None:
        assert self._member is not None
        ahead = None if self._ahead is None else [self._ahead[0], self._ahead[1].to_json()]
        disk.save(
            self._path,
            {"round": self._round, "moment": self._moment, "terms": self._terms, "member": self._member.to_json(), "ahead": ahead},
        )


def _said(member: Member) -> list[Any]:
    """What a member has to say."""
    requests = []
    while (request := member.poll()) is not None:
        requests.append(json.loads(request))
    return requests


def _last(requests: list[Any], *kinds: str) -> Any:
    """The last request of some kinds; the others are for a coordinator that is asked, and this one asks."""
    found = [request for request in requests if isinstance(request, dict) and next(iter(request)) in kinds]
    return found[-1] if found else None
