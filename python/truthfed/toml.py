"""Configurations as TOML, out of what Python has."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truthfed.errors import ConfigError

#: Keys with a shorter name.
SHORT = {"mechanism": "rounds.mechanism", "coverage": "rounds.coverage", "clients": "world.clients"}
#: Values by ``section.key``, tables within tables, or the path of a TOML file.
Config = Mapping[str, Any] | str | os.PathLike[str] | None


def keys(config: Config) -> dict[str, Any]:
    """The values of a configuration by ``section.key``.

    >>> keys({"world": {"clients": 5}, "rounds.coverage": 0.3, "mechanism": "greedy"})
    {'world.clients': 5, 'rounds.coverage': 0.3, 'rounds.mechanism': 'greedy'}
    """
    if config is None:
        return {}
    if isinstance(config, Mapping):
        tables: Mapping[str, Any] = config
    else:
        tables = tomllib.loads(Path(config).read_text(encoding="utf-8"))
    flat: dict[str, Any] = {}
    for name, value in tables.items():
        if isinstance(value, Mapping):
            flat.update({f"{name}.{inner}": inside for inner, inside in value.items()})
        else:
            flat[SHORT.get(name, name)] = value
    return flat


def written(flat: Mapping[str, Any]) -> str:
    """Values by ``section.key`` as TOML.

    >>> print(written({"world.clients": 5, "rounds.trigger": "since-round"}), end="")
    [world]
    clients = 5
    [rounds]
    trigger = "since-round"
    """
    sections: dict[str, list[str]] = {}
    for path, value in flat.items():
        section, dot, key = path.partition(".")
        if not dot or not section or not key or "." in key:
            bound = "of the form section.key, such as world.clients"
            raise ConfigError(f"{path!r} is no key: it must be {bound}", path, bound)
        sections.setdefault(section, []).append(f"{key} = {text(path, value)}\n")
    return "".join(f"[{section}]\n{''.join(lines)}" for section, lines in sections.items())


def text(path: str, value: Any) -> str:
    """A value as TOML."""
    if hasattr(value, "item"):
        # A scalar of numpy.
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # What JSON escapes, TOML reads; but a character above U+FFFF would be two escapes in JSON.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(text(path, item) for item in value)}]"
    bound = "a number, a bool, a text or a list of these"
    raise ConfigError(f"{path} is {value!r}: it must be {bound}", path, bound)
