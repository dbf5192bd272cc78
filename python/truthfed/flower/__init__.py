"""Federations on Flower: ``pip install truthfed[flower]``.

:class:`Strategy` is the coordinator in a ``ServerApp``, :func:`client_app` a member in a ``ClientApp``. A node's data and price are
a :class:`Source` of yours, or :class:`Simulated`. ``examples/flower`` is an app that ``flwr run`` takes.
"""

from truthfed.flower.client import client_app
from truthfed.flower.source import Event, Simulated, Source
from truthfed.flower.strategy import Refusal, Strategy

__all__ = ["Event", "Refusal", "Simulated", "Source", "Strategy", "client_app"]
