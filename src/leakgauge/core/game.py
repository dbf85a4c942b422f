"""The membership game: its roles, and the few lines in which they meet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream

Bits: TypeAlias = npt.NDArray[np.bool_]
Reals: TypeAlias = npt.NDArray[np.float64]

Played = TypeVar("Played")
PlayedOut = TypeVar("PlayedOut", covariant=True)
PlayedIn = TypeVar("PlayedIn", contravariant=True)
Seen = TypeVar("Seen")
SeenOut = TypeVar("SeenOut", covariant=True)
KnowledgeIn = TypeVar("KnowledgeIn", contravariant=True)


class Coins(StrEnum):
    """How membership was decided; some metrics are sound for fair coins only."""

    FAIR = "fair"  # flipped by the challenger, independent, one half
    TIED = "tied"  # fair each, but whoever sees the targets of a round and knows one bit knows of the others
    GIVEN = "given"  # set by the data: a split by hospital, a file of scores


class Mechanism(Protocol):
    """Noise: how to draw it, its exact law, and the promise that comes with it."""

    @property
    def guarantee(self) -> Guarantee: ...

    def sample(self, values: Reals, rng: Generator) -> Reals: ...

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density (or probability) of the outputs given the true values."""
        ...


class Challenger(Protocol[PlayedOut]):
    """Owns the secret data, flips the bits, makes one release per round.

    One with ``fresh_targets`` draws other targets in each round: then their positions say nothing.
    """

    @property
    def n_targets(self) -> int: ...

    @property
    def coins(self) -> Coins: ...

    @property
    def guarantee(self) -> Guarantee | None:
        """The promise to the unit the game is about; nothing where nothing was promised."""
        ...

    @property
    def digest(self) -> str:
        """A digest of the data behind the challenger: the same in every process, another for other data."""
        ...

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        """Decide membership: one row per round, one column per target."""
        ...

    def release(self, members: Bits, rng: Generator) -> PlayedOut:
        """Make all that any adversary may see of these rounds."""
        ...


class Knowledge(Protocol[PlayedIn, SeenOut]):
    """What an adversary has before the rounds, and what of a round reaches it."""

    def view(self, played: PlayedIn) -> SeenOut: ...


@runtime_checkable
class MeteredKnowledge(Protocol):
    """Knowledge that counts what its adversary was given, as an oracle does; no attack sees these counts."""

    def spent(self, seen: Any) -> Mapping[str, Reals]:
        """Rounds x targets: the epsilon of what was given in a view, by the name of whoever counts it."""
        ...


@runtime_checkable
class ChallengerWithUtility(Protocol):
    """A challenger that can say what its releases are good for; no adversary sees that."""

    def utility_of(self, played: Any) -> Mapping[str, Reals]:
        """One number for each round, nan where there is none, by the name of whoever used the release."""
        ...


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the scores of an attack are to be read; fixed before the first counted round.

    ``threshold`` is the attack's own: a score at or above it says "member". ``signed`` scores are
    log-likelihood ratios, or like them: zero means no evidence. ``fraction`` is the share of trials
    on which to guess, where the attack fixed it beforehand. ``event`` says in words what a learned attack
    looks at. ``studied`` are numbers that an attack worked out while it studied, by their names.
    """

    threshold: float | None = None
    signed: bool = False
    fraction: float | None = None
    event: str | None = None
    studied: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Scorer(Generic[Seen]):
    """A studied attack: one score per round and target; higher means more likely a member."""

    score: Callable[[Seen, Generator], Reals]
    reading: Reading = Reading()


class Attack(Protocol[KnowledgeIn, Seen]):
    """A method that turns knowledge into a scorer."""

    def study(self, knowledge: KnowledgeIn, rng: Generator) -> Scorer[Seen]: ...


@dataclass(frozen=True, eq=False)
class Adversary(Generic[Played, Seen]):
    """A studied attack behind its knowledge: it sees a round only through it."""

    knowledge: Knowledge[Played, Seen]
    scorer: Scorer[Seen]

    def score(self, played: Played, rng: Generator) -> Reals:
        return self.score_with_spending(played, rng)[0]

    def score_with_spending(
        self, played: Played, rng: Generator
    ) -> tuple[Reals, Callable[[], Mapping[str, Reals]]]:
        """Score some rounds; what was spent on that is counted when asked for."""
        seen = self.knowledge.view(played)
        scores = np.asarray(self.scorer.score(seen, rng), dtype=np.float64)
        return (
            scores,
            lambda: self.knowledge.spent(seen) if isinstance(self.knowledge, MeteredKnowledge) else {},
        )


@dataclass(frozen=True, eq=False)
class Trials:
    """Columns of trials; rows with the same round share one release."""

    rounds: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]  # positions 0..n-1, never names; all 0 where each round has its own
    members: Bits
    scores: Reals
    coins: Coins
    reading: Reading = field(default_factory=Reading)
    spent: Mapping[str, Reals] = field(default_factory=dict)  # epsilon, by whoever counts it; of oracles
    utility: Mapping[str, Reals] = field(default_factory=dict)  # of the release, by whoever used it

    def __post_init__(self) -> None:
        if not self.rounds.shape == self.targets.shape == self.members.shape == self.scores.shape:
            raise BadInput(f"{self.members.size} membership bits but {self.scores.size} scores")
        for name, column in (*self.spent.items(), *self.utility.items()):
            if column.shape != self.scores.shape:
                raise BadInput(f"{self.scores.size} scores but {column.size} numbers of {name!r}")
        if (lost := np.flatnonzero(~np.isfinite(self.scores))).size:
            first = lost[0]
            raise BadInput(
                f"round {self.rounds[first]}, target {self.targets[first]}: the score {self.scores[first]} "
                "is not a finite number; every trial needs one"
            )

    def __len__(self) -> int:
        return self.scores.size

    @property
    def shared_rounds(self) -> bool:
        """Whether any two trials share a release."""
        if (np.diff(self.rounds) > 0).all():
            return False
        return np.unique(self.rounds).size < self.rounds.size

    def where(self, rows: Bits | npt.NDArray[np.intp]) -> "Trials":
        return replace(
            self,
            rounds=self.rounds[rows],
            targets=self.targets[rows],
            members=self.members[rows],
            scores=self.scores[rows],
            spent={name: column[rows] for name, column in self.spent.items()},
            utility={name: column[rows] for name, column in self.utility.items()},
        )


def play(
    challenger: Challenger[Played],
    adversaries: Mapping[str, Adversary[Played, Any]],
    seed: int,
    rounds: range,
    block: int,
) -> dict[str, Trials]:
    """Play one block; every adversary faces the same bits and the same releases."""
    members = challenger.flip(len(rounds), stream(seed, Role.BITS, block))
    played = challenger.release(members, stream(seed, Role.RELEASE, block))
    row, target = np.indices(members.shape)
    numbers = np.asarray(rounds, dtype=np.int64)[row.ravel()]
    targets = np.zeros_like(numbers) if getattr(challenger, "fresh_targets", False) else target.ravel()
    trials = {}
    for label, adversary in adversaries.items():
        scores, count = adversary.score_with_spending(played, stream(seed, Role.SCORE, block))
        if scores.shape != members.shape:
            raise BadInput(f"{label}: scores of shape {scores.shape} for {members.shape} rounds x targets")
        trials[label] = Trials(
            numbers,
            targets,
            members.ravel(),
            scores.ravel(),
            challenger.coins,
            adversary.scorer.reading,
            {name: np.broadcast_to(column, members.shape).ravel() for name, column in count().items()},
        )
    if isinstance(challenger, ChallengerWithUtility):
        useful = {name: column[row.ravel()] for name, column in challenger.utility_of(played).items()}
        trials = {label: replace(found, utility=useful) for label, found in trials.items()}
    return trials
