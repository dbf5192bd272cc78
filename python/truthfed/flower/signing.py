"""A member that signs, in a ClientApp: with the bundle that ``truthfed init`` or ``truthfed members add`` issued.

It plays ahead on a copy, and nothing of that is kept. Once a round is opened it follows to that moment, for good, and signs its
answer: one for each round. What it learned, offered and was promised is in its bundle, in the file of ``truthfed agent``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truthfed._core import SigningMember
from truthfed.errors import MemberError
from truthfed.flower import disk, wire
from truthfed.flower.playing import play, run_ahead
from truthfed.flower.source import Source


class SigningNode:
    """A member with its data, for the time of one message."""

    def __init__(self, source: Source, folder: Path) -> None:
        bundle = folder / source.name
        self._source = source
        # The names that `truthfed agent` and `truthfed ledger statement` give to them.
        self._member = SigningMember(bundle, bundle / "agent.db")
        if self._member.name != source.name:
            bound = f"{source.name}, as the source says"
            raise MemberError(f"the bundle {bundle} is of {self._member.name}: it must be of {bound}", "name", bound)
        #: The moment up to which the member has played, for good.
        self._path, self._moment = bundle / "flower.json", 0
        if (saved := disk.load(self._path)) is not None:
            self._moment = saved["moment"]
            # It was following when it stopped: all of that was learned, or nothing.
            if saved["unshared"] is not None and self._unshared() != saved["unshared"]:
                self._moment = saved["to"]

    def hello(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Shows whose node it is."""
        if asked.get("federation") != self._member.federation:
            bound = f"{self._member.federation}, whose bundle this is"
            raise MemberError(f"federation is {asked.get('federation')}: it must be {bound}", "federation", bound)
        challenge = wire.field(asked, "challenge", str, "a challenge of 32 hexadecimal digits")
        return {"greeting": self._member.greet(challenge), "wanted": self._wanted()}

    def offer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Offers to the round that is or will be open, or says when it would open one."""
        self._follow(asked)
        if asked.get("opened"):
            return {"request": self._member.answer(_parcel(asked), self._source.ask)}
        self._member.take_in(_parcel(asked))
        earliest = max(self._moment, wire.whole(asked, "earliest", 0, wire.LAST))
        ahead = self._member.rehearsal()
        # An offer that is signed and was not heard stands.
        is_signed = ahead.in_flight is not None
        moment = earliest if is_signed else run_ahead(ahead, self._source, self._moment, earliest)
        return {"moment": moment, "wanted": self._wanted()}

    def deliver(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Delivers what it offered and won with."""
        self._follow(asked)
        return {"request": self._member.answer(_parcel(asked), self._source.ask)}

    def news(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Takes over how the last round ended."""
        self._follow(asked)
        self._member.take_in(_parcel(asked))
        return {"wanted": self._wanted()}

    def _follow(self, asked: dict[str, Any]) -> None:
        """Goes to the moment of the round that was opened last."""
        opening = asked.get("opening")
        moment = 0 if opening is None else wire.whole(opening, "moment", 0, wire.LAST)
        if moment <= self._moment:
            return
        ahead, played = self._member.rehearsal(), []
        for event in self._source.events(self._moment):
            if event.moment > moment:
                break
            played.append(play(ahead, event))
        if played:
            disk.save(self._path, {"moment": self._moment, "to": moment, "unshared": self._unshared()})
            self._member.follow(played)
        self._moment = moment
        disk.save(self._path, {"moment": moment, "to": moment, "unshared": None})

    def _unshared(self) -> int:
        return self._member.rehearsal().unshared.samples

    def _wanted(self) -> Any:
        return json.loads(self._member.wanted())


def _parcel(asked: dict[str, Any]) -> str:
    parcel: str = wire.field(asked, "parcel", str, "what a member is brought, as JSON")
    return parcel
