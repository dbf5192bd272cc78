"""Messages of a round in Flower's messages: one JSON object each."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from flwr.app import ConfigRecord, Message, RecordDict

from truthfed.errors import MessageError

#: Binds a node to a member, and carries the terms.
HELLO = "query.hello"
#: Carries what a member is to hear, and brings its offer.
OFFER = "query.offer"
#: Tells a winner to deliver.
DELIVER = "train.deliver"
#: Tells members that sign how the last round ended, when no other follows.
NEWS = "query.news"

#: The last moment there can be, in milliseconds: every reader of JSON keeps it exact.
LAST = 2**53

_RECORD, _KEY = "truthfed", "json"


def content(body: dict[str, Any]) -> RecordDict:
    """The content of a message."""
    return RecordDict({_RECORD: ConfigRecord({_KEY: json.dumps(body, allow_nan=False)})})


def body(message: Message) -> dict[str, Any]:
    """The object in a message; whatever else it has is a :class:`MessageError`."""
    bound = f"a message with the JSON of an object as {_KEY} of {_RECORD}"
    try:
        found = json.loads(message.content[_RECORD][_KEY], parse_constant=_refuse)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"message: {error!r}: it must be {bound}", "message", bound) from error
    if not isinstance(found, dict):
        raise MessageError(f"message is a {type(found).__name__}: it must be {bound}", "message", bound)
    return found


def present(found: dict[str, Any], name: str, bound: str) -> Any:
    """A field of any type that is there."""
    value = found.get(name)
    if value is None:
        raise MessageError(f"{name} is missing: it must be {bound}", name, bound)
    return value


def field(found: dict[str, Any], name: str, kind: type, bound: str) -> Any:
    """A field of a type."""
    value = found.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise MessageError(f"{name} is {value!r:.100}: it must be {bound}", name, bound)
    return value


def whole(found: dict[str, Any], name: str, least: int, most: int) -> int:
    """A whole number."""
    bound = f"a whole number from {least} to {most}"
    value: int = field(found, name, int, bound)
    if not least <= value <= most:
        raise MessageError(f"{name} is {value}: it must be {bound}", name, bound)
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
