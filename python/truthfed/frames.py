"""Tidy tables: a pandas or polars frame if one of them is installed, otherwise a dict of numpy arrays."""

from __future__ import annotations

import csv
import importlib.util
import io
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from truthfed.errors import InputError

#: Columns by name.
Columns = dict[str, list[Any]]
LIBRARIES = ("pandas", "polars", "numpy")


def read_csv(text: str) -> Columns:
    """The columns of a table that truthfed wrote, as numbers where all values are numbers.

    >>> read_csv("seed,client,cost\\n1,c0,0.5\\n2,c1,\\n")
    {'seed': [1, 2], 'client': ['c0', 'c1'], 'cost': [0.5, nan]}
    """
    rows = list(csv.reader(io.StringIO(text)))
    names, values = rows[0], list(zip(*rows[1:], strict=True)) or [()] * len(rows[0])
    return {name: _typed(column) for name, column in zip(names, values, strict=True)}


def _typed(column: Iterable[str]) -> list[Any]:
    texts = list(column)
    for kind, empty in ((int, None), (float, float("nan"))):
        try:
            return [empty if text == "" and empty is not None else kind(text) for text in texts]
        except ValueError:
            continue
    return texts


def stacked(tables: Iterable[tuple[Mapping[str, Any], Columns]]) -> Columns:
    """Tables below each other, each with columns of its own in front that have one value."""
    stack: Columns = {}
    for front, table in tables:
        length = len(next(iter(table.values()), []))
        for name, value in front.items():
            stack.setdefault(name, []).extend([value] * length)
        for name, values in table.items():
            stack.setdefault(name, []).extend(values)
    return stack


def frame(columns: Columns, library: str | None = None) -> Any:
    """Columns as a frame of that library, or of the first that is installed."""
    chosen = library or next(name for name in LIBRARIES if importlib.util.find_spec(name))
    if chosen == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    if chosen == "polars":
        import polars

        return polars.DataFrame(columns)
    if chosen == "numpy":
        return {name: np.asarray(values) for name, values in columns.items()}
    bound = "one of " + ", ".join(LIBRARIES)
    raise InputError(f"frames is {library!r}: it must be {bound}", "frames", bound)
