"""A shop. Replace `Simulated` by a source of your own: its name, its events in the order of time, and its price."""

from __future__ import annotations

import os

from federation.world import CONFIG, SEED
from flwr.app import Context
from truthfed.flower import Simulated, client_app


def shop(context: Context) -> Simulated:
    return Simulated(CONFIG, SEED, client=int(context.node_config["partition-id"]))


# Where this machine keeps its members from message to message. In the folder of a federation, they have bundles and sign.
if "TRUTHFED_FEDERATION" in os.environ:
    app = client_app(shop, folder=f"{os.environ['TRUTHFED_FEDERATION']}/members", signed=True)
else:
    app = client_app(shop, folder=os.environ.get("TRUTHFED_MEMBERS", "members"))
