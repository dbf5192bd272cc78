"""Audits of mechanisms, yours too."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from truthfed import _core
from truthfed._core import Counterexample, Round
from truthfed.errors import InputError
from truthfed.frames import frame
from truthfed.mechanism import Mechanism
from truthfed.progress import Progress, counting


@dataclass(frozen=True)
class Verdict:
    """How a property of a mechanism fared."""

    property: str
    meaning: str
    #: What was tried: clients, winners, groups or rounds.
    cases: int
    violations: int
    #: What could not be tried.
    refused: int

    @builtins.property
    def holds(self) -> bool:
        """Whether nothing was found against it."""
        return self.violations == 0


class Audit:
    """What an audit found. Nothing found is no proof."""

    def __init__(self, findings: _core.Findings) -> None:
        self._findings = findings
        self.rounds: int = findings.rounds
        self.verdicts: dict[str, Verdict] = {row[0]: Verdict(*row) for row in findings.verdicts}

    def holds(self, property: str) -> bool:
        """Whether nothing was found against a property."""
        if property not in self.verdicts:
            bound = "one of " + ", ".join(self.verdicts)
            raise InputError(f"property is {property!r}: it must be {bound}", "property", bound)
        return self.verdicts[property].holds

    def counterexample(self, property: str) -> Counterexample | None:
        """The smallest round that breaks a property; none if nothing was found."""
        return self._findings.counterexample(property)

    @property
    def economics(self) -> dict[str, dict[str, float]]:
        """What it costs: ratios of social cost and payments to the optimum, with their mean, median, 95 % and worst."""
        names = ("rounds", "mean", "median", "p95", "worst")
        return {row[0]: dict(zip(names, row[1:], strict=True)) for row in self._findings.economics}

    def frame(self, library: str | None = None) -> Any:
        """The verdicts as a table."""
        names = ("property", "cases", "violations", "refused")
        return frame({name: [getattr(row, name) for row in self.verdicts.values()] for name in names}, library)

    def __repr__(self) -> str:
        found = [f"{row.property}: {row.violations} of {row.cases}" for row in self.verdicts.values() if not row.holds]
        return f"<Audit of {self.rounds} rounds: {'; '.join(found) or 'nothing found'}>"


def audit(
    mechanism: str | Mechanism,
    random: int = 1000,
    *,
    rounds: Iterable[Round] = (),
    check: Iterable[str] | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Audit:
    """Tries to refute what a mechanism could claim, on random rounds and on rounds of yours.

    >>> import truthfed as tf
    >>> found = tf.audit("inc-feducb", random=50)
    >>> found.holds("ir"), found.holds("truthful")
    (True, False)
    >>> found.counterexample("truthful").lies
    [('a', 10.0)]
    """
    recorded = list(rounds)
    with counting(progress, random + len(recorded), "rounds") as done:
        checks = None if check is None else list(check)
        return Audit(_core.audit(mechanism, random, recorded, checks, seed, done))
