"""Mechanisms of your own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from truthfed._core import Outcome, Round

Payment = int | float | str | Decimal


class Mechanism:
    """The base class of a mechanism of your own: override :meth:`run`.

    A mechanism is run, certified, audited and swept like those of the catalog. It must decide the same whenever it sees the same
    round, and may be called from several threads.

    >>> import truthfed as tf
    >>> class CheapestFirst(tf.Mechanism):
    ...     '''Buys the cheapest until enough is bought, and pays what they ask.'''
    ...     def run(self, round):
    ...         winners = []
    ...         for index in round.asks.argsort(kind="stable"):
    ...             if round.covers(winners):
    ...                 break
    ...             winners.append(index)
    ...         return {round.clients[index]: round.asks[index] for index in winners}
    >>> outcome = tf.Round.generate(10, 2, seed=1).solve(CheapestFirst())
    >>> outcome.mechanism
    'cheapest-first'
    >>> outcome.certify()
    Traceback (most recent call last):
        ...
    truthfed.errors.NotCertified: 5 of the payments are not critical values; the first: c0 is paid 63.104464, but would still win if it asked 63.104465

    A method ``select(self, round)`` that returns only the winners, by name or index, is used where payments are not needed.
    """

    #: What counterexamples record of it.
    parameters: Mapping[str, bool | int | float | str] = {}

    @property
    def name(self) -> str:
        """The name in tables and configurations; by default that of the class, as ``cheapest-first``."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(self).__name__).lower()

    def run(self, round: Round) -> Outcome | Mapping[str, Payment] | Iterable[tuple[str | int, Payment]]:
        """The payments of the winners, by client; or the outcome of another mechanism. Raise :class:`truthfed.Refused` to give up."""
        raise NotImplementedError("a mechanism needs a method run(self, round)")
