"""Files that are there whole or not at all, also after a loss of power."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def save(path: Path, saved: dict[str, Any]) -> None:
    """Writes an object as JSON. Once this returns, it is kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    with new.open("w", encoding="utf-8") as file:
        json.dump(saved, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def load(path: Path) -> dict[str, Any] | None:
    """What was saved; None if nothing was."""
    if not path.exists():
        return None
    saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return saved
