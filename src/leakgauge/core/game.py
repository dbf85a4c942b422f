"""The membership game: its roles, and ``play``, which runs one block of rounds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream

Block = TypeVar("Block")  # all that is released in a block of rounds
BlockOut = TypeVar("BlockOut", covariant=True)
BlockIn = TypeVar("BlockIn", contravariant=True)
View = TypeVar("View")  # what of a block reaches an attacker
ViewOut = TypeVar("ViewOut", covariant=True)
KnowledgeIn = TypeVar("KnowledgeIn", contravariant=True)


class Coins(StrEnum):
    """How membership was decided; some metrics are valid for fair coins only."""

    FAIR = "fair"  # decided by the challenger at random: independent, one half each
    TIED = "tied"  # one half each, but dependent: the targets of a round reveal each other's bits
    GIVEN = "given"  # set by the data: a split by hospital, a file of scores


class Mechanism(Protocol):
    """Noise: how to draw it, its exact distribution, and the promise that comes with it."""

    @property
    def guarantee(self) -> Guarantee: ...

    def sample(self, values: Reals, rng: Generator) -> Reals: ...

    def log_law(self, outputs: Reals, values: Reals) -> Reals:
        """Log density (or probability) of the outputs given the true values."""
        ...


@dataclass(frozen=True, kw_only=True)
class NoControl:
    """Why a challenger has no positive control.

    It is not ``needed`` where the release is the same in both worlds by its noise distribution: then every
    attack is right in exactly half of the rounds. With ``nothing_to_audit`` no round is simulated: the
    release does not use its input, so that no round could show anything.
    """

    reason: str  # a clause, without a full stop
    needed: bool = True
    nothing_to_audit: bool = False


@dataclass(frozen=True, kw_only=True)
class RequestLimits:
    """How many requests a service may receive: in total, what is left of that, and how many each second.

    ``beyond`` gives how many requests and sessions the auditor may add to those of an attacker, at most, in a
    block of so many rounds; ``once`` how many of both it adds to a run.
    """

    total: int
    left: int
    rate: float
    beyond: Callable[[int], tuple[int, int]]
    once: tuple[int, int] = (0, 0)


class Challenger(Protocol[BlockOut]):
    """Owns the secret data, decides membership at random, makes one release per round.

    Only the members up to ``release`` need to be written; ``ChallengerDefaults`` has all the others.
    """

    @property
    def n_targets(self) -> int: ...

    @property
    def coins(self) -> Coins: ...

    @property
    def guarantee(self) -> Guarantee | None:
        """The promise to the unit that the game is about; nothing where nothing was promised."""
        ...

    @property
    def digest(self) -> str:
        """A digest of the data and settings: the same in every process, different for different data."""
        ...

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        """Decide membership: one row per round, one column per target."""
        ...

    def release(self, members: Bits, rng: Generator) -> BlockOut:
        """Make all that any attacker may see of these rounds."""
        ...

    def release_rounds(self, rounds: range, members: Bits, rng: Generator) -> BlockOut:
        """Make the same where rounds differ by their numbers, as where they take turns with splits."""
        ...

    def splits(self, rounds: range) -> "Ints | None":
        """The random division of the people that each round rests on; nothing where there is none.

        Rounds of one division are not independent draws of all that could have happened: intervals are then
        over divisions.
        """
        ...

    @property
    def fresh_targets(self) -> bool:
        """Whether each round has other targets, so that their positions mean nothing."""
        ...

    @property
    def targets_digest(self) -> str | None:
        """A digest of the data and of the choice of targets, not of the protection; nothing if not known.

        Runs with the same digest and seed are compared round by round.
        """
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """How the data were read, for the report; without any value from the data."""
        ...

    @property
    def utility(self) -> dict[str, float] | None:
        """How useful the protected data are, by name; nothing where that is not known."""
        ...

    def utility_of(self, block: Any) -> Mapping[str, Reals]:
        """How useful the release of each round of a block is, by name; NaN where that is not known."""
        ...

    @property
    def most_workers(self) -> int | None:
        """How many processes may run it at once; nothing where any number may."""
        ...

    @property
    def most_rounds(self) -> int | None:
        """How many releases there are; nothing where any number can be made."""
        ...

    @property
    def control_caveat(self) -> str | None:
        """What its positive control cannot show, though a reader would expect it to; nothing usually."""
        ...

    @property
    def overfitted_knowledge(self) -> tuple[str, ...]:
        """Kinds of knowledge for which numbers with thresholds fitted to rounds are too high.

        So it is where the others are the same in every round, and an attacker does not know them.
        """
        ...

    @property
    def understated_knowledge(self) -> Mapping[str, str]:
        """By kind of knowledge, why its attackers do worse here than somebody could: they clear nobody.

        So it is where an attacker is said to know everyone else, and does not know the other targets.
        """
        ...

    def understated_by(self, attacks: Collection[Any]) -> Mapping[str, str]:
        """The same, and by whom these attacks leave out what the strongest attacks known do."""
        ...

    @property
    def unread(self) -> tuple[str, ...]:
        """What of a release may tell of a target and is read by no attack: nobody is cleared beside it."""
        ...

    def rehearsal(self) -> "Challenger[BlockOut]":
        """A challenger for estimates of the cost: this one, unless its rounds have effects elsewhere."""
        ...

    def require_access(self) -> None:
        """Refuse to start a run without something that a rehearsal does not need, such as a token."""
        ...

    @property
    def request_limits(self) -> RequestLimits | None:
        """How many requests its rounds may send to a service; nothing where they send none."""
        ...

    def end(self) -> None:
        """Close what was opened for a block that is complete."""
        ...

    def abandon(self) -> str | None:
        """Close what was opened for a block that failed; return what had to stay open, in words."""
        ...

    def control(self) -> "Challenger[BlockOut] | NoControl":
        """The positive control: a challenger of the same type, on the same path, without protection.

        Attacks study and play it before the first counted round. Its ``digest`` must be the same only where
        the control is the same: a sweep over the mechanism plays it once. A path that is broken, so that
        nothing could ever reach an attacker, is refused with ``BadInput``.
        """
        ...


class ChallengerDefaults:
    """The optional members of ``Challenger``; a challenger inherits them and overrides what it needs."""

    def release_rounds(self: Challenger[Any], rounds: range, members: Bits, rng: Generator) -> Any:
        return self.release(members, rng)

    def splits(self, rounds: range) -> "Ints | None":
        return None

    @property
    def fresh_targets(self) -> bool:
        return False

    @property
    def targets_digest(self) -> str | None:
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    @property
    def utility(self) -> dict[str, float] | None:
        return None

    def utility_of(self, block: Any) -> Mapping[str, Reals]:
        return {}

    @property
    def most_workers(self) -> int | None:
        return None

    @property
    def most_rounds(self) -> int | None:
        return None

    @property
    def control_caveat(self) -> str | None:
        return None

    @property
    def overfitted_knowledge(self) -> tuple[str, ...]:
        return ()

    @property
    def understated_knowledge(self) -> Mapping[str, str]:
        return {}

    def understated_by(self, attacks: Collection[Any]) -> Mapping[str, str]:
        return self.understated_knowledge

    @property
    def unread(self) -> tuple[str, ...]:
        return ()

    def rehearsal(self) -> Any:
        return self

    def require_access(self) -> None:
        return

    @property
    def request_limits(self) -> RequestLimits | None:
        return None

    def end(self) -> None:
        return

    def abandon(self) -> str | None:
        return None

    def control(self) -> Challenger[Any] | NoControl:
        return NoControl(reason="there is no unprotected version of this release")


class Knowledge(Protocol[BlockIn, ViewOut]):
    """What an attacker has before the rounds, and what of a block reaches it."""

    def view(self, block: BlockIn) -> ViewOut: ...


@runtime_checkable
class MeteredKnowledge(Protocol):
    """Knowledge that counts what its attacker was given, as an oracle does; no attack sees these counts."""

    def spent(self, view: Any) -> Mapping[str, Reals]:
        """Rounds x targets: the epsilon of what was given in a view, by name of the way of counting.

        A domain declares the titles of these columns, and which of them must not exceed which.
        """
        ...


Transcript: TypeAlias = Mapping[str, npt.NDArray[Any]]
"""Columns by name: what happened in a block, question by question or step by step, beside the true values
that the auditor knows. It may hold personal values, so only the owner may read it; no verdict shows it."""


@runtime_checkable
class TranscribedKnowledge(Protocol):
    """Knowledge that keeps a transcript of what its attacker was given; no attack sees it.

    The domain compares transcripts with what is stated (``Domain.conformance``), besides the game.
    """

    def transcript(self, view: Any) -> Transcript:
        """What happened in the rounds of a view; empty where nothing was recorded."""
        ...


class RoundsView(Protocol):
    """A view of a block that can be restricted to some of its rounds."""

    def of_rounds(self, rows: Ints) -> Self: ...


class SplitBlock(Protocol):
    """A block whose rounds take turns with several random divisions of the people."""

    @property
    def split_numbers(self) -> Ints:
        """The division of each round of the block."""
        ...


PartView = TypeVar("PartView", bound=RoundsView)
PartBlock = TypeVar("PartBlock", bound=SplitBlock)


@dataclass(frozen=True, eq=False)
class SplitViews(Generic[PartView]):
    """One view for each division of the people: of its own rounds, whose positions are ``rows``."""

    rows: tuple[Ints, ...]
    views: tuple[PartView, ...]


@dataclass(frozen=True, eq=False)
class KnowledgeBySplit(Generic[PartBlock, PartView]):
    """Knowledge that differs between rounds, which take turns with the parts.

    The parts are what an attacker knows under different random divisions of the people, so that no number
    rests on one division alone.
    """

    parts: tuple[Knowledge[PartBlock, PartView], ...]

    def view(self, block: PartBlock) -> SplitViews[PartView]:
        """One view for each part: of its own rounds."""
        rows = tuple(np.flatnonzero(block.split_numbers == split) for split in range(len(self.parts)))
        views = tuple(part.view(block).of_rounds(own) for part, own in zip(self.parts, rows))
        return SplitViews(rows, views)

    def splits(self, block: PartBlock) -> Ints:
        """The part of each round of a block."""
        return block.split_numbers


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the scores of an attack are to be read; fixed before the first counted round.

    ``threshold`` is the attack's own: a score at or above it means "member". ``signed`` scores are
    log-likelihood ratios, or similar: zero means no evidence. ``fraction`` is the share of trials on which to
    guess, where the attack fixed it beforehand. ``cut`` is a strength of evidence fixed beforehand: guess on
    all trials at or above it. An attack that fixed both has two events, each with half of the error.
    ``event`` describes what a learned attack looks at, and ``clue`` names its cause, where that is known: a
    domain has advice for it. ``studied`` holds numbers that an attack computed while it studied; a domain
    declares their titles.
    """

    threshold: float | None = None
    signed: bool = False
    fraction: float | None = None
    cut: float | None = None
    event: str | None = None
    clue: str | None = None
    studied: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Scorer(Generic[View]):
    """A studied attack: one score per round and target; higher means more likely a member."""

    score: Callable[[View, Generator], Reals]
    reading: Reading = Reading()


class Attack(Protocol[KnowledgeIn, View]):
    """A method that turns knowledge into a scorer."""

    accepts: ClassVar[tuple[str, ...]]  # names of knowledge it can use; the first is what it gets by default

    def study(self, knowledge: KnowledgeIn, rng: Generator) -> Scorer[View]: ...


@runtime_checkable
class ControlAttack(Protocol):
    """An attack that needs less study where nothing protects members, so that its control is cheap."""

    def for_control(self) -> Attack[Any, Any]:
        """The same attack with less study, for the positive control."""
        ...


@dataclass(frozen=True, eq=False)
class Adversary(Generic[Block, View]):
    """A studied attack with its knowledge, through which alone it sees a round."""

    knowledge: Knowledge[Block, View]
    scorer: Scorer[View]

    def score(self, block: Block, rng: Generator) -> Reals:
        return self.score_with_accounts(block, rng).scores

    def score_with_accounts(self, block: Block, rng: Generator) -> "ScoredView":
        """Score some rounds, and keep the view, whose accounts are read afterwards."""
        view = self.knowledge.view(block)
        scores = np.asarray(self.scorer.score(view, rng), dtype=np.float64)
        return ScoredView(scores, self.knowledge, view)


@dataclass(frozen=True, eq=False)
class ScoredView:
    """The scores of some rounds, and the accounts of what they took: none of these is seen by an attack."""

    scores: Reals
    _knowledge: Any
    _view: Any

    @property
    def spent(self) -> Mapping[str, Reals]:
        """What was spent, by name of the way of counting."""
        return self._knowledge.spent(self._view) if isinstance(self._knowledge, MeteredKnowledge) else {}

    @property
    def transcript(self) -> Transcript:
        """What was asked and given."""
        known = self._knowledge
        return known.transcript(self._view) if isinstance(known, TranscribedKnowledge) else {}


NOISE_ERROR = "noise_error"


@dataclass(frozen=True, eq=False)
class Trials:
    """Columns of trials; rows with the same round share one release.

    In a positive control that could not leave out all noise, the column ``NOISE_ERROR`` of ``utility`` has
    the chance that this noise makes a decision wrong. Transcripts are those of whole blocks.
    """

    rounds: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]  # positions 0..n-1, never names; all 0 where each round has its own
    members: Bits
    scores: Reals
    coins: Coins
    reading: Reading = field(default_factory=Reading)
    spent: Mapping[str, Reals] = field(default_factory=dict)  # epsilon, by name of the way of counting
    utility: Mapping[str, Reals] = field(default_factory=dict)  # of the release, by name
    splits: Ints | None = None  # the random division of the people that each trial rests on
    transcripts: tuple[Transcript, ...] = ()  # one for each block, where they are kept
    repeatable: bool = False  # whether more such releases can be made: a single one then stands for none

    def __post_init__(self) -> None:
        if not self.rounds.shape == self.targets.shape == self.members.shape == self.scores.shape:
            raise BadInput(f"{self.members.size} membership bits but {self.scores.size} scores")
        if self.splits is not None and self.splits.shape != self.scores.shape:
            raise BadInput(f"{self.scores.size} scores but {self.splits.size} numbers of splits")
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
        steps = np.diff(self.rounds)
        if (steps > 0).all():
            return False
        if (steps == 0).any():
            return True
        return np.unique(self.rounds).size < self.rounds.size

    @property
    def round_numbers(self) -> npt.NDArray[np.int64]:
        """The round of each trial, with the rounds that occur numbered from 0."""
        return np.unique(self.rounds, return_inverse=True)[1].astype(np.int64)

    def where(self, rows: Bits | npt.NDArray[np.intp]) -> "Trials":
        return replace(
            self,
            rounds=self.rounds[rows],
            targets=self.targets[rows],
            members=self.members[rows],
            scores=self.scores[rows],
            spent={name: column[rows] for name, column in self.spent.items()},
            utility={name: column[rows] for name, column in self.utility.items()},
            splits=None if self.splits is None else self.splits[rows],
            transcripts=(),
        )


def joined_trials(parts: Sequence[Trials]) -> Trials:
    """The trials of consecutive rounds, which one attack scored, in their order."""
    return replace(
        parts[0],
        rounds=np.concatenate([part.rounds for part in parts]),
        targets=np.concatenate([part.targets for part in parts]),
        members=np.concatenate([part.members for part in parts]),
        scores=np.concatenate([part.scores for part in parts]),
        spent={name: np.concatenate([part.spent[name] for part in parts]) for name in parts[0].spent},
        utility={name: np.concatenate([part.utility[name] for part in parts]) for name in parts[0].utility},
        splits=None
        if parts[0].splits is None
        else np.concatenate([part.splits for part in parts if part.splits is not None]),
        transcripts=tuple(transcript for part in parts for transcript in part.transcripts),
    )


def require_score_shape(label: str, scores: Reals, n_rounds: int, n_targets: int) -> None:
    """Refuse scores that are not one row per release with one column per target."""
    if scores.shape == (n_rounds, n_targets):
        return
    way_out = ": scores[:, None]" if n_targets == 1 and scores.shape == (n_rounds,) else ""
    raise BadInput(
        f"attack {label!r}: returned scores of shape {scores.shape}, expected {(n_rounds, n_targets)}, one "
        f"row per release and one column per target; change what its scorer returns{way_out}"
    )


PART_BYTES = 2**28  # of arrays that may be held while a block is played, before it is played in parts


@runtime_checkable
class SizedRounds(Protocol):
    """A challenger that knows by the shapes of its arrays how many bytes a round takes."""

    @property
    def round_bytes(self) -> int: ...


def rounds_at_once(challenger: Challenger[Any], n_rounds: int) -> int:
    """How many rounds of a block are held in memory together.

    It depends on the shapes of arrays alone, so that trials are the same on any machine.
    """
    if not isinstance(challenger, SizedRounds):
        return n_rounds
    return max(1, min(n_rounds, PART_BYTES // max(1, challenger.round_bytes)))


def play(
    challenger: Challenger[Block],
    adversaries: Mapping[str, Adversary[Block, Any]],
    seed: int,
    rounds: range,
    block: int,
) -> dict[str, Trials]:
    """Play one block; every attacker gets the same membership and the same releases.

    A block that is too large to be held at once is played in parts, each with streams of its own.
    """
    members = challenger.flip(len(rounds), stream(seed, Role.BITS, block))
    at_once = max(1, rounds_at_once(challenger, len(rounds)))
    release, score = stream(seed, Role.RELEASE, block), stream(seed, Role.SCORE, block)
    if at_once >= len(rounds):
        scores = {label: stream(seed, Role.SCORE, block) for label in adversaries}
        return _play_part(challenger, adversaries, rounds, members, release, scores)
    starts = range(0, len(rounds), at_once)
    parts = []
    for start, own, common in zip(starts, release.spawn(len(starts)), score.spawn(len(starts))):
        rows = slice(start, start + at_once)
        scores = {label: deepcopy(common) for label in adversaries}
        parts.append(_play_part(challenger, adversaries, rounds[rows], members[rows], own, scores))
    return {label: joined_trials([part[label] for part in parts]) for label in adversaries}


def _play_part(
    challenger: Challenger[Block],
    adversaries: Mapping[str, Adversary[Block, Any]],
    rounds: range,
    members: Bits,
    rng: Generator,
    scores_rng: Mapping[str, Generator],
) -> dict[str, Trials]:
    released = challenger.release_rounds(rounds, members, rng)
    row, target = np.indices(members.shape)
    numbers = np.asarray(rounds, dtype=np.int64)[row.ravel()]
    targets = np.zeros_like(numbers) if challenger.fresh_targets else target.ravel()
    trials = {}
    for label, adversary in adversaries.items():
        scored = adversary.score_with_accounts(released, scores_rng[label])
        scores, transcript = scored.scores, scored.transcript
        require_score_shape(label, scores, *members.shape)
        knowledge = adversary.knowledge
        splits = challenger.splits(rounds)
        if isinstance(knowledge, KnowledgeBySplit):
            splits = knowledge.splits(released)
        trials[label] = Trials(
            numbers,
            targets,
            members.ravel(),
            scores.ravel(),
            challenger.coins,
            adversary.scorer.reading,
            {name: np.broadcast_to(column, members.shape).ravel() for name, column in scored.spent.items()},
            splits=None if splits is None else splits[row.ravel()],
            transcripts=(transcript,) if transcript else (),
            repeatable=challenger.most_rounds is None,
        )
    useful = {name: column[row.ravel()] for name, column in challenger.utility_of(released).items()}
    return {label: replace(played, utility=useful) for label, played in trials.items()} if useful else trials
