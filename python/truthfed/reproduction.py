"""The paper, end to end."""

from __future__ import annotations

import json
import os
from typing import Any

from truthfed import _core


def reproduce(out: str | os.PathLike[str] = "out/reproduce", *, quick: bool = False, seeds: int | None = None) -> dict[str, Any]:
    """Reruns the paper and writes the report, as the command `truthfed reproduce`; returns its claims and verdicts.

    It takes some minutes; `quick` takes some seconds, on fewer seeds. Open ``index.html`` in the folder.
    """
    args = ["truthfed", "reproduce", "--json", "--out", os.fspath(out)]
    args += ["--quick"] * quick + ([] if seeds is None else ["--seeds", str(seeds)])
    text, _ = _core.report(args)
    claims: dict[str, Any] = json.loads(text)
    return claims
