"""Figures of a sweep, drawn by the command `truthfed plot`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from truthfed import _core
from truthfed.errors import InputError

KINDS = (".pdf", ".svg", ".png", ".csv")


@dataclass(frozen=True)
class Plot:
    """A figure; :meth:`save` draws it."""

    write: Callable[[Path], int]
    x: str
    y: Sequence[str]
    by: Sequence[str]
    log_x: bool
    log_y: bool

    def save(self, path: str | os.PathLike[str], width: str | None = None) -> Path:
        """Draws it as PDF, SVG or PNG, or writes its numbers as CSV, by the ending of the path. `width` is one like ``3.3in``."""
        target = Path(path)
        if target.suffix not in KINDS:
            bound = "a path that ends in one of " + ", ".join(KINDS)
            raise InputError(f"path is {os.fspath(path)!r}: it must be {bound}", "path", bound)
        with tempfile.TemporaryDirectory() as place:
            self._draw(Path(place), width)
            shutil.copyfile(Path(place, "figure").with_suffix(target.suffix), target)
        return target

    def _repr_svg_(self) -> str:
        """The figure in a notebook."""
        with tempfile.TemporaryDirectory() as place:
            self._draw(Path(place), None)
            return Path(place, "figure.svg").read_text(encoding="utf-8")

    def _draw(self, place: Path, width: str | None) -> None:
        self.write(place / "sweep")
        args = ["truthfed", "plot", str(place / "sweep"), "-x", self.x, "--out", str(place / "figure")]
        args += [word for name in self.y for word in ("-y", name)]
        args += [word for name in self.by for word in ("--by", name)]
        args += ["--log-x"] * self.log_x + ["--log-y"] * self.log_y
        args += [] if width is None else ["--width", width]
        _core.report(args)
