"""What members play."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truthfed._core import Member
from truthfed.flower.source import Event, Source


def play(member: Member, event: Event) -> tuple[NDArray[np.float64], float]:
    """Chooses an arm and learns its reward: both."""
    arms = np.asarray(event.arms, dtype=float)
    chosen = member.choose(arms)
    reward = event.reward(chosen)
    member.learn(arms[chosen], reward)
    return arms[chosen], reward


def run_ahead(member: Member, source: Source, after: int, earliest: int) -> int | None:
    """Plays from a moment on until the member opens a round, at the earliest moment or later: when that is, if it does."""
    for event in source.events(after):
        play(member, event)
        if event.moment >= earliest and member.wants_round:
            member.open_round(source.ask)
            if member.in_flight is not None:
                return event.moment
    return None
