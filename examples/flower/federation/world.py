"""The world that the shops see: as many as there are clients, each a node of Flower."""

from __future__ import annotations

CONFIG = {
    "world.clients": 8,
    "world.dimension": 3,
    "world.steps": 1200,
    "world.arm_count": 50,
    "world.arms_per_step": 8,
}
SEED = 1
