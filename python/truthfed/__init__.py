"""Federated linear bandits whose clients are paid by a truthful auction.

- :class:`LinUCB`: a client's bandit.
- :class:`Round`, :class:`Outcome`, :class:`Mechanism`, :func:`audit`: auctions, of the catalog and of your own.
- :func:`simulate`, :func:`sweep`, :func:`reproduce`: experiments, as tidy tables.
- :class:`Agent`: the agent of a running federation.
- :class:`Terms`, :class:`Coordinator`, :class:`Member`: a federation over messages of your own;
  ``truthfed.flower`` runs it on Flower.

The command ``truthfed`` comes with the package.
"""

from truthfed._core import (
    Coordinator,
    Counterexample,
    LinUCB,
    Member,
    Outcome,
    Round,
    Statistics,
    Terms,
    default_config,
    main_with,
    mechanisms,
)
from truthfed._core import VERSION as __version__
from truthfed.agent import Agent
from truthfed.auditing import Audit, Verdict, audit
from truthfed.errors import (
    AgentError,
    BanditError,
    CellError,
    ConfigError,
    InputError,
    InternalError,
    MemberError,
    MessageError,
    NotCertified,
    Refused,
    Rejected,
    RoundError,
    TermsError,
    TruthfedError,
)
from truthfed.intervals import Interval
from truthfed.mechanism import Mechanism
from truthfed.plotting import Plot
from truthfed.reproduction import reproduce
from truthfed.simulation import Difference, Runs, Simulated, Swept, prepared, simulate, sweep

__all__ = [
    "Agent",
    "AgentError",
    "Audit",
    "BanditError",
    "CellError",
    "ConfigError",
    "Coordinator",
    "Counterexample",
    "Difference",
    "InputError",
    "InternalError",
    "Interval",
    "LinUCB",
    "Mechanism",
    "Member",
    "MemberError",
    "MessageError",
    "NotCertified",
    "Outcome",
    "Plot",
    "Refused",
    "Rejected",
    "Round",
    "RoundError",
    "Runs",
    "Simulated",
    "Statistics",
    "Swept",
    "Terms",
    "TermsError",
    "TruthfedError",
    "Verdict",
    "__version__",
    "audit",
    "default_config",
    "main_with",
    "mechanisms",
    "prepared",
    "reproduce",
    "simulate",
    "sweep",
]
