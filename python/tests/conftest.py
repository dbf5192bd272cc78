"""What tests share: the repository, its program, and small configurations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"world.clients": 5, "world.dimension": 3, "world.steps": 300, "world.arm_count": 50, "world.arms_per_step": 8}


@pytest.fixture
def program() -> Path:
    """The binary of the command line, which `make test-python` builds."""
    return Path(os.environ["TRUTHFED_BINARY"])


@pytest.fixture
def command() -> Path:
    """The command that the wheel installs."""
    return Path(sys.executable).parent / "truthfed"


def python(code: str, *, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a new interpreter."""
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout, env=env, check=False)
