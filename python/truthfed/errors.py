"""What can go wrong, as exceptions.

Every exception of the package is a :class:`TruthfedError`. Those about an argument are :class:`InputError`, which is a ``ValueError``
too: ``field`` names the argument, ``bound`` says what it must be.
"""

from __future__ import annotations

from typing import Any


class TruthfedError(Exception):
    """Anything that truthfed raises."""


class InputError(TruthfedError, ValueError):
    """An argument is wrong.

    >>> import truthfed as tf
    >>> try:
    ...     tf.LinUCB(dim=0)
    ... except tf.InputError as error:
    ...     print(error.field, "must be", error.bound)
    dim must be in 1..=512
    """

    field: str
    bound: str

    def __init__(self, message: str, field: str = "", bound: str = "") -> None:
        # All three are arguments, so that the exception can be pickled.
        super().__init__(message, field, bound)
        self.field = field
        self.bound = bound

    def __str__(self) -> str:
        return str(self.args[0])


class BanditError(InputError):
    """An argument of a :class:`truthfed.LinUCB` is wrong."""


class RoundError(InputError):
    """An argument of a :class:`truthfed.Round` is wrong."""


class ConfigError(InputError):
    """A key of a configuration is wrong."""


class TermsError(InputError):
    """A field of :class:`truthfed.Terms` is wrong."""


class MemberError(InputError):
    """An argument of a :class:`truthfed.Member`, or a message to it, is wrong."""


class MessageError(InputError):
    """A message to a :class:`truthfed.Coordinator` is wrong in itself."""


class Rejected(TruthfedError):
    """A :class:`truthfed.Coordinator` did not take a request; nothing changed.

    ``code`` is the code of docs/errors.md. ``wait_ms`` says how much later it may be taken, where that is all.
    """

    code: str
    wait_ms: int | None

    def __init__(self, message: str, code: str, wait_ms: int | None = None) -> None:
        super().__init__(message, code, wait_ms)
        self.code = code
        self.wait_ms = wait_ms

    def __str__(self) -> str:
        return str(self.args[0])


class Refused(TruthfedError):
    """A mechanism gives up on a round. Raise it in a mechanism of your own to refuse one."""


class CellError(TruthfedError):
    """A cell of a sweep failed on some worker: `cell` is its number, `point` its keys of the grid, `seed` its seed.

    What was raised there is its ``__cause__``.
    """

    cell: int
    point: dict[str, Any]
    seed: int

    def __init__(self, message: str, cell: int, point: dict[str, Any], seed: int) -> None:
        super().__init__(message, cell, point, seed)
        self.cell, self.point, self.seed = cell, point, seed

    def __str__(self) -> str:
        return str(self.args[0])


class NotCertified(TruthfedError):
    """Payments are not critical values; ``violations`` has a sentence for each."""

    violations: list[str]

    def __init__(self, message: str, violations: list[str]) -> None:
        super().__init__(message, violations)
        self.violations = violations

    def __str__(self) -> str:
        return str(self.args[0])


class AgentError(TruthfedError):
    """A running agent refused a request, or could not be reached; ``code`` is the code of its refusal."""

    code: str

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


class InternalError(TruthfedError, RuntimeError):
    """A fault of truthfed itself. Please report it."""
