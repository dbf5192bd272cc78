"""What a node brings: its data in the order of time, and its price."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from numpy.typing import ArrayLike

from truthfed import toml
from truthfed._core import Seen, Statistics, Terms


@dataclass(frozen=True)
class Event:
    """A decision: when it is due, the arms to choose from, and the reward of each.

    Give what was decided already as one arm.
    """

    #: Milliseconds on a clock that all nodes share.
    moment: int
    arms: ArrayLike
    #: The reward of the arm with that index. It is called once.
    reward: Callable[[int], float]


class Source(Protocol):
    """The data of a node and its price."""

    @property
    def name(self) -> str:
        """The name of the member."""

    def events(self, after: int) -> Iterator[Event]:
        """What is due after a moment, in the order of time: the same again, however often it is asked for."""

    def ask(self, data: Statistics) -> int | float | str | Decimal | None:
        """The price of some data; None to stay out of the round."""


class Simulated:
    """A client of ``truthfed simulate``: what it sees under a seed, and its true cost as its price.

    >>> client = Simulated({"world.clients": 3, "world.steps": 6}, seed=1, client=2)
    >>> client.name, [event.moment for event in client.events(0)]
    ('c2', [3000, 6000])
    """

    def __init__(self, config: toml.Config, seed: int, client: int) -> None:
        self._text, self._seed, self._client = toml.written(toml.keys(config)), seed, client
        self._seen = self._view()

    def _view(self) -> Seen:
        return Seen(self._text, self._seed, self._client)

    @property
    def name(self) -> str:
        return self._seen.name

    @property
    def terms(self) -> Terms:
        """The terms of the simulated federation."""
        return self._seen.terms

    def events(self, after: int) -> Iterator[Event]:
        view = self._view()
        while (step := view.advance(after)) is not None:
            moment, arms = step
            yield Event(moment, arms, view.play)

    def ask(self, data: Statistics) -> float:
        return self._seen.cost(data)
