"""All mechanisms on one round, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truthfed._core import Outcome, Round
from truthfed.frames import Columns, frame

FIGURES = ("coverage", "target", "social_cost", "incentive", "log_dets")


def compare(round: Round, mechanisms: Sequence[Any] | None = None, library: str | None = None) -> Any:
    """A row for each mechanism: how many win, what they cover, ask and are paid; and why it refused, if it did.

    `optimum_ratio` is the social cost over that of `vcg`, if that is among them.
    """
    outcomes = round.outcomes(mechanisms)
    solved = {name: outcome for name, outcome in outcomes if isinstance(outcome, Outcome)}
    best = solved["vcg"].social_cost if "vcg" in solved else 0.0
    columns: Columns = {"mechanism": [], "winners": [], **{figure: [] for figure in FIGURES}, "optimum_ratio": [], "refused": []}
    for name, outcome in outcomes:
        solves = isinstance(outcome, Outcome)
        columns["mechanism"].append(name)
        columns["winners"].append(len(outcome) if solves else 0)
        for figure in FIGURES:
            columns[figure].append(getattr(outcome, figure) if solves else float("nan"))
        columns["optimum_ratio"].append(outcome.social_cost / best if isinstance(outcome, Outcome) and best > 0.0 else float("nan"))
        columns["refused"].append("" if solves else outcome)
    return frame(columns, library)
