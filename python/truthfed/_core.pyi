"""The Rust side of truthfed. Use it through the package `truthfed`."""

import os
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import disjoint_base

__all__ = [
    "Coordinator",
    "Counterexample",
    "Findings",
    "Gathering",
    "LinUCB",
    "Member",
    "Office",
    "Outcome",
    "Round",
    "Seen",
    "SigningMember",
    "Statistics",
    "Sweep",
    "Terms",
    "VERSION",
    "audit",
    "default_config",
    "main_with",
    "mechanisms",
    "paired",
    "report",
    "simulate",
    "solve_again",
]

VERSION: Final[str]

_Amount = int | float | str | Decimal
_Floats = NDArray[np.float64]
_Asking = Callable[["Statistics"], _Amount | None]
_Cell = tuple[int, dict[str, Any], tuple[str, str] | None]

@disjoint_base
class LinUCB:
    """A client's bandit: chooses an arm, and learns from its reward.

    With a ridge and a belief about the noise, the width of the confidence set decides how much is tried; `alpha` fixes it instead.
    Arms are rows of an array. River's habit is `pull` and `update`, scikit-learn's `partial_fit` and `predict`; `run` plays a log in
    which the reward of every arm is known.

    >>> import truthfed as tf
    >>> arms = [[1.0, 0.0], [0.6, 0.8]]
    >>> bandit = tf.LinUCB(dim=2, alpha=1.0)
    >>> for _ in range(20):
    ...     chosen = bandit.pull(arms)
    ...     bandit.update(arms[chosen], reward=chosen)
    >>> bandit.pull(arms)
    1
    >>> mean, std = bandit.predict(arms, return_std=True)
    >>> bool(mean[1] > 0.9)
    True
    """

    def __new__(
        cls, dim: int, ridge: float = 0.1, noise: float = 0.1, delta: float = 0.1, alpha: float | None = None
    ) -> LinUCB: ...
    def pull(self, arms: ArrayLike) -> int:
        """The index of the arm to play: that with the largest score; of equals, the first."""
    def scores(self, arms: ArrayLike) -> _Floats:
        """The optimistic estimate of each arm: its mean plus `exploration` times its width."""
    def update(self, arm: ArrayLike, reward: float) -> None:
        """Learns the reward of an arm that was played. What is refused changes nothing."""
    def partial_fit(self, x: ArrayLike, y: ArrayLike) -> LinUCB:
        """Learns rewards `y` of arms `x`, all or none of them; returns the bandit."""
    @overload
    def predict(self, x: ArrayLike, return_std: Literal[False] = False) -> _Floats:
        """The mean reward of each arm; with `return_std` also its width, the square root of x' V^-1 x."""
    @overload
    def predict(self, x: ArrayLike, return_std: Literal[True]) -> tuple[_Floats, _Floats]:
        """The mean reward of each arm; with `return_std` also its width, the square root of x' V^-1 x."""
    def run(self, arms: ArrayLike, rewards: ArrayLike) -> NDArray[np.int64]:
        """Plays a log in which every reward is known: chooses at each step and learns the reward of the choice; returns the choices.
        `arms` is steps by arms by `dim`, `rewards` steps by arms. What is refused changes nothing.
        """
    def refresh(self, gram_matrix: ArrayLike, moment: ArrayLike, samples: int) -> None:
        """Replaces everything that is known."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state to a file, whole or not at all."""
    @staticmethod
    def load(path: str | os.PathLike[str]) -> LinUCB:
        """The bandit of a file that `save` wrote."""
    def to_json(self) -> str:
        """The state as JSON."""
    @staticmethod
    def from_json(text: str) -> LinUCB:
        """The bandit of such a text."""
    def copy(self) -> LinUCB:
        """Another bandit that knows the same."""
    @property
    def theta(self) -> _Floats:
        """The estimate of the hidden parameter."""
    @property
    def gram(self) -> _Floats:
        """The sum of x x' over everything that was learned, without the ridge."""
    @property
    def moment(self) -> _Floats:
        """The sum of x y over everything that was learned."""
    @property
    def samples(self) -> int:
        """How many rewards were learned."""
    @property
    def exploration(self) -> float:
        """How much is tried: the width of the confidence set, or alpha."""
    @property
    def information(self) -> float:
        """log(det V / det(ridge I)), in nats."""
    @property
    def dim(self) -> int:
        """The dimension of the arms."""
    @property
    def ridge(self) -> float:
        """The ridge weight."""
    @property
    def noise(self) -> float:
        """The scale of the noise that it believes in."""
    @property
    def delta(self) -> float:
        """The probability of a wrong confidence set."""
    @property
    def alpha(self) -> float | None:
        """The fixed alpha, or None."""
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling: the state as JSON, to the last bit."""

@final
class Round:
    """A round of offers: each client sells the Gram matrix of its data at an ask, beside what is settled already (`base`).

    `coverage` is the part of the determinant that the winners must reach, `reserve` the highest ask that is admitted (10,000 if it is
    left out), `purse` what all payments together may come to. Money is in units: ints, strings and Decimals are taken exactly, floats
    to the nearest millionth. Clients are in the order of their names.

    >>> import truthfed as tf
    >>> round = tf.Round(base=[[0.0]], grams=[[[4.0]], [[4.0]], [[4.0]]], asks=[3, 5, 9], clients=["ann", "bob", "cyd"])
    >>> outcome = round.solve("clock")
    >>> outcome.to_dict()
    {'ann': 9.0, 'bob': 9.0}
    >>> outcome.certify()
    """

    def __new__(
        cls,
        base: ArrayLike,
        grams: ArrayLike,
        asks: Iterable[_Amount] | _Floats,
        clients: Iterable[str] | None = None,
        coverage: float = 0.5,
        reserve: _Amount | None = None,
        purse: _Amount | None = None,
        ridge: float = 0.1,
    ) -> Round: ...
    @staticmethod
    def generate(clients: int, dim: int, seed: int = 0) -> Round:
        """A random round of that many clients, like one of a real federation."""
    @staticmethod
    def varied(seed: int) -> Round:
        """A small, deliberately odd round, to find mistakes."""
    @staticmethod
    def from_json(text: str) -> Round:
        """The round of a document of schema truthfed.round/1."""
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Round:
        """The round of a file of schema truthfed.round/1."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the round to a file that the command `truthfed auction` reads."""
    def to_json(self) -> str:
        """The round as a document of schema truthfed.round/1."""
    def solve(self, mechanism: Any = None, **parameters: bool | int | float | str) -> Outcome:
        """The outcome under a mechanism: a name of the catalog with parameters, or one of your own. By default `clock`."""
    def certify(self, outcome: Outcome) -> None:
        """Fails unless every payment is the winner's critical value."""
    def outcomes(self, mechanisms: Sequence[Any] | None) -> list[tuple[str, Outcome | str]]:
        """Every mechanism of the catalog, or these, on this round: the outcome, or why there is none."""
    def compare(self, mechanisms: Sequence[Any] | None = None, frames: str | None = None) -> Any:
        """The table of `truthfed.comparing`."""
    def with_ask(self, who: str | int, ask: _Amount) -> Round:
        """The same round in which a client, by name or index, asks something else."""
    def with_coverage(self, coverage: float) -> Round:
        """The same round with another coverage."""
    def with_purse(self, purse: _Amount | None = None) -> Round:
        """The same round with another purse, or none."""
    def level(self, clients: Iterable[str | int]) -> float:
        """log det V of some clients, by name or index, with the ridge and what is settled, in nats."""
    def covers(self, clients: Iterable[str | int]) -> bool:
        """Whether some clients together reach the coverage. Exact, unlike comparing levels."""
    def losses(self, clients: Iterable[str | int] | None = None) -> _Floats:
        """What is lost without each client while all others take part, in nats."""
    @property
    def required(self) -> float:
        """The level that meets the coverage, in nats."""
    @property
    def clients(self) -> list[str]:
        """The names of the admitted clients, sorted."""
    @property
    def turned_away(self) -> list[str]:
        """Who asks more than the reserve or the purse."""
    @property
    def asks(self) -> _Floats:
        """The asks of the admitted clients, in units."""
    @property
    def micros(self) -> NDArray[np.int64]:
        """The asks of the admitted clients, exactly, in millionths."""
    @property
    def grams(self) -> _Floats:
        """The Gram matrices of the admitted clients."""
    @property
    def base(self) -> _Floats:
        """The Gram matrix of what is settled, without the ridge."""
    @property
    def coverage(self) -> float:
        """The part of the determinant that the winners must reach."""
    @property
    def reserve(self) -> float:
        """The highest ask that is admitted, and the highest payment."""
    @property
    def purse(self) -> float | None:
        """What all payments together may come to, or None."""
    @property
    def ridge(self) -> float:
        """The ridge weight."""
    @property
    def dim(self) -> int:
        """The dimension of the data."""
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Outcome:
    """Who wins a round, and what each is paid: `payments` in units, `micros` exactly, in millionths.

    >>> import truthfed as tf
    >>> outcome = tf.Round.generate(10, 2, seed=1).solve("greedy")
    >>> outcome.winners[:2], outcome.micros.dtype.name
    (['c0', 'c1'], 'int64')
    """

    def certify(self, round: Round | None = None) -> None:
        """Fails unless every payment is the winner's critical value in that round, by default its own."""
    def to_json(self) -> str:
        """The outcome as JSON, with exact decimals."""
    def to_dict(self) -> dict[str, float]:
        """What each winner is paid, in units."""
    @property
    def mechanism(self) -> str:
        """The name of the mechanism."""
    @property
    def winners(self) -> list[str]:
        """The names of the winners, sorted."""
    @property
    def indices(self) -> NDArray[np.int64]:
        """The places of the winners among the clients of the round."""
    @property
    def asks(self) -> _Floats:
        """What the winners ask, in units."""
    @property
    def payments(self) -> _Floats:
        """What the winners are paid, in units."""
    @property
    def micros(self) -> NDArray[np.int64]:
        """What the winners are paid, exactly, in millionths."""
    @property
    def essential(self) -> NDArray[np.bool_]:
        """Without which winners the target would be missed."""
    @property
    def turned_away(self) -> list[str]:
        """Who asks more than the reserve or the purse."""
    @property
    def coverage(self) -> float:
        """The part of the determinant that the winners reach."""
    @property
    def target(self) -> float:
        """The part that the mechanism set out to reach."""
    @property
    def social_cost(self) -> float:
        """The sum of the winners' asks."""
    @property
    def incentive(self) -> float:
        """The sum of the payments."""
    @property
    def log_dets(self) -> int:
        """How many log determinants it evaluated."""
    @property
    def bound_by_purse(self) -> bool:
        """Whether it gave the target up to keep to the purse."""
    @property
    def round(self) -> Round:
        """The round that it decides."""
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling: the round and the mechanism, which give the same outcome again."""

@final
class Findings:
    """What an audit found, for `truthfed.Audit`."""

    @property
    def rounds(self) -> int: ...
    @property
    def verdicts(self) -> list[tuple[str, str, int, int, int]]:
        """(property, meaning, cases, violations, refused) of each property."""
    @property
    def economics(self) -> list[tuple[str, int, float, float, float, float]]:
        """(name, rounds, mean, median, p95, worst) of each ratio that is defined."""
    def counterexample(self, name: str) -> Counterexample | None:
        """The smallest round that breaks a property; none if nothing was found."""

@final
class Counterexample:
    """A small round in which a mechanism breaks a property. The asks in it are the true costs of the clients; `lies` says who asks what
    instead. As text it tells what happens.
    """

    @property
    def round(self) -> Round: ...
    @property
    def lies(self) -> list[tuple[str, float]]:
        """Who asks what instead of its cost."""
    @property
    def reproduces(self) -> bool: ...
    def to_json(self) -> str: ...
    # The last, as it hides the decorator.
    @property
    def property(self) -> str: ...

@final
class Statistics:
    """Data of a client, as sums."""

    @property
    def samples(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def gram(self) -> _Floats: ...
    @property
    def moment(self) -> _Floats: ...

@final
class Terms:
    """The terms of a federation, checked: how members decide and when they ask, what a round must cover, who is paid how.

    Made of JSON with the names of docs/protocol.md; `default` has all of them.

    >>> import json, truthfed as tf
    >>> raw = json.loads(tf.Terms.default().to_json())
    >>> terms = tf.Terms(json.dumps(raw | {"reserve": "100", "gap_ms": 0}))
    >>> terms.dim
    5
    """

    def __new__(cls, text: str) -> Terms: ...
    @staticmethod
    def default() -> Terms:
        """The terms of a federation that agreed on nothing in particular."""
    def to_json(self) -> str:
        """The terms as JSON, with everything that was left to its default."""
    @property
    def dim(self) -> int:
        """The dimension of the arms."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Member:
    """A member of a federation: it decides and learns, opens rounds, offers, delivers, and takes over what was settled.

    It says what it has to say by `poll`, and hears by `handle`, in JSON. `ask` is called with the data of an offer (`Statistics`)
    and returns its price, or None to stay out. What is refused, or raised by `ask`, changes nothing.

    >>> import truthfed as tf
    >>> member = tf.Member("shop-1", tf.Terms.default())
    >>> arms = [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0]]
    >>> while not member.wants_round:
    ...     chosen = member.choose(arms)
    ...     member.learn(arms[chosen], reward=0.5)
    >>> member.open_round(lambda data: 2 * data.samples)
    >>> member.poll()[:20]
    '{"Offer":{"round":1,'
    """

    def __new__(cls, name: str, terms: Terms) -> Member: ...
    def choose(self, arms: ArrayLike) -> int:
        """The index of the arm to play."""
    def learn(self, arm: ArrayLike, reward: float) -> None:
        """Learns the reward of an arm that was played."""
    def handle(self, notice: str, ask: _Asking) -> None:
        """Takes in a notice of the coordinator."""
    def open_round(self, ask: _Asking, most: int | None = None) -> None:
        """Opens the next round with an offer, of at most `most` samples, if it wants one."""
    def sync(self) -> None:
        """Asks for the current snapshot, as after having been away."""
    def poll(self) -> str | None:
        """The next request for the coordinator, as JSON; None if there is none."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def closed(self) -> int:
        """The last round in its snapshot."""
    @property
    def wants_round(self) -> bool:
        """Whether it learned enough for a round."""
    @property
    def in_flight(self) -> int | None:
        """The round for which it has offered, if it has not seen the end of that round."""
    @property
    def unshared(self) -> Statistics:
        """What it learned and has neither delivered nor offered."""
    @property
    def known(self) -> Statistics:
        """Everything that it knows, its own and others'."""
    def copy(self) -> Member:
        """Another member in the same state."""
    def to_json(self) -> str:
        """The state as JSON, to the last bit."""
    @staticmethod
    def from_json(text: str) -> Member:
        """The member of such a text."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state to a file, whole or not at all."""
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Member:
        """The member of a file that `save` wrote."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Coordinator:
    """The coordinator of a federation: it opens rounds, takes offers, awards them, takes deliveries, and settles.

    Hand in what members say by `handle`, with the time in milliseconds; then read what happened by `poll`, and tell each member its
    `notices`. The caller vouches for who sent a request.

    >>> import truthfed as tf
    >>> coordinator = tf.Coordinator(tf.Terms.default(), ["a", "b"])
    >>> coordinator.handle(0, "c", '"Sync"')
    Traceback (most recent call last):
    ...
    truthfed.errors.Rejected: c is not a member of this federation
    """

    def __new__(cls, terms: Terms, members: Sequence[str] = ...) -> Coordinator: ...
    @staticmethod
    def from_json(text: str, terms: Terms) -> Coordinator:
        """The coordinator of a text of `to_json`, under the terms that it had."""
    def to_json(self) -> str:
        """What it is between rounds, as JSON; a round that is open is not in it."""
    def handle(self, now: int, member_name: str, request: str) -> bool:
        """Takes in a request of a member. True if it is new, False if it was taken before."""
    def tick(self, now: int) -> None:
        """Lets time pass: phases whose deadline has come end."""
    def poll(self) -> str | None:
        """What happened next, as JSON; None if nothing did."""
    def notices(self, member_name: str, have: int | None = None) -> list[str]:
        """What a member is to hear now, as JSON, if `have` is the last round in its snapshot."""
    def most_samples(self, member_name: str, now: int) -> int | None:
        """Most samples that a member may offer to a round that opens now; None without a quota."""
    def enrol(self, member_name: str) -> bool:
        """Takes in a member. False if it is one."""
    def revoke(self, now: int, member_name: str) -> bool:
        """Takes a member out. False if it is none."""
    @property
    def members(self) -> list[str]:
        """The names of the members."""
    @property
    def closed(self) -> int:
        """The last round that ended."""
    @property
    def open(self) -> int | None:
        """The number of the open round; None if there is none."""
    @property
    def deadline(self) -> int | None:
        """When the current phase of the open round ends by itself, in milliseconds."""
    @property
    def awarded(self) -> bool:
        """Whether the mechanism has decided the open round, which waits for deliveries then."""
    @property
    def awaited(self) -> list[str]:
        """The names of those for whom the open round waits, for an offer or a delivery."""
    @property
    def settled(self) -> Statistics:
        """Everything that is settled."""
    @property
    def terms(self) -> Terms:
        """Its terms."""

@final
class Office:
    """The coordinator of a federation's folder: what it takes is in the ledger before it says so. For `truthfed.flower`.

    Members are brought `parcel`s, and what they say to them is handed in by `handle`, with the time in milliseconds.
    """

    def __new__(cls, folder: str | os.PathLike[str]) -> Office: ...
    def check_opens(self, now: int, member_name: str) -> None:
        """Whether a member may open the next round at that time, with an offer that is reason enough: raises `Rejected` if not."""
    def handle(self, now: int, member_name: str, said: str) -> None:
        """Takes what a member says, as JSON."""
    def tick(self, now: int) -> None:
        """Lets time pass: phases whose deadline has come end."""
    def poll(self) -> str | None:
        """How the next round ended, as JSON; None if none did."""
    def parcel(self, member_name: str, wanted: str) -> str:
        """What a member lacks, as JSON, if it wants this."""
    def greeted(self, challenge: str, answer: str) -> str:
        """The member that answered a challenge, which is to be used once."""
    def close(self) -> None:
        """Gives the store back."""
    @property
    def federation(self) -> str:
        """The federation: the hash of its authority's certificate."""
    @property
    def now(self) -> int:
        """The latest time that was said, or is in the ledger."""
    @property
    def members(self) -> list[str]:
        """The names of those who may take part."""
    @property
    def closed(self) -> int:
        """The last round that ended."""
    @property
    def open(self) -> int | None:
        """The number of the open round; None if there is none."""
    @property
    def opened(self) -> int | None:
        """When the open round was opened; None if there is none."""
    @property
    def deadline(self) -> int | None:
        """When the current phase of the open round ends by itself."""
    @property
    def awarded(self) -> bool:
        """Whether the mechanism has decided the open round, which waits for deliveries then."""
    @property
    def awaited(self) -> list[str]:
        """The names of those for whom the open round waits, for an offer or a delivery."""
    @property
    def settled(self) -> Statistics:
        """Everything that is settled."""
    @property
    def terms(self) -> Terms:
        """Its terms."""

@final
class SigningMember:
    """A member with its bundle: it signs what it says, and keeps it with its receipts before it says it. For `truthfed.flower`."""

    def __new__(cls, bundle: str | os.PathLike[str], file: str | os.PathLike[str]) -> SigningMember: ...
    def greet(self, challenge: str) -> str:
        """Shows that this is the member, to whoever asked with that challenge."""
    def rehearsal(self) -> Member:
        """A copy of what it knows and offered, to run ahead on: nothing that happens to it is kept."""
    def follow(self, played: Sequence[tuple[ArrayLike, float]]) -> None:
        """Learns the rewards of arms that were played on its rehearsal, in this order: all of them, or none."""
    def wanted(self) -> str:
        """Which news it lacks, as JSON."""
    def take_in(self, brought: str) -> None:
        """Takes in what was brought."""
    def answer(self, brought: str, ask: _Asking) -> str | None:
        """Takes in what was brought, and answers at the price that `ask` names: JSON, or None if there is nothing to say."""
    @property
    def receipts(self) -> list[str]:
        """Its receipts, as the coordinator signed them, as JSON."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def federation(self) -> str:
        """The federation: the hash of its authority's certificate."""
    @property
    def terms(self) -> Terms:
        """The terms of its federation."""

@final
class Seen:
    def __new__(cls, config: str, seed: int, client: int) -> Seen: ...
    @property
    def name(self) -> str:
        """The name of the client as a member."""
    @property
    def terms(self) -> Terms:
        """The terms of the federation."""
    def advance(self, after: int = 0) -> tuple[int, _Floats] | None:
        """Goes on to the client's next step after a time: when that is, in milliseconds, and the arms; None after the last."""
    def play(self, choice: int) -> float:
        """The reward of an arm of this step, which can be played once."""
    def cost(self, data: Statistics) -> float:
        """What delivering some data costs the client, in units."""

@final
class Sweep:
    """A grid of configurations with seeds."""

    def __new__(
        cls, text: str, mechanisms: Sequence[Any], cost: Callable[[int, Statistics], float] | None = None
    ) -> Sweep: ...
    @property
    def text(self) -> str: ...
    @property
    def keys(self) -> list[str]: ...
    @property
    def seeds(self) -> int: ...
    @property
    def points(self) -> list[list[Any]]:
        """The values of each point, in the order of the keys."""
    def run(
        self,
        part: tuple[int, int] | None = None,
        jobs: int | None = None,
        out: str | os.PathLike[str] | None = None,
        done: Callable[[], None] | None = None,
    ) -> list[_Cell]:
        """Runs the cells of a part. With a folder, cells found there are taken over and new ones written; the whole writes its results
        too.
        """
    def run_cells(self, cells: Sequence[int], done: Callable[[], None] | None = None) -> list[_Cell]:
        """Runs the cells with these numbers, one after the other, and writes nothing."""
    def gather(self, out: str | os.PathLike[str]) -> Gathering:
        """A folder to which the cells come from elsewhere; those that it has are taken over."""
    def write(self, out: str | os.PathLike[str], totals: Sequence[str]) -> int:
        """Writes the results of totals, which are of all cells in their order, to a folder: the same bytes as the command writes."""
    def collect(self, out: str | os.PathLike[str]) -> list[dict[str, Any]]:
        """Collects the cells of a folder whose parts are all there, and writes the results: the totals, in the order of the cells."""
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Gathering:
    """A folder to which the cells of a sweep come."""

    @property
    def known(self) -> list[tuple[int, dict[str, Any]]]:
        """The cells that are there, with their totals."""
    def keep(self, cells: Sequence[tuple[int, str]]) -> None:
        """Writes cells: their numbers, and their totals as JSON."""
    def finish(self) -> int:
        """Writes the tables of all cells, and returns how many files there are. Fails when a cell is missing."""

def mechanisms() -> list[dict[str, Any]]:
    """The mechanisms of the catalog with the values of their parameters."""
def solve_again(round: Round, mechanism: Any) -> Outcome:
    """The outcome of a round under the setting of a mechanism, as JSON, or under a mechanism in Python."""
def audit(
    mechanism: Any,
    random: int,
    rounds: Sequence[Round],
    checks: Sequence[str] | None,
    seed: int,
    done: Callable[[], None] | None = None,
) -> Findings:
    """Audits one mechanism on random rounds, or on those of a list. `done` is called after each round."""
def default_config() -> str:
    """The commented defaults of a configuration."""
def simulate(
    config: str,
    seeds: int,
    mechanisms: Sequence[Any],
    cost: Callable[[int, Statistics], float] | None = None,
    out: str | os.PathLike[str] | None = None,
    documents: bool = False,
    done: Callable[[], None] | None = None,
) -> tuple[list[dict[str, Any]], tuple[str, str, str]]:
    """Runs a configuration under seeds 1 to `seeds`: the totals of each run, and the tables of all (clients, rounds, curves)."""
def paired(ours: Sequence[float], theirs: Sequence[float], confidence: float) -> tuple[float, float]:
    """The mean of differences of pairs, and half the width of its confidence interval."""
def main_with(args: Sequence[str]) -> int:
    """Runs `truthfed` with these arguments, the first of which is its name; returns the exit code. For the command itself: output goes
    to the process, and signals end it as they end the binary.
    """
def report(args: Sequence[str]) -> tuple[str, int]:
    """Runs `truthfed` with these arguments; returns what it would print, and the exit code. Raises what it would say on standard error."""
